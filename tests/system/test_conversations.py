"""Conversations of several people, and of one who does not wait: a platform plays them end to end."""
import uuid

import pytest

from conftest import wait_until
from test_gateway import Chat


class Room(Chat):
    """One platform, many chats: who speaks and where is said with each message."""

    def say(self, text, user="ann", chat="1", kind="group", thread=None, **more):
        platform, account = self.name.split(".")
        source = {"platform": platform, "account": account, "chat_id": chat, "chat_type": kind, "user_id": user, "user_name": user.title(),
                  **({"thread_id": thread} if thread else {}), **more}
        message_id, run_id = uuid.uuid4().hex, "run_" + uuid.uuid4().hex
        header = {"type": "message.inbound", "id": f"{account}:{chat}:{message_id}", "to": "service:gateway",
                  "key": f"{account}:{chat}:{thread}", "durable": True}
        assert self.peer.ask(header, {"source": source, "text": text, "message_id": message_id, "run_id": run_id})[0]["type"] == "accepted"
        return run_id

    def answer(self, run_id):
        while (body := self.hear()).get("run_id") != run_id:
            pass
        return body

    def session(self, run_id):
        return self.run(run_id)["session_id"]

    def notice(self):
        while "run_id" in (body := self.hear()):
            pass
        return body


@pytest.fixture
def begin(daemon):
    rooms = []

    def go(settings="", **env):
        daemon.home.joinpath("argos.yaml").write_text(settings)
        daemon.start(env=env)
        rooms.append(Room(daemon))
        return rooms[0]

    yield go
    for room in rooms:
        room.peer.close()


@pytest.fixture
def room(begin):
    return begin()


@pytest.mark.conversation("two users in one group")
def test_two_users_of_a_group_have_sessions_of_their_own(room):
    ann, bob = room.say("I am Ann"), room.say("I am Bob", user="bob")
    answers = {room.hear()["run_id"], room.hear()["run_id"]}
    assert answers == {ann, bob} and room.session(ann) != room.session(bob)
    room.say("/title Mine")
    assert "Mine" in room.notice()["text"]
    room.say("/title", user="bob")
    assert "no title" in room.notice()["text"]
    slow = room.say("!slow 2000")
    wait_until(lambda: (room.run(slow) or {}).get("state") == "running")
    room.say("/stop", user="bob")
    assert "Nothing is running" in room.notice()["text"]  # Hers is none of his
    quick = room.say("meanwhile", user="bob")
    assert room.answer(quick)["text"].endswith("meanwhile")
    room.say("/stop")
    wait_until(lambda: room.run(slow)["state"] == "cancelled")


@pytest.mark.conversation("a thread shared by all")
def test_a_thread_is_shared_by_all_and_each_is_named(room):
    first = room.say("I bring the salad", kind="thread", thread="7")
    second = room.say("and I the bread", user="bob", kind="thread", thread="7")
    other = room.say("elsewhere", user="bob", kind="thread", thread="8")
    for run_id in (first, second, other):
        wait_until(lambda: (room.run(run_id) or {}).get("state") == "completed")
    assert room.session(first) == room.session(second) != room.session(other)
    rows = room.read("session.load", {"id": room.session(first)})["messages"]
    assert [row["content"] for row in rows if row["role"] == "user"] == ["[Ann] I bring the salad", "[Bob] and I the bread"]
    room.say("/title Picnic", user="bob", kind="thread", thread="7")
    assert "Picnic" in room.notice()["text"]
    room.say("/title", kind="thread", thread="7")
    assert "Picnic" in room.notice()["text"]


@pytest.mark.conversation("a group with one session")
def test_a_group_can_share_one_session(begin):
    room = begin("gateway: {group_sessions_per_user: false}\n")
    ann, bob = room.say("one"), room.say("two", user="bob")
    assert {room.hear()["run_id"], room.hear()["run_id"]} == {ann, bob}
    assert room.session(ann) == room.session(bob)


@pytest.mark.conversation("a busy thread beside others")
def test_a_busy_thread_keeps_no_other_waiting(begin):
    room = begin("gateway: {thread_sessions_per_user: true}\n")
    slow = room.say("!slow 2000", kind="thread", thread="1")
    wait_until(lambda: (room.run(slow) or {}).get("state") == "running")
    for thread in "2345":
        assert room.answer(room.say("hello", kind="thread", thread=thread))["thread_id"] == thread
    room.say("/stop", kind="thread", thread="1")
    wait_until(lambda: room.run(slow)["state"] == "cancelled")


