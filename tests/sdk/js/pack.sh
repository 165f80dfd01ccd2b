#!/usr/bin/env bash
# Builds the package and puts it, as npm would publish it, where the tests find it.
set -euo pipefail
cd "$(dirname "$0")"
package=../../../sdk/js
if ! cmp -s "$package/package-lock.json" "$package/node_modules/.installed"; then
	(cd "$package" && npm ci --ignore-scripts --silent --no-audit --no-fund && cp package-lock.json node_modules/.installed)
fi
(cd "$package" && node build.mjs)
tarball=$(cd "$package" && npm pack --ignore-scripts --silent --pack-destination "$OLDPWD/node_modules" 2>/dev/null)
rm -rf node_modules/loci-memory
mkdir node_modules/loci-memory
tar xzf "node_modules/$tarball" -C node_modules/loci-memory --strip-components 1
rm "node_modules/$tarball"
