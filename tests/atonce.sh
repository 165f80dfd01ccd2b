#!/usr/bin/env bash
# Prints how many packages are tested at once: as many as there are processors, and one where
# this process is granted a part of one. Side by side on a part, each takes twice as long by
# the clock, and a package's limit is told by the clock. Go itself always counts on two.
set -euo pipefail

# granted prints the hundredths of a processor that one control group may use.
granted() {
  local quota=max period=100000
  if [ -r "$1/cpu.max" ]; then
    read -r quota period <"$1/cpu.max"
  elif [ -r "$1/cpu.cfs_quota_us" ]; then
    quota=$(cat "$1/cpu.cfs_quota_us")
    period=$(cat "$1/cpu.cfs_period_us")
  fi
  [ "$quota" = max ] || [ "$quota" -le 0 ] || echo $((quota * 100 / period))
}

least=$(($(getconf _NPROCESSORS_ONLN) * 100))
while IFS=: read -r _ controllers path; do
  case ",$controllers," in
    ,,) root=/sys/fs/cgroup ;;
    *,cpu,*) root=/sys/fs/cgroup/cpu ;;
    *) continue ;;
  esac
  while :; do
    share=$(granted "$root$path")
    [ -z "$share" ] || [ "$share" -ge "$least" ] || least=$share
    [ -n "${path%/}" ] || break
    path=${path%/*}
  done
done < <(cat /proc/self/cgroup 2>/dev/null)
echo $((least < 200 ? 1 : least / 100))
