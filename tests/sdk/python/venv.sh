# Sourced: makes $venv, in the cache directory ($LOCI_TEST_CACHE), with what the file
# $1 pins and the client of this checkout, and bin/loci in $root.
root=$(cd ../../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

need() { command -v "$1" >/dev/null || { echo "missing: $1 ($2)" >&2; exit 1; }; }
need go "https://go.dev/dl"
need python3 "version 3.10 or newer"
python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || { echo "missing: python3 3.10 or newer with venv" >&2; exit 1; }

venv=$cache/python-${1%.txt}
pinned=$(cat requirements.txt "$1")
if [ "$pinned" != "$(cat "$venv/installed.txt" 2>/dev/null)" ]; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$1"
	echo "$pinned" >"$venv/installed.txt"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall "$root/sdk/python"
make --no-print-directory -C "$root" build
export LOCI=$root/bin/loci
