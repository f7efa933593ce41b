#!/usr/bin/env bash
#  test_install - what `./dev install` puts into a prefix runs from there, and the units name it.

set -euo pipefail
folder=$(mktemp -d)
daemon=""
finish () {
    if [ -n "$daemon" ]; then
        kill -TERM "$daemon" 2>/dev/null || true
        wait "$daemon" || true
    fi
    rm -rf "$folder"
}
trap finish EXIT

cmake --install "$ARGOS_BUILD" --prefix "$folder/to" >/dev/null
for unit in system user; do
    grep -qF "ExecStart=$folder/to/bin/argosd" "$folder/to/lib/systemd/$unit/argosd.service"
done
[ -s "$folder/to/share/doc/argos/README.md" ]

mkfifo "$folder/log"
"$folder/to/bin/argosd" --home "$folder/home" --port 0 2>"$folder/log" &
daemon=$!
exec {log}<"$folder/log"
ready=""
while [ -z "$ready" ] && IFS= read -r -t 30 line <&"$log"; do
    case $line in *event=ready*) ready=1 ;; esac
done
[ -n "$ready" ]
cat <&"$log" >/dev/null &
"$folder/to/bin/argos" --home "$folder/home" --json status | grep -q '"store"'
