#!/usr/bin/env bash
# Checks two OpenAPI documents with a validator that is not ours: the golden one, which
# the tests of package rest compare with the code, and the one that loci serve sends at
# /v1/openapi.json.
#
# Needs go and python3 >= 3.10 with venv. What it installs is pinned and goes to the
# cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

for tool in go python3; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
venv=$cache/openapi
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi

work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$work"' EXIT
(cd "$root" && go build -o "$work/loci" ./cmd/loci)
HOME=$work LOCI_AUTH_MODE=none "$work/loci" --store memory: --listen 127.0.0.1:0 serve >"$work/url" 2>"$work/log" &
server=$!
for _ in $(seq 1200); do
	[ -s "$work/url" ] && break
	sleep 0.05
done
[ -s "$work/url" ] || { echo "the server did not start:" >&2; cat "$work/log" >&2; exit 1; }
for form in json yaml; do
	"$venv/bin/python" -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' \
		"$(cat "$work/url")/v1/openapi.$form" >"$work/openapi.$form"
	"$venv/bin/openapi-spec-validator" "$work/openapi.$form"
done
"$venv/bin/openapi-spec-validator" "$root/rest/testdata/openapi.json"
