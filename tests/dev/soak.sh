#!/usr/bin/env bash
#  half an hour of clients of the HTTP interface that read, crawl, take nothing, leave and err, and wrk beside them; descriptors and memory have to stay: ./dev soak [MINUTES]
#
#  Wants Debian's wrk (apt-get install wrk). Not a part of ./dev test.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

if ! command -v wrk >/dev/null; then
    echo "soak: there is no wrk: apt-get install wrk" >&2
    exit 1
fi
./dev build
ARGOS_BUILD="${ARGOS_BUILD:-$PWD/build}" exec /usr/bin/python3 -B tests/system/soak.py "${1:-30}"
