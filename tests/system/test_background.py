"""/background over a scripted platform: one task is one start message, one result, one agent.closed, whatever happens."""
import re

import pytest

from conftest import wait_until
from httpapi import Api
from script_agent import argos
from test_chat import Terminal
from test_gateway import Chat


@pytest.fixture
def chat(argosd):
    chat = Chat(argosd)
    yield chat
    chat.peer.close()


def start(chat, prompt):
    """Ask for it; returns the run and the name of the task."""
    run_id = chat.say(f"/background {prompt}")
    text = chat.hear()["text"]
    assert text.startswith("🔄") and "Background task started" in text, text
    return run_id, re.search(r"Task ID: (bg_\d{6}_[0-9a-f]{6})", text).group(1)


def entries(chat, run_id):
    """Types of the kept entries of a run that is over."""
    chat.events(run_id)
    types = []
    while not types or not types[-1].startswith("run."):
        header, _, body = chat.peer.receive(lambda header, meta: "topic" in meta)
        if header["type"] != "turn.delta":
            types.append(header["type"])
        if header["type"] == "agent.closed":
            assert body["task"].startswith("bg_")
    return types


@pytest.mark.conversation("background: start and result")
def test_the_start_precedes_the_one_result_and_the_chat_is_not_touched(chat):
    chat.say("before")
    before = chat.run(chat.hear()["run_id"])["session_id"]
    run_id, task = start(chat, "say nothing of this")
    result = chat.hear()
    assert result["run_id"] == run_id and result["kind"] == "answer"
    assert result["text"].startswith('✅ Background task complete\nPrompt: "say nothing of this"\n\n')
    assert "say nothing of this" in result["text"].split("\n\n", 1)[1]
    row = chat.run(run_id)
    assert (row["state"], row["kind"], row["session_id"]) == ("completed", "background", task)
    assert entries(chat, run_id).count("agent.closed") == 1
    chat.say("after")
    after = chat.run(chat.hear()["run_id"])["session_id"]
    assert after == before
    texts = [m["content"] for m in chat.read("session.load", {"id": before})["messages"]]
    assert not any("say nothing of this" in text for text in texts)
    assert chat.read("session.load", {"id": task})["messages"][0]["content"] == "say nothing of this"


@pytest.mark.conversation("background: list and cancel")
def test_a_busy_session_starts_tasks_that_are_listed_and_cancelled(chat):
    busy = chat.say("!slow 4000")
    wait_until(lambda: chat.run(busy) and chat.run(busy)["state"] == "running")
    run_id, task = start(chat, "!slow 4000")
    wait_until(lambda: chat.run(run_id) and chat.run(run_id)["state"] == "running")
    assert task in chat.ask("/bg list")["text"]
    assert "running" in chat.ask(f"/bg status {task}")["text"]
    chat.say(f"/bg cancel {task}")
    texts = [chat.hear()["text"], chat.hear()["text"]]
    assert any("being cancelled" in text for text in texts)
    assert any(f"Background task {task} failed: cancelled by the user" in text for text in texts)
    wait_until(lambda: chat.run(run_id)["state"] == "cancelled")
    assert entries(chat, run_id).count("agent.closed") == 1
    assert chat.run(busy)["state"] == "running"
    chat.chat = "43"  # Another chat sees none of it
    assert "no background tasks" in chat.ask("/bg list")["text"]
    assert "no such background task" in chat.ask(f"/bg status {task}")["text"]


@pytest.mark.conversation("background: failure")
def test_a_failed_task_is_one_message(daemon):
    daemon.home.joinpath("argos.yaml").write_text(
        "provider:\n  kind: openai\n  model: m\n  key: env:NO_SUCH_KEY\n")
    daemon.start()
    chat = Chat(daemon)
    run_id, task = start(chat, "hello")
    result = chat.hear()
    assert result["kind"] == "error" and result["text"].startswith(f"❌ Background task {task} failed: ")
    assert "no provider credentials configured" in result["text"]
    assert entries(chat, run_id) == ["agent.closed", "run.failed"]
    assert "Background task started" in chat.ask("/bg again")["text"]  # Nothing came in between
    chat.peer.close()


