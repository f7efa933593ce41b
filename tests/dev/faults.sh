#!/usr/bin/env bash
#  two hosts (network namespaces) over tcp + CURVE under loss, delay, partitions, kills: ./dev faults [MESSAGES, default 10000] [SEED]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
cmake --build build --target argos-relay >&2
ARGOS_BUILD=$PWD/build exec /usr/bin/python3 -B tests/system/netfaults.py "${1:-10000}" ${2:+"$2"}
