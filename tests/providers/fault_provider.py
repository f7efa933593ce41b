"""A provider that fails as providers do: chat completions and Anthropic messages, each answer a scenario.

A process of its own: `fault_provider.py` prints its ports ("PORT TLS_PORT") and serves until its standard input ends. The newest message of
the user with a word @NAME in it names the scenario; the n-th request of a scenario gets its n-th answer, all later ones the last. A request for
the model `standby` gets the answers of the scenario `standby_NAME`, or an ordinary one. GET /requests/NAME gives the bodies of its requests.

An answer is a list of steps: bytes to be sent, a number of seconds to wait, DROP (reset the connection), STALL (nothing more, until the
other side goes).
"""
import asyncio
import collections
import email.utils
import json
import re
import socket
import struct
import sys
import time

DROP, STALL = object(), object()


def head(status, kind="application/json", length=None, **headers):
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'No'}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {length}"] if length is not None else ["Connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def whole(status, body, kind="application/json", **headers):
    body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    return [head(status, kind, len(body), **headers) + body]


def error(status, message, type_=None, code=None, param=None, **headers):
    inner = {"message": message, "type": type_, "code": code, "param": param}
    return whole(status, {"error": {key: value for key, value in inner.items() if value is not None}}, **headers)


# --- chat completions

def data(value):
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


def chunk(delta=None, finish=None, **more):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def call(index=None, id_=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    item = {"index": index, "id": id_, "type": "function" if id_ else None, "function": function}
    return chunk({"tool_calls": [{key: value for key, value in item.items() if value is not None}]})


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
DONE = b"data: [DONE]\n\n"
SSE = head(200, "text/event-stream")


def usage(choices=(), **more):
    return {"id": "c1", "object": "chat.completion.chunk", "choices": list(choices) if choices is not None else None, "usage": {**USAGE, **more}}


def stream(*events, done=True):
    return [SSE, *[event if isinstance(event, (bytes, float, int)) or event in (DROP, STALL) else data(event) for event in events],
            *([DONE] if done else [])]


def text(words, finish="stop", **more):
    half = len(words) // 2
    return stream(chunk({"role": "assistant", "content": words[:half]}), chunk({"content": words[half:]}), chunk({}, finish), usage(**more))


def tool(name="terminal", arguments='{"command":"echo from-the-tool"}', finish="tool_calls"):
    return stream(chunk({"role": "assistant", "content": None}), call(0, "call_1", name, arguments[:9]), call(0, arguments=arguments[9:]), chunk({}, finish), usage())


OK = text("fine, thanks")
COMMAND = '{"command":"echo from-the-tool"}'

# --- Anthropic messages


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def block(index, start, *deltas):
    return [event("content_block_start", index=index, content_block=start),
            *[event("content_block_delta", index=index, delta=delta) for delta in deltas], event("content_block_stop", index=index)]


def said(words, index=0):
    return block(index, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": part} for part in (words[:3], words[3:])])


def message(*blocks, stop="end_turn", tail=True):
    start = event("message_start", message={"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [],
                                            "stop_reason": None, "stop_sequence": None,
                                            "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2,
                                                      "output_tokens": 1}})
    end = [event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 9}), event("message_stop")]
    return [SSE, start, event("ping"), *[step for steps in blocks for step in steps], *(end if tail else [])]


def use(index=0, input_=COMMAND, cut=None):
    parts = [input_[:7], input_[7:cut]]
    return block(index, {"type": "tool_use", "id": "toolu_1", "name": "terminal", "input": {}},
                 *[{"type": "input_json_delta", "partial_json": part} for part in parts])


THOUGHT = block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "let me "},
                {"type": "thinking_delta", "thinking": "see"}, {"type": "signature_delta", "signature": "c2ln"})
FINE = message(said("fine, thanks"))


def command(body):
    said = next(entry["content"] for entry in body["messages"] if entry["role"] == "user")
    return json.dumps({"command": said.split("$ ", 1)[1]})


TITLE = "Write a title of three"
JUDGE = "Say whether it may be run without asking the user"
SUMMARY = "You write the summary of a conversation"


def limit(message, status=400, rows=20):
    """Refuses a conversation of so many messages or more."""
    return lambda body: error(status, message) if len(body["messages"]) >= rows else OK


def big(refusal):
    """Refuses a conversation of 400,000 bytes or more."""
    return lambda body: refusal if len(json.dumps(body)) >= 400000 else OK


def sees(refusal):
    """Refuses a request that has images."""
    return lambda body: refusal if '"type": "image' in json.dumps(body["messages"]) else OK


