"""delegate_task: turns of other sessions whose ends are the result of a call. The rehearsal provider plays all of them."""
import json

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


def line(**arguments):
    return "!tool delegate_task " + json.dumps(arguments)


def result(chat):
    rows = chat.read("session.load", {"id": chat.session()["id"]})["messages"]
    content = json.loads([row["content"] for row in rows if row["role"] == "tool"][-1])
    return json.loads(content["output"])["results"] if content["output"] else content


def children(chat):
    return chat.read("session.lineage", {"id": chat.session()["id"]})["children"]


def test_the_ends_of_the_children_are_the_result(chat):
    run = chat.turn(line(tasks=[{"goal": "say one"}, {"goal": "say two", "context": "loudly"}]))
    assert run["state"] == "completed"
    first, second = result(chat)
    assert first["status"] == second["status"] == "completed"
    assert first["summary"] == "You said: say one" and second["summary"] == "You said: say two\n\nloudly"
    assert first["api_calls"] == 1 and first["tokens"]["output"] > 0 and first["task_index"] == 0
    assert [child["kind"] for child in children(chat)] == ["delegate", "delegate"]
    assert not chat.lane()


def test_a_list_may_come_as_text_and_a_goal_alone(chat):
    chat.turn(line(tasks=json.dumps([{"goal": "as text"}])))
    assert [entry["summary"] for entry in result(chat)] == ["You said: as text"]
    chat.turn(line(goal="alone", context="with context"))
    assert [entry["summary"] for entry in result(chat)] == ["You said: alone\n\nwith context"]


@pytest.mark.parametrize("arguments, words", [
    ({}, "no goal"), ({"tasks": []}, "no goal"), ({"tasks": [{"goal": " "}]}, "needs a goal"), ({"tasks": [{"goal": "x"}] * 4}, "Too many tasks"),
    ({"goal": "x" * 40000}, "32 KiB"), ({"tasks": "no JSON"}, "no goal"),
])
def test_what_can_not_be_delegated(chat, arguments, words):
    chat.turn(line(**arguments))
    assert words in result(chat)["error"] and not children(chat)


def test_a_child_delegates_no_further_and_asks_nobody(chat, tmp_path):
    (tmp_path / "file").write_text("here")
    chat.turn(line(tasks=[{"goal": line(goal="deeper")}, {"goal": "!tool clarify " + json.dumps({"question": "may I?"})},
                          {"goal": "!tool terminal " + json.dumps({"command": f"rm -rf {tmp_path}"})}]))
    summaries = [entry["summary"] for entry in result(chat)]
    assert all("blocked" in summary for summary in summaries), summaries
    assert (tmp_path / "file").exists()


def test_a_failed_child_is_a_result(chat):
    chat.turn(line(tasks=[{"goal": "!fail 401"}, {"goal": "well"}]))
    first, second = result(chat)
    assert first["status"] == "failed" and "authentication" in first["summary"] and second["status"] == "completed"


def test_a_stop_of_the_parent_stops_its_children(chat):
    run_id = chat.say(line(tasks=[{"goal": "!slow 2000"}, {"goal": "!hang"}]))
    wait_until(lambda: chat.session() and len(children(chat)) == 2)
    sessions = [child["id"] for child in children(chat)]
    chat.say("/stop")
    wait_until(lambda: chat.run(run_id)["state"] == "cancelled")
    wait_until(lambda: not any(chat.read("lane.list", {"service": "turn", "key": session})["messages"] for session in sessions))
    wait_until(lambda: not chat.lane())
    runs = [chat.run("run_" + session.split("_")[1])["state"] for session in sessions]
    assert runs == ["cancelled", "cancelled"]


def test_a_parent_that_waits_holds_nothing(chat):
    run_id = chat.say(line(tasks=[{"goal": "!slow 2000"}, {"goal": "quick"}]))
    wait_until(lambda: chat.session() and len(children(chat)) == 2)
    record = f"{chat.session()['id']}/"

    def one_is_there():
        records = chat.read("record.list", {"space": "delegate", "prefix": record})["records"]
        return [child for child in records[0]["value"]["children"] if "result" in child] if records else []

    quick, = wait_until(one_is_there)
    slow, = {child["id"] for child in children(chat)} - {quick["session_id"]}
    parked, = wait_until(lambda: [message for message in chat.lane() if not message["leased"]])
    assert parked["parked"] and parked["id"] == run_id
    chat.peer.ask({"type": "turn.stop", "to": "service:turn", "id": run_id + ".x", "key": slow, "durable": True, "side": True, "urgent": True},
                  {"reason": "test"})
    wait_until(lambda: chat.run(run_id)["state"] == "completed")
    assert sorted(entry["status"] for entry in result(chat)) == ["completed", "interrupted"]
