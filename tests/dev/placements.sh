#!/usr/bin/env bash
#  the system tests in each placement: one process, isolated actors, two nodes over tcp + CURVE
#  ARGOS_PLACEMENTS: which of them. Each file of tests is a process; they wait most of the time, so three run at once.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
export ARGOS_SOURCE=$PWD ARGOS_BUILD=${ARGOS_BUILD:-$PWD/build/debug} PYTHONDONTWRITEBYTECODE=1
status=0
unshare --mount true 2>/dev/null || echo "mounts of its own are not permitted here: with nodes each process sees the home of the other"
for placement in ${ARGOS_PLACEMENTS:-one isolate nodes}; do
    echo "== $placement"
    logs=$ARGOS_BUILD/placement/$placement
    rm -rf "$logs" && mkdir -p "$logs"
    find tests/system -name 'test_*.py' -printf '%s %f\n' | sort -rn | cut -d ' ' -f 2 |
        ARGOS_PLACEMENT=$placement LOGS=$logs xargs -P 3 -I{} bash -c \
            '/usr/bin/python3 -m pytest tests/system/{} -q -rs -p no:cacheprovider </dev/null >"$LOGS/{}.log" 2>&1 || [ $? -eq 5 ]' || status=1
    cat "$logs"/*.log | grep -E '^(FAILED|ERROR|SKIPPED) ' || true
    tail -qn 1 "$logs"/*.log | grep -oE '[0-9]+ (passed|failed|skipped|errors?)' | awk '{n[$2] += $1} END {for (what in n) print n[what], what}'
done
exit $status
