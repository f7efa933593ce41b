"""Clients that send what nobody should: each route answers each of it with a documented error, never with a 5xx, a hang or another's data."""
import json
import re
import socket

import pytest

from httpapi import HTTP, Api, is_error
from test_api_hardening import raw
from test_api_routes import new_key

VALUES = [True, -1, 10 ** 400, "", "\0", "x" * 300, [None], {"a": [1]}]
BODIES = ["", " ", "null", "{", "[]", "[" * 5000, '{"a":' * 2000 + "1" + "}" * 2000, "{}x", '{"input":1,"input":2}', b"\xef\xbb\xbf{}", b"\xff\xfe", '{"input": NaN}',
          '{"input":1e999}', '{"\\u0000":1}']
GOOD = {"runs.start": {"input": "x"}, "runs.approval": {"choice": "once"}, "runs.clarify": {"answer": "x"}, "runs.steer": {"input": "x"},
        "chat.create": {"messages": [{"role": "user", "content": "x"}]}, "responses.create": {"input": "x"}, "sessions.chat": {"message": "x"},
        "sessions.chat_stream": {"message": "x"}}
TAKES = [row for row in HTTP["routes"] if row.get("request")]
PATHS = [row for row in HTTP["routes"] if "{" in row["path"]]


@pytest.fixture(scope="module")
def api(shared_argosd):
    return Api(shared_argosd)


@pytest.fixture(scope="module")
def things(api):
    """One of each that a path can name."""
    run = api.start("hello")
    api.finish(run)
    return {"run_id": run, "response_id": api.call("POST", "/v1/responses", {"input": "hello"})[2]["id"], "model": "argos",
            "session_id": api.call("POST", "/api/sessions", {"id": "a-session"})[2]["session"]["id"], "job_id": "job-1"}


def name_of(row):
    return row["id"]


@pytest.mark.parametrize("row", TAKES, ids=name_of)
def test_each_member_of_each_body_may_be_wrong(api, things, row):
    path = row["path"].format(**things)
    for member in HTTP["shapes"][row["request"]]["properties"]:
        for value in VALUES:
            if member != "stream":  # Any number is a flag there, and a stream has no shape that Api.call knows
                status, _, body = api.call(row["method"], path, {**GOOD.get(row["id"], {}), member: value})
                assert status < 500, (member, value, body)
    for body in BODIES:
        status, _, answer = api.call(row["method"], path, body)
        assert status == 400 or (not body and status < 300), (body, answer)
    for kind in ("text/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert api.call(row["method"], path, "{", {"Content-Type": kind})[0] == 400


@pytest.mark.parametrize("row", PATHS, ids=name_of)
def test_each_id_may_be_wrong(api, row, things):
    ids = ["%00", "..", "%2e%2e", "..%2f..", "%ff", "%c3", "%", "%4", "%zz", "%0d%0aX:%20y", "%20", "x" * 1500, "*", "'", '"', "{run_id}", "%F0%9F%98%80"]
    ids += [thing + more for thing in things.values() for more in ("%00", "%2f", "%20", "x")]
    for name in ids:
        path = re.sub(r"\{[a-z_]+\}", lambda _: name, row["path"])  # noqa: B023
        status, _, body = api.call(row["method"], path, GOOD.get(row["id"], {}) if row.get("request") else None)
        assert status in (400, 404), (path, status, body)


def test_an_encoded_letter_is_the_letter_and_an_encoded_slash_none(api, things):
    run = things["run_id"]
    assert api.call("GET", f"/v1/runs/%72{run[1:]}")[2]["run_id"] == run
    for path in (f"/v1%2fruns/{run}", "//v1/models", "/v1/models%00", "/health%00x"):
        is_error(api.call("GET", path), 404, "not_found")
    is_error(api.call("GET", f"/v1/runs/{run}%2fevents"), 404, "run_not_found")


@pytest.mark.parametrize("row", HTTP["routes"], ids=name_of)
def test_each_route_knows_its_methods(api, row, things):
    path = row["path"].format(**things)
    allowed = {other["method"] for other in HTTP["routes"] if other["path"] == row["path"]}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "HEAD"} - allowed - ({"HEAD"} if not row["scopes"] else set()):
        status, headers, body = api.call(method, path)
        assert status == 405 and set(headers["Allow"].split(", ")) == allowed, (method, path)
        assert body is None if method == "HEAD" else body["error"]["code"] == "method_not_allowed"
    is_error(api.call("get", path), 400)
    is_error(api.call(row["method"], path + "/"), 404, "not_found")
    assert api.call("OPTIONS", path)[0] == 403, "there is no preflight without an origin"


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=99999999999999999999", "limit=1e3", "limit=", "limit", "limit=%00", "offset=-1", "status=wonder", "title=%ff",
                                   "source=%ff%fe", "title=%00", "%zz=%zz", "after=-5", "a=b&" * 31, "x" * 3000, "=", "&&&", "?"])
