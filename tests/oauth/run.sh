#!/usr/bin/env bash
# Lets the official TypeScript SDK find the authorization server of loci serve, get tokens
# from it and use them: a real provider (npm oidc-provider), through a rotation of its keys,
# for which the server waits up to half a minute.
#
# Needs go and node >= 20 with npm.
set -euo pipefail
cd "$(dirname "$0")"
for tool in go node npm; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --silent --no-audit --no-fund
	cp package-lock.json node_modules/.installed
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd ../.. && go build -o "$work/loci" ./cmd/loci)
HOME=$work timeout 120 node story.mjs "$work/loci" "$work"