@pytest.mark.conversation("background: too many, too late")
def test_too_many_are_refused_and_a_late_one_is_stopped(daemon):
    daemon.home.joinpath("argos.yaml").write_text("background:\n  max_running: 1\n  timeout_s: 8\n")
    daemon.start()
    chat = Chat(daemon)
    run_id, task = start(chat, "!slow 40000")
    refused = chat.ask("/bg one more")
    assert refused["kind"] == "error" and "too many" in refused["text"]
    late = chat.hear()
    assert late["text"] == f"❌ Background task {task} failed: timed out after 8 s"
    assert chat.run(run_id)["state"] == "cancelled"
    start(chat, "room again")
    chat.peer.close()


@pytest.mark.conversation("background: a kill")
def test_a_task_survives_the_death_of_the_daemon(daemon):
    daemon.start()
    chat = Chat(daemon)
    run_id, task = start(chat, "!slow 60")
    daemon.kill()
    chat.peer.close()
    daemon.start()
    chat = Chat(daemon)
    result = chat.hear()
    assert result["run_id"] == run_id and "Background task complete" in result["text"]
    assert entries(chat, run_id).count("agent.closed") == 1
    chat.peer.close()


def test_a_platform_that_nobody_serves_ends_without_a_message(chat):
    chat.name = "nowhere.main"
    run_id = chat.say("/background hello")
    wait_until(lambda: chat.run(run_id) and chat.run(run_id)["state"] == "completed")
    assert entries(chat, run_id).count("agent.closed") == 1


def test_a_result_is_noted_in_the_session_that_asked_when_the_settings_say_so(daemon):
    daemon.home.joinpath("argos.yaml").write_text("background: {note: true}\n")
    daemon.start()
    chat = Chat(daemon)
    chat.say("hello")
    wait_until(lambda: chat.hear().get("run_id"))
    session = chat.read("route.get", {"key": "agent:main:test:dm:42"})["session"]["id"]
    chat.say("/background find the heron")
    while "complete" not in chat.hear()["text"]:
        pass
    rows = lambda: chat.read("session.load", {"id": session})["messages"]  # noqa: E731
    wait_until(lambda: len(rows()) == 3)
    assert rows()[-1]["role"] == "assistant" and "find the heron" in rows()[-1]["content"]
    assert rows()[-1]["content"].startswith("[Delivered from task bg_")
    chat.peer.close()


@pytest.mark.conversation("background: at a terminal")
def test_a_task_of_the_terminal_is_told_there(argosd):
    terminal = Terminal(argosd.home)
    terminal.expect("> ")
    terminal.type("/bg find the heron\r")
    terminal.expect("Background task started: \"find the heron\"")
    terminal.expect("Background task complete")
    terminal.expect("You said: find the heron")
    terminal.close()


@pytest.mark.conversation("background: over HTTP")
def test_a_task_of_the_api_is_its_run(argosd):
    """Beside a session that is busy, and outside of what was said in it; the other words are routes."""
    api = Api(argosd)
    busy = api.start("!slow 4000", session_id="mine")
    wait_until(lambda: api.get(busy)["status"] == "running")
    run_id = api.start("/background find the heron", session_id="mine")
    events = api.finish(run_id)
    assert events[-1]["event"] == "run.completed" and events[-1]["output"] == "You said: find the heron"
    run = api.get(run_id)
    assert run["status"] == "completed" and re.fullmatch(r"bg_\d{6}_[0-9a-f]{6}", run["session_id"])
    assert run_id in [row["run_id"] for row in api.call("GET", "/v1/runs")[2]["data"]]
    assert api.get(busy)["status"] == "running"
    late = api.start("/bg !slow 4000", session_id="mine")
    wait_until(lambda: api.get(late)["status"] == "running")
    assert api.call("POST", f"/v1/runs/{late}/stop")[0] == 200
    wait_until(lambda: api.get(late)["status"] == "cancelled")
    refused = api.start("/background list")
    assert "GET /v1/runs" in api.finish(refused)[-1]["error"]
    assert argos(argosd, "runs", "show", run_id)["kind"] == "background"
    api.call("POST", f"/v1/runs/{busy}/stop")
