#!/usr/bin/env bash
#  5,000 messages to a platform's fake and back under all its faults, kill -9 of the adapter every 2 s, and a count: ./dev chaos [telegram|discord|slack] [MESSAGES] [SEED] [KILL_S] [--json]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD=$PWD/build exec /usr/bin/python3 -B tests/system/chaos.py "$@"
