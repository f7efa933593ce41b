"""Approvals, clarifies and steering by the id of a run. The agent is played by the test where it has to ask; steering is the real one's."""
import pytest

from conftest import wait_until
from edits import Gate
from httpapi import UNKNOWN, Api, is_error, names
from script_agent import ScriptAgent


@pytest.fixture(scope="module")
def stage(shared_argosd):
    agent = ScriptAgent(shared_argosd)
    yield Api(shared_argosd), agent
    agent.close()


def asked(api, agent, *questions, **more):
    """A run that waits: (run id, turn, ids of the questions)."""
    run = api.start("do it", **more)
    turn = agent.lease(run)
    return run, turn, [agent.ask(turn, **question) for question in questions or [{}]]


def approve(api, run, choice, **more):
    return api.call("POST", f"/v1/runs/{run}/approval", {"choice": choice, **more})


def test_c057_c060_c064_an_approval_by_run_id(stage):
    api, agent = stage
    run, turn, (question,) = asked(api, agent, {"text": "Run it with key sk-abcdefghijklmnopqrstuvwxyz012345?"})
    state = api.get(run)
    assert state["status"] == "waiting_for_approval" and state["last_event"] == "approval.request"
    event = api.stream(run).next()
    assert event["event"] == "approval.request" and event["request_id"] == question == state["approval"]["request_id"]
    assert event["choices"] == ["once", "session", "always", "deny"]
    assert "sk-abcdef" not in event["description"], "C064"
    status, _, body = approve(api, run, " Approve ")
    assert status == 200 and body == {"object": "hermes.run.approval_response", "run_id": run, "choice": "once", "resolved": 1}
    again = agent.lease(run)
    _, meta, answer = agent.side("question.answer")
    assert answer["question_id"] == question and answer["choice"] == "once"
    assert api.get(run)["status"] == "running" and "approval" not in api.get(run)
    is_error(approve(api, run, "once"), 409, "approval_not_pending")
    repeated = approve(api, run, "once", request_id=question)
    assert repeated[0] == 200 and repeated[2]["resolved"] == 0 and repeated[2]["already"] is True
    agent.finish(again, "done", [meta])
    assert api.finish(run)[-1]["event"] == "run.completed"
    is_error(approve(api, run, "once"), 409, "approval_not_active")


def test_c056_c058_c059_what_is_no_answer(stage):
    api, agent = stage
    run, turn, (question,) = asked(api, agent, {"options": [{"id": "once", "label": "Once"}, {"id": "deny", "label": "Deny"}]})
    is_error(approve(api, run, "maybe"), 400, "invalid_approval_choice")
    is_error(approve(api, run, "always"), 400, "invalid_approval_choice")
    is_error(approve(api, run, "once", request_id=""), 400, "invalid_approval_request")
    is_error(approve(api, run, "once", request_id="q_000000000000"), 409, "approval_not_pending")
    is_error(approve(api, UNKNOWN, "once"), 404, "run_not_found")
    is_error(api.call("POST", f"/v1/runs/{run}/approval", "not json"), 400)
    assert approve(api, run, "deny", request_id=question)[2]["resolved"] == 1
    again = agent.lease(run)
    agent.finish(again, "well then", [agent.side("question.answer")[1]])


def test_c055_two_runs_of_a_session_do_not_answer_each_other(stage):
    """The second one is played by a question of its id: turns of a session come one after the other."""
    api, agent = stage
    run, turn, (question,) = asked(api, agent, session_id="shared")
    other = api.start("the next one", session_id="shared")
    wait_until(lambda: api.get(other)["session_id"] == "shared")
    is_error(approve(api, other, "always", all=True), 409, "approval_not_pending")
    assert api.get(run)["status"] == "waiting_for_approval"
    assert approve(api, run, "always", resolve_all="yes")[2]["resolved"] == 1
    agent.finish(agent.lease(run), "done", [agent.side("question.answer")[1]])
    agent.finish(agent.lease(other), "done")


@pytest.mark.parametrize("choices", [["once", "session", "always", "deny"], ["once", "session", "deny"], ["once", "deny"], ["deny"]])
def test_c056_the_choices_are_those_of_the_question(stage, choices):
    api, agent = stage
    run, turn, (question,) = asked(api, agent, {"options": [{"id": name, "label": name} for name in choices]})
    assert api.stream(run).next()["choices"] == choices
    for other in {"once", "session", "always", "deny"} - set(choices):
        is_error(approve(api, run, other), 400, "invalid_approval_choice")
    assert approve(api, run, choices[-1])[2]["resolved"] == 1
    agent.finish(agent.lease(run), "done", [agent.side("question.answer")[1]])


