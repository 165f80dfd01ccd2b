#!/usr/bin/env bash
# Runs the official MCP clients against the real program: the Go SDK, both
# generations of the TypeScript SDK, both generations of the Python SDK.
#
# Needs go, node >= 20 with npm, and python3 >= 3.10 with venv. What it installs is
# pinned and goes to the cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need node "version 20 or newer"
need npm "comes with node"
need python3 "version 3.10 or newer"
node -e 'process.exit(+process.versions.node.split(".")[0] >= 20 ? 0 : 1)' || { echo "missing: node 20 or newer, found $(node --version)" >&2; exit 1; }
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || { echo "missing: python3 3.10 or newer with venv" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# client NAME COMMAND...: runs one client on a store of its own. A client prints a
# line "ok …" or "FAIL …" for each check.
client() {
	local name=$1 out status=0
	shift
	out=$(STORE="sqlite:$work/$name.db" LOCI="$root/bin/loci" timeout 300 "$@" 2>&1) || status=$?
	local ok bad
	ok=$(grep -c '^ok ' <<<"$out" || true)
	bad=$(grep -c '^FAIL ' <<<"$out" || true)
	if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
	if [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
	passed=$((passed + ok)) failed=$((failed + bad))
	echo "$name: $ok passed, $bad failed"
	if [ "$bad" -ne 0 ]; then sed 's/^/    /' <<<"$out"; fi
}

venv() { # venv NAME: a virtual environment with what requirements-NAME.txt pins
	local dir=$cache/python-$1
	if ! cmp -s "python/requirements-$1.txt" "$dir/installed.txt"; then
		rm -rf "$dir"
		python3 -m venv "$dir"
		"$dir/bin/pip" install --quiet --disable-pip-version-check -r "python/requirements-$1.txt"
		cp "python/requirements-$1.txt" "$dir/installed.txt"
	fi
}

mkdir -p "$cache"
make --no-print-directory -C "$root" build
if ! cmp -s js/package-lock.json js/node_modules/.installed; then
	(cd js && npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.installed)
fi
venv 1
venv 2

client go go test -count=1 -run '^TestOfficialGoClientDrivesTheProgram$' ../../mcp
client js-1 node js/sdk1.mjs
client js-2-handshake node js/client2.mjs handshake
client js-2-modern node js/client2.mjs modern
client python-1 "$cache/python-1/bin/python" python/client1.py
client python-2-handshake "$cache/python-2/bin/python" python/client2.py legacy
client python-2-modern "$cache/python-2/bin/python" python/client2.py auto

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