def test_each_query_may_be_wrong(api, things, query):
    for row in HTTP["routes"]:
        if row["method"] == "GET":
            status, _, body = api.call("GET", row["path"].format(**things) + "?" + query)
            assert status < 500, (row["id"], body)


def test_what_belongs_to_another_is_not_there_on_any_route(api):
    one, two = new_key(api, "hers", "runs,chat,read"), new_key(api, "his", "runs,chat,read")
    run = one.start("!hang")
    response = one.call("POST", "/v1/responses", {"input": "hello", "conversation": "ours"})[2]["id"]
    session = one.call("POST", "/api/sessions", {"id": "hers-alone"})[2]["session"]["id"]
    mine = {"run_id": run, "response_id": response, "session_id": session, "model": "none", "job_id": "none"}
    for row in PATHS:
        answer = two.call(row["method"], row["path"].format(**mine), GOOD.get(row["id"], {}) if row.get("request") else None)
        is_error(answer, 404)
    is_error(two.call("POST", "/v1/responses", {"input": "x", "previous_response_id": response}), 404)
    is_error(two.call("POST", "/v1/runs", {"input": "x", "previous_response_id": response}), 404)
    is_error(two.call("POST", "/v1/runs", {"input": "x", "session_id": session}), 404, "session_not_found")
    is_error(two.call("POST", "/v1/chat/completions", GOOD["chat.create"], {"X-Hermes-Session-Id": session}), 404, "session_not_found")
    is_error(two.call("POST", "/api/sessions", {"id": session}), 409, "session_exists")
    assert two.call("POST", "/v1/responses", {"input": "x", "conversation": "ours"})[2]["previous_response_id"] is None
    assert two.call("GET", "/v1/runs")[2]["data"][0]["run_id"] != run and session not in json.dumps(two.call("GET", "/api/sessions")[2])
    assert one.get(run)["status"] == "running" and one.call("GET", f"/v1/responses/{response}")[0] == 200
    assert one.call("POST", f"/v1/runs/{run}/stop")[0] == 200
    assert one.finish(run)[-1]["event"] == "run.cancelled"


# What is below HTTP's requests

def head(api, *lines, first="GET /v1/models HTTP/1.1", body=b""):
    fixed = ["Host: localhost", f"Authorization: Bearer {api.daemon.key}", "Connection: close"]
    return "\r\n".join([first, *fixed, *lines, "", ""]).encode() + body


def error_of(answer):
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["code"]


