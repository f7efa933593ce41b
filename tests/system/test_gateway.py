"""The gateway and the shell tool as a platform adapter meets them: sessions, commands, stop, refusals, dead letters."""
import json
import os
import re
import signal
import uuid

import pytest

from conftest import wait_until
from test_adapter_pyzmq import Peer


class Chat:
    """One chat of the test platform: says things, and leases what is delivered to it."""

    def __init__(self, argosd, name="test.main", chat="42"):
        self.peer = Peer(argosd.endpoint, name, argosd.operator)
        self.name = name
        self.chat = chat
        self.early = []  # Deliveries that came before the one that was waited for
        self.peer.send({"type": "credit"}, {"messages": 10_000, "bytes": 100_000_000})
        accepted = self.peer.ask({"type": "serve"}, {"service": f"deliver.{name}", "slots": 64})
        assert accepted[0]["type"] == "accepted"

    def say(self, text, **more):
        """Send it, wait until it is accepted; returns the id of its run."""
        platform, account = self.name.split(".")
        message_id = uuid.uuid4().hex
        run_id = "run_" + uuid.uuid4().hex
        source = {"platform": platform, "account": account, "chat_id": self.chat, "chat_type": "dm", "user_id": "u"}
        body = {"source": source, "text": text, "message_id": message_id, "run_id": run_id, **more}
        header = {"type": "message.inbound", "id": f"{account}:{self.chat}:{message_id}", "to": "service:gateway",
                  "key": f"{account}:{self.chat}", "durable": True}
        answer = self.peer.ask(header, body)
        assert answer[0]["type"] == "accepted", answer
        return body["run_id"]

    def hear(self):
        """The next delivery: its body. It is done at once."""
        return self.early.pop(0) if self.early else self._deliver()

    def answer(self, run_id):
        """The delivery of this run; what comes before it, like the notice of a job, is heard later."""
        while (body := self._deliver()).get("run_id") != run_id:
            self.early.append(body)
        return body

    def _deliver(self):
        header, meta, body = self.peer.receive(lambda header, _: header["type"] == "deliver.request")
        done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}
        receipt = ({"type": "receipt.put", "to": "store"}, {"state": "sent"})
        assert self.peer.ask(done, parts=[receipt])[0]["type"] == "accepted"
        return body

    def ask(self, text, **more):
        self.say(text, **more)
        return self.hear()

    def read(self, type_, body):
        answer = self.peer.ask({"type": type_, "to": "store"}, body)
        assert answer[0]["type"] == "store.result", answer
        return answer[2]

    def run(self, run_id):
        return self.read("run.get", {"run_id": run_id})["run"]

    def events(self, run_id):
        """Subscribe to the run; entries come as messages with meta.topic."""
        self.peer.send({"type": "subscribe", "id": "s" + uuid.uuid4().hex, "to": f"topic:run.{run_id}"}, {"from": 0})

    def event(self, type_):
        return self.peer.receive(lambda header, meta: header["type"] == type_ and "topic" in meta)


@pytest.fixture
def chat(argosd):
    chat = Chat(argosd)
    yield chat
    chat.peer.close()


def session_of(status):
    return re.search(r"Session: (\S+)", status["text"]).group(1)


def test_messages_of_a_chat_share_a_session_and_new_begins_another(chat):
    assert "none yet" in chat.ask("/status")["text"]
    first = chat.say("one")
    assert chat.hear()["run_id"] == first
    second = chat.say("two")
    assert chat.hear()["run_id"] == second
    session = chat.run(first)["session_id"]
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", session)
    assert chat.run(second)["session_id"] == session
    assert chat.read("session.get", {"id": session})["session"]["message_count"] == 4

    assert "`approve`" in chat.ask("/new")["text"]
    answer = chat.ask("approve")
    assert answer["text"].startswith("✨") and answer["chat_id"] == "42"
    third = chat.say("three")
    chat.hear()
    fresh = chat.run(third)["session_id"]
    assert fresh != session and fresh in answer["text"]
    wait_until(lambda: chat.read("session.get", {"id": session})["session"].get("ended_at"))


def test_chats_have_sessions_of_their_own(chat):
    mine = chat.say("one")
    chat.hear()
    chat.chat = "43"
    other = chat.say("one")
    chat.hear()
    assert chat.run(mine)["session_id"] != chat.run(other)["session_id"]


def test_status_help_and_unknown_commands_answer(chat):
    status = chat.ask("/status")
    assert "Running: no, queued: 0" in status["text"]
    assert "rehearsal" in status["text"] and "no model" in status["text"]
    text = chat.ask("/help")["text"]
    for command in ("/new", "/stop", "/status", "/help"):
        assert f"`{command}" in text
    unknown = chat.ask("/frobnicate")
    assert unknown["kind"] == "error" and "/frobnicate" in unknown["text"]
    assert "/usr/bin/env" in chat.ask("/usr/bin/env is a path")["text"]


