#!/usr/bin/env bash
# Kills loci in the middle of writes, and looks at what a power cut may have left of what
# it wrote.
#
#   run.sh         what CI runs
#   run.sh long    10,000 kills, 5,000 states after power cuts
#
# Needs go, and strace on Linux, which is installed where apt-get can.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v strace >/dev/null; then
	echo "installing strace" >&2
	{ apt-get update -qq && apt-get install -qq -y strace; } >/dev/null || { echo "missing: strace (apt-get install strace)" >&2; exit 1; }
fi
go vet -tags strace .
if [ "${1-}" = long ]; then
	go test -timeout 240m -run TestKill -count 1 . -cycles 10000
	exec go test -tags strace -timeout 240m -run TestPowerCut -count 1 -v . -states 5000
fi
exec go test -tags strace -timeout 10m -run TestPowerCut -count 1 -v . -states 160
