#!/usr/bin/env bash
#  What runs the models: sourced by test_models.sh and by ./dev model.
#
#  holds MODEL MEMORY_MB DEFINES: spin finds no error and has looked everywhere.
#  fails MODEL MEMORY_MB DEFINES: with a planted fault it finds one.

command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
command -v gcc >/dev/null || { echo "gcc is not installed"; exit 77; }
models=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
folder=$(mktemp -d "${TMPDIR:-/tmp}/argos-model-XXXXXX")
trap 'rm -rf "$folder"' EXIT

search () {
    local model=$1 memory=$2
    shift 2
    (cd "$folder" && rm -f pan* ./*.trail && spin -a "$@" "$models/$model.pml" >spin.log &&
        gcc "${LEVEL:--O1}" -w -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 "-DMEMLIM=$memory" -o pan pan.c &&
        { ./pan -E -w22 -m1000000 >pan.log 2>&1 || true; })
    errors=$(grep -oE 'errors: [0-9]+' "$folder/pan.log" | grep -oE '[0-9]+')
}

holds () {
    search "$@"
    if [ "$errors" != 0 ] || grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' "$folder/pan.log"; then
        cat "$folder/pan.log"
        echo "$*: an error was found, or the search is not complete"
        exit 1
    fi
    echo "$*: holds, $(grep -oE '[0-9.e+]+ states, stored' "$folder/pan.log")"
}

fails () {
    LEVEL=-O0 search "$@"
    if [ "$errors" = 0 ]; then
        cat "$folder/pan.log"
        echo "$*: the planted fault was not found"
        exit 1
    fi
    echo "$*: found, $(grep -m 1 -oE 'assertion violated.*' "$folder/pan.log")"
}
