#!/usr/bin/env bash
#  Small configurations of the models hold; with each planted fault they fail.

set -euo pipefail
source "$(dirname "$(readlink -f "$0")")/model.sh"
still=(-DNM=1 -DCRASHES=0 -DEXPIRES=0 -DWCRASH=0)
crash=(-DNM=1 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=0)
lanes=(-DNM=2 -DCRASHES=0 -DEXPIRES=0 -DWCRASH=0 -DLANES=2 -DEXPECT=1)

holds lane 900 "${crash[@]}" -DDEAD=1
holds lane 900 "${still[@]}" -DPARK=1 -DMAIL=1
holds lane 900 "${lanes[@]}"
holds credit 900
fails lane 900 -DNM=1 -DCRASHES=1 -DEXPIRES=0 -DWCRASH=1 -DNOPERSIST=1
fails lane 900 "${crash[@]}" -DREAPPLY=1
fails lane 900 "${crash[@]}" -DDEAD=1 -DKEEPDEAD=1
fails lane 900 "${still[@]}" -DMAIL=1 -DNONEWS=1
fails lane 900 "${still[@]}" -DPARK=1 -DMAIL=1 -DDEAFPARK=1
fails lane 900 "${still[@]}" -DPARK=1 -DMAIL=1 -DLATEPARK=1
fails lane 900 -DNM=2 -DCRASHES=0 -DEXPIRES=0 -DWCRASH=0 -DTWOHOLDERS=1
fails lane 900 "${lanes[@]}" -DNOEXPECT=1
for fault in RELATIVE NOREPEAT KEEPCOUNT KEEPGRANT; do
    fails credit 900 "-D$fault=1"
done
holds handoff 900
for fault in NOEPOCH BLINDFAIL LATESENT NOBACK NOEXPIRE; do
    fails handoff 900 "-D$fault=1"
done
#  The tables that judge histories of the real store allow those of the models, and object to faults
/usr/bin/python3 -B "$models/replay.py" test
/usr/bin/python3 -B "$models/replay_handoff.py" test
verdict
