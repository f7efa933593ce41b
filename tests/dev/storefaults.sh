#!/usr/bin/env bash
#  each call of the store to its files fails, once and for good, and the power fails 1000 times: ./dev storefaults
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DARGOS_TESTS=ON >/dev/null
cmake --build build/release -j2 --target fault_test_store_calls
ARGOS_FAULT_STRIDE=1 exec build/release/tests/fault/test_store_calls
