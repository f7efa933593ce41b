"""How the model is to choose its words: what a chat or a response asks for, as it stands on the provider's wire."""
import json

from httpapi import Api, is_error
from test_provider_wire import KEY, answer, chunk, provider, sse  # noqa: F401

ALL = {"temperature": 0.5, "top_p": 0.25, "stop": ["END", "\n"], "seed": 7, "presence_penalty": -1, "frequency_penalty": 1.5}
CHAT = "/v1/chat/completions"
SSE = "text/event-stream"


def claude(text):
    events = [{"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
              {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}},
              {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
              {"type": "message_stop"}]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def serve(daemon, provider, *answers, **kind):  # noqa: F811
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(provider.settings(**kind) + "agent: {auto_title: false}\n")
    provider.answers = list(answers)
    return Api(daemon.start(env={"WIRE_KEY": KEY}))


def ask(api, path=CHAT, **more):
    body = {"messages": [{"role": "user", "content": "hello"}]} if path == CHAT else {"input": "hello"}
    return api.call("POST", path, {**body, **more})


def sent(provider, index=0):  # noqa: F811
    return json.loads(provider.requests[index][2])


def test_a_chat_and_a_response_reach_the_provider(daemon, provider):  # noqa: F811
    api = serve(daemon, provider, *[(200, SSE, answer("fine, thanks"))] * 3)
    status, headers, _ = ask(api, **ALL, max_tokens=5, max_completion_tokens=16, n=1)
    assert status == 200 and headers["X-Argos-Ignored"] == "n"
    first = sent(provider)
    assert {name: first[name] for name in ALL} == ALL
    assert first["max_tokens"] == 16, "the newer name wins; on the wire it has the name of that host"

    status, headers, body = ask(api, "/v1/responses", temperature=0, top_p=1, max_output_tokens=9.0)
    assert status == 200 and "X-Argos-Ignored" not in headers
    assert (body["temperature"], body["top_p"], body["max_output_tokens"]) == (0, 1, 9)
    second = sent(provider, 1)
    assert (second["temperature"], second["top_p"], second["max_tokens"]) == (0, 1, 9)
    assert not set(second) & {"stop", "seed", "presence_penalty", "frequency_penalty"}

    assert ask(api, temperature=None, stop=[])[0] == 200
    assert not set(sent(provider, 2)) & {*ALL, "max_tokens", "max_completion_tokens"}, "nothing is made up"


def test_anthropic_gets_what_it_knows(daemon, provider):  # noqa: F811
    api = serve(daemon, provider, *[(200, SSE, claude("fine"))] * 2, kind="anthropic", path="")
    assert ask(api, **{**ALL, "temperature": 1.5}, max_tokens=33)[0] == 200
    first = sent(provider)
    assert (first["temperature"], first["max_tokens"], first["stop_sequences"]) == (1, 33, ["END", "\n"])
    assert not set(first) & {"top_p", "seed", "stop", "presence_penalty", "frequency_penalty"}
    assert ask(api, top_p=0.5, stop="END")[0] == 200
    second = sent(provider, 1)
    assert second["top_p"] == 0.5 and second["stop_sequences"] == ["END"] and "temperature" not in second


def test_an_answer_as_long_as_asked_for_is_not_gone_on_with(daemon, provider):  # noqa: F811
    cut = sse(chunk({"content": "one two"}), chunk({}, "length"))
    api = serve(daemon, provider, (200, SSE, cut))
    status, _, body = ask(api, max_tokens=2)
    assert status == 200 and len(provider.requests) == 1
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["choices"][0]["message"]["content"] == "one two"


def test_a_model_that_takes_none_is_asked_without(daemon, provider):  # noqa: F811
    refusal = {"error": {"message": "Unsupported value: 'temperature' does not support 0.5 with this model.",
                         "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"}}
    api = serve(daemon, provider, (400, "application/json", json.dumps(refusal).encode()), (200, SSE, answer("fine")))
    status, _, body = ask(api, **ALL, max_tokens=100)
    assert status == 200 and body["choices"][0]["message"]["content"] == "fine"
    assert not set(sent(provider, 1)) & set(ALL) and sent(provider, 1)["max_tokens"] == 100


def test_what_is_none_is_refused(daemon, provider):  # noqa: F811
    api = serve(daemon, provider)
    for name, value in [("temperature", "1"), ("temperature", 2.1), ("temperature", -0.1), ("temperature", True), ("top_p", 1.1),
                        ("max_tokens", 0), ("max_completion_tokens", 1.5), ("max_output_tokens", 1e300), ("seed", "7"),
                        ("stop", ""), ("stop", 7), ("stop", ["a"] * 5), ("stop", ["a", None]), ("stop", "a" * 257),
                        ("presence_penalty", 2.01), ("frequency_penalty", [])]:
        for path in CHAT, "/v1/responses":
            is_error(ask(api, path, **{name: value}), 400, part=f"'{name}'")
    assert provider.requests == []
