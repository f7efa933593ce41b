#!/usr/bin/env bash
#  What the adapters cost on the fakes of their platforms: messages in and out a second, private memory (<= 4 MiB), idle processor time: ./dev adapters [telegram|discord|slack]... [MESSAGES]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD=$PWD/build exec /usr/bin/python3 -B tests/system/adapter_bench.py "$@"
