"""What a message does while a turn of its chat runs: queue, steer, interrupt; and what the chat is told of it."""
import json

import pytest

from conftest import wait_until
from test_gateway import Chat


@pytest.fixture
def begin(daemon):
    chats = []

    def go(mode, **more):
        settings = "".join(f"  {name}: {value}\n" for name, value in more.items())
        daemon.home.joinpath("argos.yaml").write_text(f"display:\n  busy_input_mode: {mode}\n{settings}")
        ack = more.get("busy_ack_enabled", "true")
        daemon.start(env={"HERMES_GATEWAY_BUSY_INPUT_MODE": mode, "HERMES_GATEWAY_BUSY_ACK_ENABLED": ack})
        chats.append(Chat(daemon))
        return chats[0]

    yield go
    for chat in chats:
        chat.peer.close()


def busy(chat, text="!slow 4000"):
    run_id = chat.say(text)
    wait_until(lambda: chat.run(run_id) and chat.run(run_id)["state"] == "running")
    return run_id


def hold(chat, tools_home):
    """A turn that stands in a tool until the returned file is made; returns its run and the file."""
    gate = tools_home / "gate"
    command = f"until [ -e {gate} ]; do sleep 0.05; done; echo opened"
    run_id = chat.say("!tool terminal " + json.dumps({"command": command}))
    wait_until(lambda: chat.run(run_id) and chat.run(run_id).get("last_event") == "tool.started")
    return run_id, gate


def said(chat, run_id):
    rows = chat.read("session.load", {"id": chat.run(run_id)["session_id"]})["messages"]
    return [(row["role"], row.get("content") or "") for row in rows]


@pytest.mark.conversation("busy: interrupt")
def test_an_interrupt_ends_the_running_turn_keeps_what_it_said_and_answers_the_new_one(begin):
    chat = begin("interrupt")
    chat.events(first := busy(chat))
    chat.event("turn.delta")
    second = chat.say("the other thing")
    assert chat.hear()["text"].startswith("⚡ Interrupting")
    answer = chat.hear()
    assert answer["run_id"] == second and "the other thing" in answer["text"]  # No word of the first
    assert (chat.run(first)["state"], chat.run(second)["state"]) == ("cancelled", "completed")
    assert [role for role, _ in said(chat, second)] == ["user", "assistant", "user", "assistant"]


@pytest.mark.conversation("busy: queue")
def test_queued_messages_are_answered_in_order_and_acknowledged_once(begin, tools_home):
    chat = begin("queue")
    first, gate = hold(chat, tools_home)
    runs = [chat.say(f"number {i}") for i in range(10)]
    gate.touch()
    bodies = [chat.hear() for _ in range(12)]
    notices = [body["text"] for body in bodies if "run_id" not in body]
    assert len(notices) == 1 and notices[0].startswith("⏳ Queued: number 1")
    assert [body["run_id"] for body in bodies if "run_id" in body] == [first, *runs]


@pytest.mark.conversation("busy: steer behind a tool")
def test_a_steer_is_taken_in_behind_the_results_of_a_tool(begin, tools_home):
    chat = begin("steer")
    first, gate = hold(chat, tools_home)
    steer = chat.say("and mind the gap")
    assert chat.hear()["text"].startswith("⏩ Steered")
    wait_until(lambda: chat.run(steer))
    gate.touch()
    answer = chat.hear()
    assert answer["run_id"] == first
    wait_until(lambda: chat.run(steer)["state"] == "completed")
    rows = said(chat, first)
    assert [role for role, _ in rows] == ["user", "assistant", "tool", "user", "assistant"]
    assert rows[3][1] == "and mind the gap"
    assert chat.ask("what next")["run_id"] != steer  # It has no answer of its own


@pytest.mark.conversation("busy: steer that becomes a turn")
def test_a_steer_that_is_not_taken_in_is_a_turn_in_its_place(begin):
    chat = begin("steer", busy_ack_enabled="false")
    first = busy(chat, "!slow 120")
    waiting = chat.say("/queue in line")
    assert chat.hear()["text"].startswith("⏳ Queued")
    steer = chat.say("then this")
    assert [chat.hear()["run_id"] for _ in range(3)] == [first, waiting, steer]


@pytest.mark.conversation("busy: stop behind steers")
def test_a_stop_takes_steers_along_that_are_older(begin):
    chat = begin("steer", busy_ack_enabled="false")
    first = busy(chat)
    steer = chat.say("sooner")
    wait_until(lambda: chat.run(steer))
    chat.say("/stop")
    wait_until(lambda: chat.run(first)["state"] == chat.run(steer)["state"] == "cancelled")
    again = chat.say("again")
    texts = []
    while not texts or texts[-1].get("run_id") != again:
        texts.append(chat.hear())
    assert chat.run(again)["state"] == "completed"


def test_steers_that_are_too_long_for_one_commit_are_turns_of_their_own(begin, tools_home):
    chat = begin("steer", busy_ack_enabled="false")
    first, gate = hold(chat, tools_home)
    short = chat.say("short")
    long = chat.say("x" * 140_000)
    wait_until(lambda: chat.run(short) and chat.run(long))
    gate.touch()
    assert [chat.hear()["run_id"] for _ in range(2)] == [first, long]
    assert chat.run(short)["state"] == chat.run(long)["state"] == "completed"
