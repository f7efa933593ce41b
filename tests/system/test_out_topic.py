"""topic:out.<platform>.<account>: from it alone an adapter knows which of its messages wait, run, and are over."""
import sys
import time
import uuid

import pytest

from conftest import DEADLINE_S, ROOT

sys.path.insert(0, str(ROOT / "clients" / "python"))
import argos  # noqa: E402

ACCOUNT = "line.main"


class Adapter:
    """Says things and notes the entries of its topic, kept and passing, in order."""

    def __init__(self, daemon):
        self.entries, self.delivered, self.ended = [], [], False
        self.peer = argos.Peer(ACCOUNT, daemon.endpoint).connect()
        self.peer.serve("deliver." + ACCOUNT, on_lease=self.on_lease, slots=4)
        self.peer.subscribe("out." + ACCOUNT, on_entry=self.entries.append, on_end=lambda _: setattr(self, "ended", True))

    def on_lease(self, lease):
        self.delivered.append(lease.event)
        lease.done([argos.part("receipt.put", "store", {"state": "sent"})], then=lambda refused, _: None)

    def say(self, text):
        message_id, run_id = uuid.uuid4().hex, "run_" + uuid.uuid4().hex
        source = {"platform": "line", "account": "main", "chat_id": "7", "thread_id": "t", "chat_type": "group", "user_id": "u"}
        self.peer.send("service:gateway", "message.inbound", {"source": source, "text": text, "message_id": message_id, "run_id": run_id},
                       id=f"{ACCOUNT}:7:{message_id}", key=f"{ACCOUNT}:7")
        return run_id

    def until(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self.peer.turn(1.0)
            assert time.monotonic() < deadline, (f"it never came; there is {[(e.body['turn'], e.body['state']) for e in self.entries]}")

    def states(self, run_id, kept=None):
        return [entry.body["state"] for entry in self.entries
                if entry.body["turn"] == run_id and kept in (None, entry.meta["kept"])]


@pytest.fixture
def adapter(argosd):
    adapter = Adapter(argosd)
    yield adapter
    adapter.peer.close()


def test_a_message_is_queued_running_and_done(adapter):
    run_id = adapter.say("hello")
    adapter.until(lambda: "done" in adapter.states(run_id) and adapter.delivered)
    assert adapter.states(run_id) == ["queued", "running", "done"]
    assert adapter.states(run_id, kept=True) == ["queued", "done"]
    for entry in adapter.entries:
        assert entry.type == "out.state" and entry.body["chat_id"] == "7" and entry.body["thread_id"] == "t" and entry.body["reply_to"]
    assert adapter.entries[-1].body["delivery"] == adapter.delivered[0].id


def test_a_pause_of_the_provider_is_said(adapter):
    run_id = adapter.say("!fail 503")
    adapter.until(lambda: "done" in adapter.states(run_id))
    assert adapter.states(run_id) == ["queued", "running", "waiting", "running", "done"]


def test_what_is_stopped_is_done_too(adapter):
    first = adapter.say('!tool terminal {"command":"sleep 60"}')
    adapter.until(lambda: "running" in adapter.states(first))
    second = adapter.say("and this")
    adapter.until(lambda: "queued" in adapter.states(second))
    adapter.say("/stop")
    adapter.until(lambda: "done" in adapter.states(first) and "done" in adapter.states(second))
    assert adapter.states(second) == ["queued", "done"]


def test_what_is_kept_outlives_a_kill(daemon):
    daemon.start()
    adapter = Adapter(daemon)
    over = adapter.say("hello")
    adapter.until(lambda: "done" in adapter.states(over))
    under_way = adapter.say('!tool terminal {"command":"sleep 1"}')
    adapter.until(lambda: "running" in adapter.states(under_way))
    daemon.kill()
    adapter.peer.close()
    daemon.start()
    adapter = Adapter(daemon)
    adapter.until(lambda: adapter.ended)
    assert adapter.states(over) == ["queued", "done"]  # The rest was passing
    adapter.until(lambda: "done" in adapter.states(under_way))
    assert adapter.states(under_way, kept=True) == ["queued", "done"] and "running" in adapter.states(under_way, kept=False)
    adapter.peer.close()
    assert daemon.stop() == 0

