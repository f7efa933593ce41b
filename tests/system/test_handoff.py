"""Handoff: a session of the terminal goes on at a platform. The platform is a scripted adapter, the terminal one too, or the real one."""
import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import uuid

import pytest

from conftest import BUILD, ROOT, wait_until
from test_busy import hold
from test_chat import Terminal
from test_gateway import Chat

sys.path.insert(0, str(ROOT / "tests" / "model"))
import replay_handoff  # noqa: E402

LAST = "[This conversation"


class Place(Chat):
    """The destination: chat 42 of test.main, and threads in it."""

    def __init__(self, argosd, home=True):
        super().__init__(argosd, "test.main", "42")
        if home:
            assert "Home channel set" in self.ask("/sethome")["text"]

    def thread(self, kind="thread.create.result", **body):
        """Answer the next request for a thread; returns what was asked."""
        header, meta, asked = self.peer.receive(lambda h, _: h["type"] == "thread.create")
        self.peer.send({"type": kind, "to": f"actor:{meta['from']}", "re": header["id"]}, body)
        return asked

    def refuse(self):
        """The next delivery can't be sent."""
        header, meta, body = self.peer.receive(lambda h, _: h["type"] == "deliver.request")
        done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}
        receipt = ({"type": "receipt.put", "to": "store"}, {"state": "refused", "error": "forbidden: no rights"})
        assert self.peer.ask(done, parts=[receipt])[0]["type"] == "accepted"
        return body

    def say_in_thread(self, text, thread, chat="42"):
        run_id = "run_" + uuid.uuid4().hex
        message = uuid.uuid4().hex
        source = {"platform": "test", "account": "main", "chat_id": chat, "chat_type": "thread", "thread_id": thread, "user_id": "someone"}
        header = {"type": "message.inbound", "id": f"test:{message}", "to": "service:gateway", "key": f"t:{thread}", "durable": True}
        body = {"source": source, "text": text, "message_id": message, "run_id": run_id}
        assert self.peer.ask(header, body)[0]["type"] == "accepted"
        return run_id


class Handoff:
    """`argos handoff`, running."""

    def __init__(self, argosd, *words):
        self.process = subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "handoff", *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def wait(self):
        text = self.process.communicate(timeout=40)[0]
        return self.process.returncode, text


def terminal(argosd):
    """The terminal, with a session; returns both."""
    chat = Chat(argosd, "local.main", "main")
    run = chat.say("we plan a bridge")
    chat.hear()
    return chat, chat.run(run)["session_id"]


def row(chat, session):
    return chat.read("handoff.state", {"session_id": session})["row"]


def said(chat, session):
    return [message["content"] for message in chat.read("session.load", {"id": session})["messages"]]


def test_a_session_goes_on_in_a_thread_of_the_home(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd)
    handoff = Handoff(argosd, session, "Test")
    asked = place.thread(thread_id="t1")
    assert asked["chat_id"] == "42" and asked["name"].startswith("Argos — ")
    answer = place.hear()
    assert answer["thread_id"] == "t1" and answer["chat_id"] == "42" and answer["kind"] == "answer"
    code, text = handoff.wait()
    assert code == 0 and "goes on at test" in text and f"/resume {session}`" in text, text
    state = row(place, session)
    assert (state["state"], state["claims"], state["sent"]) == ("completed", 1, True)
    # The whole transcript is there, with its roles, and the next message continues it
    run = place.say_in_thread("where were we?", "t1")
    assert "where were we?" in place.hear()["text"]
    assert place.run(run)["session_id"] == session
    texts = said(place, session)
    assert texts[0] == "we plan a bridge" and texts[2].startswith(LAST) and texts[4].endswith("where were we?")
    # Who goes on at the terminal is told where it went, and has a session of its own
    first = chat.say("and the pillars?")
    heard = [chat.hear(), chat.hear()]
    assert any("went on at test" in body["text"] for body in heard), heard
    assert chat.run(first)["session_id"] != session and said(place, session) == texts
    # /resume brings it back
    assert chat.ask(f"/resume {session}")["text"]
    again = chat.say("back at the desk")
    chat.hear()
    assert chat.run(again)["session_id"] == session
    chat.peer.close()
    place.peer.close()


@pytest.mark.parametrize("reason", ["unsupported", "denied"])
def test_without_a_thread_it_is_the_home_with_a_notice(argosd, reason):
    chat, session = terminal(argosd)
    place = Place(argosd)
    handoff = Handoff(argosd, session, "test")
    place.thread("error", code=reason, reason="no rights here")
    notice = place.hear()
    assert notice["kind"] == "notice" and "goes on here" in notice["text"] and "no rights here" in notice["text"]
    assert place.hear()["kind"] == "answer"
    assert handoff.wait()[0] == 0
    run = place.say("go on")
    place.hear()
    assert place.run(run)["session_id"] == session
    chat.peer.close()
    place.peer.close()