def late():
    return email.utils.formatdate(time.time() + 1, usegmt=True)


SCENARIOS = {
    "ok": [OK],
    # Streaming: B.4
    "delays": [stream(chunk({"content": "slow"}), 0.05, chunk({"content": "ly"}), 0.05, chunk({}, "stop"))],
    "split_bytes": [[SSE, *[bytes([byte]) for byte in data(chunk({"content": "h\u00e9\U0001f600"})) + data(chunk({}, "stop")) + DONE]]],
    "comments": [stream(b": keep-alive\n\n", chunk({"content": "well"}), b": keep-alive\n\n", chunk({}, "stop"))],
    "repeated_name": [stream(call(0, "call_1", "terminal", COMMAND[:9]), call(0, None, "terminal", COMMAND[9:]), chunk({}, "tool_calls")), OK],
    "index_zero": [stream(call(0, "call_1", "terminal", COMMAND), call(0, "call_2", "terminal", '{"command":"echo second"}'),
                          chunk({}, "tool_calls")), OK],
    "no_id": [stream(call(0, None, "terminal", COMMAND), chunk({}, "tool_calls")), OK],
    "no_index": [stream(call(None, "call_1", "terminal", COMMAND), chunk({}, "tool_calls")), OK],
    "object_arguments": [stream(chunk({"tool_calls": [{"index": 0, "id": "call_1", "function": {
        "name": "terminal", "arguments": {"command": "echo from-the-tool"}}}]}), chunk({}, "tool_calls")), OK],
    "bad_arguments": [stream(call(0, "call_1", "terminal", '{"command":"echo from-the-tool",}'), chunk({}, "tool_calls")), OK],
    "garbage_arguments": [stream(call(0, "call_1", "terminal", "nothing like JSON}"), chunk({}, "tool_calls")), OK],
    "unknown_tool": [tool("no_such_tool"), OK],
    "unknown_tool_for_ever": [tool("no_such_tool")],
    "other_spelling": [tool("Terminal-Tool"), OK],
    "same_call_twice": [stream(call(0, "call_1", "terminal", COMMAND), call(1, "call_2", "terminal", COMMAND), chunk({}, "tool_calls")), OK],
    "finish_stop_with_call": [tool(finish="stop"), OK],
    "no_finish": [stream(chunk({"content": "fine, thanks"}))],
    "no_usage": [stream(chunk({"content": "fine, thanks"}), chunk({}, "stop"))],
    "usage_null": [stream(chunk({"content": "fine, thanks"}, usage=None), chunk({}, "stop", usage=None), usage(choices=None))],
    "choices_missing": [stream({"id": "c1", "object": "chat.completion.chunk"}, chunk({"content": "fine, thanks"}), chunk({}, "stop"),
                               {"id": "c1", "usage": USAGE})],
    "not_streamed": [whole(200, {"choices": [{"index": 0, "message": {"role": "assistant", "content": "fine, thanks"},
                                              "finish_reason": "stop"}], "usage": USAGE})],
    "encrypted": [stream(chunk({"reasoning_content": "hmm"}), call(0, "call_1", "terminal", COMMAND), chunk({}, "tool_calls")),
                  error(400, "The reasoning item could not be read", code="invalid_encrypted_content"), OK],
    "surrogates": [stream(data(b'{"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}'),
                          data(b'{"choices":[{"index":0,"delta":{"content":"\\ude00b\\ud800c"}}]}'), chunk({}, "stop"))],
    "reasoning": [stream(chunk({"reasoning_content": "hmm "}), chunk({"reasoning_content": "yes"}), call(0, "call_1", "terminal", COMMAND),
                         chunk({}, "tool_calls")), OK],
    "thinks_aloud": [stream(chunk({"content": "<thi"}), chunk({"content": "nk>hmm </th"}), chunk({"content": "ink>\n\nfine, "}),
                            chunk({"content": "thanks"}), chunk({}, "stop"))],
    "only_thinks_aloud": [text("<think>hmm"), OK],
    "cached": [text("fine, thanks", prompt_tokens_details={"cached_tokens": 4}, completion_tokens_details={"reasoning_tokens": 2})],
    # Stalls and breaks: B.6, H6
    "stall": [[SSE, data(chunk({"role": "assistant"})), STALL], OK],
    "silent": [[STALL], OK],
    "keep_alive_only": [[SSE, *[b": still here\n\n", 0.2] * 60, STALL], OK],
    "stall_in_call": [[SSE, data(call(0, "call_1", "terminal", COMMAND[:9])), STALL], tool(), OK],
    "drop_before": [[DROP], OK],
    "drop_after_head": [[SSE, DROP], OK],
    "drop_in_line": [[SSE, data(chunk({"role": "assistant"})), b'data: {"choices":[{"ind', DROP], OK],
    "drop_in_text": [[SSE, data(chunk({"content": "fine, "})), 0.05, DROP], text("thanks")],
    "end_in_text": [[SSE, data(chunk({"content": "fine, "}))], text("thanks")],
    "drop_in_call": [[SSE, data(call(0, "call_1", "terminal", COMMAND[:9])), 0.05, DROP], tool(), OK],
    "drop_in_call_for_ever": [[SSE, data(call(0, "call_1", "terminal", COMMAND[:9])), 0.05, DROP]],
    "drop_in_call_behind_text": [[SSE, data(chunk({"content": "let me look"})), data(call(0, "call_1", "terminal", COMMAND[:9])), 0.05, DROP]],
    "empty_body": [[SSE], OK],
    "network_error_event": [stream({"error": {"message": "Network connection lost."}}, done=False), OK],
    "overload_event": [stream({"error": {"message": "Overloaded", "code": 503}}, done=False), OK],
    "auth_event": [stream({"error": {"message": "Invalid API key", "code": 401}}, done=False), OK],
    # Classes: B.7
    "auth_401": [error(401, "Incorrect API key provided")],
    "auth_403": [error(403, "Forbidden")],
    "billing_403": [error(403, "Key limit exceeded")],
    "free_404": [error(404, "This model is not available on the free tier")],
    "billing_402": [error(402, "Payment required")],
    "quota_402": [error(402, "Usage limit reached, try again in 1s"), OK],
    "billing_429": [error(429, "You exceeded your current quota", "insufficient_quota")],
    "rate_seconds": [error(429, "Rate limit reached", Retry_After="1"), OK],
    "rate_date": [lambda _: error(429, "Rate limit reached", Retry_After=late()), OK],
    "rate_window": [error(429, "Rate limit reached. Resets in 1s"), OK],
    "rate_reset_header": [error(429, "Rate limit reached", x_ratelimit_reset_requests="1s"), OK],
    "rate_for_ever": [error(429, "Rate limit reached")],
    "overloaded_429": [error(429, "The engine is overloaded"), OK],
    "overloaded_503": [error(503, "No room", Retry_After="1"), OK],
    "overloaded_529": [error(529, "Overloaded"), OK],
    "server_500": [whole(500, b"", "text/plain"), OK],
    "html_502": [whole(502, b"<html><body>Bad gateway</body></html>", "text/html", Retry_After="1"), OK],
    "html_502_for_ever": [whole(502, b"<html><body>Bad gateway</body></html>", "text/html")],
    "request_502": [error(502, "Unknown parameter: top_k")],
    "model_404": [error(404, "The model `m` does not exist", code="model_not_found")],
    "bare_404": [whole(404, b"404 page not found", "text/plain")],
    "policy_404": [error(404, "No endpoints found matching your data policy")],
    "safety_400": [error(400, "Rejected by our safety system")],
    "format_422": [whole(422, {"detail": [{"loc": ["body"], "msg": "field required"}]})],
    "format_400": [error(400, "messages.0.content: this is a long sentence that says exactly which field is wrong")],
    "error_in_200": [whole(200, {"error": {"message": "something odd happened"}}), OK],
    "html_200": [whole(200, b"<!DOCTYPE html><p>Sign in</p>", "text/html")],
    "no_choices_200": [whole(200, {"id": "c1"})],
    "text_error": [whole(400, {"error": "plainly wrong, and said in a string of its own that is long"})],
    "wrapped_error": [error(400, "Provider returned error") and whole(400, {"error": {"message": "Provider returned error", "metadata": {
        "raw": json.dumps({"error": {"message": "the model `m` does not exist"}})}}})],
    "odd_error": [whole(400, {"error": {"message": ["a", {"b": 1}]}})],
    "no_stream_options": [error(400, "Unsupported parameter: 'stream_options'", param="stream_options"), OK],
    "no_effort": [error(400, "Unrecognized request argument supplied: reasoning_effort"), OK],
    "no_streaming": [error(400, "Streaming is not supported for this model"),
                     whole(200, {"choices": [{"index": 0, "message": {"content": "fine, thanks"}, "finish_reason": "stop"}]})],
    "grammar": [error(400, "Unable to generate parser for this template: failed to parse grammar"), OK],
    "depth": [whole(400, b"[" * 100000)],
    "long_line": [[SSE, b"data: " + b"x" * 1200000 + b"\n\n"]],
    # Going round in circles: B59
    "fails_again": [*[tool(arguments='{"command":"exit 3"}')] * 3, OK],
    "fails_otherwise": [*[tool(arguments=f'{{"command":"exit {code}"}}') for code in (3, 4, 5)], OK],
    "fails_for_ever": [*[tool(arguments='{"command":"exit 3"}')] * 6, OK],
    # Killed in the middle: what the user writes behind $ is the command
    "k_waiting": [[STALL], OK],
    "k_streaming": [[SSE, data(chunk({"role": "assistant", "content": "half an "})), STALL], OK],
    "k_tool": [lambda body: tool(arguments=command(body)), OK],
    "k_asked": [lambda body: tool(arguments=command(body)), OK],
    "k_after_tool": [lambda body: tool(arguments=command(body)), [STALL], OK],
    "k_again": [error(429, "Rate limit reached", Retry_After="100"), OK],
    "k_delegates": [tool("delegate_task", '{"tasks":[{"goal":"please @k_child"}]}'), OK],
    "k_child": [[STALL], OK],
    "k_summary": [limit("prompt is too long")],
    "summary_k": [[STALL], text("Goal: to be brief.")],
    "deaf_for_ever": [[STALL]],
    "title": [text('"A title of words."')],
    # Two calls, one after the other unless both may run beside each other
    "two_calls": [lambda body: stream(chunk({"role": "assistant"}), *[call(at, f"call_{at}", "terminal", json.dumps({"command": part}))
                                      for at, part in enumerate(json.loads(command(body))["command"].split(" && "))], chunk({}, "tool_calls")), OK],
    # Too long: compression
    "big_refusal": [big(error(400, "Error"))],
    "big_drop": [big([DROP])],
    "summary": [text("Goal: to be brief.")],
    "summary_fails": [error(500, "no summary today")],
    "summary_long": [text("x" * 300000)],
    "overflow": [limit("This model's maximum context length is 8192 tokens")],
    "payload": [limit("Request too large", 413)],
    "tier": [limit("Extra usage is required for long context", 429)],
    "overflow_for_ever": [error(400, "prompt is too long")],
    # Approval, mode smart: C37
    "judge_approve": [text("APPROVE")],
    "judge_deny": [text("**Deny.** It removes all.")],
    "judge_escalate": [text("ESCALATE")],
    "judge_silent": [[STALL]],
    "judge_unclear": [text("I would rather APPROVE")],
    "judge_fails": [error(400, "no judgement today, it is a long sentence that says so")],
    **{f"smart_{word}": [tool(arguments=json.dumps({"command": f"rm -rf nothing-here; echo from-the-tool # @judge_{word}"})), OK]
       for word in ("approve", "deny", "escalate", "unclear", "fails", "silent")},
    "smart_often": [*[tool(arguments=json.dumps({"command": f"rm -rf nothing{number} # @judge_deny"})) for number in range(4)], OK],
    # Images: B18
    "image": [OK],
    "image_silent": [[STALL]],
    "image_refused": [sees(error(400, "Invalid content type. image_url is only supported by certain models.")), OK],
    "image_string": [sees(error(422, "messages[1].content must be a string")), OK],
    "image_no_endpoint": [sees(error(404, "No endpoints found that support image input")), OK],
    "image_too_large": [sees(error(400, "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes")), OK],
    "image_unreadable": [sees(error(400, "Could not process image")), OK],
    "image_payload": [sees(error(413, "Request too large")), OK],
    # Parts and silence: B.10
    "length": [text("fine, ", "length"), text("thanks")],
    "length_for_ever": [text("more ", "length")],
    "thought_out": [stream(chunk({"reasoning_content": "thinking"}), chunk({}, "length"))],
    "cut_arguments": [stream(call(0, "call_1", "terminal", '{"command":"echo from'), chunk({}, "length")), tool(), OK],
    "cut_arguments_for_ever": [stream(call(0, "call_1", "terminal", '{"command":"echo from'), chunk({}, "length"))],
    "cut_but_said_tools": [stream(call(0, "call_1", "terminal", '{"command":"echo from'), chunk({}, "tool_calls")), tool(), OK],
    "empty": [stream(chunk({}, "stop")), OK],
    "empty_for_ever": [stream(chunk({}, "stop"))],
    "only_thought": [stream(chunk({"reasoning_content": "thinking"}), chunk({}, "stop")), OK],
    "empty_after_tools": [tool(), stream(chunk({}, "stop")), OK],
    "noted": [stream(chunk({"content": "I have noted it."}), call(0, "call_1", "todo", '{"todos":[]}'), chunk({}, "tool_calls")), stream(chunk({}, "stop"))],
    # As many steps as are allowed, then a call without tools: B4
    "steps": [lambda body: tool() if "tools" in body else OK],
    "steps_for_ever": [tool()],
    "steps_fail": [lambda body: tool() if "tools" in body else error(400, "there is no summary of that, it is a long sentence that says so")],
    "delegates": [tool("delegate_task", '{"tasks":[{"goal":"please @steps_of_a_child"}]}'), OK],
    "steps_of_a_child": [lambda body: tool() if "tools" in body else OK],
    "filtered": [stream(chunk({}, "content_filter"))],
    # Anthropic: B.5
    "a_ok": [FINE],
    "a_image": [FINE],
    "a_image_too_large": [whole(400, {"type": "error", "error": {"type": "invalid_request_error", "message":
                                      "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6 > 5"}}), FINE],
    "a_tools": [message(THOUGHT, use(1), stop="tool_use"), FINE],
    "a_empty_input": [message(use(0, ""), stop="tool_use"), FINE],
    "a_overloaded_event": [[SSE, event("error", error={"type": "overloaded_error", "message": "Overloaded"})], FINE],
    "a_overloaded_529": [whole(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), FINE],
    "a_unknown_event": [message(block(0, {"type": "server_tool_use"}), [event("novelty", x=1)], said("fine, thanks", 1))],
    "a_pings": [[SSE, *[event("ping"), 0.3] * 5, *FINE[1:]]],
    "a_max_tokens": [message(said("fine, "), stop="max_tokens"), message(said("thanks"))],
    "a_refusal": [message(stop="refusal")],
    "a_empty": [message()],
    "a_cut": [message(said("fine, "), tail=False), message(said("thanks"))],
    "a_cut_call": [message(use(0, cut=12), stop="tool_use", tail=False), message(use(0), stop="tool_use"), FINE],
    "a_signature": [message(THOUGHT, use(1), stop="tool_use"),
                    whole(400, {"type": "error", "error": {"type": "invalid_request_error", "message":
                                                           "messages.1.content.0: Invalid `signature` in `thinking` block"}}), FINE],
    "a_malformed": [[SSE, b"event: content_block_delta\ndata: {\"type\":\n\n"], FINE],
}


