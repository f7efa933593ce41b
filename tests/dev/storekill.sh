#!/usr/bin/env bash
#  kill -9 of a writer in the middle of its batches, 500 times, and what must hold: ./dev storekill [KILLS] [SEED]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DARGOS_TESTS=ON >/dev/null
cmake --build build/release -j2 --target fault_test_store_kill
ARGOS_KILLS=${1:-500} ARGOS_SEED=${2:-1} exec build/release/tests/fault/test_store_kill
