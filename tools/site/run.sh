#!/usr/bin/env bash
# Builds the site of docs/ into dist/site and looks through it: no dead link, nothing that
# a page would load from another host. Needs go and python3 >= 3.11 with venv; the pinned
# tool goes to the cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' || { echo "missing: python3 3.11 or newer with venv" >&2; exit 1; }

venv=$cache/python-site
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -o "$own/loci" ./cmd/loci) # not bin/loci, which others may be using
python3 -m unittest -q check_test
"$venv/bin/python" build.py "$root" "$root/dist/site" "$own/loci"
