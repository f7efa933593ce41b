"""`argos deliveries`: what became of what was said to people, and saying it again."""
import json

import pytest

from test_adapter_pyzmq import Peer
from test_cli import argos


@pytest.fixture
def chat(argosd):
    """A chat whose adapter ends each delivery as it is told."""
    class Platform:
        def __init__(self):
            self.peer = Peer(argosd.endpoint, "test.main", argosd.operator)
            self.peer.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
            assert self.peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4})[0]["type"] == "accepted"

        def send(self, id_, text):
            header = {"type": "deliver.request", "to": "service:deliver.test.main", "key": "42", "durable": True, "id": id_}
            assert self.peer.ask(header, {"kind": "answer", "text": text, "chat_id": "42"})[0]["type"] == "accepted"

        def end(self, receipt):
            header, meta, body = self.peer.receive(lambda h, m: h["type"] == "deliver.request")
            done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}
            assert self.peer.ask(done, parts=[({"type": "receipt.put", "to": "store"}, receipt)])[0]["type"] == "accepted"
            return body

    platform = Platform()
    yield platform
    platform.peer.close()


def said(home, *words):
    result = argos(home, "deliveries", *words, "--json")
    return result.returncode, [json.loads(line) for line in result.stdout.splitlines()]


def test_the_ledger_shows_what_waits_and_what_became_of_the_rest(argosd, chat):
    assert argos(argosd.home, "deliveries").stdout == "no deliveries\n"
    for state in ("sent", "refused", "unknown"):
        chat.send(f"d-{state}", f"the {state} one\nand more")
        chat.end({"state": state, **({} if state == "sent" else {"error": "forbidden: blocked"})})
    chat.send("d-waiting", "the waiting one" + "\u00fc" * 300)
    lines = argos(argosd.home, "deliveries").stdout.splitlines()
    shown = [line.split()[0] for line in lines]
    assert shown == ["STATE", "waiting", "unknown", "refused", "sent"]
    assert lines[1].endswith("the waiting one" + "\u00fc" * 32)  # 80 bytes, and no half of a character
    assert "the refused one and more — forbidden: blocked" in lines[3] and "test.main:42" in lines[3]
    rc, (gone,) = said(argosd.home, "list", "gone")
    assert rc == 0 and [row["id"] for row in gone["deliveries"]] == ["d-refused"]
    rc, (shown,) = said(argosd.home, "show", "d-unknown")
    assert shown["body"]["text"] == "the unknown one\nand more"
    assert said(argosd.home, "show", "nothing")[0] == 1
    chat.end({"state": "sent"})
    assert said(argosd.home, "list", "gone")[1][0]["deliveries"] == []  # It takes something again


def test_what_is_unknown_is_sent_again_and_says_so_and_what_was_sent_is_not(argosd, chat):
    for id_, state in (("a", "unknown"), ("b", "refused"), ("c", "sent")):
        chat.send(id_, f"text {id_}")
        chat.end({"state": state})
    assert said(argosd.home, "resend", "a")[0] == 0
    assert chat.end({"state": "sent"})["text"] == "♻️ Sent again, may be a duplicate:\ntext a"
    rc, (again,) = said(argosd.home, "resend", "b")
    assert chat.end({"state": "sent"})["text"] == "text b"
    assert said(argosd.home, "show", again["id"])[1][0]["state"] == "sent"
    rc, (error,) = said(argosd.home, "resend", "c")
    assert rc == 1 and "is sent" in error["error"]["message"]


@pytest.mark.parametrize("words", [("list", "lost"), ("show",), ("resend",), ("drop", "a")])
def test_a_wrong_word_is_usage(home, words):
    assert argos(home, "deliveries", *words).returncode == 2
