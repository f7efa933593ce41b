#!/usr/bin/env bash
#  seeds of the simulator in a release build: ./dev sim [N, default 10000] [FIRST, default 1]

set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
count=${1:-10000}
first=${2:-1}
jobs=${ARGOS_JOBS:-$(nproc)}
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
cmake -S . -B build/sim "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DARGOS_BUGGIFY=ON >&2
cmake --build build/sim -j "$jobs" --target argos-sim >&2
share=$(((count + jobs - 1) / jobs))
running=()
for ((job = 0; job < jobs && job * share < count; job++)); do
    begin=$((first + job * share))
    end=$((begin + share - 1))
    last=$((first + count - 1))
    build/sim/argos-sim --seeds "$begin-$((end < last ? end : last))" &
    running+=($!)
done
status=0
for process in "${running[@]}"; do
    wait "$process" || status=1
done
exit "$status"
