"""Faults of the network between two hosts, few; the whole of it is ./dev faults."""
import collections
import ctypes
import os
import random
import select
import socket
import time

import pytest

import netfaults
from conftest import DEADLINE_S

MESSAGES, FAULTS, FAULT_S = 100, 5, (0.2, 1.5)
CLONE_NEWNET = 0x40000000
DATAGRAMS = 120  # As many as a socket holds

pytestmark = pytest.mark.own_placement


def skip_loudly(capsys, why):
    if why:
        with capsys.disabled():
            print(f"\nSKIPPED: no network namespaces here: {why}")
        pytest.skip(why)


def test_nothing_is_lost_between_two_hosts(capsys):
    with capsys.disabled():
        print()
        why = netfaults.main(MESSAGES, random.randrange(1 << 32), FAULTS, FAULT_S)
    skip_loudly(capsys, why)


class Ends:
    """A datagram socket in each of the two namespaces."""

    def __init__(self, net):
        self.net = net
        self.near, self.far = self._open(net.core, netfaults.CORE), self._open(net.edge, netfaults.EDGE)

    def _open(self, name, address):
        #  A socket belongs to the namespace of the thread that makes it
        libc = ctypes.CDLL(None, use_errno=True)
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{name}", os.O_RDONLY)
        try:
            assert libc.setns(there, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            assert libc.setns(here, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        finally:
            os.close(here)
            os.close(there)
        made.bind((address, 7000))
        return made

    def carry(self, words):
        """Numbered datagrams under that weather: (the numbers that arrive, in order; what the relay has counted)."""
        self.net.weather(words)
        for number in range(DATAGRAMS):
            self.near.sendto(b"%d" % number, (netfaults.EDGE, 7000))
        counts, arrived = collections.Counter(), []
        deadline = time.monotonic() + DEADLINE_S
        while not counts or len(arrived) != DATAGRAMS - counts["lost"] + counts["duplicated"]:
            assert time.monotonic() < deadline, f"{len(arrived)} have arrived, {counts}"
            while select.select([self.far], [], [], 0.02)[0]:
                arrived.append(int(self.far.recv(64)))
            counts += self.net.weather(words)  # The same weather
        return arrived, counts

    def close(self):
        self.near.close()
        self.far.close()


@pytest.fixture
def ends(capsys):
    net = netfaults.Net(seed=1)
    why = net.open()
    if why:
        net.close()
    skip_loudly(capsys, why)
    ends = Ends(net)
    yield ends
    ends.close()
    net.close()


def test_the_relay_does_what_it_is_told(ends):
    numbers = list(range(DATAGRAMS))
    assert ends.carry("")[0] == numbers
    arrived, counts = ends.carry("loss=30")
    assert arrived == sorted(arrived) and len(arrived) == DATAGRAMS - counts["lost"] and 15 < counts["lost"] < 60
    arrived, counts = ends.carry("delay=20-60")
    assert arrived == numbers
    arrived, counts = ends.carry("reorder=25")
    assert sorted(arrived) == numbers and arrived != numbers and counts["reordered"] > 12
    arrived, counts = ends.carry("duplicate=25")
    assert sorted(set(arrived)) == numbers and len(arrived) == DATAGRAMS + counts["duplicated"] and counts["duplicated"] > 12
