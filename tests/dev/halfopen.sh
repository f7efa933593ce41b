#!/usr/bin/env bash
#  10,000 connections to the tcp port that never finish their handshake, and the rest of the security tests: ./dev halfopen [CONNECTIONS]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

./dev build
ARGOS_BUILD=$PWD/build ARGOS_HALF_OPEN=${1:-10000} exec /usr/bin/python3 -B -m pytest -q tests/system/test_security.py
