#!/usr/bin/env bash
# Builds a release for this machine twice, compares the bytes, installs each form into an
# empty home without a network, and lets the official client save a memory with it.
#
# Needs go, node >= 20 with npm, python3 >= 3.10 with venv, dpkg-deb, and unshare with the
# right to use it. What it installs from outside is pip alone.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
for tool in go git node npm python3 dpkg-deb tar unzip unshare; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(go env GOOS)/$(go env GOARCH)
(cd "$root/tools/release" && go build -o "$work/release" .)
(cd "$root" && CGO_ENABLED=0 go build -o "$work/remember" ./tests/release)
for n in 1 2; do
	git clone -q "$root" "$work/checkout $n" # another path, with a blank in it
	"$work/release" -root "$work/checkout $n" -out "$work/dist$n" -version 0.0.1 -only "$here" >/dev/null
done
cmp "$work/dist1/checksums.txt" "$work/dist2/checksums.txt"
diff -r "$work/dist1" "$work/dist2"
echo "ok two builds have equal bytes"
dist=$work/dist1
(cd "$dist" && sha256sum --quiet -c checksums.txt)
echo "ok checksums"

# works NAME COMMAND...: the server of an installation remembers, in a home of its own and
# without a network, and leaves nothing but its data.
works() {
	local name=$1 home=$work/home-$1
	shift
	mkdir -p "$home"
	env -i HOME="$home" PATH="$PATH" unshare --map-root-user --net "$work/remember" "$@" mcp >/dev/null
	local left
	left=$(cd "$home" && find . -type f | grep -v '^./.local/share/loci/' || true)
	[ -z "$left" ] || { echo "FAIL $name left $left"; exit 1; }
	echo "ok $name"
}

mkdir "$work/archive" && tar -xzf "$dist"/loci_0.0.1_linux_*.tar.gz -C "$work/archive" --strip-components 1
works archive "$work/archive/loci"
[ "$("$work/archive/loci" version --json | grep -c "$(git -C "$root" rev-parse HEAD)")" = 1 ]
man --warnings -l "$work/archive/share/man/man1/loci.1" 2>&1 >/dev/null | (! grep .)
echo "ok manual"

mkdir "$work/npm" && (
	cd "$work/npm"
	npm install --silent --offline --no-audit --no-fund "$dist"/loci-memory-cli-linux-*.tgz "$dist/loci-memory-cli-0.0.1.tgz"
)
works npm "$work/npm/node_modules/.bin/loci"
[ "$("$work/npm/node_modules/.bin/loci" version)" = "$("$work/archive/loci" version)" ]
code=0
"$work/npm/node_modules/.bin/loci" get nothing 2>/dev/null || code=$?
[ "$code" = 2 ] || { echo "FAIL the launcher ends with $code"; exit 1; }
echo "ok npm passes the exit code on"
mv "$work/npm/node_modules/@loci-memory"/cli-linux-* "$work/"
"$work/npm/node_modules/.bin/loci" version >"$work/said" 2>&1 && exit 1
grep -q 'omit=optional' "$work/said"
echo "ok npm says what is missing"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$dist"/loci_memory_cli-*.whl
works wheel "$work/venv/bin/loci"
works wheel-by-name "$work/venv/bin/loci-memory-cli"
"$work/venv/bin/pip" check --disable-pip-version-check >/dev/null
"$work/venv/bin/pip" uninstall --quiet --yes loci-memory-cli
[ ! -e "$work/venv/bin/loci" ]
echo "ok pip takes it out"

dpkg-deb -x "$dist"/loci_0.0.1_*.deb "$work/deb"
works deb "$work/deb/usr/bin/loci"
dpkg-deb -f "$dist"/loci_0.0.1_*.deb Package Version Architecture >/dev/null

mkdir "$work/mcpb" && unzip -q "$dist"/loci-0.0.1-linux-*.mcpb -d "$work/mcpb"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/mcpb/manifest.json"
works mcpb "$work/mcpb/server/loci"

# The image is unpacked and run as its user, with a file system of which only /data can be
# written.
mkdir "$work/image"
layer=$(python3 - "$dist/image" <<'P'
import json, sys
blob = lambda digest: sys.argv[1] + "/blobs/" + digest.replace(":", "/")
index = json.load(open(sys.argv[1] + "/index.json"))
print(blob(json.load(open(blob(index["manifests"][0]["digest"])))["layers"][0]["digest"]))
P
)
[ "$(stat -c %s "$layer")" -le 26214400 ]
tar -xzf "$layer" -C "$work/image" --no-same-owner
[ "$(env -i LOCI_STORE=sqlite:/data/loci.db HOME=/data unshare --map-root-user --net --root "$work/image" --wd / /loci save "In the image." | grep -c note-)" = 1 ]
echo "ok image, $(stat -c %s "$layer") bytes"
echo passed
