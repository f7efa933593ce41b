"""Conformance cases of the HTTP interface that need a setting, a provider or a database of their own. Named by their numbers."""
import json
import re
import socket
import sqlite3
import struct

import pytest

from conftest import wait_until
from httpapi import Api, is_error, names
from httpapi import text_of as text_of_run
from test_adapter_pyzmq import Peer
from test_api_chat import chunks, text_of
from test_api_sampling import SSE, ask, sent, serve
from test_provider_wire import answer, chunk, provider, sse  # noqa: F401

CHAT = "/v1/chat/completions"


def settings(daemon, text):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(text)


def metric(api, name):
    return float(re.search(rf"^{name} ([0-9.e+]+)$", api.call("GET", "/metrics")[2], re.MULTILINE)[1])


def test_c009_c010_what_a_run_chooses_reaches_the_agent_or_is_named(daemon, provider):  # noqa: F811
    api = serve(daemon, provider, (200, SSE, answer("fine")))
    status, headers, body = api.call("POST", "/v1/runs", {
        "input": "hello", "model": "other-model", "temperature": 0.5, "provider": "elsewhere", "model_options": {"fast": True}})
    assert status == 202 and headers["X-Argos-Ignored"] == "provider, model_options"
    assert api.finish(body["run_id"])[-1]["event"] == "run.completed"
    assert sent(provider)["model"] == "other-model" and sent(provider)["temperature"] == 0.5
    is_error(api.call("POST", "/v1/runs", {"input": "hello", "temperature": 9}), 400, part="'temperature'")
    assert daemon.stop() == 0


def test_c031_a_reader_that_fails_at_once_leaves_nothing(daemon):
    api = Api(daemon.start())
    run = api.start("!hang")
    head = f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {daemon.key}\r\n\r\n".encode()
    for size in [len(head)] * 20 + list(range(1, len(head), 9)):
        with socket.create_connection(("127.0.0.1", daemon.port), 10) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # The end is a reset
            client.sendall(head[:size])
    wait_until(lambda: metric(api, "argos_http_streams") == 0 and metric(api, "argos_http_connections") == 1)
    reader = api.stream(run)
    assert api.call("POST", f"/v1/runs/{run}/stop")[0] == 200
    assert reader.all()[-1]["event"] == "run.cancelled"
    assert daemon.stop() == 0


def test_readers_that_vanish_are_noticed_at_once(daemon):
    """A small one of ./dev bench sse: nobody writes to them meanwhile, and no comment is due."""
    settings(daemon, "http: {keepalive_s: 300}\n")
    api = Api(daemon.start())
    run = api.start("!hang")
    head = f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {daemon.key}\r\n\r\n".encode()
    readers = [socket.create_connection(("127.0.0.1", daemon.port), 30) for _ in range(300)]
    for reader in readers:
        reader.sendall(head)
    for reader in readers:
        assert reader.recv(100).startswith(b"HTTP/1.1 200")
    assert metric(api, "argos_http_streams") == 300
    for reader in readers[:200]:
        reader.close()
    wait_until(lambda: metric(api, "argos_http_streams") == 100)  # A keepalive would find them much later
    for reader in readers[200:]:
        reader.close()
    assert api.call("POST", f"/v1/runs/{run}/stop")[0] == 200
    assert daemon.stop() == 0


def test_three_readers_of_different_speed_get_the_same(daemon):
    """One takes what comes, one sixteen bytes at a time, one nothing before the end; the text is more than the sockets keep for it."""
    api = Api(daemon.start())
    run = api.start("hello " + "x" * 150000)
    head = f"GET /v1/runs/{run}/events HTTP/1.0\r\nAuthorization: Bearer {daemon.key}\r\n\r\n".encode()
    readers = [socket.socket() for _ in range(3)]
    for reader in readers:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(30)
        reader.connect(("127.0.0.1", daemon.port))
        reader.sendall(head)
    texts = []
    for reader, size in zip(readers, (65536, 16, 65536)):
        text = b""
        while piece := reader.recv(size):
            text += piece
        texts.append(text.split(b"\r\n\r\n", 1)[1])
        reader.close()
    assert texts[0] == texts[1] == texts[2] and texts[0].endswith(b": stream closed\n\n") and len(texts[0]) > 150000
    assert daemon.stop() == 0


