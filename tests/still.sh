#!/usr/bin/env bash
# Prints the internal packages that use neither goroutines nor locks, in their tests
# neither: the race detector has nothing to see in them.
set -euo pipefail
cd "$(dirname "$0")/.."
for dir in internal/* store/internal/*; do
  if compgen -G "$dir/*_test.go" >/dev/null && ! grep -qE '"sync|\bgo (func|[a-z.]+\()|\.Go\(|t\.Parallel|httptest' "$dir"/*.go; then
    echo "./$dir"
  fi
done
