#!/usr/bin/env bash
# Builds a release for this machine twice, compares the bytes, installs each form into an
# empty home without a network, and lets the official client save a memory with it.
#
# Needs go, node >= 20 with npm, python3 >= 3.10 with venv, dpkg, rpm, lintian, libdeflate-gzip, and
# unshare with the right to use it. From outside come pnpm, uv, pipx and programs that check packages.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
for tool in go git node npm python3 dpkg rpm lintian libdeflate-gzip tar unzip unshare; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(go env GOOS)/$(go env GOARCH)
(cd "$root/tools/release" && go build -o "$work/release" .)
(cd "$root" && CGO_ENABLED=0 go build -o "$work/remember" ./tests/release)
for n in 1 2; do
	git clone -q "$root" "$work/checkout $n" # another path, with a blank in it
	# Each compiles everything: a cache in common would compare the second build with itself.
	GOCACHE="$work/cache$n" "$work/release" -root "$work/checkout $n" -out "$work/dist$n" -version 0.0.1 -only "$here" >/dev/null
done
cmp "$work/dist1/checksums.txt" "$work/dist2/checksums.txt"
diff -r "$work/dist1" "$work/dist2"
echo "ok two builds have equal bytes"
dist=$work/dist1
(cd "$dist" && sha256sum --quiet -c checksums.txt)
echo "ok checksums"
(cd "$root/tools/checks" && go run ./bom "$dist"/*.cdx.json)
echo "ok lists of what is inside"

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

# frozen FOLDER COMMAND...: runs a command that finds a folder read-only, as root too, and no network.
frozen() {
	unshare --map-root-user --net --mount sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"' sh "$@"
}

# go install takes the module as everybody gets it, from a folder in the place of a proxy: what
# a replace line of this checkout would mend is missing there.
module=github.com/loci-memory/loci
proxy=$work/proxy/$module/@v
mkdir -p "$proxy"
git -C "$root" show HEAD:go.mod >"$proxy/v0.0.1.mod"
echo '{"Version":"v0.0.1"}' >"$proxy/v0.0.1.info"
echo v0.0.1 >"$proxy/list"
(
	cd "$root"
	mapfile -t others < <(git ls-files '*/go.mod' | sed 's,\(.*\)/go.mod,:(exclude)\1,')
	git archive --format=zip --prefix="$module@v0.0.1/" -o "$proxy/v0.0.1.zip" HEAD -- . "${others[@]}"
)
(
	cd "$work"
	GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download" GOMODCACHE=$work/modules GOSUMDB=off \
		GOFLAGS="-modcacherw -trimpath" CGO_ENABLED=0 GOBIN=$work/gobin go install "$module/cmd/loci@v0.0.1" 2>/dev/null
)
works go-install "$work/gobin/loci"

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
HOME="$work/home-npm" "$work/npm/node_modules/.bin/loci" setup --print >"$work/said"
grep -q '"command": ".*/cli-linux-[a-z0-9]*/bin/loci"' "$work/said"
echo "ok npm's setup enters the program itself"
mkdir "$work/frozen-cache" "$work/unmade"
(cd "$work/npm" && npm_config_cache="$work/frozen-cache" frozen "$work/frozen-cache" npx --offline loci version >/dev/null)
(cd "$work/unmade" && npm_config_cache="$work/frozen-cache" frozen "$work/frozen-cache" \
	npm install --offline --no-audit --no-fund "$dist/loci-memory-cli-0.0.1.tgz" >"$work/said" 2>&1) && exit 1
