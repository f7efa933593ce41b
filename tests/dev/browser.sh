#!/usr/bin/env bash
#  headless Chromium reads a run from a page of another origin: what CORS allows and refuses
#
#  Wants Debian's chromium (apt-get install chromium; $CHROMIUM names another one) and npm for playwright-core, which drives it. Not a
#  part of ./dev test: a browser is 300 MB.

set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    echo "browser: there is no chromium: apt-get install chromium" >&2
    exit 1
fi
./dev build
(cd tests/browser && npm ci --ignore-scripts --no-audit --no-fund >/dev/null)
exec env ARGOS_BUILD="${ARGOS_BUILD:-$PWD/build}" node --test tests/browser/cors.test.mjs
