"""POST /v1/chat/completions of a real argosd. Cases are named by their conformance number."""
import base64
import hashlib
import http.client
import json
import re
import subprocess
import sys

import pytest

from conftest import BUILD, DEADLINE_S, ROOT, wait_until
from httpapi import Api, HTTP, fits, is_error

PATH = "/v1/chat/completions"


@pytest.fixture(scope="module")
def api(shared_argosd):
    return Api(shared_argosd)


def said(*texts):
    """Messages of a user and an assistant by turns; the first is the user's."""
    return [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]


def chat(api, messages, headers=None, **more):
    if isinstance(messages, str):
        messages = said(messages)
    return api.call("POST", PATH, {"messages": messages, **more}, headers)


def answer_of(api, messages, headers=None, **more):
    status, _, body = chat(api, messages, headers, **more)
    assert status == 200, body
    return body["choices"][0]["message"]["content"]


def stream(api, messages, headers=None, **more):
    """Opens a stream; gives its frames as (name of the event, value), comments as (None, text)."""
    if isinstance(messages, str):
        messages = said(messages)
    answer = api.open("POST", PATH, {"messages": messages, "stream": True, **more}, headers)
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    frame = {}
    try:
        for line in answer:
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                yield None, line
            elif line:
                name, _, value = line.partition(": ")
                frame[name] = value
            elif frame:
                value = frame["data"] if frame["data"] == "[DONE]" else json.loads(frame["data"])
                if "event" not in frame and value != "[DONE]":
                    fits(HTTP["shapes"]["ChatChunk"], value)
                yield frame.get("event", "message"), value
                frame = {}
    finally:
        answer.close()
        answer.connection.close()


def chunks(api, messages, headers=None, **more):
    """The chunks of a stream that has to end with [DONE]."""
    frames = [value for name, value in stream(api, messages, headers, **more) if name == "message"]
    assert frames[-1] == "[DONE]" and len({(each["id"], each["created"], each["model"]) for each in frames[:-1]}) == 1
    return frames[:-1]


def text_of(frames):
    return "".join(each["choices"][0]["delta"].get("content", "") for each in frames if each["choices"])


def test_c083_c084_what_is_no_conversation(api):
    for body in ({}, {"messages": []}, {"messages": "x"}, {"messages": [5]}, {"messages": [{"content": "x"}]}):
        is_error(api.call("POST", PATH, body), 400, part="messages")
    for messages in ([{"role": "system", "content": "x"}], said(""), said(None), [{"role": "tool", "content": "x"}]):
        is_error(chat(api, messages), 400, part="user message")
    is_error(api.call("POST", PATH, "not json"), 400, part="JSON")
    is_error(api.call("POST", PATH, "[]"), 400, part="object")
    answer = chat(api, [*said("a"), "b"])
    is_error(answer, 400)
    assert answer[2]["error"]["param"] == "messages[1]"


def test_c085_c092_c095_a_completion(api):
    status, headers, body = chat(api, "hello", model="some-model")
    assert status == 200 and re.fullmatch("chatcmpl-[0-9a-f]{29}", body["id"]) and body["model"] == "some-model"
    assert body["choices"][0]["message"]["content"] == "You said: hello" and body["choices"][0]["finish_reason"] == "stop"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert "hermes" not in body and "X-Hermes-Completed" not in headers
    assert chat(api, "hello")[2]["model"] == "argos"
    assert headers["X-Hermes-Session-Id"].startswith("api-")


def test_c086_c087_c088_what_reaches_the_model(api):
    """The rehearsal provider counts the prompt: a longer one costs more tokens."""
    def prompt(messages):
        return chat(api, messages)[2]["usage"]["prompt_tokens"]

    bare = prompt(said("question"))
    assert prompt([{"role": "system", "content": "x" * 4000}, *said("question")]) > bare + 500
    assert prompt([{"role": "system", "content": "x" * 4000}, {"role": "developer", "content": "y" * 4000}, *said("question")]) > bare + 1500
    assert prompt(said("first", "z" * 4000, "question")) > bare + 500
    assert answer_of(api, said("first", "second", "third")) == "You said: third"


def test_the_conversation_of_the_request_is_all_of_it(api):
    """The same first message twice: the second one knows nothing of the first."""
    first = chat(api, "unique beginning")[2]["usage"]["prompt_tokens"]
    assert chat(api, "unique beginning")[2]["usage"]["prompt_tokens"] == first


def test_c090_c091_the_session_follows_the_beginning(api):
    def session(messages, **more):
        return chat(api, messages, **more)[1]["X-Hermes-Session-Id"]

    one = session(said("begin"))
    assert re.fullmatch("api-[0-9a-f]{16}", one)
    assert session(said("begin", "answer", "more")) == one == session(said("begin"))
    assert session(said("other")) != one
    assert session([{"role": "system", "content": "s"}, *said("begin")]) != one
    assert session(said("begin"), user="somebody") != one
    assert chat(api, said("begin"), {"X-Hermes-Session-Key": "k"})[1]["X-Hermes-Session-Id"] != one


