#!/usr/bin/env bash
#  a demonstration: agent workers and an adapter move to a second node while chats run: ./dev move [CHATS] [SECONDS]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

if [ -z "${ARGOS_BUILD:-}" ]; then
    ./dev build
    export ARGOS_BUILD=$PWD/build
fi
exec /usr/bin/python3 -B tests/system/move.py "${1:-20}" "${2:-20}"
