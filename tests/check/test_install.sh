#!/usr/bin/env bash
#  test_install - what `./dev install` puts into a prefix runs from there, the units name it, and its manual pages are well.

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

#  The verbs build all that there is: cmake installs targets that nobody has asked it to build
for verb in install package; do
    sed -n "/^verb_$verb ()/,/^}/p" "$ARGOS_SOURCE/dev" | grep -qx '    build_release'
done

cmake --install "$ARGOS_BUILD" --prefix "$folder/to" >/dev/null
for unit in system user; do
    grep -qF "ExecStart=$folder/to/bin/argosd" "$folder/to/lib/systemd/$unit/argosd.service"
done
[ -s "$folder/to/share/doc/argos/README.md" ]

for page in man1/argos.1 man5/argos.yaml.5 man7/argos-protocol.7 man8/argosd.8; do
    mandoc -T lint -W warning "$folder/to/share/man/$page"
done

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
