#!/usr/bin/env bash
# Lets Schemathesis read /v1/openapi.json of a real loci serve, and send what the document
# allows and what it forbids: no answer may be a 5xx, one that the document does not have,
# a refusal of what it allows or an acceptance of what it forbids.
#
#   run.sh [EXAMPLES] [SEED]    for each operation, 5 by default; the seed is 1, so that
#                               it does not fail by chance
#
# What the document cannot say, and Schemathesis therefore may not hold against it, is in
# schemathesis.toml with its reasons.
#
# Needs go and python3 >= 3.10 with venv. What it installs is pinned and goes to the
# cache directory ($LOCI_TEST_CACHE).
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
root=$(cd ../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}

for tool in go python3; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
venv=$cache/schemathesis
if ! cmp -s requirements.txt "$venv/installed.txt"; then
	rm -rf "$venv"
	mkdir -p "$cache"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
	cp requirements.txt "$venv/installed.txt"
fi

work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$work"' EXIT
(cd "$root" && go build -o "$work/loci" ./cmd/loci)
HOME=$work LOCI_AUTH_MODE=none "$work/loci" --store "sqlite:$work/loci.db" --listen 127.0.0.1:0 serve >"$work/url" 2>"$work/log" &
server=$!
for _ in $(seq 1200); do
	[ -s "$work/url" ] && break
	sleep 0.05
done
[ -s "$work/url" ] || { echo "the server did not start:" >&2; cat "$work/log" >&2; exit 1; }
cd "$work" # where it keeps what it found
"$venv/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$(cat "$work/url")/v1/openapi.json" --no-color \
	--max-examples "${1-5}" --seed "${2-1}" --generation-database none --continue-on-failure
# Whatever it was sent, the memory is sound.
kill "$server"
wait "$server"
server=
HOME=$work "$work/loci" --store "sqlite:$work/loci.db" doctor >"$work/doctor" || { cat "$work/doctor" >&2; exit 1; }
HOME=$work "$work/loci" --store "sqlite:$work/loci.db" events --verify
