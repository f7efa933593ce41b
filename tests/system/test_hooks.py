"""Hooks: programs that hear what happens and decide about commands; whatever they do, the pipeline goes on."""
import json
import os
import shutil
import signal

import pytest

from conftest import wait_until
from test_gateway import Chat


def hook(home, name, events, program, more=""):
    folder = home / "hooks" / name
    folder.mkdir(parents=True, mode=0o700)
    (folder / "hook.yaml").write_text(f"events: {json.dumps(events)}\n{more}")
    (folder / "run").write_text(program)
    (folder / "run").chmod(0o700)
    return folder


RECORD = "#!/bin/sh\ncat >>heard.tmp; echo >>heard.tmp; cp heard.tmp heard.new; mv heard.new heard\n"


def heard(folder):
    path = folder / "heard"
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def ask(chat, command, **more):
    return chat.peer.ask({"type": "hook.command", "to": "actor:hooks", "ttl_ms": 20_000}, {"command": command, **more})[2]


def test_hooks_hear_what_happens_in_order(daemon):
    folder = hook(daemon.home, "record", ["*"], RECORD)
    other = hook(daemon.home, "starts", ["session:*", "agent:end"], RECORD)
    daemon.start()
    chat = Chat(daemon)
    run = chat.say("hello there")
    chat.hear()
    session = chat.run(run)["session_id"]
    wait_until(lambda: any(event["event"] == "agent:end" for event in heard(folder)))
    names = [event["event"] for event in heard(folder)]
    # What the gateway tells and what the agent tells can cross on the way
    assert sorted(names) == ["agent:end", "agent:start", "gateway:startup", "session:start"]
    assert names.index("agent:start") < names.index("agent:end")
    told = {event["event"]: event for event in heard(folder)}
    started, begun, ended = told["session:start"], told["agent:start"], told["agent:end"]
    assert started["session_id"] == begun["session_id"] == session and started["platform"] == "test"
    assert begun["message"] == "hello there" and begun["run_id"] == run and begun["user_id"] == "u" and begun["chat_id"] == "42"
    assert ended["state"] == "completed" and "hello there" in ended["response"]
    chat.ask("/new")
    chat.ask("approve")
    wait_until(lambda: [event["event"] for event in heard(other)].count("session:start") == 2)
    names = [event["event"] for event in heard(other)]
    assert [name for name in names if name != "agent:end"] == ["session:start", "session:end", "session:reset", "session:start"]
    reset = next(event for event in heard(other) if event["event"] == "session:reset")
    assert reset["previous"] == session and reset["session_id"] == heard(other)[-1]["session_id"] != session
    chat.peer.close()


def test_peers_that_look_on_hear_the_same(argosd):
    chat = Chat(argosd)
    chat.peer.send({"type": "subscribe", "id": "s1", "to": "topic:hook.events"}, {"from": 0})
    chat.say("hello")
    assert chat.peer.receive(lambda header, meta: header["type"] == "hook.event")[2]["event"] == "gateway:startup"
    told = [chat.peer.receive(lambda header, meta: header["type"] == "hook.event")[2] for _ in range(3)]
    assert {body["event"] for body in told} == {"session:start", "agent:start", "agent:end"}
    assert all(body["chat_id"] == "42" for body in told)
    assert ask(chat, "status", args="x", user_id="u")["decision"] == "allow"
    _, _, body = chat.peer.receive(lambda header, meta: header["type"] == "hook.event")
    assert body["event"] == "command:status" and body["args"] == "x" and body["user_id"] == "u"
    chat.peer.close()


def test_each_step_of_a_turn_is_told(argosd):
    chat = Chat(argosd)
    chat.peer.send({"type": "subscribe", "id": "s1", "to": "topic:hook.events"}, {"from": 0})
    run = chat.say('!tool terminal {"command":"echo hi"}')
    chat.hear()
    told = []
    while not told or told[-1]["event"] != "agent:end":
        told.append(chat.peer.receive(lambda header, meta: header["type"] == "hook.event")[2])
    steps = [event for event in told if event["event"] == "agent:step"]
    assert [(step["iteration"], step["tool_names"], step["run_id"]) for step in steps] == [(1, ["terminal"], run)]
    chat.peer.close()


