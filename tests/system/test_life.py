"""A session that ends by itself: while nobody looks, once, and said with the next message."""
import contextlib
import sqlite3

import pytest

from conftest import wait_until
from test_gateway import Chat

KEY = "agent:main:test:dm:42"
HOURS_MS = 7_200_000


def two_hours_pass(home):
    """The daemon is down: what it has stored is two hours older then, and what was to come is due."""
    with contextlib.closing(sqlite3.connect(home / "argos.db")) as store, store:
        store.execute(f"UPDATE sessions SET last_activity_at = last_activity_at - {HOURS_MS}, started_at = started_at - {HOURS_MS}")
        store.execute(f"UPDATE routes SET updated_at = updated_at - {HOURS_MS}")
        due = store.execute("UPDATE queue SET not_before = 1 WHERE service = 'gateway' AND not_before > 0").rowcount
    return due


@pytest.mark.conversation("a session ends by itself")
def test_a_session_ends_while_nobody_looks_and_says_so_once(daemon):
    (daemon.home / "argos.yaml").write_text("session_reset: {mode: idle, idle_minutes: 60}\n")
    daemon.start()
    chat = Chat(daemon)
    first = chat.say("one")
    assert chat.hear()["run_id"] == first
    session = chat.run(first)["session_id"]
    chat.peer.close()
    assert daemon.stop() == 0
    assert two_hours_pass(daemon.home) == 1

    daemon.start()
    chat = Chat(daemon)
    wait_until(lambda: chat.read("route.get", {"key": KEY})["route"]["session_id"] != session)
    ended = chat.read("session.get", {"id": session})["session"]
    assert ended["end_reason"] == "idle"
    route = chat.read("route.get", {"key": KEY})["route"]
    assert (route["reset_reason"], route["previous"]) == ("idle", session)

    second = chat.say("two")
    assert chat.hear()["text"].startswith("◐")
    assert chat.hear()["run_id"] == second
    third = chat.say("three")
    assert chat.hear()["run_id"] == third
    assert chat.run(second)["session_id"] == chat.run(third)["session_id"] == route["session_id"]
    assert chat.read("session.get", {"id": session})["session"]["version"] == ended["version"]
    chat.peer.close()
    assert daemon.stop() == 0
    assert two_hours_pass(daemon.home) == 1  # The one of the first session is gone, that of the second waits
