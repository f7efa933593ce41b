"""ARGOS/1 as it was spoken: each file of tests/contract/v1 is a transcript, and today's broker has to speak it still.

A step is [peer, ">", header, body, part header, part body, …] for what the peer sends, [peer, "<", header, meta, body] for what it gets,
[peer, "connect"] or [peer, "close"]. "$name" stands for a value: it is bound where it is got first, and has to be the same from then on
("$instance" and "$next" are numbers that grow with each start). What is got may have more members than are written down. `credit` from the
broker is not written down.
"""
import json
import time

import pytest
import zmq

from conftest import ROOT

FOLDER = ROOT / "tests" / "contract" / "v1"
DEADLINE_MS = 20000


def fill(value, bound):
    """The value with its placeholders replaced."""
    if isinstance(value, dict):
        return {name: fill(item, bound) for name, item in value.items()}
    if isinstance(value, list):
        return [fill(item, bound) for item in value]
    return bound[value] if isinstance(value, str) and value.startswith("$") else value


def fits(wanted, got, bound):
    """Whether everything that is written down is there; binds placeholders."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(name in got and fits(item, got[name], bound) for name, item in wanted.items())
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(fits(*pair, bound) for pair in zip(wanted, got))
    if isinstance(wanted, str) and wanted.startswith("$"):
        return bound.setdefault(wanted, got) == got
    return wanted == got


def dump(value):
    return json.dumps(value, ensure_ascii=False)


def render(transcript):
    """As it is shown in docs/adapters.md: one message a line, frames after AR1 divided by bars; an empty frame is nothing."""
    lines = []
    for _, way, *rest in transcript["steps"]:
        if way == ">":
            rest.insert(1, {})
        if way in "<>":
            lines.append(way + " " + " | ".join("" if frame == {} else dump(frame) for frame in rest).rstrip(" |"))
    return "\n".join(lines)


class Replay:
    """The sockets of one transcript."""

    def __init__(self, endpoint):
        self.endpoint, self.sockets = endpoint, {}
        now = int(time.time() * 1000)
        self.bound = {"$instance": now, "$next": now + 1}

    def connect(self, peer):
        socket = zmq.Context.instance().socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(self.endpoint)
        self.sockets[peer] = socket

    def send(self, peer, *frames):
        header, body, *parts = (dump(fill(frame, self.bound)).encode() if frame else b"" for frame in frames)
        self.sockets[peer].send_multipart([b"AR1", header, b"", body, *parts])

    def receive(self, peer, *wanted):
        while True:
            assert self.sockets[peer].poll(DEADLINE_MS), f"nothing came to {peer}; wanted: {dump(wanted)}"
            magic, *frames = self.sockets[peer].recv_multipart()
            got = [json.loads(frame or b"{}") for frame in frames]
            if got[0]["type"] != "credit":
                break
        assert magic == b"AR1" and len(got) == 3
        assert fits(list(wanted), got, self.bound), f"{peer} got {dump(got)}\nwanted {dump(wanted)}"

    def close(self, peer):
        self.sockets.pop(peer).close(1000)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_a_transcript_replays(argosd, name):
    replay = Replay(argosd.endpoint)
    for peer, way, *rest in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["steps"]:
        {">": replay.send, "<": replay.receive, "connect": replay.connect, "close": replay.close}[way](peer, *rest)
    for peer in list(replay.sockets):
        replay.close(peer)


def test_the_guide_shows_the_transcript():
    shown = render(json.loads((FOLDER / "adapter.json").read_text(encoding="utf-8")))
    assert shown in (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
