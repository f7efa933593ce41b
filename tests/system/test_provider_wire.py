"""The provider's side of the wire: a server in Python records what a turn really sends, and answers well or badly."""
import http.server
import json
import threading
import uuid

import pytest

from test_adapter_pyzmq import Peer, inbound

KEY = "sk-wire-" + uuid.uuid4().hex


def chunk(delta, finish=None, **more):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def sse(*events):
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def answer(text):
    half = len(text) // 2
    return sse(chunk({"role": "assistant", "content": text[:half]}), chunk({"content": text[half:]}), chunk({}, "stop"),
               {"id": "c1", "object": "chat.completion.chunk", "choices": [],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})


def tool_call(command):
    arguments = json.dumps({"command": command})
    return sse(chunk({"tool_calls": [{"index": 0, "id": "call_x", "type": "function",
                                      "function": {"name": "terminal", "arguments": arguments[:5]}}]}),
               chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[5:]}}]}), chunk({}, "tool_calls"))


class Provider:
    """Answers from a list of (status, content type, bytes); requests are kept as (path, headers, body)."""

    def __init__(self):
        self.answers, self.requests = [], []
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                provider.requests.append((self.path, dict(self.headers.items()), body))
                status, kind, content = provider.answers.pop(0)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def settings(self, kind="openai", path="/v1"):
        port = self.server.server_address[1]
        return (f"provider:\n  kind: {kind}\n  base_url: http://127.0.0.1:{port}{path}\n"
                f"  model: wire-model\n  key: env:WIRE_KEY\n")


@pytest.fixture
def provider():
    provider = Provider()
    yield provider
    provider.server.shutdown()
    provider.server.server_close()


def start(daemon, settings, **env):
    (daemon.home / "argos.yaml").write_text(settings)
    daemon.start(env=env)
    peer = Peer(daemon.endpoint, "test.main")
    peer.send({"type": "credit"}, {"messages": 100000, "bytes": 1 << 30})
    peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4})
    return peer


