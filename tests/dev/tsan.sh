#!/usr/bin/env bash
#  everything that ctest runs, and the main job, under ThreadSanitizer
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
cmake -S . -B build/tsan "${generator[@]}" -DCMAKE_BUILD_TYPE=Debug -DARGOS_SANITIZE=thread -DARGOS_TESTS=ON >&2
cmake --build build/tsan -j "$(nproc)" >&2
export TSAN_OPTIONS="suppressions=$PWD/tests/dev/tsan.supp halt_on_error=0 exitcode=66 ${TSAN_OPTIONS:-}"
export ARGOS_DEADLINE_S=120
status=0
#  The simulator and the model have one thread; a few seeds on disk are enough here
ctest --test-dir build/tsan -j "$(nproc)" --output-on-failure -E "sim/memory|model/" "$@" || status=$?
ARGOS_BUILD=$PWD/build/tsan /usr/bin/python3 -m pytest tests/system/test_adapter_pyzmq.py tests/system/test_gateway.py \
    tests/system/test_api.py -q -p no:cacheprovider || status=$?
exit $status
