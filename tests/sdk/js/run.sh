#!/usr/bin/env bash
# Builds the JavaScript package and tests it against the real program and the real
# frameworks, as it is published.
#
# Needs go and node >= 20 with npm. The tests run in node 22, which npm installs
# beside them, since the newest frameworks need it; that the package works in an
# older one is tried, too. What is installed is pinned.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
for tool in go node npm; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
node -e 'process.exit(+process.versions.node.split(".")[0] >= 20 ? 0 : 1)' || { echo "missing: node 20 or newer, found $(node --version)" >&2; exit 1; }

make --no-print-directory -C "$root" build
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-audit --no-fund
	cp package-lock.json node_modules/.installed
fi
./pack.sh
node modules.mjs
node ../../../sdk/js/node_modules/typescript/bin/tsc -p types
node_modules/node/bin/node node_modules/vitest/vitest.mjs run "$@"
