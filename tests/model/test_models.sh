#!/usr/bin/env bash
#  The model of lanes and leases: as designed it holds; with leases that are not stored it must fail.

set -euo pipefail
model=$(dirname "$(readlink -f "$0")")/lane.pml
command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
command -v gcc >/dev/null || { echo "gcc is not installed"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/argos-model-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"

#  check NAME LEVEL DEFINES: the last line of the verdict, "errors: N", and whether the search was complete

check () {
    local name=$1 level=$2
    shift 2
    rm -f pan.* ./*.trail
    spin -a "$@" "$model" >spin.log
    gcc "$level" -w -DSAFETY -DVECTORSZ=1024 -DMEMLIM=900 -o pan pan.c
    ./pan -E -w22 -m20000 >"$name.log" 2>&1 || true
    grep -oE 'errors: [0-9]+' "$name.log" | grep -oE '[0-9]+'
}

errors=$(check designed -O1 -DNM=1 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=1)
if [ "$errors" != 0 ] || grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' designed.log; then
    cat designed.log
    echo "as designed: an error was found, or the search is not complete"
    exit 1
fi
grep -E 'states, stored' designed.log
errors=$(check forgetful -O0 -DNM=1 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=1 -DNOPERSIST=1)
if [ "$errors" = 0 ]; then
    cat forgetful.log
    echo "with leases that are not stored no error was found"
    exit 1
fi
grep -m 1 'assertion violated' forgetful.log