def test_the_first_word_that_is_not_allow_decides(daemon):
    say = "#!/bin/sh\ncat >input\necho noise >&2\necho '%s'\n"
    first = hook(daemon.home, "a-allows", ["command:*"], say % '{"decision":"allow"}')
    hook(daemon.home, "b-decides", ["command:deny", "command:re*"], """#!/bin/sh
read -r line
case "$line" in
    *'"deny"'*) echo '{"decision":"deny","message":"not today"}' ;;
    *'"restart"'*) echo '{"decision":"handled","message":"done"}' ;;
    *) echo '{"decision":"rewrite","command":"status","args":"all"}' ;;
esac
""")
    last = hook(daemon.home, "c-late", ["command:*"], say % '{"decision":"deny","message":"too late"}')
    daemon.start()
    chat = Chat(daemon)
    assert ask(chat, "deny") == {"decision": "deny", "message": "not today", "hook": "b-decides"}
    assert json.loads((first / "input").read_text())["event"] == "command:deny"
    assert not (last / "input").exists()
    assert ask(chat, "restart") == {"decision": "handled", "message": "done", "hook": "b-decides"}
    assert ask(chat, "reset") == {"decision": "rewrite", "command": "status", "args": "all", "hook": "b-decides"}
    assert ask(chat, "help")["hook"] == "c-late"
    chat.peer.close()


def test_what_goes_wrong_is_allow_and_a_line_in_the_log(daemon):
    hook(daemon.home, "crashes", ["command:*", "session:*"], "#!/bin/sh\nexit 3\n")
    hook(daemon.home, "hangs", ["command:hang", "agent:*"], "#!/bin/sh\nsleep 60\n", "timeout_ms: 300\n")
    hook(daemon.home, "nonsense", ["command:*"], "#!/bin/sh\necho '{\"decision\":\"perhaps\"}'\n")
    hook(daemon.home, "nowhere", ["command:*"], "#!/no/such/interpreter\n")
    floods = hook(daemon.home, "floods", ["command:flood"], "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\n")
    hook(daemon.home, "killed", ["command:killed"], "#!/bin/sh\necho '{\"decision\":\"deny\"}'\nkill -9 $$\n")
    hook(daemon.home, "ignores", ["command:ignored"], "#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do sleep 1; done\n", "timeout_ms: 100\n")
    gone = hook(daemon.home, "vanished", ["command:vanished"], "#!/bin/sh\necho '{\"decision\":\"deny\"}'\n")
    leaves = hook(daemon.home, "leaves", ["command:leaves"], "#!/bin/sh\nsetsid sleep 60 &\necho $! >pid\necho '{\"decision\":\"deny\"}'\n")
    hook(daemon.home, "writable", ["*"], RECORD).chmod(0o777)
    (hook(daemon.home, "plain", ["*"], RECORD) / "run").chmod(0o600)
    (daemon.home / "hooks" / "empty").mkdir()
    hook(daemon.home, "wrong", ["no such"], RECORD)
    daemon.start()
    for name in ("writable", "empty", "wrong", "plain"):
        daemon.wait_log(f"hook {name} is left out")
    shutil.rmtree(gone)
    chat = Chat(daemon)
    for command in ("hang", "flood", "status", "killed", "ignored", "vanished"):
        assert ask(chat, command) == {"decision": "allow"}
    # What it leaves behind holds its output; it is not waited for, but ended
    assert ask(chat, "leaves") == {"decision": "deny", "hook": "leaves"}
    wait_until(lambda: not os.path.exists(f"/proc/{(leaves / 'pid').read_text().strip()}"))
    assert "hello" in chat.ask("hello")["text"]
    for text in ("hook=crashes status=ok code=3", "hook=hangs status=timeout", "hook=killed status=ok code=137", 'event="no decision" hook=nonsense', "hook=nowhere"):
        daemon.wait_log(text)
    assert floods.exists()
    # Hooks are read again with the settings
    hook(daemon.home, "later", ["command:now"], "#!/bin/sh\necho '{\"decision\":\"deny\"}'\n")
    os.kill(daemon.process.pid, signal.SIGHUP)
    daemon.wait_log("name=later")
    assert ask(chat, "now") == {"decision": "deny", "hook": "later"}
    chat.peer.close()


