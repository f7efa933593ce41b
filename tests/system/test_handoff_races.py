"""Handoff: what others do meanwhile, who dies meanwhile, and what must not be left over. The platform is a scripted adapter."""
import signal

import pytest

from conftest import wait_until
from test_gateway import Chat
from test_handoff import LAST, Handoff, Place, again, ask_for, row, said, terminal


def pause(chat, on):
    chat.peer.ask({"type": "service.pause", "to": "actor:broker"}, {"service": "handoff", "on": on})


def sessions(chat):
    return {one["id"] for one in chat.read("session.list", {"limit": 100, "all": True})["sessions"]}


def close(*chats):
    for chat in chats:
        chat.peer.close()


def test_who_speaks_at_the_terminal_while_a_thread_is_made_is_heard_first(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd)
    handoff = Handoff(argosd, session, "test")
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "thread.create")
    run = chat.say("!slow 30")
    wait_until(lambda: chat.run(run) and chat.run(run)["state"] == "running")
    place.peer.send({"type": "thread.create.result", "to": f"actor:{meta['from']}", "re": header["id"]}, {"thread_id": "t1"})
    assert chat.answer(run)["kind"] == "answer" and chat.run(run)["session_id"] == session
    assert place.hear()["thread_id"] == "t1" and handoff.wait()[0] == 0
    texts = said(place, session)
    assert texts[2] == "!slow 30" and texts[4].startswith(LAST) and row(place, session)["claims"] == 1
    close(chat, place)


def test_nothing_is_left_over_and_nothing_is_ended(argosd):
    """No session but that of the conversation; it is not ended by who leaves it; what was set for it goes with it, but for /yolo."""
    chat, session = terminal(argosd)
    chat.ask("/model big-one")
    chat.ask("/yolo")
    place = Place(argosd)
    before = sessions(chat)
    handoff = Handoff(argosd, session, "test")
    place.thread(thread_id="t1")
    place.hear()
    assert handoff.wait()[0] == 0
    place.say_in_thread("/model", "t1")
    assert "big-one" in place.hear()["text"]
    assert place.read("record.get", {"space": "setting", "key": row(place, session)["key"]})["record"]["value"]["of"] == {"model": "big-one"}
    run = place.say_in_thread("on", "t1")
    place.hear()
    assert place.run(run)["session_id"] == session and sessions(chat) == before
    assert not place.read("session.get", {"id": session})["session"].get("ended_at")
    close(chat, place)


def test_it_may_be_handed_to_where_it_lives(argosd):
    place = Place(argosd)
    run = place.say("here")
    place.hear()
    session = place.run(run)["session_id"]
    handoff = Handoff(argosd, session, "test")
    place.thread("error", code="unsupported")
    assert [place.hear()["kind"], place.hear()["kind"]] == ["notice", "answer"] and handoff.wait()[0] == 0
    run = place.say("and here")
    place.hear()
    assert place.run(run)["session_id"] == session
    close(place)


def test_a_group_in_which_each_has_a_conversation_of_his_own_needs_a_person(argosd):
    """Nobody's next message would go on with it: it stays, until it is known whose it is to be."""
    chat, session = terminal(argosd)
    place = Place(argosd, home=False)
    group = {"platform": "test", "account": "main", "chat_id": "99", "chat_type": "group", "user_id": "ann"}
    handoff = Handoff(argosd, session, "test:99")
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "chat.info")
    place.peer.send({"type": "chat.info.result", "to": f"actor:{meta['from']}", "re": header["id"]}, {"chat_id": "99", "chat_type": "group"})
    place.thread("error", code="unsupported", reason="no threads")
    code, text = handoff.wait()
    assert code == 1 and "each person has a conversation of his own" in text and "no threads" in text, text
    run = chat.say("still here?")
    assert "still here?" in chat.hear()["text"] and chat.run(run)["session_id"] == session
    assert "Home channel set" in place.ask("/sethome", source=group)["text"]
    handoff = Handoff(argosd, session, "test")
    place.thread("error", code="unsupported")
    assert [place.hear()["chat_id"], place.hear()["chat_id"]] == ["99", "99"] and handoff.wait()[0] == 0
    run = place.say("it is me", source=group)
    place.hear()
    assert place.run(run)["session_id"] == session
    close(chat, place)


def test_a_general_topic_is_the_thread_of_what_is_said_outside_of_topics(argosd):
    chat, session = terminal(argosd)
    place = Place(argosd, home=False)
    handoff = Handoff(argosd, session, "test:77")
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "chat.info")
    place.peer.send({"type": "chat.info.result", "to": f"actor:{meta['from']}", "re": header["id"]},
                    {"chat_id": "77", "chat_type": "forum", "thread_id": "1"})
    place.thread("error", code="denied", reason="no right to make topics")
    assert [place.hear()["kind"], place.hear()["kind"]] == ["notice", "answer"] and handoff.wait()[0] == 0
    run = place.say("anybody", source={"platform": "test", "account": "main", "chat_id": "77", "chat_type": "forum", "thread_id": "1",
                                       "user_id": "someone"})
    place.hear()
    assert place.run(run)["session_id"] == session
    close(chat, place)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_who_asked_dies_while_nobody_has_it(argosd, number):
    """Killed, it can't call it off: it is done. Hung up, it calls it off."""
    chat, session = terminal(argosd)
    place = Place(argosd)
    pause(chat, True)
    handoff = Handoff(argosd, session, "test")
    wait_until(lambda: row(chat, session))
    handoff.process.send_signal(number)
    handoff.wait()
    pause(chat, False)
    if number == signal.SIGKILL:
        place.thread(thread_id="t1")
        assert place.hear()["thread_id"] == "t1"
    wait_until(lambda: row(chat, session)["state"] == ("completed" if number == signal.SIGKILL else "failed"))
    close(chat, place)


def test_a_daemon_that_is_killed_while_somebody_waits_ends_it_all_the_same(daemon):
    daemon.start()
    chat, session = terminal(daemon)
    Place(daemon)
    pause(chat, True)
    handoff = Handoff(daemon, session, "test")
    wait_until(lambda: row(chat, session))
    place = again(daemon)
    pause(place, False)
    place.thread(thread_id="t1")
    assert place.hear()["thread_id"] == "t1"
    code, text = handoff.wait()
    assert code == 0 and "goes on at test" in text, text
    close(place)


def test_a_request_that_nobody_told_of_is_found(daemon):
    """By the scan: of the start here, the same every 30 s."""
    daemon.start()
    chat, session = terminal(daemon)
    Place(daemon)
    assert chat.peer.ask({"type": "handoff.request", "to": "store", "durable": True}, {"session_id": session, "platform": "test"})[0]["type"] == "accepted"
    place = again(daemon)
    place.thread(thread_id="t1")
    assert place.hear()["thread_id"] == "t1"
    wait_until(lambda: row(place, session)["state"] == "completed")
    ask_for(place.peer, session)
    place.thread("error", code="unsupported")
    assert [place.hear()["kind"], place.hear()["kind"]] == ["notice", "answer"]
    close(place)
