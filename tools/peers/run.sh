#!/usr/bin/env bash
# Asks Loci and programs of others the same questions about the same memories, in one run.
#
#   run.sh [--notes N] [--queries N]
#
# Needs go and python3 >= 3.11 with venv; hnswlib is compiled, which needs a C++ compiler. What
# it installs (600 MB) is pinned and goes to the cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need c++ "a C++ compiler: apt-get install g++"
need python3 "version 3.11 or newer"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' || { echo "missing: python3 3.11 or newer with venv" >&2; exit 1; }

venv=$cache/python-peers
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
exec go run . --python "$venv/bin/python" "$@"
