"""A dangerous call of a tool, from the model to the person and back: the real agent, gateway and tools."""
import json
import pathlib

import pytest

from conftest import wait_until
from test_commands import Talk



@pytest.fixture(scope="module")
def stage(shared_argosd):
    chat = Talk(shared_argosd)
    yield chat
    chat.peer.close()


@pytest.fixture
def chat(stage):
    return stage.begin()


def danger(folder, name="x"):
    """A command that needs approval: (its line, the file that is there until it has run)."""
    victim = pathlib.Path(folder) / name / "file"
    victim.parent.mkdir(exist_ok=True)
    victim.write_text("here")
    return "!tool terminal " + json.dumps({"command": f"rm -rf {victim.parent}"}), victim


def prompt(chat, text):
    """Say it; the question that comes of it."""
    run_id = chat.say(text)
    body = chat.hear()
    assert body["op"] == "prompt" and body["run_id"] == run_id, body
    return run_id, body


def answer(chat, run_id):
    while (body := chat.hear()).get("run_id") != run_id or body.get("op") == "prompt":
        pass
    return body


def result(chat):
    """What the newest tool has said, as it is stored."""
    rows = chat.read("session.load", {"id": chat.session()["id"]})["messages"]
    return [row["content"] for row in rows if row["role"] == "tool"][-1]


@pytest.mark.conversation("a tool allowed once")
def test_allowed_once(chat, tmp_path):
    line, victim = danger(tmp_path)
    run_id, body = prompt(chat, line)
    assert str(victim.parent) in body["text"] and "/approve" in body["text"]
    assert [option["id"].split(":")[1] for option in body["options"]] == ["once", "session", "always", "deny"]
    assert victim.exists()
    chat.say("/approve")
    assert answer(chat, run_id)["kind"] == "answer" and not victim.exists()
    line, victim = danger(tmp_path)
    prompt(chat, line)  # Once is once
    assert victim.exists()
    chat.say("/deny")


def test_a_button_denies(chat, tmp_path):
    line, victim = danger(tmp_path)
    run_id, body = prompt(chat, line)
    chat.say(body["options"][3]["id"])
    answer(chat, run_id)
    assert "The user has denied this" in result(chat) and victim.exists()


@pytest.mark.conversation("a tool allowed for the session")
def test_allowed_for_the_session_and_no_longer(chat, tmp_path):
    line, victim = danger(tmp_path)
    run_id, _ = prompt(chat, line)
    chat.say("/approve session")
    answer(chat, run_id)
    line, victim = danger(tmp_path)
    answer(chat, chat.say(line))
    assert not victim.exists()
    chat.begin()
    line, victim = danger(tmp_path)
    prompt(chat, line)
    assert victim.exists()
    chat.say("/deny")


@pytest.mark.conversation("a stop while a tool waits")
def test_a_stop_ends_the_wait(chat, tmp_path):
    line, victim = danger(tmp_path)
    run_id, _ = prompt(chat, line)
    chat.say("/stop")
    wait_until(lambda: chat.run(run_id)["state"] == "cancelled")
    assert victim.exists()
    questions = chat.read("record.list", {"space": "question", "prefix": chat.run(run_id)["session_id"] + "/"})["records"]
    assert [record["value"]["state"] for record in questions] == ["cancelled"]
    wait_until(lambda: not chat.lane())


@pytest.mark.conversation("a question of the model")
def test_a_question_of_the_model_is_answered_by_text(chat):
    run_id = chat.say("!tool clarify " + json.dumps({"question": "Which one?", "choices": ["this", "that"]}))
    body = chat.hear()
    assert body["text"] == "Which one?" and [option["label"] for option in body["options"]] == ["this", "that"]
    chat.say("2")
    assert '"that' in answer(chat, run_id)["text"].replace("\\", "")


def test_yolo_asks_nobody_but_the_floor_stays(chat, tmp_path):
    line, victim = danger(tmp_path)
    chat.ask("/yolo")
    answer(chat, chat.say(line))
    assert not victim.exists()
    answer(chat, chat.say('!tool terminal {"command":"rm -rf /"}'))
    assert "blocked" in result(chat)
