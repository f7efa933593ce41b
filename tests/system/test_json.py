"""Each command with --json says one document of the shape that schema/cli/COMMAND.json has for it.

The commands and their words are those of schema/cli/commands.json: one without a shape, or whose shape nothing here has seen, fails.
"""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, Argosd, wait_until
from hermes_db import make
from httpapi import fits
from test_gateway import Chat
from test_handoff import Place

FOLDER = ROOT / "schema" / "cli"
TABLE = json.loads((FOLDER / "commands.json").read_text())["argos"]
ERROR = {"type": "object", "required": ["error"], "additionalProperties": False, "properties": {"error": {
    "type": "object", "required": ["code", "message"], "additionalProperties": False,
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}}}}}


def verbs(row):
    """The words that stand behind a command, "" for a line without one."""
    found = []
    for words, _ in row["lines"]:
        first = (words.replace("[", " ").replace("]", " ").split() or [""])[0]
        found += [word for word in first.split("|") if re.fullmatch(r"[a-z]+", word)] or [""]
    return dict.fromkeys(found)


SHAPES = {(row["name"], verb): None for row in TABLE for verb in verbs(row)}


def shape(command, verb):
    path = FOLDER / f"{command}.json"
    assert path.exists(), f"{command} has no schema"
    table = json.loads(path.read_text())
    assert verb in table, f"{path.name} has no shape for {verb!r}"
    return table[verb]


class Caller:
    def __init__(self, home):
        self.home, self.seen = home, {}
        self.awake = lambda: None  # Called after each command: what the peers of the test do to be known as alive

    def start(self, *words):
        clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        return subprocess.Popen([str(BUILD / "argos"), "--home", str(self.home), "--json", *words], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean)

    def end(self, process, *words, rc=0, text=""):
        """What it has said: the document, or the list of them where the shape says that lines come."""
        out, err = process.communicate(text, timeout=60)
        self.awake()
        assert process.returncode == rc, (words, process.returncode, out, err)
        known = next(row for row in TABLE if row["name"] == words[0])
        verb = words[1] if len(words) > 1 and words[1] in verbs(known) else "" if "" in verbs(known) else next(iter(verbs(known)))
        wanted = shape(words[0], verb)
        values = [json.loads(line) for line in out.splitlines()]
        self.seen.setdefault((words[0], verb), []).append(values)
        for value in values:
            fits(wanted["lines"] if "lines" in wanted else wanted, value, " ".join(words))
        assert "lines" in wanted or len(values) == 1, f"{words}: one document is wanted:\n{out}"
        return values if "lines" in wanted else values[0]

    def __call__(self, *words, rc=0, text=""):
        return self.end(self.start(*words), *words, rc=rc, text=text)

    def fails(self, *words, rc=1):
        process = self.start(*words)
        out = process.communicate("", timeout=60)[0]
        assert process.returncode == rc, (words, out)
        fits(ERROR, json.loads(out), " ".join(words))


def talk(call):
    first = call("run", "we plan a bridge")
    call("chat", "--chat", "json", text="hello\n")
    for words in (["list"], ["show", first["run_id"]], ["events", first["run_id"]]):
        call("runs", *words)
    call("trace", first["run_id"])
    return first["run_id"], call("sessions", "list")["sessions"][0]["id"]


def sessions(call, session):
    call("sessions", "rename", session, "Bridges")
    call("sessions", "home", session, "none")
    call("sessions", "show", session)
    assert call("sessions", "search", "hello")["hits"]
    copy = call("sessions", "branch", session, "Copy")["session_id"]
    lines = call("sessions", "export", copy)
    call("sessions", "delete", copy)
    call("sessions", "import", "-", text="\n".join(map(json.dumps, lines)) + "\n")
    call("sessions", "stats")
    call("sessions", "prune", "1000")


def drop(call, daemon):
    """A service that nobody serves any more and nothing waits for."""
    Chat(daemon, "local.gone", "gone").peer.close()

    def left():
        return any(row["name"] == "deliver.local.gone" and row["workers"] == 0 for row in call("services")["services"])

    wait_until(left)
    call("services", "drop", "deliver.local.gone")


def looks(call, session):
    for words in (["status"], ["top", "--once"], ["logs", "-n", "3"], ["agents"], ["services"], ["peers"], ["pairing"], ["pairing", "clear"],
                  ["doctor"], ["provider", "test"], ["version"], ["help"], ["help", "runs"]):
        call(*words)
    call("agents", "evict", session)
    for verb in ("pause", "resume"):
        call("services", verb, "handoff")
    for verb in ("drain", "resume"):
        call("peers", verb, "test.main")


