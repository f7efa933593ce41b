#!/usr/bin/env bash
#  What runs the models: sourced by test_models.sh and by ./dev model.
#
#  holds MODEL MEMORY_MB DEFINES: spin finds no error and has looked everywhere.
#  fails MODEL MEMORY_MB DEFINES: with a planted fault it finds one.
#  verdict: the last line, and whether all was as it has to be.

command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
command -v gcc >/dev/null || { echo "gcc is not installed"; exit 77; }
models=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
folder=$(mktemp -d "${TMPDIR:-/tmp}/argos-model-XXXXXX")
trap 'rm -rf "$folder"' EXIT

passed=0
failed=0

#  right TEXT, wrong TEXT: one more of either, and what is said of it
right () { passed=$((passed + 1)) && echo "$1"; }
wrong () { failed=$((failed + 1)) && cat "$folder/pan.log" && echo "$1"; }

verdict () {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

search () {
    local model=$1 memory=$2
    shift 2
    (cd "$folder" && rm -f pan* ./*.trail && spin -a "$@" "$models/$model.pml" >spin.log &&
        gcc "${LEVEL:--O1}" -w -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 "-DMEMLIM=$memory" -o pan pan.c &&
        { ./pan -E -w22 -m1000000 >pan.log 2>&1 || true; })
    errors=$(grep -oE 'errors: [0-9]+' "$folder/pan.log" | grep -oE '[0-9]+') || {
        cat "$folder"/*.log
        echo "$model $*: did not run to its end"
        exit 1
    }
}

holds () {
    search "$@"
    if [ "$errors" != 0 ] || grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' "$folder/pan.log"; then
        wrong "$*: an error was found, or the search is not complete"
        return
    fi
    right "$*: holds, $(grep -oE '[0-9.e+]+ states, stored' "$folder/pan.log")"
}

fails () {
    LEVEL=-O0 search "$@"
    if [ "$errors" = 0 ]; then
        wrong "$*: the planted fault was not found"
        return
    fi
    right "$*: found, $(grep -m 1 -oE 'assertion violated.*' "$folder/pan.log")"
}