def test_a_command_of_a_chat_runs_as_the_hooks_say(daemon):
    hook(daemon.home, "decides", ["command:*"], """#!/bin/sh
read -r line
case "$line" in
    *'"command":"version"'*) echo '{"decision":"deny","message":"not today"}' ;;
    *'"command":"help"'*) echo '{"decision":"handled","message":"helped"}' ;;
    *'"command":"whoami"'*) echo '{"decision":"rewrite","command":"status"}' ;;
    *'"command":"title"'*) echo '{"decision":"rewrite","command":"nosuch"}' ;;
esac
""")
    daemon.start()
    chat = Chat(daemon)
    assert chat.ask("/version")["text"] == "not today"
    assert chat.ask("/help")["text"] == "helped"
    assert "Session: " in chat.ask("/whoami")["text"]
    assert "nosuch" in chat.ask("/title x")["text"]
    assert "Session: " in chat.ask("/status")["text"]
    chat.peer.close()


DENY = "#!/bin/sh\necho '{\"decision\":\"deny\",\"message\":\"not today\"}'\n"
HANG = "#!/bin/sh\necho $$ >pid.new; mv pid.new pid; exec sleep 60\n"


def reread(daemon, name):
    """Have the folder read again, and wait until a hook of that name has been."""
    os.kill(daemon.process.pid, signal.SIGHUP)
    daemon.wait_log(f"event=hook name={name}")


def test_hooks_are_read_again_while_one_hangs(daemon):
    hangs = hook(daemon.home, "a-hangs", ["session:*"], HANG, "timeout_ms: 60000\n")
    holds = hook(daemon.home, "b-holds", ["command:held"], HANG)
    hook(daemon.home, "c-denies", ["command:held"], DENY)
    daemon.start()
    chat = Chat(daemon)
    chat.ask("hello")
    wait_until((hangs / "pid").exists)
    hook(daemon.home, "d-later", ["command:now"], DENY)
    reread(daemon, "d-later")
    assert ask(chat, "now")["hook"] == "d-later"
    # A hook that is gone is ended, and what it was asked about goes on to the next
    chat.peer.send({"type": "hook.command", "to": "actor:hooks", "id": "held", "ttl_ms": 20_000}, {"command": "held"})
    wait_until((holds / "pid").exists)
    pids = [int((folder / "pid").read_text()) for folder in (hangs, holds)]
    for folder in (hangs, holds):
        shutil.rmtree(folder)
    hook(daemon.home, "e-last", ["command:last"], DENY)
    reread(daemon, "e-last")
    assert chat.peer.receive(lambda header, _: header.get("re") == "held")[2] == {
        "decision": "deny", "message": "not today", "hook": "c-denies"}
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
    chat.peer.close()


def test_no_other_name_is_a_way_around_a_hook(daemon):
    (daemon.home / "argos.yaml").write_text("""quick_commands:
  fresh: {type: alias, target: /reset now}
  disk: {type: exec, command: echo free}
  df: {type: alias, target: /disk}
""")
    hook(daemon.home, "a-hears", ["command:*"], RECORD)
    hook(daemon.home, "b-denies", ["command:new", "command:v", "command:disk"], DENY)
    daemon.start()
    chat = Chat(daemon)
    for text in ("/new", "/reset", "/fresh", "/RESET@bot", "/version", "/v", "/disk", "/df"):
        assert chat.ask(text)["text"] == "not today", text
    told = [(event["event"], event["command"], event["raw_command"], event["args"]) for event in heard(daemon.home / "hooks" / "a-hears")]
    assert told[:3] == [("command:new", "new", "new", ""), ("command:new", "new", "reset", ""), ("command:new", "new", "fresh", "now")]
    assert told[-1] == ("command:disk", "disk", "df", "")
    chat.peer.close()


def test_what_a_hook_puts_in_the_place_of_a_command_has_to_be_allowed_too(daemon):
    (daemon.home / "argos.yaml").write_text("""quick_commands:
  secret: {type: exec, command: "touch ran"}
  other: {type: alias, target: /secret}
platforms: {test: {allow_admin_from: [boss], user_allowed_commands: [title, status, other]}}
""")
    hook(daemon.home, "rewrites", ["command:title"], """#!/bin/sh
read -r line
word=${line#*'"args":"'}
echo "{\\"decision\\":\\"rewrite\\",\\"command\\":\\"${word%%'"'*}\\"}"
""")
    daemon.start()
    chat = Chat(daemon)
    for word in ("restart", "new", "reset", "background", "secret", "other"):
        answer = chat.ask(f"/title {word}")["text"]
        assert "is for admins here" in answer and f"/{word}" in answer, answer
    assert "Session: " in chat.ask("/title status")["text"]
    assert "is for admins here" in chat.ask("/other")["text"]  # Both names have to be allowed
    assert not list(daemon.home.rglob("ran"))
    chat.peer.close()
