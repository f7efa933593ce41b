"""Hooks: programs that hear what happens and decide about commands; whatever they do, the pipeline goes on."""
import json
import os
import signal

import pytest

from conftest import PLACEMENT, wait_until
from test_gateway import Chat


def hook(home, name, events, program, more=""):
    folder = home / "hooks" / name
    folder.mkdir(parents=True, mode=0o700)
    (folder / "hook.yaml").write_text(f"events: {json.dumps(events)}\n{more}")
    (folder / "run").write_text(program)
    (folder / "run").chmod(0o700)
    return folder


RECORD = "#!/bin/sh\ncat >>heard.tmp; echo >>heard.tmp; cp heard.tmp heard\n"


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
    hook(daemon.home, "writable", ["*"], RECORD).chmod(0o777)
    (daemon.home / "hooks" / "empty").mkdir()
    hook(daemon.home, "wrong", ["no such"], RECORD)
    daemon.start()
    for name in ("writable", "empty", "wrong"):
        daemon.wait_log(f"hook {name} is left out")
    chat = Chat(daemon)
    for command in ("hang", "flood", "status"):
        assert ask(chat, command) == {"decision": "allow"}
    assert "hello" in chat.ask("hello")["text"]
    for text in ("hook=crashes status=ok code=3", "hook=hangs status=timeout", 'event="no decision" hook=nonsense', "hook=nowhere"):
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
