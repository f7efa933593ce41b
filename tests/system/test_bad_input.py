"""Bad input over the broker's socket: each gets a clear error, or a counted disconnect, and nothing else is disturbed."""
import contextlib
import json
import re

import pytest
import zmq

from conftest import wait_until
from platform_peer import Platform, message
from test_adapter_pyzmq import Peer, inbound


def frames(header, body=b"", meta=b"", magic=b"AR1"):
    return [magic, header if isinstance(header, bytes) else json.dumps(header).encode(), meta, body]


def ask(peer, *wanted):
    """Send these frames; what answers the id `x`."""
    peer.socket.send_multipart(list(wanted))
    return peer.receive(lambda header, _: header.get("re") == "x")


def code(answer):
    assert answer[0]["type"] == "refused", answer
    assert answer[2].get("reason"), "a refusal without a reason"
    return answer[2]["code"]


def refused(daemon):
    """How many refusals of each code the broker has counted."""
    watcher = Peer(daemon.endpoint, "watcher")
    counts = watcher.ask({"type": "broker.status", "to": "actor:broker"})[2]["refused"]
    watcher.close()
    return counts


def works(daemon):
    """A whole turn, for a peer that does everything right."""
    peer = Peer(daemon.endpoint, "honest")
    peer.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    assert peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4})[0]["type"] == "accepted"
    header, body, _ = inbound("still there?")
    assert peer.ask(header, body)[0]["type"] == "accepted"
    request, meta, data = peer.receive(lambda h, m: h["type"] == "deliver.request")
    assert "still there?" in data["text"]
    assert peer.ask({"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0})[0]["type"] == "accepted"
    peer.close()


DURABLE = {"type": "message.inbound", "id": "x", "to": "service:gateway", "key": "k", "durable": True}
STATUS = {"type": "broker.status", "id": "x", "to": "actor:broker"}

BAD_HEADERS = {
    "over 4 KiB": b'{"type":"ping","id":"x","key":"' + b"k" * 4096 + b'"}',
    "unknown member": b'{"type":"ping","id":"x","colour":"red"}',
    "member twice": b'{"id":"x","type":"ping","type":"ping"}',
    "nested": b'{"type":"ping","id":"x","key":{"a":1}}',
    "cut": b'{"id":"x","type":"pi',
    "integer too large": b'{"type":"done","id":"x","seq":9007199254740993,"lease":1,"n":1}',
    "NUL": b'{"type":"ping","id":"x","key":"a\\u0000b"}',
    "raw NUL": b'{"id":"x","type":"ping","key":"a\x00b"}',
    "lone surrogate": b'{"type":"ping","id":"x","key":"\\ud83d"}',
    "invalid UTF-8": b'{"id":"x","type":"ping","key":"\xff\xfe"}',
    "overlong UTF-8": b'{"id":"x","type":"ping","key":"\xc0\xaf"}',
    "no type": b'{"id":"x"}',
    "bad address": b'{"type":"a.b","id":"x","to":"nowhere"}',
    "depth": b'{"id":"x","type":"done","take":' + b"[" * 2000 + b"]" * 2000 + b"}",
}


@pytest.fixture(scope="module")
def shared(shared_argosd):
    """One argosd for all that must leave it unharmed."""
    yield shared_argosd
    works(shared_argosd)


@pytest.fixture
def peer(shared):
    peer = Peer(shared.endpoint, "bad")
    yield peer
    peer.close()


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_a_bad_header_is_refused(shared, peer, name):
    before = sum(refused(shared).values())
    header = BAD_HEADERS[name]
    peer.socket.send_multipart(frames(header))
    # It is named in the answer when the id could be read before the fault
    answer = peer.receive(lambda h, m: h["type"] == "refused")
    assert code(answer) in ("invalid", "too_big")
    assert answer[0].get("re") in ("x", None)
    assert sum(refused(shared).values()) > before
    assert peer.ask({"type": "ping"})[0]["type"] == "pong"


@pytest.mark.parametrize("message", [
    [b"AR1"], [b"AR1", b""], [b"AR1", b'{"type":"ping"}'], [b""], [b"GET / HTTP/1.1"], [b"AR2", b'{"type":"ping"}', b"", b""],
    [b"AR1", b'{"type":"ping"}', b'{"from":"root"}', b""], [b"AR1", b'{"type":"ping"}', b"", b"", b"odd"],
    [b"AR1"] + [b"{}"] * 500, [b"AR1", b"\xff" * 100, b"\xff", b"\xff"]], ids=range(10))
def test_frames_of_another_form_are_refused_or_counted(shared, peer, message):
    before = sum(refused(shared).values())
    peer.socket.send_multipart(message)
    assert peer.ask({"type": "ping"})[0]["type"] == "pong"
    assert sum(refused(shared).values()) > before


def test_who_has_not_said_hello_is_told_so(shared):
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(shared.endpoint)
    socket.send_multipart(frames(STATUS))
    assert socket.poll(10_000)
    assert json.loads(socket.recv_multipart()[3])["code"] == "no_session"
    socket.close()


@pytest.mark.parametrize("header, wanted", [
    ({"type": "nonsense", "id": "x", "to": "store"}, "denied"),
    ({"type": "session.append", "id": "x", "to": "store", "durable": True}, "denied"),
    ({"type": "nonsense", "id": "x", "to": "actor:broker"}, "denied"),
    ({"type": "a.b", "id": "x", "to": "actor:nobody"}, "no_peer"),
    ({"type": "a.b", "id": "x", "to": "service:nothing"}, "no_service"),
    ({"type": "a.b", "id": "x", "to": "service:nothing", "durable": True}, "no_service"),
    ({"type": "turn.request", "id": "x", "to": "service:turn", "key": "k", "durable": True}, "denied"),
    ({"type": "run.get", "id": "x", "to": "store"}, "invalid"),
    ({"type": "release", "id": "x", "seq": 1 << 40, "lease": 1}, "not_found")], ids=str)
def test_what_can_not_be_done_is_refused_by_its_code(peer, header, wanted):
    assert code(ask(peer, *frames(header, b"{}"))) == wanted


@pytest.mark.parametrize("body", [
    b"not json", b"[1,2]", b'{"a":1,"a":2}', b'{"run_id":"\xff"}', b'{"run_id":"\\ud83d"}', b'{"run_id":"\\u0000"}',
    b'{"run_id":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"run_id":' + b"9" * 400 + b"}", b'{"run_id":"x' + b"y" * 1_000_000 + b'"}',
    b'{"run_id":1e999}'], ids=range(10))
def test_a_body_that_does_not_fit_is_refused(peer, body):
    answer = ask(peer, *frames({"type": "run.get", "id": "x", "to": "store"}, body))
    assert code(answer) in ("invalid", "too_big")


@pytest.mark.parametrize("word, body", [
    ("hello", {"name": "Not A Name", "instance": 1, "protocol": 1}), ("hello", {"name": "a", "instance": 1, "protocol": 9}),
    ("hello", {"name": "@node", "instance": 1, "protocol": 1}), ("hello", {"name": "a", "instance": -1, "protocol": 1}),
    ("serve", {"service": "gateway", "slots": 1}), ("serve", {"service": "a b", "slots": 1}), ("serve", {"service": "q", "slots": 1 << 30}),
    ("serve", {"service": "q", "slots": 1, "colour": 1})], ids=str)
def test_a_word_with_a_bad_body_is_refused(peer, word, body):
    answer = ask(peer, *frames({"type": word, "id": "x"}, json.dumps(body).encode()))
    assert code(answer) in ("invalid", "denied")


def test_a_credit_that_goes_backwards_is_refused(peer):
    peer.send({"type": "credit"}, {"messages": 100, "bytes": 1000})
    answer = ask(peer, *frames({"type": "credit", "id": "x"}, b'{"messages":50,"bytes":1000}'))
    assert code(answer) == "credit"


def test_messages_beyond_the_window_are_refused(shared):
    greedy = Peer(shared.endpoint, "greedy")
    window = greedy.welcome["window"]["messages"]
    # Each request waits for a worker that never answers, so that no more is granted
    for number in range(window + 40):
        greedy.send({"type": "run.get", "id": f"g{number}", "to": "store"}, {"run_id": "run_" + "0" * 32})
    answers = [greedy.receive(lambda h, m: h.get("re") == f"g{number}") for number in range(window + 40)]
    codes = {answer[2].get("code", "ok") for answer in answers}
    assert codes <= {"ok", "credit", "busy"} and answers[0][0]["type"] == "store.result"
    greedy.close()


def test_who_does_not_keep_to_its_window_is_disconnected(shared):
    honest = Peer(shared.endpoint, "patient")
    greedy = Peer(shared.endpoint, "greedy.two")
    greedy.socket.setsockopt(zmq.SNDTIMEO, 1000)  # It reads nothing: once it is cut, its own queue fills up
    with contextlib.suppress(zmq.Again):
        for number in range(20_000):
            greedy.send({"type": "run.get", "id": f"g{number}", "to": "store"}, {"run_id": "run_" + "0" * 32})
    line = shared.wait_log("peer=greedy.two")
    assert "event=disconnected" in line and "beyond the window" in line
    status = honest.ask({"type": "broker.status", "to": "actor:broker"})[2]
    assert status["disconnected"]["credit"] == 1
    assert "greedy.two" not in [session["name"] for session in status["sessions"]]
    greedy.socket.close(0)  # A bye would wait for ever
    honest.close()


def test_a_peer_that_grants_no_credit_gets_no_entries_and_harms_nobody(shared):
    silent = Peer(shared.endpoint, "silent")
    header, body = message("silent", 1, 1, "!slow 5")
    run_id = body["run_id"]
    silent.send({"type": "subscribe", "id": "s", "to": f"topic:run.{run_id}"}, {"from": 0})
    reader = Peer(shared.endpoint, "reader")
    reader.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    reader.send({"type": "subscribe", "id": "s", "to": f"topic:run.{run_id}"}, {"from": 0})
    owner = Peer(shared.endpoint, "silent.main")
    owner.ask({"type": "serve"}, {"service": "deliver.test.silent", "slots": 0})
    assert owner.ask(header, body)[0]["type"] == "accepted"
    reader.receive(lambda h, m: h["type"] == "run.completed")
    assert silent.ask({"type": "ping"})[0]["type"] == "pong"
    assert not any("topic" in meta for _, meta, _ in silent.waiting)
    # With credit it gets what was kept
    silent.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    silent.receive(lambda h, m: h["type"] == "run.completed")
    for peer in (silent, reader, owner):
        peer.close()


def test_a_peer_that_never_reads_harms_nobody(shared):
    deaf = Peer(shared.endpoint, "deaf")
    deaf.socket.setsockopt(zmq.RCVHWM, 1)
    for number in range(20_000):
        deaf.send({"type": "ping", "id": f"{number}" + "p" * 100})
    works(shared)
    deaf.socket.close()


def test_a_hundred_megabytes_are_a_disconnect(shared):
    huge = Peer(shared.endpoint, "huge")
    huge.socket.send_multipart(frames({"type": "run.get", "id": "x", "to": "store"}, bytes(100 << 20)))
    assert not huge.socket.poll(1000) or json.loads(huge.socket.recv_multipart()[3])["code"] in ("too_big", "no_session")
    works(shared)
    huge.socket.close()


def test_an_inbound_message_that_does_not_fit_is_a_dead_letter_with_a_reason(shared):
    sender = Peer(shared.endpoint, "crooked.main", shared.operator)
    answer = sender.ask(dict(DURABLE, id="crooked-1"), {"text": 42})
    if answer[0]["type"] == "refused":
        assert code(answer) == "invalid"
    else:
        def dead():
            listed = sender.ask({"type": "dead.list", "to": "store"}, {})[2]["dead"]
            return [letter for letter in listed if letter["id"] == "crooked-1"]
        letter = wait_until(dead)[0]
        assert letter["code"] == "invalid" and letter["from"] == "crooked.main"
        assert sender.ask({"type": "dead.drop", "to": "store", "durable": True}, {"seq": letter["seq"]})[0]["type"] == "accepted"
    sender.close()


@pytest.mark.parametrize("text", ["!html", "!fail 500", "!big 2000000"])
def test_a_bad_provider_is_an_answer_with_a_reason(shared, text):
    platform = Platform(shared.endpoint, "prov.main", "deliver.test.prov")
    platform.post(*message("prov", len(text), 1, text))
    found = None
    while found is None:
        found = next((event for event in platform.pump() if event[0] == "deliver"), None)
    assert found[3]["kind"] in ("answer", "error") and found[3]["text"]
    platform.done(found[2], {"state": "sent"})
    while platform.open:
        platform.pump()
    platform.close()