class Provider:
    def __init__(self):
        self.requests = collections.defaultdict(list)

    @staticmethod
    def scenario(body):
        if TITLE in json.dumps(body):
            return "title"
        if JUDGE in json.dumps(body):
            return "judge_" + re.search(r"@judge_([a-z]+)", json.dumps(body)).group(1)
        if SUMMARY in json.dumps(body):
            found = re.search(r"@sum_([a-z0-9]+)", json.dumps(body["messages"]))
            return "summary_" + found.group(1) if found else "summary"
        for entry in reversed(body.get("messages", [])):
            words = entry["content"] if isinstance(entry.get("content"), str) else json.dumps(entry.get("content"))
            found = re.search(r"@([a-z0-9_]+)", words) if entry["role"] == "user" else None
            if found:
                return ("standby_" if body.get("model") == "standby" else "") + found.group(1)
        return "ok"

    def answer(self, name, body):
        answers = SCENARIOS.get(name) or [text("standing in")]
        steps = answers[min(len(self.requests[name]), len(answers) - 1)]
        return steps(body) if callable(steps) else steps

    async def serve(self, reader, writer):
        try:
            while True:
                line = (await reader.readline()).decode()
                if not line:
                    break
                headers = {}
                while (header := (await reader.readline()).decode().strip()):
                    key, _, value = header.partition(":")
                    headers[key.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self.reply(line.split()[1], body, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def reply(self, path, body, reader, writer):
        """Whether the connection can be used again."""
        if path.startswith("/requests/"):
            found = json.dumps(self.requests[path.rsplit("/", 1)[1]]).encode()
            writer.write(head(200, length=len(found)) + found)
            await writer.drain()
            return True
        parsed = json.loads(body)
        name = self.scenario(parsed)
        steps = self.answer(name, parsed)
        self.requests[name].append(parsed)
        for step in steps:
            if step is DROP:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            if step is STALL:
                await reader.read(1)
                return False
            if isinstance(step, (int, float)):
                await asyncio.sleep(step)
                continue
            writer.write(step)
            await writer.drain()
        return steps[0] != SSE


async def close_in_handshake(reader, writer):
    await reader.read(16)
    writer.close()


async def main():
    provider = Provider()
    plain = await asyncio.start_server(provider.serve, "127.0.0.1", 0, limit=1 << 24)
    tls = await asyncio.start_server(close_in_handshake, "127.0.0.1", 0)
    print(plain.sockets[0].getsockname()[1], tls.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
