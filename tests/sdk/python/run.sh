#!/usr/bin/env bash
# Tests the Python client against the real program: its types, LangGraph's conformance
# suite for checkpoint savers with every capability, real graphs, and the store.
#
# Needs go and python3 >= 3.10 with venv. What it installs is pinned and goes to the
# cache directory ($LOCI_TEST_CACHE). Arguments are those of pytest.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need python3 "version 3.10 or newer"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || { echo "missing: python3 3.10 or newer with venv" >&2; exit 1; }

venv=$cache/python-sdk
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall "$root/sdk/python"
(cd "$root" && go build -o bin/loci ./cmd/loci)
(cd "$root/sdk/python" && "$venv/bin/mypy")
LOCI="$root/bin/loci" "$venv/bin/python" -m pytest -q --strict-markers "$@"
