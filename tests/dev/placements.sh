#!/usr/bin/env bash
#  the system tests in each placement: one process, isolated actors, two nodes over tcp + CURVE
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
export ARGOS_SOURCE=$PWD ARGOS_BUILD=${ARGOS_BUILD:-$PWD/build/debug} PYTHONDONTWRITEBYTECODE=1
status=0
for placement in ${ARGOS_PLACEMENTS:-one isolate nodes}; do
    echo "== $placement"
    ARGOS_PLACEMENT=$placement /usr/bin/python3 -m pytest tests/system -q -p no:cacheprovider "$@" || status=$?
done
exit $status
