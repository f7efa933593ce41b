#!/usr/bin/env bash
#  the system test of the main job with argosd under valgrind: no error, no definite leak
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
command -v valgrind >/dev/null || apt-get install -y --no-install-recommends valgrind </dev/null
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
cmake -S . -B build/plain "${generator[@]}" -DCMAKE_BUILD_TYPE=Debug -DARGOS_SANITIZE=none >&2
cmake --build build/plain -j "$(nproc)" --target argosd argos >&2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/argosd" <<END
#!/bin/bash
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
    --suppressions="$PWD/tests/dev/valgrind.supp" --log-file="$folder/log.%p" "$PWD/build/plain/argosd" "\$@"
END
chmod +x "$folder/argosd"
ln -s "$PWD/build/plain/argos" "$folder/argos"
export ARGOS_DEADLINE_S=120
status=0
ARGOS_BUILD=$folder /usr/bin/python3 -m pytest tests/system/test_adapter_pyzmq.py tests/system/test_gateway.py \
    -q -p no:cacheprovider "$@" || status=$?
if grep -hE '^==' "$folder"/log.*; then
    status=1
fi
exit $status
