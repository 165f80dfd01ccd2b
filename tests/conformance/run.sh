#!/usr/bin/env bash
# Runs the official MCP conformance suite, for the newest revision and the newest
# one with initialize, against the HTTP handler of package mcp.
#
# Needs go and node with npm. The suite itself needs node 22, which npm installs
# beside it when the system's is older.
set -euo pipefail
cd "$(dirname "$0")"
for tool in go node npm; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-audit --no-fund
	cp package-lock.json node_modules/.installed
fi
node=node
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 22 ]; then node=node_modules/node/bin/node; fi

work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
go build -o "$work/server" ./server
"$work/server" >"$work/url" 2>"$work/log" &
server=$!
for _ in $(seq 100); do
	[ -s "$work/url" ] && break
	sleep 0.05
done
[ -s "$work/url" ] || { echo "the server did not start:" >&2; cat "$work/log" >&2; exit 1; }

suite=node_modules/@modelcontextprotocol/conformance/$("$node" -p "const b = require('./node_modules/@modelcontextprotocol/conformance/package.json').bin; typeof b === 'string' ? b : Object.values(b)[0]")
for revision in 2026-07-28 2025-11-25; do
	# It fails whenever one scenario does; evaluate.mjs decides what that means.
	"$node" "$suite" server --url "$(cat "$work/url")" --requirements "$revision" -o "$work/$revision" >"$work/$revision.txt" 2>&1 || true
	mkdir -p "$work/$revision"
	echo "$revision: $(grep '^Total:' "$work/$revision.txt" || tail -n 3 "$work/$revision.txt")"
done
"$node" evaluate.mjs "$work/2026-07-28" "$work/2025-11-25"
