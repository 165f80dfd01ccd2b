#!/usr/bin/env bash
# Installs the package from the checkout, as a user would, and puts it where the
# tests find it: beside the frameworks, as npm puts a published one.
set -euo pipefail
cd "$(dirname "$0")"
package=$(cd ../../../sdk/js && pwd)
if ! cmp -s "$package/package-lock.json" "$package/node_modules/.installed"; then
	(cd "$package" && npm ci --ignore-scripts --silent --no-audit --no-fund && cp package-lock.json node_modules/.installed)
fi
app=$(mktemp -d)
trap 'rm -rf "$app"' EXIT
echo '{"private": true}' >"$app/package.json"
(cd "$app" && npm install --install-links --legacy-peer-deps --silent --no-audit --no-fund "$package")
rm -rf node_modules/loci-memory
cp -R "$app/node_modules/loci-memory" node_modules/loci-memory
