#!/usr/bin/env bash
#  two hosts (network namespaces) over tcp + CURVE under link failures, partitions, kills: ./dev faults [FAULTS] [SEED]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD=$PWD/build exec /usr/bin/python3 -B tests/system/netfaults.py "${1:-100}" ${2:+"$2"}