def test_the_adapter_says_what_the_next_message_looks_like(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd)
    handoff = Handoff(argosd, session, "test")
    place.thread(thread_id="77", source={"chat_id": "77", "thread_id": "77", "parent_chat_id": "42"})
    assert place.hear()["chat_id"] == "77"
    assert handoff.wait()[0] == 0
    run = place.say_in_thread("hello", "77", chat="77")
    place.hear()
    assert place.run(run)["session_id"] == session
    chat.peer.close()
    place.peer.close()


def test_a_chat_may_be_named_and_its_kind_is_asked_for(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd, home=False)
    assert "no home channel" in Handoff(argosd, session, "test").wait()[1]
    handoff = Handoff(argosd, session, "test:99")
    header, meta, asked = place.peer.receive(lambda h, _: h["type"] == "chat.info")
    assert asked == {"chat_id": "99"}
    place.peer.send({"type": "chat.info.result", "to": f"actor:{meta['from']}", "re": header["id"]}, {"chat_id": "99", "chat_type": "channel"})
    assert place.thread("error", code="unsupported")["chat_id"] == "99"
    place.hear()
    assert place.hear()["chat_id"] == "99"
    assert handoff.wait()[0] == 0 and ":channel:99" in row(place, session)["key"]
    chat.peer.close()
    place.peer.close()


def test_what_can_not_be_sent_gives_everything_back(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd)
    chat.ask("/model big-one")
    before = place.say("what was here before")
    place.hear()
    place.ask("/model small-one")
    handoff = Handoff(argosd, session, "test")
    place.thread("error", code="unsupported")
    place.hear()
    assert handoff.wait()[0] == 0  # The turn is on its way; that it can't be delivered is found out later
    place.refuse()
    assert "has failed" in chat.hear()["text"]
    state = row(chat, session)
    assert state["state"] == "failed" and "no rights" in state["error"]
    run = chat.say("still here?")
    assert "still here?" in chat.hear()["text"] and chat.run(run)["session_id"] == session
    after = place.say("and here?")
    place.hear()
    assert place.run(after)["session_id"] == place.run(before)["session_id"]
    assert "small-one" in place.ask("/model")["text"] and "big-one" in chat.ask("/model")["text"]
    chat.peer.close()
    place.peer.close()


def test_refusals_say_why(argosd):
    chat, session = terminal(argosd)
    code, text = Handoff(argosd, session, "test").wait()
    assert code == 1 and "not active" in text
    assert "there is no session" in Handoff(argosd, "nobody", "test").wait()[1]
    assert Handoff(argosd, session).wait()[0] == 2
    place = Place(argosd)
    busy, gate = hold(chat, argosd.tools_home)
    code, text = Handoff(argosd, session, "test").wait()
    assert code == 1 and "a turn is running" in text and row(chat, session) is None
    waits = Handoff(argosd, session, "test", "--wait")  # After it
    gate.touch()
    place.thread(thread_id="t2")
    assert chat.run(busy)["state"] == "completed"
    place.hear()
    assert waits.wait()[0] == 0
    chat.peer.close()
    place.peer.close()


def test_a_destination_in_use_is_waited_for(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd)
    busy = place.say("!slow 30")
    wait_until(lambda: place.run(busy) and place.run(busy)["state"] == "running")
    handoff = Handoff(argosd, session, "test")
    place.thread("error", code="unsupported")
    assert place.hear()["run_id"] == busy
    assert place.hear()["kind"] == "notice" and place.hear()["kind"] == "answer"
    assert handoff.wait()[0] == 0
    chat.peer.close()
    place.peer.close()


def test_nobody_takes_it_and_it_is_called_off(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd)
    chat.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": True})
    handoff = Handoff(argosd, session, "test")
    wait_until(lambda: row(chat, session))
    second = Handoff(argosd, session, "test").wait()
    assert second[0] == 1 and "on its way already" in second[1]
    handoff.process.send_signal(signal.SIGINT)
    code, text = handoff.wait()
    assert code == 1 and "called off" in text
    chat.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": False})
    assert row(chat, session)["state"] == "failed"
    third = Handoff(argosd, session, "test")  # The old message finds nothing to do
    place.thread(thread_id="t3")
    place.hear()
    assert third.wait()[0] == 0
    chat.peer.close()
    place.peer.close()


def ask_for(peer, session, **more):
    """The request as `argos handoff` makes it, without one that waits."""
    parts = [({"type": "handoff.request", "to": "store"}, {"session_id": session, "platform": "test", **more}),
             ({"type": "handoff.begin", "to": "service:handoff", "key": session, "durable": True}, {"session_id": session})]
    assert peer.ask({"type": "commit"}, parts=parts)[0]["type"] == "accepted"


def again(daemon):
    daemon.kill()
    daemon.start()
    return Place(daemon, home=False)


def info(place):
    """The next request about a chat: it is claimed then, and nothing was sent."""
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "chat.info")
    return lambda: place.peer.send({"type": "error", "to": f"actor:{meta['from']}", "re": header["id"]}, {"code": "unsupported"})


