#!/usr/bin/env bash
# Lets the official TypeScript, Python and Go SDKs find the authorization server of loci
# serve, get tokens from it and use them: a real provider (npm oidc-provider) each, through
# tokens that expire and a rotation of its keys, for which the server waits up to half a
# minute. The three run side by side.
#
# Needs go, node >= 20 with npm, and python3 >= 3.10 with venv. What it installs is pinned.
set -euo pipefail
cd "$(dirname "$0")"
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}
for tool in go node npm python3; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-audit --no-fund
	cp package-lock.json node_modules/.installed
fi
venv=$cache/oauth
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd ../.. && go build -o "$work/loci" ./cmd/loci && go build -o "$work/story" ./tests/oauth/gostory)

stories=() names=(typescript python go)
story() { # story NAME PROGRAM COMMAND...: PROGRAM of node, with a store and a provider of its own
	local name=$1 program=$2
	shift 2
	mkdir "$work/$name"
	HOME=$work/$name timeout 300 node "$program" "$work/loci" "$work/$name" "$@" >"$work/$name.out" 2>&1 &
	stories+=("$!")
}
story typescript story.mjs
story python stage.mjs "$venv/bin/python" story.py
story go stage.mjs "$work/story"
status=0
for at in "${!names[@]}"; do
	wait "${stories[at]}" || { status=1; echo "FAIL ${names[at]}"; }
	sed "s/^/${names[at]}: /" "$work/${names[at]}.out"
done
exit "$status"