def outside(call, place):
    """What goes to chats, and what becomes of it."""
    sent = call("send", "test:42", "to be refused")["sent"][0]["delivery"]
    place.refuse()
    call("deliveries", "show", sent)
    call("deliveries", "list", "refused")
    again = call("deliveries", "resend", sent)["id"]
    assert again != sent
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "deliver.request")
    place.peer.send({"type": "release", "seq": meta["seq"], "lease": meta["lease"]}, {"reject": "invalid"})
    place.peer.receive(lambda h, _: h["type"] == "accepted")
    [dead] = call("dead")["dead"]
    call("dead", "show", str(dead["seq"]))
    call("dead", "redrive", str(dead["seq"]))
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "deliver.request")
    place.peer.send({"type": "release", "seq": meta["seq"], "lease": meta["lease"]}, {"reject": "invalid"})
    place.peer.receive(lambda h, _: h["type"] == "accepted")
    call("dead", "drop", str(call("dead")["dead"][0]["seq"]))
    call("channels", "alias", "me", "test:42")
    call("channels")
    for words in (["list"], ["status"], ["pause", "test.main"], ["resume", "test.main"]):
        status = call.start("adapters", *words)
        if words == ["status"]:
            answer_probe(place)
        call.end(status, "adapters", *words)
    probe = call.start("adapters", "probe", "test.main")
    answer_probe(place)
    call.end(probe, "adapters", "probe", "test.main")


def answer_probe(place):
    header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "probe")
    place.peer.send({"type": "probe.result", "to": f"actor:{meta['from']}", "re": header["id"]}, {"ok": True, "user_name": "bot"})


def stopped(call, daemon):
    chat = Chat(daemon, "local.slow", "slow")
    run_id = chat.say("!slow 9000")
    chat.events(run_id)
    chat.event("turn.delta")
    call("runs", "stop", run_id)
    chat.event("run.cancelled")
    chat.peer.close()


def pairs(call, place):
    """A stranger is told a code; who has it is let in, and put out again."""
    code = re.search(r"\b[A-Z0-9]{8}\b", place.ask("hello", source={"platform": "test", "account": "main", "chat_id": "9",
                                                                    "chat_type": "dm", "user_id": "stranger"})["text"]).group()
    call("pairing", "list")
    call("pairing", "approve", "test", code)
    call("pairing", "revoke", "test", "stranger")


def jobs(call):
    job = call("jobs", "start", "--", "echo", "hi")["job"]["id"]
    call("jobs", "output", "-f", job)
    for words in (["list"], ["show", job], ["kill", job]):
        call("jobs", *words)


def settings(call, home):
    call("keys", "new", "line", "--role", "adapter", "--platform", "line", "--account", "main")
    call("keys", "new", "web", "--http", "--scope", "runs")
    call("keys", "list")
    call("keys", "revoke", "line")
    call("keys", "revoke", "web", "--http")
    for words in (["show"], ["get", "http.port"], ["set", "agent.max_iterations", "30"], ["unset", "agent.max_iterations"], ["check"], ["reload"]):
        call("config", *words)
    call("node", "add", "attic", "--actors", "agent", "--broker", "tcp://10.0.0.2:5701")
    (home / "hermes").mkdir()
    make(home / "hermes", 30)
    call("import", "hermes", str(home / "hermes" / "state.db"), "--dry-run")
    call("adapter-check", "false", "--only", "hello", "--platform", "test", "--account", "main", rc=1)


def database(call):
    call("db", "check")
    copy = call("db", "backup")["backup"]
    call("db", "compact")
    call("db", "query", "SELECT count(*) AS n FROM sessions")
    return copy


def test_every_command_says_what_its_schema_says(home):
    daemon = Argosd(home).start(env={"GATEWAY_ALLOW_ALL_USERS": "false"})
    call = Caller(home)
    try:
        run_id, session = talk(call)
        place = Place(daemon, home=False)
        call.awake = lambda: place.peer.ask({"type": "ping"})
        pairs(call, place)
        sessions(call, session)
        looks(call, session)
        drop(call, daemon)
        outside(call, place)
        jobs(call)
        settings(call, home)
        handoff = call.start("handoff", session, "test:42")
        header, meta, _ = place.peer.receive(lambda h, _: h["type"] == "chat.info")
        place.peer.send({"type": "chat.info.result", "to": f"actor:{meta['from']}", "re": header["id"]}, {"chat_type": "dm"})
        place.thread(thread_id="t1")
        place.hear()
        call.end(handoff, "handoff", session, "test:42")
        stopped(call, daemon)
        call.fails("runs", "stop", run_id)
        copy = database(call)
    finally:
        call.awake = lambda: None
        code = daemon.stop()
    place.peer.socket.close()
    assert code == 0
    call("db", "salvage", str(home / "salvaged.db"))
    call("db", "restore", copy)
    call.fails("status", rc=69)
    shutil.rmtree(home / "run")
    call("setup", "--non-interactive")
    #  A script is no document; the platforms' fakes are in test_telegram.py, test_discord.py, test_slack.py
    elsewhere = {("completion", verb) for verb in ("bash", "zsh", "fish")} | {("setup", verb) for verb in ("telegram", "discord", "slack")}
    missing = set(SHAPES) - set(call.seen) - elsewhere
    assert not missing, sorted(missing)
