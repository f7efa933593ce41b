"""The Responses API of a real argosd. Cases are named by their conformance number."""
import json
import re

import pytest

from conftest import wait_until
from httpapi import HTTP, Api, fits, is_error

PATH = "/v1/responses"


@pytest.fixture(scope="module")
def api(shared_argosd):
    return Api(shared_argosd)


def respond(api, given, headers=None, **more):
    """A response that has to be one."""
    status, answer, body = api.call("POST", PATH, {"input": given, **more}, headers)
    assert status == 200, body
    body["session"] = answer["X-Hermes-Session-Id"]
    return body


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def tokens(response):
    return response["usage"]["input_tokens"]


def stream(api, given, **more):
    """The events of a stream; their names and numbers are checked."""
    answer = api.open("POST", PATH, {"input": given, "stream": True, **more})
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    events, name = [], None
    for line in answer:
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            event = json.loads(line[6:])
            assert event["type"] == name and event["sequence_number"] == len(events)
            fits(HTTP["shapes"]["ResponseEvent"], event)
            if "response" in event:
                fits(HTTP["shapes"]["Response"], event["response"])
            events.append(event)
    answer.connection.close()
    return events


def test_c118_what_is_no_request(api):
    is_error(api.call("POST", PATH, {}), 400, part="input")
    is_error(api.call("POST", PATH, "not json"), 400, part="JSON")
    is_error(api.call("POST", PATH, {"input": 42}), 400, part="input")
    is_error(api.call("POST", PATH, {"input": ""}), 400, part="user message")
    is_error(api.call("POST", PATH, {"input": [5]}), 400)
    is_error(api.call("POST", PATH, {"input": "x", "conversation_history": "y"}), 400, part="conversation_history")
    is_error(api.call("POST", PATH, {"input": [{"role": "user", "content": [{"type": "input_file"}]}]}), 400, "unsupported_content_type")


def test_c119_c129_a_response(api):
    body = respond(api, "hello")
    assert re.fullmatch("resp_[0-9a-f]{28}", body["id"]) and body["status"] == "completed" and body["model"] == "argos"
    [item] = body["output"]
    assert item["role"] == "assistant" and item["content"] == [{"type": "output_text", "text": "You said: hello", "annotations": [], "logprobs": []}]
    usage = body["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


def test_c114_c120_items(api):
    bare = tokens(respond(api, "second"))
    two = respond(api, [{"role": "user", "content": "x" * 4000}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "second"}])
    assert text_of(two) == "You said: second" and tokens(two) > bare + 500
    parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "http://x.example/a.png"}]
    assert "http://x.example/a.png" in text_of(respond(api, [{"type": "message", "role": "user", "content": parts}]))
    assert text_of(respond(api, ["one", {"type": "function_call_output", "call_id": "c", "output": "x"},
                                 {"role": "assistant", "content": "yes"}, "two"])) == "You said: two"


def test_c121_c122_c123_a_chain(api):
    first = respond(api, "x" * 2000, instructions="y" * 4000)
    second = respond(api, "again", previous_response_id=first["id"])
    third = respond(api, "again", previous_response_id=second["id"])
    assert first["session"] == second["session"] == third["session"]
    assert second["instructions"] == third["instructions"] == "y" * 4000 and second["previous_response_id"] == first["id"]
    bare = tokens(respond(api, "again"))
    assert tokens(second) > bare + 1400 and 0 < tokens(third) - tokens(second) < 200, "nothing twice"
    loaded = len(json.dumps(first))
    assert loaded
    other = respond(api, "again", previous_response_id=second["id"])
    assert abs(tokens(other) - tokens(third)) < 10, "from an earlier response: only what was before it"


def test_c125_c132_chains_that_are_none(api):
    is_error(api.call("POST", PATH, {"input": "x", "previous_response_id": "resp_" + "0" * 28}), 404)
    is_error(api.call("POST", PATH, {"input": "x", "previous_response_id": "resp_1", "conversation": "c"}), 400, part="Cannot use both")
    is_error(api.call("POST", PATH, {"input": "x", "previous_response_id": 5}), 400)


def test_conversations_and_their_end(api):
    first = respond(api, "z" * 2000, conversation="my talk")
    second = respond(api, "again", conversation={"id": "my talk"})
    assert second["session"] == first["session"] and tokens(second) > tokens(respond(api, "again")) + 300
    assert api.call("DELETE", f"{PATH}/{second['id']}")[0] == 200
    third = respond(api, "again", conversation="my talk")
    assert third["session"] != first["session"], "C135: its name went with it"


def test_c126_what_is_not_stored(api):
    body = respond(api, "hello", store=False, conversation="not kept")
    is_error(api.call("GET", f"{PATH}/{body['id']}"), 404)
    assert respond(api, "hello", conversation="not kept")["session"] != body["session"]


