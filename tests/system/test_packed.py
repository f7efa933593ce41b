"""The packed form of docs/protocol.md, spoken by hand: one frame for a small message, agreed on by version 2 of the protocol."""
import json
import struct
import time
import uuid

import pytest
import zmq

from test_adapter_pyzmq import Peer, inbound

PACK_MAX = 4096
WINDOW = 256  # Messages; the broker grants more when half of it is settled


def pack(*pieces):
    return b"AR1" + bytes([len(pieces)]) + b"".join(struct.pack(">H", len(piece)) for piece in pieces) + b"".join(pieces)


def unpack(frame):
    count = frame[3]
    sizes, at, pieces = struct.unpack(f">{count}H", frame[4:4 + 2 * count]), 4 + 2 * count, []
    for size in sizes:
        pieces.append(frame[at:at + size])
        at += size
    assert frame[:3] == b"AR1" and at == len(frame) <= PACK_MAX
    return pieces


class Packer(Peer):
    """Packs all that it sends but the hello, whatever its size; notes of what it gets in which form it came."""

    def __init__(self, endpoint, name, versions=(1, 2)):
        self.versions, self.forms, self.packs = list(versions), [], False
        super().__init__(endpoint, name)
        self.packs = self.welcome["protocol"] >= 2

    def send(self, header, body=None, parts=()):
        if header["type"] == "hello":
            body = {**body, "protocol": self.versions[1], "protocols": self.versions}
        if not self.packs:
            super().send(header, body, parts)
            return
        pieces = [json.dumps(header).encode(), b"", b"" if body is None else json.dumps(body).encode()]
        for part in parts:
            pieces += [json.dumps(piece).encode() for piece in part]
        self.socket.send(pack(*pieces))

    def receive(self, wanted):
        while True:
            assert self.socket.poll(20000), "nothing came before the deadline"
            frames = self.socket.recv_multipart()
            packed = len(frames) == 1
            header, meta, body = unpack(frames[0]) if packed else frames[1:]
            message = (json.loads(header), json.loads(meta or b"{}"), json.loads(body or b"{}"))
            self.forms.append((message[0]["type"], packed))
            if wanted(message[0], message[1]):
                return message


@pytest.fixture
def packer(shared_argosd):
    peer = Packer(shared_argosd.endpoint, "test.packer")
    yield peer
    peer.close()


def test_small_messages_are_one_frame_both_ways_and_large_ones_are_not(shared_argosd, packer):
    assert packer.forms == [("welcome", False)] and packer.welcome["protocol"] == 2
    old = Peer(shared_argosd.endpoint, "test.old")  # Version 1: gets frames for ever
    assert old.welcome["protocol"] == 1
    for peer in (packer, old):
        peer.send({"type": "credit"}, {"messages": 100, "bytes": 10_000_000})
    assert packer.ask({"type": "ping"})[0]["type"] == "pong"
    # A message of each to the other; `old` reads AR1 only
    packer.send({"type": "test.say", "to": "actor:test.old"}, {"text": "small"})
    header, meta, body = old.receive(lambda h, m: h["type"] == "test.say")
    assert (meta["from"], body) == ("test.packer", {"text": "small"})
    for size, packed in ((10, True), (PACK_MAX, False)):
        old.send({"type": "test.answer", "to": "actor:test.packer"}, {"text": "x" * size})
        assert packer.receive(lambda h, m: h["type"] == "test.answer")[2] == {"text": "x" * size}
        assert packer.forms[-1] == ("test.answer", packed)
    # A commit of two parts, which the store takes
    parts = [inbound(text)[:2] for text in ("one", "two")]
    answer = packer.ask({"type": "commit"}, parts=parts)
    assert answer[0]["type"] == "accepted" and answer[2]["seq"] > 0, answer
    assert all(packed for kind, packed in packer.forms if kind in ("pong", "accepted", "credit"))
    old.close()


def test_the_window_counts_the_same_bytes(shared_argosd):
    """Of header and body: what a message costs does not depend on its form."""
    counted = []
    for versions in ((1, 1), (1, 2)):
        peer = Packer(shared_argosd.endpoint, "test.window", versions)
        for _ in range(WINDOW // 2 + 1):
            peer.send({"type": "test.ask", "id": uuid.uuid4().hex, "to": "actor:test.nobody"}, {"text": "x" * 500})
        counted.append(peer.receive(lambda h, m: h["type"] == "credit")[2])
        peer.close()
    assert counted[0] == counted[1] and counted[0]["bytes"] > peer.welcome["window"]["bytes"]


BROKEN = {
    "no piece": b"AR1\0", "no sizes": b"AR1\x03", "cut": pack(b'{"type":"ping","id":"x"}', b"", b"{}")[:-1],
    "a byte more": pack(b'{"type":"ping","id":"x"}', b"", b"{}") + b" ", "sizes beyond": b"AR1\x03" + b"\xff" * 6 + b"{}",
    "too many": pack(*[b""] * 132), "too large": pack(b'{"type":"ping","id":"x"}', b"", b" " * PACK_MAX), "other": b"AR2" + bytes(20),
}
ODD = {"one piece": [b'{"type":"ping","id":"x"}'], "two": [b'{"type":"ping","id":"x"}', b""],
       "odd": [b'{"type":"commit","id":"x"}', b"", b"", b"{}"], "meta": [b'{"type":"ping","id":"x"}', b'{"from":"root"}', b""],
       "header": [b'{"type":"ping","id":"x","colour":1}', b"", b""]}


@pytest.mark.parametrize("name", [*BROKEN, *ODD])
def test_what_is_malformed_is_refused(packer, name):
    packer.socket.send(BROKEN[name] if name in BROKEN else pack(*ODD[name]))
    header, _, body = packer.receive(lambda h, m: h["type"] == "refused")
    assert body["code"] == "invalid" and body["reason"]
    assert header.get("re") == (None if name in BROKEN else "x")
    assert packer.ask({"type": "ping"})[0]["type"] == "pong"


def test_a_packed_message_among_frames_is_refused(packer):
    packer.socket.send_multipart([pack(b'{"type":"ping","id":"x"}', b"", b""), b"{}"])
    assert packer.receive(lambda h, m: h["type"] == "refused")[2]["code"] == "invalid"
    assert packer.ask({"type": "ping"})[0]["type"] == "pong"


def test_without_a_session_the_answer_is_in_frames(shared_argosd):
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(shared_argosd.endpoint)
    socket.send(pack(b'{"type":"ping","id":"x"}', b"", b""))
    assert socket.poll(20000)
    frames = socket.recv_multipart()
    assert len(frames) == 4 and json.loads(frames[3])["code"] == "no_session" and json.loads(frames[1])["re"] == "x"
    # A hello may be packed, its answer is not
    hello = {"name": "test.bare", "instance": int(time.time() * 1000), "protocol": 2}
    socket.send(pack(b'{"type":"hello","id":"h"}', b"", json.dumps(hello).encode()))
    assert socket.poll(20000)
    assert len(socket.recv_multipart()) == 4
    socket.close()