def test_c155_a_named_session_brings_its_own_history(api):
    headers = {"X-Hermes-Session-Id": "my-chat"}
    first = chat(api, "z" * 4000, headers)
    assert first[1]["X-Hermes-Session-Id"] == "my-chat"
    second = chat(api, said("ignored", "y" * 8000, "question"), headers)
    assert second[1]["X-Hermes-Session-Id"] == "my-chat"
    assert 500 < second[2]["usage"]["prompt_tokens"] - chat(api, "question")[2]["usage"]["prompt_tokens"] < 2500
    alias = chat(api, "question", {"X-Argos-Session-Id": "my-chat"})
    assert alias[1]["X-Hermes-Session-Id"] == "my-chat" and alias[2]["usage"]["prompt_tokens"] > second[2]["usage"]["prompt_tokens"]


def test_c154_c156_session_headers_that_are_none(api):
    for value in ("../victim", "a/b", "x" * 257, "a\\b"):
        is_error(chat(api, "hello", {"X-Hermes-Session-Id": value}), 400, "invalid_session_id")
        is_error(chat(api, "hello", {"X-Hermes-Session-Key": value}), 400, "invalid_session_id")


def test_c157_a_session_of_another_platform_is_not_there(api):
    adapter = [sys.executable, str(ROOT / "clients" / "python" / "echo_adapter.py"), "--home", str(api.daemon.home)]
    subprocess.run(adapter, input="a secret of the chat\n", text=True, capture_output=True, timeout=DEADLINE_S, check=True)
    listed = subprocess.run([str(BUILD / "argos"), "--home", str(api.daemon.home), "sessions", "list", "--json"],
                            capture_output=True, text=True, check=True)
    session = next(each["id"] for each in json.loads(listed.stdout)["sessions"] if each["platform"] == "pipe")
    is_error(chat(api, "what did I say?", {"X-Hermes-Session-Id": session}), 404, "session_not_found")
    is_error(api.call("POST", "/v1/runs", {"input": "x", "session_id": session}), 404, "session_not_found")


def test_c094_a_failure_without_a_text(api):
    status, headers, body = chat(api, "!fail 401")
    assert status == 502 and body["error"]["code"] == "agent_incomplete" and body["error"]["type"] == "server_error"
    assert body["error"]["hermes"]["failed"] is True and headers["X-Hermes-Completed"] == "false"
    assert headers["x-should-retry"] == "false" and len(headers["X-Hermes-Error"]) <= 200


def test_c115_c116_contents(api):
    def parts(*parts):
        return [{"role": "user", "content": list(parts)}]

    def image(url, **more):
        return {"type": "image_url", "image_url": {"url": url, **more}}

    text = {"type": "text", "text": "one"}
    assert answer_of(api, parts(text, "two", {"type": " Input_Text", "text": "three"}, {"type": "text", "text": None}, 5)) == \
        "You said: one\ntwo\nthree"
    for part, code in [({"type": "file", "file": {}}, "unsupported_content_type"), ({"type": "wonder"}, "unsupported_content_type"),
                       (image("data:text/plain,x"), "unsupported_content_type"), (image(""), "invalid_image_url"),
                       (image("ftp://x/y"), "invalid_image_url"), (image("http://x/y", detail=""), "invalid_content_part"),
                       (image("data:image/png;base64,!!"), "invalid_image_url")]:
        answer = chat(api, [*said("a", "b"), *parts(part)])
        is_error(answer, 400, code)
        assert answer[2]["error"]["param"] in ("messages[2].content", None)
    assert "http://example.net/a.png" in answer_of(api, parts(text, image("http://example.net/a.png", detail="low")))


def test_c113_images_are_files_of_the_run(api):
    data = b"\x89PNG" + bytes(range(256)) * 1500
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    blob = "sha256:" + hashlib.sha256(data).hexdigest()
    call = "!tool attachment " + json.dumps({"blob": blob, "name": "a.png"})
    content = [{"type": "text", "text": call}, {"type": "image_url", "image_url": {"url": url, "detail": "high"}}]
    assert "a.png" in answer_of(api, [{"role": "user", "content": content}])
    assert "image" in answer_of(api, [{"role": "user", "content": content[1:]}])


def test_a_text_that_is_too_large_for_a_message_is_a_file(api):
    answer = answer_of(api, "begin " + "x" * 300000)
    assert answer.startswith("You said: begin xxx") and "input.txt" in answer
    run = api.start("y" * 300000)
    assert "input.txt" in api.finish(run)[-1]["output"]


