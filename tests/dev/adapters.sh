#!/usr/bin/env bash
#  What the adapters cost on the fakes of their platforms: messages in and out a second, private memory (<= 4 MiB), idle processor time; and after how many seconds a dead connection is noticed (<= 60): ./dev adapters [telegram|discord|slack]... [MESSAGES]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
export ARGOS_BUILD=$PWD/build
/usr/bin/python3 -B tests/system/adapter_bench.py "$@"
exec /usr/bin/python3 -B tests/system/zombies.py "$@"
