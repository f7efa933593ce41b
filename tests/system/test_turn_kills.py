"""kill -9 of the agent in each phase of a turn with tools: one final answer, no tool twice, and what is not known is said."""
import json
import os
import signal

import pytest

from conftest import wait_until
from test_placement import children
from test_provider_faults import FINE, Chat, faults, fill, settings  # noqa: F401 (a fixture)

pytestmark = pytest.mark.own_placement


class Stage(Chat):
    arguments = ["--isolate"]

    def kill(self):
        before = children(self.daemon.process.pid)["agent"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: children(self.daemon.process.pid).get("agent") not in (None, before))

    def say(self, words):
        header, body, run_id = self.message(words)
        assert self.peer.ask(header, body)[0]["type"] == "accepted"
        return run_id

    def final(self, run_id):
        """The one answer: (it, the rows); nothing else comes for that run before the answer to a later message."""
        wait_until(lambda: self.run(run_id)["state"] == "completed")
        later = self.say("and then @ok")
        heard = []
        while not heard or heard[-1].get("run_id") != later:
            heard.append(self.hear())
        answers = [data for data in heard if data.get("run_id") == run_id and data.get("op") != "prompt" and data["kind"] != "notice"]
        assert len(answers) == 1, heard
        return answers[0], self.rows(run_id)


@pytest.fixture
def stage(faults):  # noqa: F811
    stage = Stage(settings(faults, patience_s=100))
    yield stage
    stage.close()


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def results(rows):
    return [row["content"] for row in rows if row["role"] == "tool"]


def test_while_the_provider_thinks(stage, faults):  # noqa: F811
    before = len(faults.requests("k_waiting"))
    run_id = stage.say("@k_waiting")
    wait_until(lambda: len(faults.requests("k_waiting")) == before + 1)
    stage.kill()
    assert stage.final(run_id)[0]["text"] == FINE
    first, again = (json.dumps(request["messages"]) for request in faults.requests("k_waiting")[before:before + 2])
    assert "interrupted by a restart" in again and "interrupted by a restart" not in first


def test_while_the_answer_comes(stage):
    run_id = stage.say("@k_streaming")
    stage.peer.send({"type": "subscribe", "id": "s1", "to": f"topic:run.{run_id}"}, {"from": 0})
    stage.peer.receive(lambda header, _: header["type"] == "turn.delta")
    stage.kill()
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and rows[1]["content"] == FINE
    stage.peer.receive(lambda header, _: header["type"] == "turn.restarted")  # What was there is dropped


def test_while_a_tool_runs(stage, faults, tmp_path):  # noqa: F811
    ran = tmp_path / "ran"
    run_id = stage.say(f"@k_tool $ echo once >> {ran}; sleep 60")
    wait_until(lambda: lines(ran))
    stage.kill()
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and lines(ran) == ["once"]
    assert ["unknown" in result for result in results(rows)] == [True]
    assert "was not run again" in json.dumps(faults.requests("k_tool")[-1])


def test_after_a_tool(stage, faults, tmp_path):  # noqa: F811
    ran = tmp_path / "ran"
    run_id = stage.say(f"@k_after_tool $ echo once | tee -a {ran}")
    wait_until(lambda: len(faults.requests("k_after_tool")) == 2)
    stage.kill()
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and lines(ran) == ["once"]
    assert ["once" in result for result in results(rows)] == [True]
    first, second = faults.requests("k_after_tool")[1:]
    assert first["messages"] == second["messages"][:len(first["messages"])] or second["messages"][0]["role"] == "system"


def test_while_it_waits_to_call_again(stage, faults):  # noqa: F811
    run_id = stage.say("@k_again")
    wait_until(lambda: faults.requests("k_again"))
    stage.kill()  # Who asked for the wait is asked again: it was the agent that is gone
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and [row["role"] for row in rows[:2]] == ["user", "assistant"]
    assert len(faults.requests("k_again")) == 2


def test_while_the_conversation_is_made_smaller(stage, faults):  # noqa: F811
    before = fill(stage, "talk @ok @sum_k")
    run_id = stage.say("and now @k_summary @sum_k")
    wait_until(lambda: faults.requests("summary_k"))
    stage.kill()
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and len(faults.requests("summary_k")) == 2
    assert len(rows) < len(before) and [row["content"].startswith("and now") for row in rows].count(True) == 1


def test_while_a_child_is_at_work(stage, faults):  # noqa: F811
    run_id = stage.say("@k_delegates")
    wait_until(lambda: faults.requests("k_child"))
    stage.kill()
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and len(faults.requests("k_child")) == 2 and len(faults.requests("k_delegates")) == 2
    result, = results(rows)
    child, = json.loads(json.loads(result)["output"])["results"]
    assert child["summary"] == FINE and child["status"] == "completed"


def test_while_somebody_is_asked(stage, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    ran = tmp_path / "ran"
    run_id = stage.say(f"@k_asked $ rm -rf {victim}; echo once >> {ran}")
    prompt = stage.hear()
    assert prompt["op"] == "prompt" and victim.exists()
    stage.kill()
    assert victim.exists() and not lines(ran)
    stage.say("/approve")
    data, rows = stage.final(run_id)
    assert data["text"] == FINE and lines(ran) == ["once"] and not victim.exists()
    assert len(results(rows)) == 1 and "unknown" not in results(rows)[0]
