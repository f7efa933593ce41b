"""approvals.mode smart: a model is asked first; people only when it is not sure, does not answer, or has said no three times."""
import json

import pytest

from conftest import wait_until
from test_provider_faults import FINE, Chat, Faults, settings


@pytest.fixture(scope="module")
def faults():
    faults = Faults()
    yield faults
    faults.close()


@pytest.fixture(scope="module")
def chat(faults):
    chat = Chat(settings(faults, more="approvals:\n  mode: smart\n"))
    yield chat
    chat.close()


def results(chat, run_id):
    return [json.loads(row["content"]) for row in chat.rows(run_id) if row["role"] == "tool"]


def test_a_model_allows(chat, faults):
    data = chat.ask("please @smart_approve")
    assert data["text"] == FINE and "from-the-tool" in results(chat, data["run_id"])[0]["output"]
    asked, = faults.requests("judge_approve")
    assert "rm -rf nothing-here" in asked["messages"][-1]["content"] and "tools" not in asked


def test_a_model_denies(chat):
    data = chat.ask("please @smart_deny")
    assert data["text"] == FINE and results(chat, data["run_id"])[0]["status"] == "blocked"


@pytest.mark.parametrize("verdict", ["escalate", "unclear", "fails"])
def test_people_are_asked_when_it_is_not_sure(chat, faults, verdict):
    asked = chat.ask(f"please @smart_{verdict}")
    assert "/approve" in asked["text"] and len(faults.requests(f"judge_{verdict}")) == 1
    said = chat.ask("/deny", new=False)
    while said["text"] != FINE:
        said = chat.hear()
    assert "denied" in results(chat, said["run_id"])[0]["error"]


def test_after_three_denials_people_are_asked(chat, faults):
    before = len(faults.requests("judge_deny"))
    asked = chat.ask("please @smart_often")
    assert "/approve" in asked["text"] and "nothing3" in asked["text"] and len(faults.requests("judge_deny")) == before + 3
    said = chat.ask("/deny", new=False)
    while said["text"] != FINE:
        said = chat.hear()
    assert [result["status"] for result in results(chat, said["run_id"])] == ["blocked"] * 4


def test_a_stop_waits_for_no_judgement(chat, faults):
    chat.chats += 1
    header, body, _ = chat.message("please @smart_silent")
    assert chat.peer.ask(header, body)[0]["type"] == "accepted"
    wait_until(lambda: faults.requests("judge_silent"))
    said = chat.ask("/stop", new=False)
    while said["text"] != "Stopped.":
        said = chat.hear()
    assert chat.run(said["run_id"])["state"] == "cancelled"