def test_old_and_hasty_clients(api):
    ended = api.start("hello")
    api.finish(ended)
    old = head(api, first=f"GET /v1/runs/{ended}/events HTTP/1.0")
    answer = raw(api.daemon.port, old)
    assert answer.endswith(b": stream closed\n\n") and b"chunked" not in answer
    post = head(api, "Content-Length: 13", first="POST /v1/runs HTTP/1.1", body=b'{"input":"x"}')
    one = post.replace(b"Connection: close\r\n", b"")
    assert raw(api.daemon.port, one * 19 + post).count(b"HTTP/1.1 202 ") == 20, "pipelined"
    for body in (b"d;ext=1\r\n" + b'{"input":"x"}\r\n0\r\n\r\n', b'5\r\n{"inp\r\n8\r\nut":"x"}\r\n0\r\nTrailer: x\r\n\r\n'):
        answer = raw(api.daemon.port, head(api, "Transfer-Encoding: chunked", first="POST /v1/runs HTTP/1.1", body=body))
        assert answer.startswith(b"HTTP/1.1 202 ")
    for body in (b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"1\r\nxxxx\r\n"):
        answer = raw(api.daemon.port, head(api, "Transfer-Encoding: chunked", first="POST /v1/runs HTTP/1.1", body=body))
        assert re.match(rb"HTTP/1.1 4(00|13) ", answer), answer


def test_a_client_that_asks_before_it_sends(api):
    asks = ["Expect: 100-continue", "Content-Length: 13"]
    with socket.create_connection(("127.0.0.1", api.daemon.port), 10) as client:
        client.sendall(head(api, *asks, first="POST /v1/runs HTTP/1.1"))
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b'{"input":"x"}')
        assert client.recv(4096).startswith(b"HTTP/1.1 202 ")
    refused = head(api, "Expect: 100-continue", "Content-Length: 10000001", first="POST /v1/runs HTTP/1.1")
    assert raw(api.daemon.port, refused).startswith(b"HTTP/1.1 413 ")
    wrong = refused.replace(b"Bearer ", b"Bearer not-")
    assert raw(api.daemon.port, wrong).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("line", ["Authorization: Bearer x", "Origin: http://a\r\nOrigin: http://b", "Idempotency-Key: a\r\nIdempotency-Key: b",
                                  "X-Hermes-Session-Id: a\r\nX-Hermes-Session-Id: a", "x-argos-session-key: a\r\nX-Argos-Session-Key: b"])
def test_what_may_be_said_once_only(api, line):
    answer = raw(api.daemon.port, head(api, line))
    assert answer.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in answer


def test_a_head_of_any_size_gets_an_answer_at_once(api):
    def answers(sizes, make):
        found = []
        for size in sizes:
            answer = raw(api.daemon.port, make(size), 9)  # Who is not answered is closed after 10 s
            found.append((size, answer[9:12].decode(), answer))
        return found

    sizes = [*range(100, 7400, 300), *range(7400, 8300, 25), 9000]  # Just below 8 KiB the answer is written past the server library
    for size, status, answer in answers(sizes, lambda n: head(api, "X: " + "a" * n)):
        assert status == ("200" if size < 5600 else "431"), size
        assert status == "200" or size > 7700 or error_of(answer) == "head_too_large"
    for size, status, answer in answers([*range(10, 100, 13), *range(100, 112), 150], lambda n: head(api, *[f"X{i}: {i}" for i in range(n)])):
        assert status == ("200" if size < 80 else "431"), size
    for size, status, answer in answers(sizes, lambda n: head(api, first=f"GET /v1/models?{'a' * n} HTTP/1.1")):
        assert status == ("200" if size < 4080 else "414") or size > 7800 and status == "431", size
        assert status == "200" or size > 7700 or error_of(answer) == "target_too_long"
    for size, status, _ in answers([1, 32, 33, 100, 500, 2000], lambda n: head(api, first=f"GET /v1/models?{'&'.join('a' * n)} HTTP/1.1")):
        assert status == ("200" if size <= 32 else "414"), size
    for size, status, answer in answers(range(40, 130, 5), lambda n: head(api, "Cookie: " + "; ".join(f"name{i}=value{i}" for i in range(n)))):
        assert status == ("200" if size < 65 else "431"), size
        assert status == "200" or error_of(answer) == "head_too_large"
