#!/usr/bin/env bash
# Compares the tokenizer with the reference implementation, id for id, over random
# texts of many scripts and every character of Unicode. Ends at the first difference.
#
#   run.sh [SEED]      compare
#   run.sh generate    write internal/wordpiece's table and golden file again
#
# Needs go and python3 >= 3.10 with venv. What it installs is pinned and goes to the
# cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need python3 "version 3.10 or newer"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || { echo "missing: python3 3.10 or newer with venv" >&2; exit 1; }

venv=$cache/python-tokenizer
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
export PYTHONDONTWRITEBYTECODE=1

if [ "${1-}" = generate ]; then
	exec "$venv/bin/python" generate.py
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/ids" ./ids
"$venv/bin/python" compare.py "$work/ids" ../../embedding/builtin.model "$@"
