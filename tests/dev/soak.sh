#!/usr/bin/env bash
#  half an hour of clients of the HTTP interface that read, crawl, leave and err; descriptors and memory have to stay: ./dev soak [MINUTES]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD="${ARGOS_BUILD:-$PWD/build}" exec /usr/bin/python3 -B tests/system/soak.py "${1:-30}"
