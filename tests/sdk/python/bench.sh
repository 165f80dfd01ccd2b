#!/usr/bin/env bash
# Measures the Python client and prints a table; nothing is passed or failed. Arguments
# are those of bench.py, such as --messages 100 1000.
set -euo pipefail
cd "$(dirname "$0")"
. ./venv.sh requirements-bench.txt

"$venv/bin/python" bench.py "$@"
