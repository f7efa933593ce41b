#!/usr/bin/env bash
#  the models for spin: small configurations, planted faults, large configurations: ./dev model [MEMORY in MB, default 6000]

set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
memory=${1:-6000}
bash tests/model/test_models.sh
source tests/model/model.sh

holds credit "$memory" -DN=12 -DWINDOW=3 -DLOSSES=4 -DCUTS=3
holds lane "$memory" -DNM=1 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=1
holds lane "$memory" -DNM=1 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=0 -DPARK=1 -DMAIL=1
holds lane "$memory" -DNM=1 -DCRASHES=1 -DEXPIRES=1 -DWCRASH=0 -DDEAD=1
holds lane "$memory" -DNM=2 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=0
holds lane "$memory" -DNM=2 -DCRASHES=0 -DEXPIRES=1 -DWCRASH=0 -DLANES=2 -DEXPECT=1
holds lane "$memory" -DNM=2 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=0 -DLANES=2 -DEXPECT=1
holds handoff "$memory" -DREQUESTS=3 -DDEATHS=3
verdict
