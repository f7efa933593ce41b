"""Faults of the network between two hosts, few; the whole of it is ./dev faults."""
import random

import pytest

import netfaults
from conftest import PLACEMENT

FAULTS = 6


@pytest.mark.skipif(PLACEMENT != "one", reason="makes placements of its own")
def test_nothing_is_lost_between_two_hosts(capsys):
    with capsys.disabled():
        print()
        why = netfaults.main(FAULTS, random.randrange(1 << 32))
        if why:
            print(f"SKIPPED: no network namespaces here: {why}")
    if why:
        pytest.skip(why)
