#!/usr/bin/env bash
#  kill -9 of argosd and its client, 200 times at random instants, and what must hold afterwards: ./dev killloop [KILLS] [SEED]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD=$PWD/build exec /usr/bin/python3 -B tests/system/killloop.py "${1:-200}" ${2:+"$2"}