@pytest.mark.conversation("somebody else speaks in a busy thread")
def test_one_of_a_shared_thread_does_not_end_what_another_has_asked_for(begin):
    room = begin(HERMES_GATEWAY_BUSY_INPUT_MODE="interrupt", HERMES_GATEWAY_BUSY_ACK_ENABLED="true")
    slow = room.say("!slow 4000", kind="thread", thread="1", user_name="")  # Without a name before the words, which the rehearsal is to understand
    wait_until(lambda: (room.run(slow) or {}).get("state") == "running")
    other = room.say("and I", user="bob", kind="thread", thread="1")
    assert "⏳ Queued" in room.notice()["text"] and room.run(slow)["state"] == "running"
    # Who has asked may, and nobody's words are lost
    last = room.say("rather this", kind="thread", thread="1")
    assert room.answer(other)["text"] and room.answer(last)["text"]
    assert [room.run(run_id)["state"] for run_id in (slow, other, last)] == ["cancelled", "completed", "completed"]
    assert room.session(slow) == room.session(other) == room.session(last)


@pytest.mark.conversation("somebody else stops a busy thread")
def test_one_of_a_shared_thread_may_stop_what_another_has_asked_for(room):
    slow = room.say("!slow 4000", kind="thread", thread="1", user_name="")
    wait_until(lambda: (room.run(slow) or {}).get("state") == "running")
    room.say("/stop", user="bob", kind="thread", thread="1")
    assert "Stopped" in room.notice()["text"]
    wait_until(lambda: room.run(slow)["state"] == "cancelled")


COUNT = 50


@pytest.mark.parametrize("mode", ["queue", "steer", "interrupt"])
@pytest.mark.conversation("fifty messages while busy")
def test_fifty_messages_while_it_is_busy(begin, mode):
    room = begin("gateway: {queue_max: 64}\n", HERMES_GATEWAY_BUSY_INPUT_MODE=mode, HERMES_GATEWAY_BUSY_ACK_ENABLED="true")
    busy = room.say("!slow 30", kind="dm")
    wait_until(lambda: (room.run(busy) or {}).get("state") == "running")
    runs = [room.say(f"number {i}", kind="dm") for i in range(COUNT)]
    wait_until(lambda: all((room.run(run_id) or {}).get("state") in ("completed", "cancelled") for run_id in (busy, *runs)), 60)
    session = room.session(busy)
    states = [room.run(run_id)["state"] for run_id in runs]
    said = [row["content"] for row in room.read("session.load", {"id": session, "limit_bytes": 1 << 20})["messages"] if row["role"] == "user"]
    assert said == ["!slow 30", *(f"number {i}" for i in range(COUNT))]  # Each once, in order, none mashed with another
    assert states[-1] == "completed"
    if mode != "interrupt":
        assert set(states) == {"completed"} and room.run(busy)["state"] == "completed"
    answers, notices = [], []
    while not answers or answers[-1] != runs[-1]:
        body = room.hear()
        (answers if body.get("run_id") in (busy, *runs) else notices).append(body.get("run_id") or body["text"])
    assert len(notices) == 1  # At most one acknowledgement in 30 s
    assert answers == [run_id for run_id in (busy, *runs) if run_id in answers]
    if mode == "queue":
        assert answers == [busy, *runs]


@pytest.mark.conversation("the session of somebody else")
def test_the_session_of_somebody_else_is_not_there(room):
    mine = room.say("my secret", kind="dm", chat="1")
    room.answer(mine)
    session = room.session(mine)
    room.say("/title Treasure", kind="dm", chat="1")
    room.notice()
    for name in (session, "Treasure", session[:-1]):
        room.say(f"/resume {name}", user="bob", kind="dm", chat="2")
        foreign = room.notice()["text"]
        room.say("/resume 20000101_000000_00000000", user="bob", kind="dm", chat="2")
        assert foreign.replace(name, "X") == room.notice()["text"].replace("20000101_000000_00000000", "X")
    room.say("/sessions search secret", user="bob", kind="dm", chat="2")
    assert "Nothing is found" in room.notice()["text"]