def test_c062_a_stop_releases_who_waits_for_an_approval(daemon):
    api = Api(daemon.start())
    run = api.start('!tool terminal {"command":"rm -rf /tmp/argos-c062/x"}')
    stream = api.stream(run)
    while stream.next()["event"] != "approval.request":
        pass
    assert api.call("POST", f"/v1/runs/{run}/stop")[2]["status"] == "stopping"
    assert stream.all()[-1]["event"] == "run.cancelled"
    is_error(approve(api, run, "once"), 409, "approval_not_active")
    assert daemon.stop() == 0


def test_c063_one_question_after_the_other(stage):
    api, agent = stage
    run, turn, _ = asked(api, agent)
    assert approve(api, run, "once")[2]["resolved"] == 1
    turn = agent.lease(run)
    first = agent.side("question.answer")[1]
    second = agent.ask(turn, text="And this?", takes=[first])
    assert api.get(run)["approval"]["request_id"] == second
    assert approve(api, run, "session")[2]["resolved"] == 1
    agent.finish(agent.lease(run), "done", [agent.side("question.answer")[1]])


def test_all_are_answered_up_to_the_one_that_has_no_such_choice(stage):
    """The second one, which comes last, is put beside the first by hand."""
    api, agent = stage
    run, turn, (question,) = asked(api, agent)
    session = turn[2]["session_id"]
    value = agent.peer.ask({"type": "record.get", "to": "store"}, {"space": "question", "key": f"{session}/{question}"})[2]["record"]["value"]
    value.update(id="q_ffffffffffff", options=[{"id": "once", "label": "Once"}])
    record = {"space": "question", "key": f"{session}/{value['id']}", "value": value}
    assert agent.peer.ask({"type": "record.put", "to": "store", "durable": True}, record)[0]["type"] == "accepted"
    is_error(approve(api, run, "session", all=True), 400, "invalid_approval_choice")
    again = agent.lease(run)
    _, meta, answer = agent.side("question.answer")
    assert answer["question_id"] == question and answer["choice"] == "session"
    assert approve(api, run, "once")[2]["resolved"] == 1
    agent.finish(again, "done", [meta, agent.side("question.answer")[1]])


def test_a_clarify_is_answered_by_text_or_option(stage):
    api, agent = stage
    run, turn, (question,) = asked(api, agent, {"kind": "clarify", "options": [], "text": "Which colour?"})
    event = api.stream(run).next()
    assert event["event"] == "clarify.request" and event["question"] == "Which colour?" and event["options"] == []
    is_error(approve(api, run, "once"), 409, "approval_not_pending")
    is_error(api.call("POST", f"/v1/runs/{run}/clarify", {"answer": ""}), 400, "invalid_clarify_answer")
    long = "\u0001" * 8000  # Six bytes each in a record
    is_error(api.call("POST", f"/v1/runs/{run}/clarify", {"answer": long}), 400, "invalid_clarify_answer")
    assert api.call("POST", f"/v1/runs/{run}/clarify", {"answer": "blue"})[2]["resolved"] == 1
    again = agent.lease(run)
    _, meta, answer = agent.side("question.answer")
    assert answer["text"] == "blue"
    agent.finish(again, "done", [meta])


def test_a_chat_can_not_be_asked_and_is_told_at_once(stage):
    api, agent = stage
    answer = api.open("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "stream": True})
    turn = agent.lease()
    agent.ask(turn)
    again = agent.lease(turn[0]["id"])
    _, meta, said = agent.side("question.answer")
    assert said["choice"] == "deny"
    agent.finish(again, "done", [meta])
    assert b"[DONE]" in answer.read()


def test_c065_steering(daemon):
    api = Api(daemon.start())
    gate = Gate(daemon.tools_home)
    run = api.start(gate.words, session_id="s")
    stream = api.stream(run)
    assert stream.next()["event"] == "tool.started"
    steer = f"/v1/runs/{run}/steer"
    is_error(api.call("POST", steer, {"input": " "}), 400, "invalid_steer_input")
    status, _, body = api.call("POST", steer, {"message": "be quick"})
    assert status == 200 and body["accepted"] is True
    gate.open()
    events = stream.all()
    steered = next(event for event in events if event["event"] == "run.steered")
    assert steered["accepted"] is True and steered["steer_run_id"] == body["steer_run_id"]
    assert names(events)[-1] == "run.completed"
    assert wait_until(lambda: api.get(body["steer_run_id"])["status"] == "completed")
    is_error(api.call("POST", steer, {"input": "too late"}), 409, "run_not_accepting_steer")
    is_error(api.call("POST", f"/v1/runs/{UNKNOWN}/steer", {"input": "x"}), 404, "run_not_found")
    assert daemon.stop() == 0
