"""Each slash command once, as a platform plays it, against one daemon: what it changes is read back from the store."""
import json
import pathlib
import re

import pytest

from conftest import wait_until
from test_gateway import Chat

TABLE = json.loads((pathlib.Path(__file__).parents[2] / "schema" / "commands.json").read_text(encoding="utf-8"))


class Talk(Chat):
    """A chat of its own for each conversation, over one connection."""

    number = 100

    def begin(self):
        Talk.number += 1
        self.chat = str(Talk.number)
        self.user = f"u{self.chat}"
        return self

    def ask(self, text, **more):
        """The notice that answers it; answers of turns may come before."""
        self.say(text, **more)
        while (body := self.hear()).get("run_id"):
            pass
        return body

    def say(self, text, **more):
        platform, account = self.name.split(".")
        source = {"platform": platform, "account": account, "chat_id": self.chat, "chat_type": "dm", "user_id": self.user}
        return super().say(text, **{"source": source, **more})

    def turn(self, text):
        """Say it and wait for its answer; returns the run."""
        run_id = self.say(text)
        while self.hear().get("run_id") != run_id:
            pass
        return self.run(run_id)

    def ask_turn(self, text):
        """Say it; the text of the answer."""
        run_id = self.say(text)
        while (body := self.hear()).get("run_id") != run_id:
            pass
        return body["text"]

    def key(self):
        return f"agent:main:test:dm:{self.chat}"

    def route(self):
        return self.read("route.get", {"key": self.key()})

    def session(self):
        return self.route()["session"]

    def record(self, space, key=None):
        record = self.read("record.get", {"space": space, "key": key or self.key()})["record"]
        return record and record["value"]

    def said(self):
        return [row["content"] for row in self.read("session.load", {"id": self.session()["id"]})["messages"] if row["role"] == "user"]

    def lane(self):
        return self.read("lane.list", {"service": "turn", "key": self.session()["id"]})["messages"]

    def busy(self):
        """A turn that runs until it is stopped."""
        run_id = self.say("!slow 2000")
        self.events(run_id)
        self.peer.receive(lambda header, meta: header["type"] == "turn.delta" and meta["topic"] == f"run.{run_id}")
        return run_id

    def stop(self, run_id):
        self.say("/stop")
        wait_until(lambda: self.run(run_id)["state"] == "cancelled")
        while "⚡ Stopped" not in self.hear()["text"]:
            pass  # What the turn has said so far
        wait_until(lambda: not self.lane())

    def hear(self):
        """The next delivery to this chat; what a conversation before has left over is taken, too."""
        while True:
            body = super().hear()
            if body["chat_id"] == self.chat:
                return body


@pytest.fixture(scope="module")
def talk(shared_argosd):
    chat = Talk(shared_argosd)
    yield chat
    chat.peer.close()


#  One conversation for each row; asserts what has changed in the store


def start(talk):
    before = talk.read("status.get", {})["queue"]  # Perhaps with something that the conversation before has left
    talk.say("/start")
    wait_until(lambda: talk.read("status.get", {})["queue"] <= before)
    assert talk.route()["route"] is None  # It was taken, and made neither a session nor an answer


def new(talk):
    old = talk.turn("one")["session_id"]
    assert "`approve`" in talk.ask("/new Second")["text"]
    assert talk.record("question")["command"] == "new"
    assert talk.session()["id"] == old
    assert talk.ask("approve")["text"].startswith("✨")
    fresh = talk.session()
    assert fresh["id"] != old and re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", fresh["id"]) and fresh["title"] == "Second"
    assert talk.read("session.get", {"id": old})["session"]["end_reason"] == "session_reset"
    assert talk.record("question") is None
    assert talk.ask("/reset")["text"].startswith("✨")  # Nothing was said: nothing to ask for
    talk.turn("two")
    talk.ask("/new")
    assert "cancelled" in talk.ask("cancel")["text"]
    talk.ask("/new")
    talk.ask("always")
    talk.turn("three")
    assert talk.ask("/new")["text"].startswith("✨")
    assert talk.record("setting")["chat"] == {"confirm": False}


def resume(talk):
    first = talk.turn("one")["session_id"]
    talk.ask("/new")
    talk.ask("yes")
    second = talk.turn("two")["session_id"]
    listed = talk.ask("/resume")["text"]
    assert f"2. one `{first}`" in listed and f"1. two `{second}`" in listed
    assert first in talk.ask(f"/resume {first[:-1]}")["text"]  # Its beginning is enough
    assert talk.session()["id"] == first and not talk.session().get("ended_at")
    assert talk.read("session.get", {"id": second})["session"]["end_reason"] == "session_switch"
    talk.turn("three")
    talk.ask("/resume 2")
    assert talk.session()["id"] == second
    mine, user = talk.chat, talk.user
    talk.begin()  # Somebody else: as if it were not there
    foreign = talk.ask(f"/resume {first}")["text"]
    assert foreign.replace(first, "X") == talk.ask("/resume nothing")["text"].replace("nothing", "X")
    assert talk.route()["route"] is None
    talk.chat, talk.user = mine, user


