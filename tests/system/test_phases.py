"""Stop, restart and kill while a message is in each of its phases: one last word on each, and the chat goes on."""
import json
import signal

import pytest

from conftest import wait_until
from script_agent import argos
from test_commands import Talk



class Stage:
    """Chats of one platform, each in a phase of its own. What is delivered is kept by the id of its delivery."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.heard = {}  # chat -> [(id, attempt, body)]
        self.connect()

    def connect(self):
        self.chat = Talk(self.daemon)
        self.peer = self.chat.peer

    def say(self, chat, text):
        self.chat.chat, self.chat.user = chat, "u" + chat
        return self.chat.say(text)

    def pump(self, hold=None):
        """Take what has come. hold: a run whose answer is not ended."""
        while True:
            waiting = [m for m in self.peer.waiting if m[0]["type"] == "deliver.request"]
            if not waiting and not self.peer.socket.poll(20):
                return
            header, meta, body = self.peer.receive(lambda h, m: True)
            if header["type"] != "deliver.request":
                continue
            self.heard.setdefault(body["chat_id"], []).append((header["id"], meta["attempt"], body))
            if hold and body.get("run_id") == hold:
                continue
            self.peer.send({"type": "done", "id": f"d{meta['seq']}.{meta['attempt']}", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0},
                           parts=[({"type": "receipt.put", "to": "store"}, {"state": "sent"})])

    def until(self, condition, hold=None):
        def met():
            self.pump(hold)
            return condition()
        wait_until(met)

    def run(self, run_id):
        return self.chat.run(run_id) or {}

    def finals(self, chat, run_id):
        """The last words on a run, by the ids of their deliveries."""
        return {id_ for id_, _, body in self.heard.get(chat, ()) if id_.startswith(run_id + ".") and body.get("op") != "prompt"}

    def prompts(self, chat):
        return [body for _, _, body in self.heard.get(chat, ()) if body.get("op") == "prompt"]


@pytest.fixture
def stage(daemon):
    daemon.start()
    stage = Stage(daemon)
    yield stage
    stage.peer.close()


def begin(stage, folder, tokens=60):
    """Five messages, each in its phase; returns {phase: run}. What streams may be over on a slow machine, unless there are more tokens."""
    runs = {"streaming": stage.say("1", f"!slow {tokens}"), "tool": stage.say("2", "!tool terminal " + json.dumps(
        {"command": f"echo ran >> {folder}/ran; until [ -e {folder}/gate ]; do sleep 0.05; done; echo opened"}))}
    victim = folder / "victim"
    victim.mkdir()
    runs["approval"] = stage.say("3", "!tool terminal " + json.dumps({"command": f"rm -rf {victim}"}))
    stage.say("4", f"!slow {tokens}")
    runs["queued"] = stage.say("4", "after that")
    runs["delivering"] = stage.say("5", "hello")
    stage.until(lambda: stage.prompts("3") and stage.finals("5", runs["delivering"]) and (folder / "ran").exists()
                and stage.run(runs["streaming"]).get("state") in ("running", "completed") and stage.run(runs["queued"]), hold=runs["delivering"])
    argos(stage.daemon, "services", "pause", "turn")
    runs["starting"] = stage.say("6", "not begun yet")
    stage.until(lambda: stage.run(runs["starting"]), hold=runs["delivering"])
    return runs


def goes_on(stage):
    """Every chat answers the next message."""
    for chat in "123456":
        run_id = stage.say(chat, f"and on {chat}")
        stage.until(lambda: stage.finals(chat, run_id))


@pytest.mark.conversation("stop while queued", "stop while starting", "stop while streaming", "stop while in a tool", "stop while waiting for approval")
def test_a_stop_in_each_phase(stage, tmp_path):
    runs = begin(stage, tmp_path, 4000)
    for chat in "12346":
        stage.say(chat, "/stop")
    stage.until(lambda: all(any("⚡ Stopped" in body["text"] for _, _, body in stage.heard.get(chat, ())) for chat in "12346"))
    argos(stage.daemon, "services", "resume", "turn")
    stage.until(lambda: all(stage.run(runs[phase])["state"] == "cancelled" for phase in runs if phase != "delivering"))
    assert (tmp_path / "victim").exists()
    assert (tmp_path / "ran").read_text() == "ran\n"
    stage.until(lambda: not stage.chat.read("lane.list", {"service": "deliver.test.main", "key": "3"})["messages"])
    for phase, chat in (("streaming", "1"), ("tool", "2"), ("approval", "3"), ("queued", "4"), ("starting", "6")):
        stage.until(lambda: len(stage.finals(chat, runs[phase])) == 1)


@pytest.mark.parametrize("number, code", [pytest.param(signal.SIGUSR1, 75, id="restart"), pytest.param(signal.SIGKILL, -9, id="kill")])
@pytest.mark.conversation("while streaming", "while queued", "while delivering", "while starting", "while in a tool", "while waiting for approval")
def test_a_restart_and_a_kill_in_each_phase(stage, daemon, tmp_path, number, code):
    runs = begin(stage, tmp_path)
    stage.peer.socket.close()
    daemon.signal(number)
    assert daemon.wait() == code
    (tmp_path / "gate").touch()
    daemon.start()
    stage.connect()
    argos(daemon, "services", "resume", "turn")
    #  Streaming, queued, delivering, starting: as if nothing had happened
    for phase, chat in (("streaming", "1"), ("queued", "4"), ("delivering", "5"), ("starting", "6")):
        stage.until(lambda: stage.run(runs[phase])["state"] == "completed" and stage.finals(chat, runs[phase]))
        assert len(stage.finals(chat, runs[phase])) == 1
    #  What was delivered and not ended comes again, and says that it may have come before
    assert [attempt for id_, attempt, _ in stage.heard["5"] if id_ in stage.finals("5", runs["delivering"])][:2] == [1, 2]
    #  In a tool: it is not run again, the model is told that nobody knows
    stage.until(lambda: stage.run(runs["tool"])["state"] == "completed" and stage.finals("2", runs["tool"]))
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert "unknown" in next(body["text"] for id_, _, body in stage.heard["2"] if id_ in stage.finals("2", runs["tool"]))
    #  Waiting for people: it still does, and the old button counts
    assert stage.run(runs["approval"])["state"] in ("queued", "running") and (tmp_path / "victim").exists()
    stage.say("3", stage.prompts("3")[0]["options"][0]["id"])
    stage.until(lambda: stage.run(runs["approval"])["state"] == "completed" and stage.finals("3", runs["approval"]))
    assert not (tmp_path / "victim").exists()
    goes_on(stage)
    for phase, chat in (("streaming", "1"), ("tool", "2"), ("approval", "3"), ("queued", "4"), ("delivering", "5"), ("starting", "6")):
        assert len(stage.finals(chat, runs[phase])) == 1
