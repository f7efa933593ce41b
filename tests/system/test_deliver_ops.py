"""What can be asked of an adapter besides saying something, on a platform that the core has never heard of.

The adapter can send and edit; everything else it refuses as unsupported, which is an answer like any other.
"""
import uuid

import pytest

from test_adapter_pyzmq import Peer

PLATFORM = "own_chat_7"
SERVICE = f"deliver.{PLATFORM}.main"


class Person:
    """Who asks: the command line of who runs the daemon."""

    def __init__(self, argosd):
        self.peer = Peer(argosd.endpoint, "ops.test", argosd.operator)

    def ask(self, op, **members):
        message_id = uuid.uuid4().hex
        body = {"op": op, "kind": "notice", "text": "", "chat_id": "1", **members}
        header = {"type": "deliver.request", "to": f"service:{SERVICE}", "key": "1", "durable": True, "id": message_id}
        return message_id, self.peer.ask(header, body)

    def receipt(self, message_id):
        return self.peer.ask({"type": "receipt.get", "to": "store"}, {"id": message_id})[2]["receipt"]


class Adapter:
    """The platform."""

    OPS = ("send", "edit")

    def __init__(self, argosd):
        self.peer = Peer(argosd.endpoint, f"{PLATFORM}.main")
        assert self.peer.ask({"type": "serve"}, {"service": SERVICE, "slots": 4})[0]["type"] == "accepted"

    def deliver(self):
        header, meta, body = self.peer.receive(lambda h, m: h["type"] == "deliver.request")
        op = body.get("op", "send")
        receipt = {"state": "sent", "op": op, "platform_ids": ["p1"]} if op in self.OPS else \
            {"state": "refused", "op": op, "error": "unsupported"}
        done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}
        assert self.peer.ask(done, None, [({"type": "receipt.put", "to": "store", "durable": True}, receipt)])[0]["type"] == "accepted"
        return body

    def answer(self, kind, body):
        """Answer the next request."""
        header, meta, asked = self.peer.receive(lambda h, m: h["type"] in ("thread.create", "chat.info", "probe"))
        self.peer.send({"type": kind, "to": f"actor:{meta['from']}", "re": header["id"]}, body)
        return header["type"], asked


@pytest.fixture
def pair(argosd):
    adapter, person = Adapter(argosd), Person(argosd)
    yield adapter, person
    adapter.peer.close()
    person.peer.close()


def test_an_unknown_platform_is_answered_like_any_other(pair):
    adapter, _ = pair
    body = {"source": {"platform": PLATFORM, "account": "main", "chat_id": "1", "chat_type": "group", "user_id": "u"}, "text": "/status",
            "message_id": "m1"}
    header = {"type": "message.inbound", "id": f"{PLATFORM}.main:1:m1", "to": "service:gateway", "key": f"{PLATFORM}.main:1", "durable": True}
    assert adapter.peer.ask(header, body)[0]["type"] == "accepted"
    assert "Provider" in adapter.deliver()["text"]
    for name in ("x", "Own", "own-chat", "9own", "a" * 33):
        body["source"]["platform"] = name
        answer = adapter.peer.ask({**header, "id": uuid.uuid4().hex}, body)
        assert answer[0]["type"] == "refused" and answer[2]["code"] == "invalid", name


def test_each_op_has_its_members_and_its_receipt(pair):
    adapter, person = pair
    ops = {"send": {}, "edit": {"message_ids": ["p1"], "text": "better"}, "delete": {"message_ids": ["p1"]},
           "react": {"message_ids": ["p1"], "emoji": "👍"}, "prompt": {"text": "Which?", "options": [{"id": "a", "label": "A"}]},
           "media": {"attachments": [{"blob": "sha256:" + "0" * 64, "kind": "image"}]}}
    for op, members in ops.items():
        message_id, accepted = person.ask(op, **members)
        assert accepted[0]["type"] == "accepted"
        assert person.receipt(message_id) is None
        delivered = adapter.deliver()
        assert delivered["op"] == op and all(delivered[name] == value for name, value in members.items())
        receipt = person.receipt(message_id)
        assert receipt["op"] == op and receipt["at"] > 0
        if op in Adapter.OPS:
            assert receipt["state"] == "sent" and receipt["platform_ids"] == ["p1"]
        else:
            assert receipt["state"] == "refused" and receipt["error"] == "unsupported"
        if members:
            lacking = person.ask(op, **{name: value for name, value in members.items() if name == "text"})[1]
            assert lacking[0]["type"] == "refused" and lacking[2]["code"] == "invalid", (op, lacking)
    assert person.ask("sing")[1][2]["code"] == "invalid"
    # Nobody else is told
    assert adapter.peer.ask({"type": "receipt.get", "to": "store"}, {"id": message_id})[2].get("receipt") is None


def test_requests_to_an_adapter_are_answered_refused_or_run_out(pair):
    adapter, person = pair

    def request(kind, body, ttl_ms=20000):
        header = {"type": kind, "to": f"service:{SERVICE}", "id": uuid.uuid4().hex, "ttl_ms": ttl_ms}
        person.peer.send(header, body)
        return lambda: person.peer.receive(lambda answer, _: answer.get("re") == header["id"])

    answer = request("thread.create", {"chat_id": "1", "name": "plans"})
    assert adapter.answer("thread.create.result", {"thread_id": "t9"}) == ("thread.create", {"chat_id": "1", "name": "plans"})
    assert answer()[2] == {"thread_id": "t9"}
    answer = request("chat.info", {"chat_id": "1"})
    adapter.answer("error", {"code": "unsupported", "reason": "no"})
    header, _, body = answer()
    assert header["type"] == "error" and body["code"] == "unsupported"
    answer = request("probe", {})
    adapter.answer("probe.result", {"ok": True, "user_name": "bot"})
    assert answer()[2] == {"ok": True, "user_name": "bot"}
    answer = request("probe", {}, ttl_ms=100)  # Nobody answers this one
    header, _, body = answer()
    assert header["type"] == "refused" and body["code"] == "expired" and body["sent"]
