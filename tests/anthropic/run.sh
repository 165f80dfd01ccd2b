#!/usr/bin/env bash
# Lets Anthropic's SDKs for Python and JavaScript run their memory tool over loci serve,
# with the lines of docs/claude.md between, while a server here plays the model; then
# compares the answers with those of the SDK's own implementation.
#
# Needs go, node >= 20 with npm, and python3 >= 3.10 with venv. What it installs is
# pinned and goes to the cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
root=$(cd ../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

for tool in go node npm python3; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done

venv=$cache/anthropic
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.installed
fi

work=$(mktemp -d)
started=()
stop() {
	for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait # a server that ends still writes
	rm -rf "$work"
}
trap stop EXIT
(cd "$root" && go build -o "$work/loci" ./cmd/loci)
"$venv/bin/python" snippets.py "$root/docs/claude.md" "$work"
ln -s "$here/node_modules" "$work/node_modules"

# address FILE: waits for the address that a server prints into it.
address() {
	for _ in $(seq 1200); do
		[ -s "$1" ] && { head -1 "$1"; return; }
		sleep 0.05
	done
	echo "a server did not start" >&2
	cat "$1.log" >&2
	return 1
}

# serve NAME: starts loci on a store of its own.
serve() {
	HOME=$work LOCI_AUTH_MODE=none "$work/loci" --store "sqlite:$work/$1.db" --tools claude --listen 127.0.0.1:0 serve >"$work/$1.url" 2>"$work/$1.url.log" &
	started+=($!)
	LOCI_URL=$(address "$work/$1.url")
	export LOCI_URL
}

# drive NAME COMMAND...: lets an SDK run the example against the model.
drive() {
	local name=$1
	shift
	serve "$name"
	"$venv/bin/python" model.py script.json "$work/$name.json" >"$work/$name.model" 2>"$work/$name.model.log" &
	started+=($!)
	ANTHROPIC_BASE_URL=$(address "$work/$name.model")
	export ANTHROPIC_BASE_URL ANTHROPIC_API_KEY=none
	local said status=0
	said=$(cd "$work" && timeout 300 "$@") || status=$?
	[ "$status $said" = "0 I shall remember." ] || { echo "FAIL $name: status $status, it said: $said" >&2; return 1; }
	"$venv/bin/python" check.py "$name" "$work/$name.json"
}

drive python "$venv/bin/python" "$work/example.py"
drive js node "$work/example.mjs"
serve compare
PYTHONPATH=$work timeout 600 "$venv/bin/python" compare.py "$@"
echo "passed"
