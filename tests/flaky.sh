#!/usr/bin/env bash
# Looks for tests that depend on luck.
#
#   tests/flaky.sh               every package ten times, shuffled, while the machine is busy
#   tests/flaky.sh changed       each package changed since the base three times, shuffled,
#                                under the race detector, within LOCI_FLAKY_SECONDS (600)
#   tests/flaky.sh PACKAGE...    these ten times
#
# The base is LOCI_BASE, or the last merge, or the last tag, or twenty commits ago.
set -euo pipefail
cd "$(dirname "$0")/.."

busy=()
stop() {
  for pid in "${busy[@]}"; do kill "$pid" 2>/dev/null || true; done
  busy=()
}
trap stop EXIT

# load keeps every core busy until the script ends.
load() {
  for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
    (while kill -0 "$$" 2>/dev/null; do for _ in {1..20000}; do :; done; done) &
    busy+=("$!")
  done
}

base() {
  if [ -n "${LOCI_BASE:-}" ]; then
    git merge-base HEAD "$LOCI_BASE"
  elif git rev-parse --verify --quiet origin/main >/dev/null &&
    [ "$(git merge-base HEAD origin/main)" != "$(git rev-parse HEAD)" ]; then
    git merge-base HEAD origin/main
  elif tag=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) &&
    [ "$(git rev-list --count "$tag"..HEAD)" -le 100 ]; then
    git rev-parse "$tag^{commit}"
  else
    # Twenty landings ago; all there is, in a clone that is not as deep.
    git rev-list --first-parent --max-count=21 HEAD | tail -n 1
  fi
}

# changed lists the packages with a file that differs from the base.
changed() {
  git diff --name-only --diff-filter=d "$(base)" -- '*.go' 'testdata' '*/testdata/*' |
    sed -e 's|/testdata/.*||' -e 's|^testdata/.*||' -e 's|[^/]*\.go$||' -e 's|/$||' | sort -u |
    while read -r dir; do
      case "$dir" in
        adapters/*) ;; # modules of their own
        store/storetest) go list ./store/memory ./store/sqlite ;; # whose tests it is
        *) go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "./$dir" ;;
      esac
    done | sort -u
}

failed=()
# again runs a package so many times and goes on when it fails.
again() {
  local package=$1
  shift
  echo "== $package"
  go test -shuffle on -count "$@" "$package" || failed+=("$package")
}

report() {
  if [ "${#failed[@]}" -gt 0 ]; then
    echo "these depend on luck, or fail: ${failed[*]}" >&2
    exit 1
  fi
}

if [ "${1:-}" = changed ]; then
  race=()
  if command -v "$(go env CC)" >/dev/null; then
    race=(-race -gcflags=modernc.org/sqlite/lib=-race=false)
  fi
  end=$(($(date +%s) + ${LOCI_FLAKY_SECONDS:-600}))
  left=()
  for package in $(changed); do
    if [ "$(date +%s)" -ge "$end" ]; then
      left+=("$package")
      continue
    fi
    case "$package" in
      */cmd/* | */tests/*) again "$package" 3 -timeout 15m ;; # the detector makes what they start ten times as slow
      *) again "$package" 3 -timeout 15m "${race[@]}" ;;
    esac
  done
  if [ "${#left[@]}" -gt 0 ]; then
    echo "no time was left for: ${left[*]}" >&2
  fi
  report
  exit
fi

load
for package in $(go list "${@:-./...}"); do
  again "$package" 10 -timeout 60m
done
report
