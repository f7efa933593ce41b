"""What is said to chats from outside: targets, the directory, and the note in exactly the session of the chat."""
import json

import pytest

from conftest import wait_until
from test_cli import argos
from test_commands import Talk


@pytest.fixture
def argosd(shared_argosd):
    return shared_argosd


@pytest.fixture
def talk(argosd):
    chat = Talk(argosd)
    yield chat.begin()
    chat.peer.close()


def send(daemon, *words):
    result = argos(daemon.home, "send", *words, "--json")
    return result.returncode, json.loads(result.stdout)


def rows(talk, session=None):
    messages = talk.read("session.load", {"id": session or talk.session()["id"]})["messages"]
    return [(row["role"], row.get("content")) for row in messages]


def test_what_is_sent_is_delivered_and_noted_in_the_session_of_the_chat(argosd, talk):
    session = talk.turn("hello")["session_id"]
    rc, reply = send(argosd, f"test:{talk.chat}", "the build is green")
    (row,) = reply["sent"]
    assert rc == 0 and row["mirrored"] and row["session_id"] == session
    assert talk.hear()["text"] == "the build is green"
    wait_until(lambda: rows(talk)[-1] == ("assistant", "[Delivered from cli] the build is green"))
    assert argos(argosd.home, "deliveries", "show", row["delivery"], "--json").returncode == 0
    talk.turn("and now?")  # The session goes on with it
    assert [role for role, _ in rows(talk)] == ["user", "assistant", "assistant", "user", "assistant"]


def test_a_note_waits_for_the_turn_that_runs(argosd, talk):
    run_id = talk.busy()
    assert send(argosd, f"test:{talk.chat}", "meanwhile")[0] == 0
    assert talk.hear()["text"] == "meanwhile"
    talk.stop(run_id)
    wait_until(lambda: rows(talk)[-1] == ("assistant", "[Delivered from cli] meanwhile"))


def test_a_chat_without_a_session_gets_one_and_an_unknown_one_none(argosd, talk):
    talk.ask("/sethome")  # Makes no session
    assert talk.route()["route"] is None
    _, reply = send(argosd, "test", "good morning")
    assert reply["sent"][0]["session_id"] == talk.session()["id"]
    wait_until(lambda: rows(talk) == [("assistant", "[Delivered from cli] good morning")])
    talk.hear()
    _, reply = send(argosd, "test:999", "anybody?")
    assert not reply["sent"][0]["mirrored"] and "nobody has spoken" in reply["sent"][0]["why"]
    _, reply = send(argosd, f"test:{talk.chat}", "quietly", "--no-mirror")
    assert reply["sent"][0]["why"] == "not asked for"
    assert len(rows(talk)) == 1


def test_a_group_in_which_everybody_has_a_session_gets_no_note(argosd, talk):
    source = {"platform": "test", "account": "main", "chat_id": talk.chat, "chat_type": "group", "user_id": "u", "chat_name": "Gardeners"}
    talk.say("hi", source=source)
    talk.hear()
    _, reply = send(argosd, "test:#gardeners", "rain")
    assert reply["sent"][0]["why"] == "everybody there has a session of his own"
    assert talk.hear()["text"] == "rain"


def test_names_aliases_and_lists_mean_one_chat_each(argosd, talk):
    source = {"platform": "test", "account": "main", "chat_id": talk.chat, "chat_type": "dm", "user_id": talk.user, "user_name": "Ann Onymous"}
    talk.say("hi", source=source)
    talk.hear()
    assert argos(argosd.home, "channels", "alias", "Ann", f"test:{talk.chat}").returncode == 0
    rc, reply = send(argosd, f"ann, test:ann onymous, test:{talk.chat}", "once")
    assert rc == 0 and len(reply["sent"]) == 1
    assert talk.hear()["text"] == "once"
    shown = argos(argosd.home, "channels").stdout
    assert f"test.main:{talk.chat}" in shown and "Ann Onymous" in shown and f"alias: ann = test:{talk.chat}" in shown
    assert argos(argosd.home, "channels", "alias", "ann").returncode == 0
    rc, reply = send(argosd, "ann", "never")
    assert rc == 1 and "has no home" in reply["error"]["message"]
    rc, reply = send(argosd, f"test:{talk.chat},test:nobody", "never")
    assert rc == 1 and "nobody" in reply["error"]["message"]  # All or nothing
    assert argos(argosd.home, "channels", "alias", "all", "test:1").returncode == 1


def test_the_settings_name_a_home(daemon):
    daemon.home.joinpath("argos.yaml").write_text("platforms:\n  test:\n    home_channel: {chat_id: -100, thread_id: 7, name: Home}\n")
    daemon.start()
    rc, reply = send(daemon, "all", "good morning")
    assert rc == 1 and "no adapter has served" in reply["failed"][0]["reason"]
    Talk(daemon).peer.close()
    rc, reply = send(daemon, "all", "good morning")
    assert rc == 0
    assert [(row["source"]["chat_id"], row["source"]["thread_id"]) for row in reply["sent"]] == [("-100", "7")]
    assert send(daemon, "home", "x")[0] == send(daemon, "test", "x")[0] == send(daemon, "origin", "x")[0] == 0


def test_a_chat_that_takes_nothing_is_left_out_until_it_does(argosd, talk):
    talk.turn("hello")

    def end(receipt):
        header, meta, body = talk.peer.receive(lambda h, m: h["type"] == "deliver.request")
        done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}
        assert talk.peer.ask(done, parts=[({"type": "receipt.put", "to": "store"}, receipt)])[0]["type"] == "accepted"

    send(argosd, f"test:{talk.chat}", "one")
    end({"state": "refused", "error": "forbidden: blocked by the user"})
    rc, reply = send(argosd, f"test:{talk.chat}", "two")
    assert rc == 1 and reply["sent"] == [] and "forbidden" in reply["failed"][0]["error"]
    assert "--force" in argos(argosd.home, "send", f"test:{talk.chat}", "two").stdout
    assert send(argosd, f"test:{talk.chat}", "three", "--force")[0] == 0
    end({"state": "sent"})
    assert send(argosd, f"test:{talk.chat}", "four")[0] == 0


def test_a_file_goes_behind_the_text(argosd, talk, tmp_path):
    talk.turn("hello")
    (tmp_path / "log.txt").write_text("lines")
    rc, reply = send(argosd, f"test:{talk.chat}", "the log", "--file", str(tmp_path / "log.txt"))
    assert rc == 0 and reply["sent"][0]["mirrored"]
    assert talk.hear()["text"] == "the log"
    assert talk.hear()["attachments"][0]["name"] == "log.txt"
    assert send(argosd, f"test:{talk.chat}", "--file", str(tmp_path / "log.txt"))[0] == 0
    assert talk.hear()["attachments"][0]["media_type"] == "text/plain"
    assert argos(argosd.home, "send", "test:1", "x", "--file", str(tmp_path / "none")).returncode == 2


@pytest.mark.parametrize("words", [(), ("test:1",), ("test:1", ""), ("test:1", "a", "b"), ("--loud", "a")])
def test_a_wrong_line_is_usage(home, words):
    assert argos(home, "send", *words).returncode == 2