def test_a_run_of_the_api_is_a_topic_of_the_broker(daemon):
    api = Api(daemon.start())
    peer = Peer(daemon.endpoint, "test.reader")
    peer.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    run = api.start('!tool terminal {"command":"echo hi"}')
    peer.send({"type": "subscribe", "id": "all", "to": f"topic:run.{run}"}, {"from": 0})
    numbers, text, last = [], "", None
    while last != "run.completed":
        entry, meta, body = peer.receive(lambda _, each: each.get("topic") == f"run.{run}")
        numbers.append(meta["n"])
        last = entry["type"]
        text += body["delta"] if last == "turn.delta" else ""
    events = api.finish(run)
    assert numbers == list(range(len(numbers))) and events[-1]["id"] == numbers[-1], "the same numbers"
    assert text == text_of_run(events) and body["output"] == events[-1]["output"]
    assert daemon.stop() == 0


def test_c045_what_has_been_stopped_is_let_go(daemon):
    api = Api(daemon.start())
    run = api.start("!hang")
    wait_until(lambda: metric(api, "argos_agent_turns") == 1)
    assert api.call("POST", f"/v1/runs/{run}/stop")[0] == 200
    wait_until(lambda: metric(api, "argos_agent_turns") == 0 and metric(api, "argos_messages_leased") == 0)
    assert api.get(run)["status"] == "cancelled"
    assert daemon.stop() == 0


def test_c093_c109_a_truncated_answer_says_so(daemon, provider):  # noqa: F811
    cut = sse(chunk({"content": "one two"}), chunk({}, "length"))
    api = serve(daemon, provider, *[(200, SSE, cut)] * 2)
    status, headers, body = ask(api, max_tokens=2)
    assert status == 200 and body["choices"][0]["finish_reason"] == "length"
    assert body["choices"][0]["message"]["content"] == "one two"
    assert body["hermes"]["partial"] is True and body["hermes"]["error_code"] == "output_truncated"
    assert headers["X-Hermes-Completed"] == "false" and headers["X-Hermes-Partial"] == "true"
    frames = chunks(api, "hello", max_tokens=2)
    assert text_of(frames) == "one two" and frames[-1]["choices"][0]["finish_reason"] == "length"
    assert frames[-1]["hermes"]["error_code"] == "output_truncated" and "error" not in frames[-1]
    assert daemon.stop() == 0


