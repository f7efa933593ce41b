"""A message that never ends can't fill the memory: raw ZMTP over the ipc socket, frame after frame with the MORE flag."""
import json
import os
import socket
import struct
import threading

import pytest
import zmq

from test_adapter_pyzmq import Peer

GROWTH_MAX = 64 << 20
FLOOD = 1 << 30


class RawDealer:
    """ZMTP/3.0 with the NULL mechanism, as far as a DEALER that only talks needs it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.socket.sendall(b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        self._read(64)
        ready = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
        self.socket.sendall(b"\x04" + bytes([len(ready)]) + ready)
        self._read(self._read(2)[1])

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece, "closed in the handshake"
            data += piece
        return data

    def flood(self, total, part):
        """Send parts that never end; returns how many bytes went before the connection was cut, at most total."""
        header = b"\x01" + bytes([len(part)]) if len(part) < 256 else b"\x03" + struct.pack(">Q", len(part))
        data = (header + part) * max(1, (1 << 18) // (len(header) + len(part)))
        sent = 0
        try:
            while sent < total:
                self.socket.sendall(data)
                sent += len(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return sent


def rss(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS:"))


class Watch(threading.Thread):
    """An honest peer beside the flood: asks for the status again and again, and notes the most memory it has seen."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.peer = Peer(daemon.endpoint, "honest")
        self.pid = daemon.process.pid
        self.first = self.most = rss(self.pid)
        self.answers = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set() or self.answers == 0:
            answer = self.peer.ask({"type": "broker.status", "to": "actor:broker"})
            assert answer[0]["type"] == "broker.status.result"
            self.answers += 1
            self.most = max(self.most, rss(self.pid))


@pytest.fixture
def small(daemon):
    """An argosd whose freed memory does not stay with the sanitizer, where there is one."""
    daemon.start(env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"})
    yield daemon
    assert daemon.stop() == 0, daemon.text()


@pytest.mark.parametrize("size", [0, 1, 100, 65536])
def test_a_message_that_never_ends_is_cut(small, size):
    watch = Watch(small)
    watch.start()
    sent = RawDealer(small.endpoint[len("ipc://"):]).flood(FLOOD, bytes(size))
    watch.over.set()
    watch.join(20)
    assert not watch.is_alive() and watch.answers > 0
    print(f"cut after {sent >> 20} MiB, memory grew by {(watch.most - watch.first) >> 20} MiB")
    assert sent < FLOOD
    assert watch.most - watch.first < GROWTH_MAX
    watch.peer.close()


def test_many_messages_that_never_end_are_cut_one_by_one(small):
    watch = Watch(small)
    watch.start()
    for _ in range(8):
        assert RawDealer(small.endpoint[len("ipc://"):]).flood(FLOOD, bytes(1000)) < FLOOD
    watch.over.set()
    watch.join(20)
    assert watch.most - watch.first < GROWTH_MAX + 8 * (8 << 20)
    watch.peer.close()


def test_what_is_not_our_wire_is_cut(small):
    raw = socket.socket(socket.AF_UNIX)
    raw.settimeout(20)
    raw.connect(small.endpoint[len("ipc://"):])
    sent = 0
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        while sent < FLOOD:
            raw.sendall(b"GET / HTTP/1.1\r\n" * 4096)
            sent += 1 << 16
    assert rss(small.process.pid) < GROWTH_MAX * 2


@pytest.mark.parametrize("routing_id", [b"me", b"abcde", b"x" * 255])
def test_a_routing_id_of_ones_own_is_refused(argosd, routing_id):
    peer = zmq.Context.instance().socket(zmq.DEALER)
    peer.setsockopt(zmq.ROUTING_ID, routing_id)
    peer.setsockopt(zmq.LINGER, 0)
    peer.connect(argosd.endpoint)
    peer.send_multipart([b"AR1", b'{"type":"hello","id":"h"}', b"", b'{"name":"x","instance":1,"protocol":1,"leases":[]}'])
    assert peer.poll(10_000)
    frames = peer.recv_multipart()
    assert json.loads(frames[1]) == {"type": "refused", "re": "h"}
    assert json.loads(frames[3])["code"] == "invalid"
    peer.close()
    Peer(argosd.endpoint, "honest").close()


def test_many_small_messages_are_no_flood(argosd):
    peer = Peer(argosd.endpoint, "busy")
    for number in range(40_000):
        peer.send({"type": "ping"})
        if number % 1000 == 0:
            assert peer.ask({"type": "ping"})[0]["type"] == "pong"
    assert peer.ask({"type": "broker.status", "to": "actor:broker"})[0]["type"] == "broker.status.result"
    peer.close()