grep -q "npm error path $work/frozen-cache" "$work/said"
[ ! -e "$work/unmade/node_modules/.bin/loci" ]
echo "ok npm with a read-only cache runs what is there, and names the folder otherwise"
mv "$work/npm/node_modules/@loci-memory"/cli-linux-* "$work/"
"$work/npm/node_modules/.bin/loci" version >"$work/said" 2>&1 && exit 1
grep -q 'omit=optional' "$work/said"
echo "ok npm says what is missing"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$dist"/loci_memory_cli-*.whl
works wheel "$work/venv/bin/loci"
mkdir "$work/foreign" && cp "$dist"/loci_memory_cli-*.whl "$work/foreign/loci_memory_cli-0.0.1-py3-none-win_amd64.whl"
"$work/venv/bin/pip" install --no-index --disable-pip-version-check "$work/foreign"/*.whl >"$work/said" 2>&1 && exit 1
grep -q "is not a supported wheel on this platform" "$work/said"
echo "ok pip refuses a wheel of another platform"
works wheel-by-name "$work/venv/bin/loci-memory-cli"
"$work/venv/bin/pip" check --disable-pip-version-check >/dev/null
"$work/venv/bin/pip" uninstall --quiet --yes loci-memory-cli
[ ! -e "$work/venv/bin/loci" ]
echo "ok pip takes it out"

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check uv pipx twine
export UV_TOOL_DIR="$work/uv" UV_TOOL_BIN_DIR="$work/uv-bin" UV_CACHE_DIR="$work/uv-cache"
export PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx-bin"
"$work/tools/bin/uv" tool install -q --offline --no-index --find-links "$dist" loci-memory-cli
works uv "$work/uv-bin/loci"
"$work/tools/bin/uv" tool uninstall -q loci-memory-cli
"$work/tools/bin/pipx" install -q --pip-args="--no-index --find-links $dist" loci-memory-cli >/dev/null
works pipx "$work/pipx-bin/loci"
"$work/tools/bin/pipx" uninstall loci-memory-cli >/dev/null
[ ! -e "$work/uv-bin/loci" ] && [ ! -e "$work/pipx-bin/loci" ]
"$work/tools/bin/twine" check --strict "$dist"/*.whl
echo "ok uv and pipx take it out"

npm install --silent --no-audit --no-fund --prefix "$work/js" pnpm@10 @anthropic-ai/mcpb
mkdir "$work/pnpm" && (
	cd "$work/pnpm"
	echo '{}' >package.json
	"$work/js/node_modules/.bin/pnpm" add --offline --silent "$dist"/loci-memory-cli-linux-*.tgz "$dist/loci-memory-cli-0.0.1.tgz"
)
works pnpm "$work/pnpm/node_modules/.bin/loci"

# Into empty roots, by the programs of the distributions.
mkdir -p "$work/deb/var/lib/dpkg/updates" "$work/deb/var/lib/dpkg/info"
touch "$work/deb/var/lib/dpkg/status"
dpkg --root="$work/deb" --log=/dev/null -i "$dist"/loci_0.0.1_*.deb >/dev/null 2>&1
works deb "$work/deb/usr/bin/loci"
dpkg --root="$work/deb" --log=/dev/null -r loci >/dev/null 2>&1
lintian --no-cfg --fail-on warning "$dist"/loci_0.0.1_*.deb
mkdir "$work/rpm"
rpm --root "$work/rpm" --initdb
rpm --root "$work/rpm" -i "$dist"/loci-0.0.1-1.*.rpm 2>/dev/null
works rpm "$work/rpm/usr/bin/loci"
rpm --root "$work/rpm" -e loci 2>/dev/null
! find "$work/deb/usr" "$work/rpm/usr" -name '*loci*' | grep .
mkdir "$work/apk" && tar -xzf "$dist"/loci_0.0.1_*.apk -C "$work/apk" 2>/dev/null
works apk "$work/apk/usr/bin/loci"
echo "ok distributions take it out"

mkdir "$work/mcpb" && unzip -q "$dist"/loci-0.0.1-linux-*.mcpb -d "$work/mcpb"
"$work/js/node_modules/.bin/mcpb" validate "$work/mcpb/manifest.json" >/dev/null
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
[ "$(stat -c %s "$layer")" -le 25000000 ]
tar -xzf "$layer" -C "$work/image" --no-same-owner
[ "$(env -i LOCI_STORE=sqlite:/data/loci.db HOME=/data unshare --map-root-user --net --root "$work/image" --wd / /loci save "In the image." | grep -c note-)" = 1 ]
echo "ok image, $(stat -c %s "$layer") bytes"
LOCI_STORE=sqlite:/data/new.db HOME=/data frozen "$work/image/data" \
	unshare --root "$work/image" --wd / /loci save "Nowhere." >"$work/said" 2>&1 && exit 1
grep -q "/data/new.db cannot be made: the file system is read-only" "$work/said"
echo "ok image says that /data is read-only"
echo passed
