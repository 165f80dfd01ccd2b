#!/usr/bin/env bash
# What Loci is made of: known vulnerabilities of the program and of what the clients
# need, licences, and whether a module that imports ours can be tidied.
#
# Needs go and python3 >= 3.10 with venv. What it installs is pinned and
# goes to the cache directory ($LOCI_TEST_CACHE).
#
# Vulnerabilities of Go modules come from https://vuln.go.dev. Where that does not answer,
# the database as the module golang.org/x/vulndb carries it is asked, in the version that
# is pinned here: the output says so, and the version from when it is. With
# LOCI_VULNDB=live that is not enough; LOCI_VULNDB=file:///… names another database.
set -euo pipefail
pin=v0.0.0-20260813214354-9de686e1fb00 # of golang.org/x/vulndb; go list -m golang.org/x/vulndb@master tells a newer one
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
cache=${LOCI_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loci-tests}
for tool in go python3; do
	command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
passed=0

(cd "$root/tools/checks" && go build -o "$work/govulncheck" golang.org/x/vuln/cmd/govulncheck && go build -o "$work/licences" ./licences)

echo "== vulnerabilities of the program and the library"
answers() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20).read()' "$1" 2>/dev/null; }
vulndb=${LOCI_VULNDB-}
if [ -z "$vulndb" ] || [ "$vulndb" = live ]; then
	if answers https://vuln.go.dev/index/db.json; then
		vulndb=https://vuln.go.dev
	elif [ "$vulndb" = live ]; then
		echo "https://vuln.go.dev does not answer, and LOCI_VULNDB=live wants it" >&2
		exit 1
	else
		dir=$(go mod download -json "golang.org/x/vulndb@$pin" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
		vulndb=file://$dir/data/osv
		echo "https://vuln.go.dev does not answer: this is the database of the module golang.org/x/vulndb $pin; what was reported later is not in it"
	fi
fi
# A scan that finds nothing anywhere finds nothing here: this one must find something.
mkdir "$work/control"
cp control/* "$work/control"
mv "$work/control/go.mod.txt" "$work/control/go.mod"
mv "$work/control/go.sum.txt" "$work/control/go.sum"
mv "$work/control/main.go.txt" "$work/control/main.go"
if out=$(cd "$work/control" && "$work/govulncheck" -db "$vulndb" ./... 2>&1); then
	echo "FAIL govulncheck with $vulndb found nothing in a module that has a known vulnerability" >&2
	exit 1
fi
grep -q GO-2022-1059 <<<"$out" || { echo "FAIL govulncheck does not work with $vulndb:" >&2; echo "$out" >&2; exit 1; }
# What imports no package with a known fault calls none, and is seen in a second. Of what
# imports one, the calls are followed, which takes the time of many builds.
if (cd "$work/control" && "$work/govulncheck" -db "$vulndb" -scan package ./... >/dev/null 2>&1); then
	echo "FAIL govulncheck found no package with a known vulnerability in a module that imports one" >&2
	exit 1
fi
for module in "$root" "$root"/adapters/*/; do
	echo "${module#"$root"/}"
	(cd "$module" && { "$work/govulncheck" -db "$vulndb" -scan package ./... >/dev/null 2>&1 || "$work/govulncheck" -db "$vulndb" ./...; })
	passed=$((passed + 1))
done

echo "== licences of what is in the program"
"$work/licences" "$root"
# The guard itself: a module under a licence that is refused, one that is unknown.
(cd "$root/tools/checks" && go test -count=1 ./licences ./bom)
passed=$((passed + 1))

echo "== licences of what the clients need"
venv=$cache/supply-python
rm -rf "$venv"
mkdir -p "$cache"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "$root/sdk/python"
"$venv/bin/python" licences.py "$root/sdk/js/package.json"
passed=$((passed + 1))

echo "== a module that imports ours"
mkdir "$work/importer"
printf '// Command importer imports what others do.\npackage main\n\nimport (\n\t_ "github.com/loci-memory/loci"\n\t_ "github.com/loci-memory/loci/embedding"\n\t_ "github.com/loci-memory/loci/mcp"\n\t_ "github.com/loci-memory/loci/store"\n)\n\nfunc main() {}\n' >"$work/importer/main.go"
printf 'module example.com/importer\n\ngo 1.26.0\n\nrequire github.com/loci-memory/loci v0.0.0\n\nreplace github.com/loci-memory/loci => %s\n' "$root" >"$work/importer/go.mod"
(cd "$work/importer" && go mod tidy && go build -o "$work/imported" . && "$work/imported")
for module in "$root" "$root"/adapters/*/ "$root/tools/checks" "$root/tests/network"; do
	(cd "$module" && go mod tidy -diff) || { echo "FAIL $module: run go mod tidy there" >&2; exit 1; }
done
passed=$((passed + 1))
echo "$passed passed, 0 failed"
