#!/usr/bin/env bash
#  1,000 background jobs while argosd is killed 100 times at random instants, and what must hold afterwards, and one of 10 GB of output: ./dev jobs [JOBS] [KILLS] [SEED]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD=$PWD/build exec /usr/bin/python3 -B tests/system/jobloop.py "${1:-1000}" "${2:-100}" ${3:+"$3"}