def turn(peer, text):
    """One message in, the text of the durable answer out."""
    header, body, _ = inbound(text)
    assert peer.ask(header, body)[0]["type"] == "accepted"
    _, meta, data = peer.receive(lambda h, _: h["type"] == "deliver.request")
    peer.ask({"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}, None, [])
    return data


def test_the_bytes_of_a_turn(daemon, provider):
    peer = start(daemon, provider.settings(), WIRE_KEY=KEY)
    ok = (200, "text/event-stream", answer("fine, thanks"))
    provider.answers = [ok, (200, "text/event-stream", tool_call("echo from-the-tool")), ok]
    assert turn(peer, "how are you? \u00e9\U0001f600")["text"] == "fine, thanks"
    assert turn(peer, "and now?")["text"] == "fine, thanks"
    first, second, third = provider.requests

    path, headers, raw = first
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Content-Type"] == "application/json" and headers["Accept"] == "text/event-stream"
    body = json.loads(raw)
    assert body["model"] == "wire-model" and body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"][-1] == {"role": "user", "content": "how are you? \u00e9\U0001f600"}
    assert {tool["function"]["name"] for tool in body["tools"]} >= {"terminal"}
    assert all(tool["type"] == "function" and tool["function"]["parameters"]["type"] == "object" for tool in body["tools"])

    # The second turn carries the first; what was sent before is sent again byte for byte (prompt caches live on that)
    messages = json.loads(second[2])["messages"]
    assert messages[:len(body["messages"])] == body["messages"]
    assert [m["role"] for m in messages][-3:] == ["user", "assistant", "user"]
    prefix = raw[:raw.index(b'],"')]
    assert prefix.endswith(b"}") and second[2].startswith(prefix)

    # After the tool: the call as it was made, and its result under the same id
    call, result = json.loads(third[2])["messages"][-2:]
    assert call["role"] == "assistant" and call["tool_calls"][0]["id"] == "call_x"
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"command": "echo from-the-tool"}
    assert result["role"] == "tool" and result["tool_call_id"] == "call_x" and "from-the-tool" in result["content"]
    peer.close()


@pytest.mark.parametrize("status, kind, content, words", [
    (200, "text/html", b"<html><body>Sign in</body></html>", "failed"),
    (401, "application/json", b'{"error":{"message":"bad key","type":"invalid_request_error"}}', "failed"),
    (400, "application/json", b"[" * 100000, "failed"),
    (200, "text/event-stream", b"data: " + b"[" * 100000 + b"\n\ndata: [DONE]\n\n", "failed"),
], ids=["html", "401", "depth-bomb", "sse-depth-bomb"])
def test_a_bad_answer_is_a_reason(daemon, provider, status, kind, content, words):
    peer = start(daemon, provider.settings(), WIRE_KEY=KEY)
    provider.answers = [(status, kind, content)] * 8
    data = turn(peer, "hello")
    assert data["kind"] == "error" and words in data["text"]
    assert KEY not in data["text"] and KEY not in daemon.text()
    provider.answers = [(200, "text/event-stream", answer("well again"))]
    assert turn(peer, "hello again")["text"] == "well again"
    peer.close()


def test_an_answer_cut_in_a_line_is_never_taken_for_a_whole_one(daemon, provider):
    peer = start(daemon, provider.settings(), WIRE_KEY=KEY)
    whole = answer("this is the whole answer")
    cut = whole[:whole.index(b"whole") + 3]
    provider.answers = [(200, "text/event-stream", cut), (200, "text/event-stream", answer("whole answer"))]
    assert turn(peer, "hello")["text"] == "this is the whole answer"  # What was there is gone on with
    asked = json.loads(provider.requests[1][2])["messages"][-2:]
    assert asked[0] == {"role": "assistant", "content": "this is the "} and "broke off" in asked[1]["content"]
    peer.close()


def test_text_that_is_not_utf8_is_made_so(daemon, provider):
    peer = start(daemon, provider.settings(), WIRE_KEY=KEY)
    provider.answers = [(200, "text/event-stream", answer("a~b").replace(b"~", b"\xff"))]
    assert turn(peer, "hello")["text"] == "a\ufffdb"
    peer.close()


@pytest.mark.parametrize("settings, env", [
    ("provider:\n  kind: openai\n  model: m\n  key: env:NO_SUCH_KEY\n", {}),
    ("provider:\n  kind: anthropic\n  model: m\n  key: file:/nowhere/key\n", {}),
    ("provider:\n  kind: openai\n  model: m\n  key: env:EMPTY\n", {"EMPTY": ""}),
])
def test_a_provider_without_a_key_never_falls_back(daemon, settings, env):
    peer = start(daemon, settings, **env)
    data = turn(peer, "hello")
    assert "failed" in data["text"] and "no provider credentials configured" in data["text"]
    assert "You said" not in data["text"]
    peer.close()


def test_anthropic_speaks_its_own_protocol(daemon, provider):
    peer = start(daemon, provider.settings("anthropic", ""), WIRE_KEY=KEY)

    def event(kind, **data):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()

    content = b"".join([
        event("message_start", message={"id": "m1", "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("ping"),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "good "}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "day"}),
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3}),
        event("message_stop")])
    provider.answers = [(200, "text/event-stream", content)]
    assert turn(peer, "hello")["text"] == "good day"
    path, headers, raw = provider.requests[0]
    assert path == "/v1/messages"
    lower = {name.lower(): value for name, value in headers.items()}
    assert lower["x-api-key"] == KEY and lower["anthropic-version"] == "2023-06-01"
    body = json.loads(raw)
    assert body["max_tokens"] > 0 and body["stream"] is True
    assert body["messages"] == [{"role": "user", "content": body["messages"][0]["content"]}]
    assert all("input_schema" in tool for tool in body["tools"])
    peer.close()