def test_c111_a_stream_and_its_usage(api):
    frames = chunks(api, "!slow 5")
    assert frames[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""} and text_of(frames)
    assert frames[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    assert frames[-1]["usage"]["total_tokens"] > 0 and all("usage" not in each for each in frames[:-1])
    frames = chunks(api, "!slow 5", stream_options={"include_usage": True})
    assert frames[-1]["choices"] == [] and frames[-1]["usage"]["total_tokens"] > 0
    assert all(each["usage"] is None for each in frames[:-1]) and frames[-2]["choices"][0]["finish_reason"] == "stop"
    assert isinstance(chat(api, "hello", stream="false")[2], dict), "the word false is false"


def test_c099_c100_c101_c102_tools_in_a_stream(api):
    call = '!tool terminal {"command":"echo hi"}'
    frames = chunks(api, call)
    progress = [each["hermes"]["tool_progress"] for each in frames if "hermes" in each]
    assert [each["status"] for each in progress] == ["running", "completed"]
    assert progress[0]["tool"] == "terminal" and progress[0]["label"] == "echo hi" and progress[0]["toolCallId"] == progress[1]["toolCallId"]
    assert "echo hi" not in text_of(frames) and all(each["choices"][0]["delta"] == {} for each in frames if "hermes" in each)
    events = [value for name, value in stream(api, call, {"X-Hermes-Tool-Events": "sse"}) if name == "hermes.tool.progress"]
    assert [(each["status"], each["tool"]) for each in events] == [("running", "terminal"), ("completed", "terminal")]


def test_c107_c108_a_failure_in_a_stream(api):
    frames = chunks(api, "!fail 401 in a stream")
    assert frames[-1]["choices"][0]["finish_reason"] == "error" and frames[-1]["error"]["message"]
    assert frames[-1]["hermes"]["failed"] is True


def runs_of(api, status):
    return [run for run in api.call("GET", "/v1/runs?limit=200")[2]["data"] if run["status"] == status]


def test_c104_who_hangs_up_ends_the_run(api):
    before = {run["run_id"] for run in runs_of(api, "cancelled")}
    frames = stream(api, "!slow 1000 streamed")
    assert [next(frames)[0] for _ in range(3)]
    frames.close()
    ended = wait_until(lambda: {run["run_id"] for run in runs_of(api, "cancelled")} - before)
    assert len(ended) == 1
    chat_and_leave(api)
    assert len(wait_until(lambda: {run["run_id"] for run in runs_of(api, "cancelled")} - before - ended)) == 1


def chat_and_leave(api):
    """Asks for an answer as a whole and hangs up while it is made."""
    connection = asked(api, {"messages": said("!slow 1000 whole")}, {})
    wait_until(lambda: runs_of(api, "running"))
    connection.close()


def test_c105_c106_an_end_is_no_hanging_up(api):
    frames = list(stream(api, "unhurried"))
    assert frames[-1][1] == "[DONE]"
    newest = api.call("GET", "/v1/runs?limit=1")[2]["data"][0]
    assert newest["status"] == "completed"


def test_idempotency_of_completions(api):
    key = {"Idempotency-Key": "chat-1"}
    first = chat(api, "hello again", key)
    again = chat(api, "hello again", key)
    assert first[0] == again[0] == 200 and again[2] == first[2]
    assert again[1]["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first[1]
    is_error(chat(api, "something else", key), 409, "idempotency_key_conflict")
    assert api.call("POST", "/v1/runs", {"input": "hello again"}, key)[0] == 202, "another route"


def asked(api, body, headers):
    """A connection on which that has been sent."""
    connection = http.client.HTTPConnection("127.0.0.1", api.daemon.port, timeout=30)
    connection.request("POST", PATH, json.dumps(body), {**api.headers, **headers})
    return connection


def test_c076_c077_shared_work_survives_the_first_who_waits(api):
    key = {"Idempotency-Key": "chat-2"}
    body = {"messages": said("!slow 60 shared")}
    first = asked(api, body, key)
    wait_until(lambda: runs_of(api, "running"))
    second = asked(api, body, key)
    is_error(chat(api, "!slow 60 not shared", key), 409, "idempotency_key_conflict")  # Read after what was sent before
    first.close()
    answer = second.getresponse()
    assert answer.status == 200 and json.load(answer)["choices"][0]["finish_reason"] == "stop"
    second.close()


def test_fields_without_effect_are_named(api):
    headers = chat(api, "hello", temperature=1, tools=[], n=1)[1]
    assert set(headers["X-Argos-Ignored"].split(", ")) >= {"tools", "n"}


def test_c097_silence_is_filled(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("http: {keepalive_s: 1}\n")
    api = Api(daemon.start())
    frames = stream(api, '!tool terminal {"command":"sleep 1.5; echo done"}')
    seen = list(frames)
    assert (None, ": keepalive") in seen and seen[-1][1] == "[DONE]"
    assert daemon.stop() == 0


def test_c078_c153_the_cap_and_no_key(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("http: {max_concurrent_runs: 1}\n")
    api = Api(daemon.start())
    run = api.start("!hang")
    answer = chat(api, "hello")
    is_error(answer, 429, "rate_limit_exceeded", "max 1")
    assert answer[1]["Retry-After"] == "1"
    assert api.call("POST", f"/v1/runs/{run}/stop")[0] == 200
    assert daemon.stop() == 0
