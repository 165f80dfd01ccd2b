#!/usr/bin/env bash
# Tests the Python client against the real program and the real frameworks: its types,
# LangChain's standard suites, LangGraph's conformance suite for checkpoint savers with every capability, agents,
# stores, histories, and conversations while the server is killed.
#
# Needs go and python3 >= 3.10 with venv. What it installs is pinned and goes to the
# cache directory ($LOCI_TEST_CACHE). Arguments are those of pytest.
set -euo pipefail
cd "$(dirname "$0")"
. ./venv.sh requirements.txt

(cd "$root/sdk/python" && "$venv/bin/mypy" && "$venv/bin/ruff" check --quiet . && "$venv/bin/ruff" check --quiet --config pyproject.toml ../../tests/sdk)
"$venv/bin/python" -m pytest -q --strict-markers -W ignore::DeprecationWarning --ignore adapters "$@"

# Frameworks that want other releases of what the first ones need, and LangChain's standard suites.
if [ $# -eq 0 ]; then
	. ./venv.sh requirements-adapters.txt
	"$venv/bin/python" -m pytest -q --strict-markers -W ignore::DeprecationWarning --rootdir . --confcutdir . -o asyncio_mode=auto adapters
fi
