"""How many connections there can be, and what one may do before it is a peer: limits of the broker's doors, over ipc and tcp."""
import os
import re
import resource
import socket
import subprocess
import time

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from conftest import DEADLINE_S, wait_until
from edge import free_port
from test_adapter_pyzmq import Peer, inbound
from test_security import connected, hear, new_key, welcomed

LIMIT = 40
PART_MAX = 1 << 20
HANDSHAKE_S = 5


def door(daemon, tcp=False):
    """A connection that says nothing; None when it was closed at once. An open one hears the greeting of ZMTP."""
    sock = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
    sock.settimeout(DEADLINE_S)
    try:
        sock.connect(("127.0.0.1", daemon.tcp_port) if tcp else daemon.endpoint[len("ipc://"):])
        if sock.recv(1):
            return sock
    except (ConnectionResetError, BrokenPipeError):
        pass
    sock.close()
    return None


def crowd(daemon, count, tcp=False):
    """Of so many those that were let in."""
    return [sock for sock in (door(daemon, tcp) for _ in range(count)) if sock]


def works(peer):
    header, body, _ = inbound("still there?")
    assert peer.ask(header, body)[0]["type"] == "accepted"


@pytest.fixture
def doors(daemon):
    """A daemon that takes 40 connections, and listens on ipc and tcp."""
    daemon.tcp_port = free_port()
    daemon.tcp = f"tcp://127.0.0.1:{daemon.tcp_port}"
    daemon.good = new_key(daemon, "good", "client")
    (daemon.home / "argos.yaml").write_text(f'bind: [ipc, "{daemon.tcp}"]\nbroker: {{connections_max: {LIMIT}}}\n')
    daemon.start()
    yield daemon
    assert daemon.stop() == 0, daemon.text()


def test_above_the_limit_connections_are_closed_at_once_and_below_it_taken_again(doors):
    peer = Peer(doors.endpoint, "honest")
    inside = crowd(doors, LIMIT + 20)
    assert LIMIT // 2 < len(inside) < LIMIT
    assert door(doors) is None
    works(peer)
    assert f"at the limit of {LIMIT}" in doors.wait_log("connections refused")
    for sock in inside[:10]:
        sock.close()
    wait_until(lambda: door(doors))
    late = Peer(doors.endpoint, "late")
    works(late)
    works(peer)
    for sock in inside[10:]:
        sock.close()
    late.close()
    peer.close()


def test_strangers_over_tcp_do_not_keep_out_who_is_here(doors):
    key = welcomed(doors, "good.first", doors.good)
    strangers = crowd(doors, LIMIT + 20, tcp=True)
    assert LIMIT // 2 < len(strangers) < LIMIT * 3 // 4
    peer = Peer(doors.endpoint, "honest")
    works(peer)
    for sock in strangers:
        sock.close()
    welcomed(doors, "good.second", doors.good).close()
    key.close()
    peer.close()


def test_a_handshake_takes_five_seconds_at_most(doors):
    began = time.monotonic()
    stuck = [door(doors), door(doors, tcp=True)]
    for sock in stuck:
        sock.settimeout(DEADLINE_S)
        while sock.recv(100):
            pass  # The rest of the greeting
        assert time.monotonic() - began > HANDSHAKE_S - 2
        sock.close()


def test_a_part_that_is_too_large_ends_the_connection(doors):
    for sock in connected(doors.endpoint, "big"), welcomed(doors, "good.big", doors.good):
        events = sock.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        sock.send_multipart([b"AR1", b'{"type":"ping","id":"p"}', b"", bytes(PART_MAX + 1)])
        assert events.poll(DEADLINE_S * 1000)
        assert recv_monitor_message(events)["event"] == zmq.EVENT_DISCONNECTED
        sock.disable_monitor()
        sock.close()
    fits = connected(doors.endpoint, "fits")
    assert hear(fits)[0]["type"] == "welcome"
    fits.send_multipart([b"AR1", b'{"type":"ping","id":"p"}', b"", b"{}" + b" " * (PART_MAX - 2)])
    assert hear(fits)[0]["type"] == "pong"
    fits.close()


@pytest.mark.parametrize("tcp", [False, True])
def test_who_knocks_without_end_is_not_let_in_each_time(doors, tcp):
    peer = Peer(doors.endpoint, "honest")

    def knock():
        for _ in range(1000):
            sock = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", doors.tcp_port) if tcp else doors.endpoint[len("ipc://"):])
            sock.close()
        works(peer)
        return re.search(r"[1-9]\d* beyond 500 a second", doors.text())

    wait_until(knock)
    Peer(doors.endpoint, "late").close()


def test_256_connections_may_wait_at_each_door(doors):
    for words in ["-ltn", f"sport = :{doors.tcp_port}"], ["-lx", "src", doors.endpoint[len("ipc://"):]]:
        shown = subprocess.run(["ss", "-H", *words], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
        words = shown.split()
        assert words[words.index("LISTEN") + 2] == "256", shown  # Behind it: how many wait, how many may


def descriptors(daemon):
    return sorted(int(name) for name in os.listdir(f"/proc/{daemon.process.pid}/fd"))


def test_descriptors_are_kept_for_what_is_not_a_connection(daemon):
    daemon.prefix = ["prlimit", "--nofile=140:140"]
    daemon.start()
    peer = Peer(daemon.endpoint, "honest")
    inside = crowd(daemon, 200)
    assert inside and descriptors(daemon)[-1] < 140 - 20
    works(peer)
    assert ", 0 for want of descriptors" not in daemon.wait_log("connections refused")
    for sock in inside:
        sock.close()
    late = wait_until(lambda: door(daemon))
    works(peer)
    late.close()
    peer.close()
    assert daemon.stop() == 0, daemon.text()


def test_without_any_descriptor_connections_are_closed_and_peers_served(daemon):
    daemon.start()
    peer = Peer(daemon.endpoint, "honest")  # No turn before the crowd has come: its provider's connection would be the last descriptor
    pid, hard = daemon.process.pid, resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(daemon)[-1] + 1, hard[1]))
    inside = crowd(daemon, 200)  # Each is let in or closed: none waits, and nothing turns in vain
    assert len(inside) < 100
    works(peer)
    assert ", 0 for want of descriptors" not in daemon.wait_log("connections refused")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, hard)
    Peer(daemon.endpoint, "late").close()
    for sock in inside:
        sock.close()
    peer.close()
    assert daemon.stop() == 0, daemon.text()