def test_c128_c137_tools_are_items(api):
    call = '!tool terminal {"command":"echo hi"}'
    body = respond(api, call)
    assert [item["type"] for item in body["output"]] == ["function_call", "function_call_output", "message"]
    assert all(item["status"] == "completed" for item in body["output"])
    asked, given = body["output"][:2]
    assert asked["name"] == "terminal" and json.loads(asked["arguments"]) == {"command": "echo hi"}
    assert asked["call_id"] == given["call_id"] and given["output"][0]["text"].strip() == "hi"
    events = stream(api, call)
    added = [event["item"]["type"] for event in events if event["type"] == "response.output_item.added"]
    assert added == ["function_call", "function_call_output", "message"]
    assert any(event["type"] == "response.function_call_arguments.done" for event in events)
    assert [event["output_index"] for event in events if event["type"] == "response.output_item.done"] == [0, 1, 2]


def test_c133_get_and_delete(api):
    body = respond(api, "hello", metadata={"a": "b"}, user="me")
    session = body.pop("session")
    assert session
    stored = api.call("GET", f"{PATH}/{body['id']}")
    assert stored[0] == 200 and stored[2] == body and body["metadata"] == {"a": "b"}
    assert api.call("DELETE", f"{PATH}/{body['id']}")[2] == {"id": body["id"], "object": "response", "deleted": True}
    for method in ("GET", "DELETE"):
        is_error(api.call(method, f"{PATH}/{body['id']}"), 404)
        is_error(api.call(method, f"{PATH}/x"), 404)
        is_error(api.call(method, f"{PATH}/{body['id']}", auth=False), 401)


def test_c136_c141_a_stream(api):
    events = stream(api, "!slow 5")
    types = [event["type"] for event in events]
    assert types[:5] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
                         "response.output_text.delta"]
    assert types[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"]
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert all(event["logprobs"] == [] and event["content_index"] == 0 for event in deltas)
    final = events[-1]["response"]
    assert text_of(final) == "".join(event["delta"] for event in deltas) and final["id"] == events[0]["response"]["id"]
    stored = api.call("GET", f"{PATH}/{final['id']}")[2]
    assert stored["output"] == final["output"] and stored["usage"] == final["usage"]


def test_c142_c127_a_failure(api):
    status, headers, body = api.call("POST", PATH, {"input": "!fail 401 response"})
    assert status == 502 and body["error"]["code"] == "agent_incomplete" and headers["x-should-retry"] == "false"
    events = stream(api, "!fail 401 streamed response")
    failed = events[-1]
    assert failed["type"] == "response.failed" and failed["response"]["error"]["code"] == "server_error"
    is_error(api.call("GET", f"{PATH}/{failed['response']['id']}"), 404)


def test_c139_c140_who_hangs_up_leaves_a_part(api):
    answer = api.open("POST", PATH, {"input": "!slow 1000", "stream": True})
    seen = b""
    while b"output_text.delta" not in seen:
        seen += answer.readline()
    response = json.loads(re.search(rb"data: (\{.*\})", seen)[1])["response"]["id"]
    assert api.call("GET", f"{PATH}/{response}")[2]["status"] == "in_progress"
    answer.close()
    answer.connection.close()
    body = wait_until(lambda: (found := api.call("GET", f"{PATH}/{response}")[2])["status"] == "incomplete" and found)
    assert body["incomplete_details"] == {"reason": "interrupted"}


def test_c130_truncation(api):
    history = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " + "x" * 400} for n in range(150)]
    whole = tokens(respond(api, "now", conversation_history=history))
    auto = tokens(respond(api, "now", conversation_history=history, truncation="auto"))
    assert 0.6 < auto / whole < 0.72


def test_idempotency_of_responses(api):
    key = {"Idempotency-Key": "response-1"}
    first, again = (api.call("POST", PATH, {"input": "hello"}, key) for _ in range(2))
    assert first[0] == again[0] == 200 and first[2] == again[2] and again[1]["Idempotency-Replayed"] == "true"
    is_error(api.call("POST", PATH, {"input": "other"}, key), 409, "idempotency_key_conflict")


def test_a_run_goes_on_from_a_response(api):
    first = respond(api, "w" * 4000)
    run = api.start("again", previous_response_id=first["id"])
    assert api.finish(run)[-1]["usage"]["input_tokens"] > 700
    assert api.get(run)["session_id"] == first["session"]
    is_error(api.call("POST", "/v1/runs", {"input": "x", "previous_response_id": "resp_" + "0" * 28}), 404)


def test_responses_outlive_the_daemon(daemon):
    api = Api(daemon.start())
    first = respond(api, '!tool terminal {"command":"echo hi"}')
    session = first.pop("session")
    assert daemon.kill() < 0
    api = Api(daemon.start())
    assert api.call("GET", f"{PATH}/{first['id']}")[2] == first
    assert respond(api, "again", previous_response_id=first["id"])["session"] == session
    assert daemon.stop() == 0
