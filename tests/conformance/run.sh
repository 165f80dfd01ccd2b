#!/usr/bin/env bash
# Runs the official MCP conformance suite, for the newest revision and the newest
# one with initialize, against the HTTP handler of package mcp with the tools that the
# suite asks for, and against loci serve itself.
#
# It fails on a failure that no line of the lists covers, and on a line that covers none.
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
started=()
stop() {
	for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait # a server that ends still writes
	rm -rf "$work"
}
trap stop EXIT
suite=node_modules/@modelcontextprotocol/conformance/$("$node" -p "const b = require('./node_modules/@modelcontextprotocol/conformance/package.json').bin; typeof b === 'string' ? b : Object.values(b)[0]")
status=0

# conform NAME LISTS PATH COMMAND...: runs the suite against a server that prints its
# address; PATH comes after that.
conform() {
	local name=$1 lists=$2 path=$3
	shift 3
	"$@" >"$work/$name.url" 2>"$work/$name.log" &
	started+=($!)
	for _ in $(seq 1200); do
		[ -s "$work/$name.url" ] && break
		sleep 0.05
	done
	[ -s "$work/$name.url" ] || { echo "the server $name did not start:" >&2; cat "$work/$name.log" >&2; exit 1; }
	local results=()
	for revision in 2026-07-28 2025-11-25; do
		local to=$work/$name/$revision
		mkdir -p "$to"
		results+=("$to")
		# It fails whenever one scenario does; evaluate.mjs decides what that means.
		"$node" "$suite" server --url "$(head -1 "$work/$name.url")$path" --requirements "$revision" -o "$to" >"$to.txt" 2>&1 || true
		echo "$name, $revision: $(grep '^Total:' "$to.txt" || tail -n 3 "$to.txt")"
	done
	"$node" evaluate.mjs "$lists" "${results[@]}" || status=1
}

go build -o "$work/server" ./server
go build -o "$work/loci" ../../cmd/loci
conform handler not-applicable.txt "" "$work/server"
HOME=$work LOCI_AUTH_MODE=none conform serve not-applicable.txt,not-applicable-serve.txt /mcp "$work/loci" --store "sqlite:$work/loci.db" --listen 127.0.0.1:0 serve
exit "$status"