def test_a_crash_at_each_step(daemon):
    daemon.start()
    assert daemon.stop() == 0
    with contextlib.closing(sqlite3.connect(daemon.home / "argos.db")) as database:
        database.executescript(replay_handoff.TRIGGERS)  # From now on it writes down what becomes of the row
    daemon.start()
    chat, session = terminal(daemon)
    Place(daemon)
    # Nobody has taken it
    chat.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": True})
    ask_for(chat.peer, session)
    chat.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": False})
    place = again(daemon)
    place.thread(thread_id="t4")
    assert place.hear()["thread_id"] == "t4"
    wait_until(lambda: row(place, session)["state"] == "completed")
    # It was claimed, and nothing was sent: once more, and not a third time
    ask_for(place.peer, session, target="99")
    info(place)
    place = again(daemon)
    info(place)
    assert row(place, session)["claims"] == 2
    place = again(daemon)
    wait_until(lambda: row(place, session)["state"] == "failed")
    assert "ask for the handoff again" in row(place, session)["error"]
    # While a thread is made something may be there already
    ask_for(place.peer, session)
    place.peer.receive(lambda h, _: h["type"] == "thread.create")
    place = again(daemon)
    wait_until(lambda: row(place, session)["state"] == "failed")
    assert row(place, session)["claims"] == 1
    # It is done, and the answer not delivered: that goes on by itself
    ask_for(place.peer, session)
    place.thread(thread_id="t6")
    wait_until(lambda: row(place, session)["state"] == "completed")
    place = again(daemon)
    assert place.hear()["thread_id"] == "t6"
    # and what is refused then is taken back
    ask_for(place.peer, session)
    place.thread(thread_id="t7")
    wait_until(lambda: row(place, session)["state"] == "completed")
    place = again(daemon)
    assert place.refuse()["thread_id"] == "t7"
    wait_until(lambda: row(place, session)["state"] == "failed")
    notice = place.hear()
    assert notice["thread_id"] == "t6" and "has failed" in notice["text"]
    run = place.say_in_thread("is it here?", "t6")
    place.hear()
    assert place.run(run)["session_id"] == session
    place.peer.close()
    # All of it are steps that the model has
    assert daemon.stop() == 0
    with contextlib.closing(sqlite3.connect(daemon.home / "argos.db")) as database:
        steps = replay_handoff.check_store(database)[session]
    assert steps.count("ask") == 5 and {"claim", "marked", "complete", "expire", "back"} <= set(steps), steps


def test_who_asked_may_be_killed_and_others_may_ask_for_other_sessions(argosd):
    chat, session = terminal(argosd)
    other = Chat(argosd, "local.other", "other")
    run = other.say("something else")
    other.hear()
    place = Place(argosd)
    first = Handoff(argosd, session, "test")
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "thread.create")
    first.process.kill()
    first.wait()
    second = Handoff(argosd, other.run(run)["session_id"], "test")  # Not behind the first one
    place.thread(thread_id="t9")
    assert place.hear()["thread_id"] == "t9" and second.wait()[0] == 0
    place.peer.send({"type": "thread.create.result", "to": f"actor:{meta['from']}", "re": header["id"]}, {"thread_id": "t8"})
    assert place.hear()["thread_id"] == "t8"
    wait_until(lambda: row(chat, session)["state"] == "completed")
    for peer in (chat.peer, other.peer, place.peer):
        peer.close()


def test_the_chat_at_the_terminal_hands_over_and_leaves(argosd):
    place = Place(argosd)
    words = ["hello there", "/handoff", "/handoff nowhere", "/handoff test"]
    process = subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "chat", "--json"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    process.stdin.write("\n".join(words) + "\n")
    process.stdin.flush()
    place.thread(thread_id="t5")
    place.hear()
    out = process.communicate(timeout=30)[0]
    lines = [event["body"]["text"] for event in map(json.loads, out.splitlines()) if event["type"] == "handoff.line"]
    assert process.returncode == 0 and lines[0].startswith("usage:") and "not active" in lines[3], lines
    assert "goes on at test" in lines[-1]
    place.peer.close()


def test_a_person_at_the_terminal_calls_it_off_and_then_goes(argosd):
    place = Place(argosd)
    person = Terminal(argosd.home)
    person.expect("> ")
    person.type("hello there\r")
    person.expect("You said: hello there")
    person.expect("> ")  # The turn is over
    place.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": True})
    person.type("/handoff test\r")
    person.expect("waiting for the gateway")
    person.type("\x03")
    person.expect("stays here")
    place.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": False})
    person.type("still here\r")
    person.expect("You said: still here")
    person.expect("> ")  # The turn is over
    person.type("/handoff test\r")
    place.thread(thread_id="t9")
    place.hear()
    person.expect("goes on at test")
    assert person.wait() == 0
    person.close()
    place.peer.close()
