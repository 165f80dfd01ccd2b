#!/usr/bin/env bash
# Looks for tests that depend on luck.
#
#   tests/flaky.sh               every package ten times, shuffled, while the machine is busy
#   tests/flaky.sh changed       each test changed since the base three times, shuffled, under
#                                the race detector, what changed last first, within
#                                LOCI_FLAKY_SECONDS (90), a quarter of them for a package
#   tests/flaky.sh PACKAGE...    these ten times
#
# The base is LOCI_BASE, or where the branch left origin/main, or the last tag when it is
# near, or twenty landings ago.
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

# changed prints each package with tests that differ from the base, what changed last
# first, and their names.
changed() {
  local from file
  from=$(base)
  {
    git diff --name-only --diff-filter=d HEAD -- '*_test.go'
    git log --format= --name-only "$from"..HEAD -- '*_test.go'
  } | awk '!seen[$0]++' | while read -r file; do
    case "$file" in adapters/* | tools/* | tests/deploy/* | tests/network/*) continue ;; esac # modules of their own
    [ -f "$file" ] || continue
    # Of a hunk in the middle of a test git names the test.
    git diff -U0 "$from" -- "$file" |
      sed -nE "s|^(\\+\|@@ .* @@ )func (Test[A-Z0-9_][A-Za-z0-9_]*)\\(.*testing\\.T\\).*|./$(dirname "$file") \\2|p"
  done | awk 'seen[$0]++ { next }
    !($1 in tests) { order[++n] = $1 }
    { tests[$1] = tests[$1] (tests[$1] == "" ? "" : "|") $2 }
    END { for (i = 1; i <= n; i++) print order[i], tests[order[i]] }'
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

# thrice runs tests of a package three times, shuffled, until there is no time left.
thrice() {
  local package=$1 tests=$2 race=("${@:3}") status
  echo "== $package"
  CGO_ENABLED=$((${#race[@]} > 0)) go test -c -o "$work/test" "${race[@]}" "$package" || { failed+=("$package"); return; }
  local until=$(($(date +%s) + seconds / 4))
  until=$((until < end ? until : end))
  for _ in 1 2 3; do
    status=0
    (cd "$package" && TMPDIR=$work/tmp timeout "$((until > $(date +%s) ? until - $(date +%s) : 1))" \
      "$work/test" -test.shuffle=on -test.run "^($tests)\$" >"$work/out" 2>&1) || status=$?
    case $status in
      0) tail -n 1 "$work/out" ;;
      124) left+=("$package"); return ;;
      *) cat "$work/out"; failed+=("$package"); return ;;
    esac
  done
}

if [ "${1:-}" = changed ]; then
  eval "race=($(tests/race.sh))"
  work=$(mktemp -d)
  trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
  mkdir "$work/tmp"
  chmod o+x "$work" # run by root, PostgreSQL runs as a user without rights
  seconds=${LOCI_FLAKY_SECONDS:-90}
  end=$(($(date +%s) + seconds))
  left=()
  list=$(changed)
  while read -r package tests; do
    [ -n "$package" ] || continue
    if [ "$(date +%s)" -ge "$end" ]; then
      left+=("$package")
      continue
    fi
    case "$package" in
      ./cmd/* | ./tests/*) thrice "$package" "$tests" ;; # the detector makes what they start ten times as slow
      *) thrice "$package" "$tests" "${race[@]}" ;;
    esac
  done <<<"$list"
  if [ "${#left[@]}" -gt 0 ]; then
    echo "no time was left for, or for three runs of: ${left[*]}" >&2
  fi
  report
  exit
fi

load
for package in $(go list "${@:-./...}"); do
  again "$package" 10 -timeout 60m
done
report