def sessions(talk):
    session = talk.turn("find the heron")["session_id"]
    answered(talk, "/sessions", session)
    assert session in talk.ask("/sessions all")["text"]
    assert session in talk.ask("/sessions search heron")["text"]
    assert "Nothing is found" in talk.ask("/sessions search pelican")["text"]
    assert [row["id"] for row in talk.read("session.list", {"owner": f"test:main:{talk.user}"})["sessions"]] == [session]


def title(talk):
    talk.turn("one")
    talk.ask("/title The plan")
    assert talk.session()["title"] == "The plan"
    assert '"The plan"' in talk.ask("/title")["text"]
    talk.ask("/new Other")
    talk.ask("ok")
    taken = talk.ask("/title The plan")
    assert taken["kind"] == "error" and "title" in taken["text"] and talk.session()["title"] == "Other"


def branch(talk):
    session = talk.turn("one")["session_id"]
    assert session in talk.ask("/branch Other way")["text"]
    copy = talk.session()
    assert copy["id"] != session and copy["parent"] == session and copy["title"] == "Other way" and copy["message_count"] == 2
    assert talk.read("session.get", {"id": session})["session"]["end_reason"] == "branched"


def retry(talk):
    assert "No previous message" in talk.ask("/retry")["text"]
    first = talk.turn("one")
    assert talk.turn("/retry")["session_id"] == first["session_id"] and talk.said() == ["one"]
    assert talk.session()["rewind_count"] == 1


def undo(talk):
    for text in ("one", "two", "three"):
        talk.turn(text)
    talk.ask("/undo 2")
    assert "Took back 2" in talk.ask("approve")["text"]
    assert talk.said() == ["one"] and talk.session()["message_count"] == 2


def compress(talk):
    talk.turn("one")
    assert "could not be made smaller" in talk.ask("/compress")["text"]
    assert talk.session()["message_count"] == 2


def stop(talk):
    run_id = talk.busy()
    talk.stop(run_id)
    assert talk.run(run_id)["state"] == "cancelled"
    assert talk.said()[0] == "!slow 2000"  # The history stays


def queue(talk):
    running = talk.busy()
    assert "number 1" in talk.ask("/queue and then")["text"]
    assert [row["type"] for row in talk.lane()] == ["turn.request", "turn.request"]
    talk.stop(running)
    talk.turn("/q at once")
    assert talk.said()[-1] == "at once"


def plan(talk):
    running = talk.busy()
    assert "number 1" in talk.ask("/plan and then")["text"]
    assert [row.get("body", {}).get("read_only") for row in talk.lane()] == [None, True]
    talk.stop(running)
    talk.turn("/plan at once")
    assert talk.said()[-1] == "at once"


def steer(talk):
    running = talk.busy()
    assert "⏩ Steer queued" in talk.ask("/steer to the left")["text"]
    assert len(talk.lane()) == 2
    talk.stop(running)


def approve(talk):
    old = talk.turn("one")["session_id"]
    assert "Nothing is waiting" in talk.ask("/approve")["text"]
    talk.ask("/new")
    talk.ask("/approve")
    assert talk.session()["id"] != old


def deny(talk):
    old = talk.turn("one")["session_id"]
    talk.ask("/new")
    assert talk.record("question")
    assert "cancelled" in talk.ask("/deny")["text"]
    assert talk.session()["id"] == old and talk.record("question") is None


def background(talk):
    talk.turn("one")
    assert "Usage:" in talk.ask("/bg")["text"]
    task = re.search(r"bg_\d{6}_[0-9a-f]{6}", talk.ask("/background two")["text"]).group()
    assert "Background task complete" in talk.hear()["text"]
    runs = talk.read("run.list", {"origin": talk.key()})["runs"]
    assert [(run["session_id"], run["state"]) for run in runs] == [(task, "completed")]
    assert talk.session()["message_count"] == 2


def agents(talk):
    running = talk.busy()
    assert f"`{running}` running" in talk.ask("/agents")["text"]
    talk.stop(running)
    assert running not in talk.ask("/tasks")["text"]
    assert talk.run(running)["state"] == "cancelled"


def status(talk):
    running = talk.busy()
    text = talk.ask("/status")["text"]
    assert talk.session()["id"] in text and "Running: yes, queued: 0" in text
    talk.stop(running)
    assert "Running: no" in talk.ask("/status")["text"] and talk.run(running)["state"] == "cancelled"


def sethome(talk):
    assert "✅ Home channel set" in talk.ask("/sethome")["text"]
    assert talk.record("home", "test")["source"]["chat_id"] == talk.chat