def test_stop_ends_the_running_turn_and_what_waits(chat):
    assert "Nothing is running" in chat.ask("/stop")["text"]
    running = chat.say("!slow 400")
    chat.events(running)
    chat.event("turn.delta")
    waiting = chat.say("later")
    wait_until(lambda: chat.run(waiting))
    assert "Running: yes, queued: 1" in chat.ask("/status")["text"]
    chat.say("/stop")
    chat.event("run.cancelled")
    wait_until(lambda: chat.run(running)["state"] == "cancelled" and chat.run(waiting)["state"] == "cancelled")
    again = chat.say("again")
    texts = []
    while not any("again" in text for text in texts):
        texts.append(chat.hear()["text"])
    assert any("⚡ Stopped" in text for text in texts)
    assert chat.run(again)["state"] == "completed"


def terminal(command, **more):
    return "!tool terminal " + json.dumps({"command": command, **more})


def test_the_shell_tool_runs(chat):
    run_id = chat.say(terminal("echo $((6*7)); exit 3"))
    answer = chat.hear()
    assert "42" in answer["text"] and answer["run_id"] == run_id


def test_stop_kills_the_group_of_a_tool(chat, tools_home):
    pid_file = tools_home / "pid"
    run_id = chat.say(terminal(f"sleep 300 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"))
    wait_until(pid_file.exists)
    pid = int(pid_file.read_text())
    chat.say("/stop")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    wait_until(lambda: chat.run(run_id)["state"] == "cancelled")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_tool_outlives_the_daemon(chat, argosd, tools_home, number):
    pid_file = tools_home / "pid"
    chat.say(terminal(f"sleep 300 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"))
    wait_until(pid_file.exists)
    pid = int(pid_file.read_text())
    argosd.signal(number)
    assert argosd.wait() == (0 if number == signal.SIGTERM else -9)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_full_session_refuses_visibly(daemon):
    (daemon.home / "argos.yaml").write_text("gateway: {queue_max: 3}\n")
    daemon.start()
    chat = Chat(daemon)
    running = chat.say("!slow 400")
    chat.events(running)
    chat.event("turn.delta")
    runs = [chat.say(f"number {i}") for i in range(4)]
    refusal = chat.hear()
    assert refusal["kind"] == "error" and "wait in this session" in refusal["text"]
    known = [run_id for run_id in runs if chat.run(run_id)]
    assert len(known) == 2  # With the running one three, and then it is full
    chat.peer.close()
    assert daemon.stop() == 0


def test_the_same_run_id_twice_is_refused(chat):
    run_id = chat.say("one")
    chat.hear()
    chat.say("two", run_id=run_id)
    refusal = chat.hear()
    assert refusal["kind"] == "error"
    assert chat.run(run_id)["state"] == "completed"


def test_nobody_but_the_api_speaks_as_the_api(chat):
    source = {"platform": "api_server", "account": "main", "chat_type": "dm"}
    chat.say("one", source=source)
    dead = wait_until(lambda: chat.read("dead.list", {})["dead"])
    assert dead[0]["type"] == "message.inbound" and dead[0]["code"] == "denied"


def test_a_platform_that_nobody_serves_still_has_its_runs(chat, argosd):
    source = {"platform": "ghost", "account": "main", "chat_type": "dm", "chat_id": "1", "user_id": "u"}
    chat.say("/new", source=source)
    run_id = chat.say("one", source=source)
    wait_until(lambda: chat.run(run_id))
    # What they had to say lies among the dead letters, and is delivered to who comes later
    dead = wait_until(lambda: (found := chat.read("dead.list", {})["dead"]) and len(found) == 2 and found)
    assert {(letter["service"], letter["type"], letter["code"]) for letter in dead} == {("deliver.ghost.main", "deliver.request", "no_service")}
    assert chat.peer.ask({"type": "dead.redrive", "to": "store", "durable": True, "id": uuid.uuid4().hex}, {"seq": dead[0]["seq"]})[0]["type"] == "accepted"
    assert Chat(argosd, "ghost.main").hear()["text"] == "You said: one"


def test_many_messages_at_once_keep_their_order(chat):
    runs = [chat.say(f"number {i}") for i in range(30)]
    assert [chat.hear()["run_id"] for _ in runs] == runs


def test_a_named_session_is_made_and_used(chat):
    first = chat.say("one", session_id="my-session")
    chat.hear()
    second = chat.say("two", session_id="my-session")
    chat.hear()
    assert chat.run(first)["session_id"] == chat.run(second)["session_id"] == "my-session"
    refusal = chat.ask("three", session_id="../etc/passwd")
    assert refusal["kind"] == "error" and "not valid" in refusal["text"]