def test_c098_c112_deltas_that_say_nothing_do_not_end_a_stream(daemon, provider):  # noqa: F811
    nulls = sse(chunk({"content": "one "}), chunk({"content": None}), chunk({}), chunk({"content": "two"}), chunk({"content": None}), chunk({}, "stop"))
    whole = {"id": "c1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "all at once"}, "finish_reason": "stop"}]}
    api = serve(daemon, provider, (200, SSE, nulls), (200, "application/json", json.dumps(whole).encode()))
    frames = chunks(api, "hello")
    assert text_of(frames) == "one two" and frames[-1]["choices"][0]["finish_reason"] == "stop"
    frames = chunks(api, "hello")
    assert [each["choices"][0]["delta"]["content"] for each in frames if each["choices"][0]["delta"].get("content")] == ["all at once"]
    assert daemon.stop() == 0


def test_c143_a_stored_response_that_is_broken_is_not_there_and_goes(daemon):
    api = Api(daemon.start())
    made = api.call("POST", "/v1/responses", {"input": "hello"})[2]["id"]
    assert daemon.stop() == 0
    with sqlite3.connect(daemon.home / "argos.db") as db:
        assert db.execute("UPDATE records SET value = '{}' WHERE space = 'response' AND key LIKE ?", [f"%/{made}"]).rowcount == 1
    db.close()
    api = Api(daemon.start())
    is_error(api.call("GET", f"/v1/responses/{made}"), 404)
    assert daemon.stop() == 0
    db = sqlite3.connect(daemon.home / "argos.db")
    assert db.execute("SELECT count(*) FROM records WHERE space = 'response' AND key LIKE ?", [f"%/{made}"]).fetchone() == (0,)
    db.close()


def test_c148_c149_c150_c151_origins(daemon):
    api = Api(daemon.start())
    evil = {"Origin": "http://evil.example"}
    for method in ("GET", "OPTIONS"):
        status, headers, body = api.call(method, "/v1/runs", headers=evil)
        assert status == 403 and body is None and "Access-Control-Allow-Origin" not in headers
    assert daemon.stop() == 0
    settings(daemon, "http: {cors_origins: [\"http://app.example\"]}\n")
    api = Api(daemon.start())
    app = {"Origin": "http://app.example"}
    status, headers, _ = api.call("GET", "/v1/models", headers=app)
    assert status == 200 and headers["Access-Control-Allow-Origin"] == "http://app.example" and headers["Vary"] == "Origin"
    asks = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization, x-hermes-session-key"}
    status, headers, _ = api.call("OPTIONS", "/api/sessions/x", headers={**app, **asks}, auth=False)
    methods, allowed = (headers[f"Access-Control-Allow-{what}"].split(", ") for what in ("Methods", "Headers"))
    assert status == 200 and headers["Access-Control-Max-Age"] == "600"
    assert {"GET", "POST", "PATCH", "DELETE", "OPTIONS"} == set(methods)
    assert {"Authorization", "Content-Type", "Idempotency-Key", "X-Hermes-Session-Id", "X-Hermes-Session-Key", "Last-Event-ID"} <= set(allowed)
    assert daemon.stop() == 0


@pytest.mark.parametrize("host, open_to_others", [("::ffff:127.0.0.1", False), ("127.8.9.1", False), ("localhost", False), ("::", True), ("0.0.0.0", True)])
def test_c165_which_addresses_others_can_reach(daemon, host, open_to_others):
    settings(daemon, f"http: {{host: \"{host}\"}}\n")
    daemon.launch()
    if open_to_others:
        assert "tls_cert" in daemon.wait_log("can't start") and daemon.wait() != 0
    else:
        daemon.wait_log("event=ready")
        assert daemon.stop() == 0


def test_c169_an_address_that_is_not_here_ends_the_start_with_a_sentence(daemon):
    settings(daemon, "http: {host: 192.0.2.1, allow_cleartext: true}\n")
    daemon.launch()
    assert "192.0.2.1" in daemon.wait_log("can't listen") and daemon.wait() != 0
    settings(daemon, "{}\n")
    assert Api(daemon.start()).call("GET", "/health", auth=False)[0] == 200
    assert daemon.stop() == 0


def test_c170_the_environment(daemon):
    key = "a-key-of-the-environment"
    api = Api(daemon.start(env={"API_SERVER_KEY": key, "API_SERVER_MODEL_NAME": "house", "API_SERVER_CORS_ORIGINS": " http://a.example, ,http://b.example ",
                                "API_SERVER_HOST": "localhost"}))
    headers = {"Authorization": f"Bearer {key}", "Origin": "http://b.example"}
    status, headers, body = api.call("GET", "/v1/models", headers=headers, auth=False)
    assert status == 200 and body["data"][0]["id"] == "house" and headers["Access-Control-Allow-Origin"] == "http://b.example"
    is_error(api.call("GET", "/v1/models"), 401, "gateway_auth_failed")
    assert daemon.stop() == 0
    daemon.launch(env={"API_SERVER_KEY": "short"})
    assert "api_server_key_invalid" in daemon.wait_log("can't start") and daemon.wait() != 0
    daemon.launch(env={"API_SERVER_PORT": "many"})
    assert daemon.wait() != 0 and "API_SERVER_PORT" in daemon.text()
    daemon.start(env={"API_SERVER_ENABLED": "no"})
    assert daemon.port is None
    assert daemon.stop() == 0