def model(talk):
    talk.turn("one")
    talk.ask("/model big-one")
    assert talk.record("setting")["of"] == {"model": "big-one"} and "big-one" in talk.ask("/model")["text"]
    talk.turn("two")
    talk.ask("/new")
    talk.ask("yes")
    assert "big-one" not in talk.ask("/model")["text"]  # It was of that session


def reasoning(talk):
    talk.turn("one")
    talk.ask("/reasoning high")
    assert talk.record("setting") == {"session": talk.session()["id"], "of": {"reasoning": "high"}, "chat": {}}
    talk.turn("two")


def verbose(talk):
    assert [talk.ask("/verbose")["text"].split()[-1] for _ in range(6)] == ["new", "all", "verbose", "log", "off", "new"]
    assert talk.record("setting")["chat"] == {"verbose": "new"}


def yolo(talk):
    talk.ask("/yolo")  # Before anything was said: it counts for the session that this opens
    assert talk.record("setting") == {"session": talk.session()["id"], "of": {"yolo": True}, "chat": {}}
    talk.ask("/yolo")
    assert talk.record("setting")["of"] == {}


def usage(talk):
    talk.turn("one")
    session = talk.session()
    answered(talk, "/usage", f"{session['input_tokens']} in, {session['output_tokens']} out")


def answered(talk, command, words):
    """It changes no row but that of its answer: it waits in the lane of the chat, and with its receipt it is gone."""
    def rows():
        return [(row["id"], row["leased"]) for row in talk.read("lane.list", {"service": "deliver.test.main", "key": talk.chat, "brief": True})["messages"]]

    before = talk.route()
    talk.say(command)
    header, meta, body = talk.peer.receive(lambda header, _: header["type"] == "deliver.request")
    assert rows() == [(header["id"], True)]
    done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}
    assert talk.peer.ask(done, parts=[({"type": "receipt.put", "to": "store"}, {"state": "sent"})])[0]["type"] == "accepted"
    assert rows() == [] and talk.route() == before
    assert words in body["text"]
    return body["text"]


def whoami(talk):
    answered(talk, "/whoami", f"User: {talk.user}\nTier: unrestricted")


def commands(talk):
    answered(talk, "/commands 2", "page 2 of 2")


def help_(talk):
    text = answered(talk, "/help", "`/background")
    assert "`/new [title]` -- " in text and "/handoff" not in text and text.count("set-home") == 1 and "set_home" not in text


def version(talk):
    answered(talk, "/v", "argos ")


def handoff(talk):
    answered(talk, "/handoff telegram", "no command /handoff")


def quit_(talk):
    answered(talk, "/quit", "no command /quit")


@pytest.fixture(scope="module")
def busy(shared_argosd):
    chat = Talk(shared_argosd, "test.busy").begin()
    running = chat.busy()
    yield chat
    chat.stop(running)
    chat.peer.close()


@pytest.mark.parametrize("name", [row["name"] for row in TABLE if row["name"] != "restart"])
@pytest.mark.conversation("command")
def test_each_command_changes_what_it_says(talk, name):
    scripts = globals()
    scripts.get(name + "_", scripts.get(name))(talk.begin())


@pytest.mark.parametrize("name", [row["name"] for row in TABLE if row["busy"] == "reject" and not row.get("cli_only")])
@pytest.mark.conversation("refused mid-turn")
def test_what_can_not_be_done_mid_turn_is_refused_and_changes_nothing(busy, name):
    session = busy.session()
    assert busy.ask(f"/{name} 1")["text"].startswith("⏳ Agent is running — /" + name)
    after = busy.session()
    assert (after["id"], after["version"]) == (session["id"], session["version"])


@pytest.mark.conversation("command [restart]")
def test_restart_restarts_and_tells_who_asked(daemon):
    daemon.start()
    talk = Talk(daemon).begin()
    talk.turn("one")
    talk.say("/restart")
    assert daemon.wait() == 75
    talk.peer.close()
    daemon.start()
    again = Talk(daemon)
    again.chat, again.user = talk.chat, talk.user
    while "restarted successfully" not in again.hear()["text"]:
        pass  # That it restarts may have been said before
    assert again.session()["message_count"] == 2
    again.peer.close()
    assert daemon.stop() == 0


@pytest.mark.conversation("reset while busy")
def test_new_gets_through_while_a_turn_runs(talk):
    running = talk.begin().busy()
    old = talk.session()["id"]
    assert "✨" in talk.ask("/new")["text"]  # Nothing has been written in this session yet
    wait_until(lambda: talk.run(running)["state"] == "cancelled")
    wait_until(lambda: talk.read("session.get", {"id": old})["session"].get("ended_at"))
    assert talk.session()["id"] != old
