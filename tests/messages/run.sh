#!/usr/bin/env bash
# Lets LangChain for Python read what Loci stored of messages that came from LangChain
# and from OpenAI's chat.
#
#   run.sh           check
#   run.sh generate  write testdata/messages again with both packages
#
# Needs go and python3 >= 3.11 with venv, and for generate node >= 20 with npm. What
# it installs is pinned and goes to the cache directory ($LOCI_TEST_CACHE), the
# packages of npm to node_modules here.
set -euo pipefail
cd "$(dirname "$0")"
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need python3 "version 3.11 or newer"

venv=$cache/python-messages
if [ "$(cat requirements.txt)" != "$(cat "$venv/installed.txt" 2>/dev/null)" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
export PYTHONDONTWRITEBYTECODE=1

if [ "${1-}" = generate ]; then
	need npm "node 20 or newer"
	npm ci --silent
	"$venv/bin/python" generate.py ../../testdata/messages/python.json
	exec node generate.mjs ../../testdata/messages/javascript.json
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd ../.. && CGO_ENABLED=0 go build -o "$work/loci" ./cmd/loci)
export LOCI_STORE=sqlite:$work/loci.db LOCI_EMBEDDER=none
for form in stored constructor openai; do
	"$venv/bin/python" - $form >"$work/$form.json" <<'PY'
import json, sys
form = sys.argv[1]
file = json.load(open("../../testdata/messages/python.json", encoding="utf-8"))
print(json.dumps([m[form] for m in file["messages"] + file["openai"] if m.get(form) and m[form].get("role") != "critic"]))
PY
	"$work/loci" session append "$form" --messages "$work/$form.json" >/dev/null
	"$work/loci" session show "$form" --all --json | "$venv/bin/python" check.py
done
