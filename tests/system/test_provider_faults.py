"""Each way in which a provider fails (tests/providers/fault_provider.py): what the user reads, what is stored, and what was asked again."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import pytest

from conftest import ROOT, Argosd, open_when_read, wait_until
from test_adapter_pyzmq import Peer, inbound
from test_hooks import RECORD, heard, hook, reread

KEY = "sk-fault-0123456789"
FINE = "fine, thanks"


class Faults:
    """The process of the provider."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, str(ROOT / "tests/providers/fault_provider.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port, self.tls_port = map(int, self.process.stdout.readline().split())

    def requests(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/requests/{name}", timeout=10) as answer:
            return json.load(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Chat:
    """A daemon with these settings, and a chat with it. It has one agent: what that one learns of its provider is what this is about."""

    arguments = ()

    def __init__(self, settings):
        self.home = tempfile.mkdtemp(prefix="argos-")
        with open(os.path.join(self.home, "argos.yaml"), "w", encoding="utf-8") as file:
            file.write(settings)
        self.daemon = Argosd(self.home, agents=1).start(*self.arguments, env={"FAULT_KEY": KEY})
        self.chats = 0
        self.connect()

    def connect(self):
        self.peer = Peer(self.daemon.endpoint, "test.main")
        self.peer.send({"type": "credit"}, {"messages": 100000, "bytes": 1 << 30})
        self.peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4})
        self.used = time.monotonic()

    def ask(self, words, new=True):
        """One message, in a chat of its own unless new is False; (the delivery, its rows as (role, content), usage)."""
        self.chats += new
        if time.monotonic() - self.used > 5:  # Other tests have run, and nobody has said a word for this one
            self.peer.close()
            self.connect()
        self.used = time.monotonic()
        header, body, _ = self.message(words)
        assert self.peer.ask(header, body)[0]["type"] == "accepted"
        return self.hear()

    def message(self, words):
        header, body, run_id = inbound(words)
        body["source"]["chat_id"] = f"c{self.chats}"
        return header, body, run_id

    def hear(self):
        _, meta, data = self.peer.receive(lambda h, _: h["type"] == "deliver.request")
        self.peer.ask({"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}, None, [])
        return data

    def run(self, run_id):
        return self.peer.ask({"type": "run.get", "to": "store"}, {"run_id": run_id})[2]["run"]

    def rows(self, run_id):
        session = self.run(run_id)["session_id"]
        return self.peer.ask({"type": "session.load", "to": "store"}, {"id": session})[2]["messages"]

    def close(self):
        self.peer.close()
        code = self.daemon.stop()
        shutil.rmtree(self.home, ignore_errors=True)
        assert code == 0, self.daemon.text()
        assert KEY not in self.daemon.text()


def settings(faults, kind="openai", retries=2, more="", fallback="", base=None, patience_s=30):
    base = base or f"http://127.0.0.1:{faults.port}" + ("/v1" if kind == "openai" else "")
    return (f"provider:\n  kind: {kind}\n  base_url: {base}\n  model: m\n  key: env:FAULT_KEY\n"
            f"  stall_s: {patience_s}\n  connect_s: {patience_s}\n"
            f"{fallback}prices:\n  input: 100000\n  output: 100000\n  cache_read: 10000\n  cache_write: 0\n"
            f"agent:\n  api_max_retries: {retries}\n  api_backoff_ms: 10\n{more}")


@pytest.fixture(scope="module")
def faults():
    faults = Faults()
    yield faults
    faults.close()


def chat_fixture(**options):
    @pytest.fixture(scope="module")
    def chat(faults):
        fallback = options.get("fallback", "").replace("PORT", str(faults.port))
        chat = Chat(settings(faults, **{**options, "fallback": fallback}))
        yield chat
        chat.close()
    return chat


openai = chat_fixture()
hasty = chat_fixture(patience_s=1)
anthropic = chat_fixture(kind="anthropic")
STANDBY = "fallback_providers:\n  - kind: openai\n    base_url: http://127.0.0.1:PORT/v1\n    model: standby\n    key: env:FAULT_KEY\n"
standby = chat_fixture(fallback=STANDBY)
priced = chat_fixture(fallback=STANDBY + "    prices:\n      input: 100000\n      output: 50000\n")

USER, TOOL, CALL = ("user", None), ("tool", "from-the-tool"), ("assistant", "")
PLAIN = [USER, ("assistant", FINE)]
WITH_TOOL = [USER, CALL, TOOL, ("assistant", FINE)]
ECHO = ("terminal", {"command": "echo from-the-tool"})
#  Calls that are stored, when they are others than one of ECHO
CALLS = {
    "index_zero": [ECHO, ("terminal", {"command": "echo second"})],
    "garbage_arguments": [("terminal", {})],
    "unknown_tool": [("no_such_tool", ECHO[1])],
    "unknown_tool_for_ever": [("no_such_tool", ECHO[1])] * 2,
    "a_empty_input": [("terminal", {})],
    "noted": [("todo", {"todos": []})],
    "fails_again": [("terminal", {"command": "exit 3"})] * 3,
    "fails_otherwise": [("terminal", {"command": f"exit {code}"}) for code in (3, 4, 5)],
}
#  How the provider has ended the text that is stored, when not by `stop`
FINISH = {"drop_in_call_behind_text": "length", "length_for_ever": "length", "thought_out": "length"}
#  No usage comes with these answers
UNTOLD = {"noted", "drop_in_call_behind_text", "no_streaming", "thought_out", "no_finish", "no_usage", "delays", "split_bytes", "comments", "surrogates", "thinks_aloud"}


def failed(words, kind):
    return f"The turn failed: {kind}: {words}"


# name: (what the user reads, the rows that are stored, how many requests there were)
ROWS = {
    "ok": (FINE, PLAIN, 1),
    "delays": ("slowly", [USER, ("assistant", "slowly")], 1),
    "split_bytes": ("h\u00e9\U0001f600", [USER, ("assistant", "h\u00e9\U0001f600")], 1),
    "comments": ("well", [USER, ("assistant", "well")], 1),
    "repeated_name": (FINE, WITH_TOOL, 2),
    "index_zero": (FINE, [USER, CALL, TOOL, ("tool", "second"), ("assistant", FINE)], 2),
    "no_id": (FINE, WITH_TOOL, 2),
    "no_index": (FINE, WITH_TOOL, 2),
    "object_arguments": (FINE, WITH_TOOL, 2),
    "bad_arguments": (FINE, WITH_TOOL, 2),
    "garbage_arguments": (FINE, [USER, CALL, ("tool", "not valid JSON"), ("assistant", FINE)], 2),
    "unknown_tool": (FINE, [USER, CALL, ("tool", "no tool of that name"), ("assistant", FINE)], 2),
    "unknown_tool_for_ever": ("The turn failed: the model only calls tools that there are not", [USER, *[CALL, ("tool", "no tool of that name")] * 2], 3),
    "other_spelling": (FINE, WITH_TOOL, 2),
    "same_call_twice": (FINE, WITH_TOOL, 2),
    "finish_stop_with_call": (FINE, WITH_TOOL, 2),
    "no_finish": (FINE, PLAIN, 1),
    "no_usage": (FINE, PLAIN, 1),
    "usage_null": (FINE, PLAIN, 1),
    "choices_missing": (FINE, PLAIN, 1),
    "not_streamed": (FINE, PLAIN, 1),
    "encrypted": (FINE, WITH_TOOL, 3),
    "fails_again": (FINE, [USER, CALL, ("tool", '"exit_code":3'), CALL, ("tool", "This very call has failed 2 times"), CALL,
                           ("tool", "This very call has failed 3 times"), ("assistant", FINE)], 4),
    "fails_otherwise": (FINE, [USER, *[CALL, ("tool", '"exit_code"')] * 2, CALL, ("tool", "terminal has failed 3 times in a row"),
                               ("assistant", FINE)], 4),
    "surrogates": ("a\U0001f600b\ufffdc", [USER, ("assistant", "a\U0001f600b\ufffdc")], 1),
    "reasoning": (FINE, WITH_TOOL, 2),
    "thinks_aloud": (FINE, PLAIN, 1),
    "only_thinks_aloud": (FINE, PLAIN, 2),
    "cached": (FINE, PLAIN, 1),
    "stall": (FINE, PLAIN, 2),
    "silent": (FINE, PLAIN, 2),
    "keep_alive_only": (FINE, PLAIN, 2),
    "stall_in_call": (FINE, WITH_TOOL, 3),
    "drop_before": (FINE, PLAIN, 2),
    "drop_after_head": (FINE, PLAIN, 2),
    "drop_in_line": (FINE, PLAIN, 2),
    "drop_in_text": (FINE, PLAIN, 2),
    "end_in_text": (FINE, PLAIN, 2),
    "drop_in_call": (FINE, WITH_TOOL, 3),
    "drop_in_call_for_ever": (", in a call of terminal, after 2 repeats", [], 3),
    "drop_in_call_behind_text": ("let me look\n\n\u26a0\ufe0f The connection broke off in a call of terminal. It was not run.",
                                 [USER, ("assistant", "let me look")], 3),
    "empty_body": (FINE, PLAIN, 2),
    "network_error_event": (FINE, PLAIN, 2),
    "overload_event": (FINE, PLAIN, 2),
    "auth_event": ("Invalid API key", [], 1),
    "auth_401": ("Provider authentication failed: Incorrect API key provided (HTTP 401)", [], 1),
    "auth_403": ("Provider authentication failed: Forbidden (HTTP 403)", [], 1),
    "billing_403": (failed("Key limit exceeded (HTTP 403)", "billing"), [], 1),
    "billing_402": (failed("Payment required (HTTP 402)", "billing"), [], 1),
    "free_404": (failed("This model is not available on the free tier (HTTP 404)", "billing"), [], 1),
    "no_effort": (FINE, PLAIN, 2),
    "quota_402": (FINE, PLAIN, 2),
    "billing_429": (failed("You exceeded your current quota (HTTP 429)", "billing"), [], 1),
    "rate_seconds": (FINE, PLAIN, 2),
    "rate_date": (FINE, PLAIN, 2),
    "rate_window": (FINE, PLAIN, 2),
    "rate_reset_header": (FINE, PLAIN, 2),
    "rate_for_ever": (failed("Rate limit reached (HTTP 429), after 2 repeats", "rate_limit"), [], 3),
    "overloaded_429": (FINE, PLAIN, 2),
    "overloaded_503": (FINE, PLAIN, 2),
    "overloaded_529": (FINE, PLAIN, 2),
    "server_500": (FINE, PLAIN, 2),
    "html_502": (FINE, PLAIN, 2),
    "html_502_for_ever": (failed("the provider answered with a web page instead of JSON (HTTP 502), after 2 repeats", "server_error"), [], 3),
    "request_502": (failed("Unknown parameter: top_k (HTTP 502)", "format_error"), [], 1),
    "model_404": (failed("/v1/chat/completions answers: The model `m` does not exist (HTTP 404)", "model_not_found"), [], 1),
    "bare_404": (failed("/v1/chat/completions answers: 404 page not found (HTTP 404)", "not_found"), [], 1),
    "policy_404": ("No endpoints found matching your data policy", [], 1),
    "safety_400": (failed("Rejected by our safety system (HTTP 400)", "content_policy_blocked"), [], 1),
    "format_422": ("field required", [], 1),
    "format_400": (failed("messages.0.content: this is a long sentence", "format_error"), [], 1),
    "error_in_200": (FINE, PLAIN, 2),
    "html_200": (failed("the provider answered with a web page instead of JSON", "format_error"), [], 1),
    "no_choices_200": (failed("the provider's answer has no choices", "format_error"), [], 1),
    "text_error": (failed("plainly wrong, and said in a string", "format_error"), [], 1),
    "wrapped_error": ("does not exist", [], 1),
    "odd_error": (failed('["a",{"b":1}] (HTTP 400)', "format_error"), [], 1),
    "no_stream_options": (FINE, PLAIN, 2),
    "no_streaming": (FINE, PLAIN, 2),
    "grammar": (FINE, PLAIN, 2),
    "depth": ("The turn failed: format_error", [], 1),
    "long_line": (failed("the provider sent a line over 1 MiB", "format_error"), [], 1),
    "length": (FINE, PLAIN, 2),
    "length_for_ever": ("more more more more ", [USER, ("assistant", "more more more more ")], 4),
    "thought_out": ("used up its whole output for thinking", [USER, ("assistant", "used up its whole output for thinking")], 1),
    "cut_arguments": (FINE, WITH_TOOL, 3),
    "cut_arguments_for_ever": ("Response truncated due to output length limit, in a call of terminal", [], 2),
    "cut_but_said_tools": (FINE, WITH_TOOL, 3),
    "empty": (FINE, PLAIN, 2),
    "empty_for_ever": ("without a response", [USER], 3),
    "only_thought": (FINE, PLAIN, 2),
    "empty_after_tools": (FINE, WITH_TOOL, 3),
    "noted": ("I have noted it.", [USER, ("assistant", "I have noted it."), ("tool", '"todos":[]'), ("assistant", "I have noted it.")], 2),
    "filtered": (failed("the provider has withheld the answer", "content_policy_blocked"), [], 1),
}

ANTHROPIC = {
    "a_ok": (FINE, PLAIN, 1),
    "a_tools": (FINE, WITH_TOOL, 2),
    "a_empty_input": (FINE, [USER, CALL, ("tool", None), ("assistant", FINE)], 2),
    "a_overloaded_event": (FINE, PLAIN, 2),
    "a_overloaded_529": (FINE, PLAIN, 2),
    "a_unknown_event": (FINE, PLAIN, 1),
    "a_pings": (FINE, PLAIN, 1),
    "a_max_tokens": (FINE, PLAIN, 2),
    "a_refusal": (failed("the provider has withheld the answer", "content_policy_blocked"), [], 1),
    "a_empty": ("without a response", [USER], 1),
    "a_cut": (FINE, PLAIN, 2),
    "a_cut_call": (FINE, WITH_TOOL, 3),
    "a_signature": (FINE, WITH_TOOL, 3),
    "a_malformed": ("The turn failed: format_error", [], 1),
}


#  Those whose provider goes silent. All others have one that may be slow: it is no fault of it on a busy machine
SILENT = {"stall", "silent", "keep_alive_only", "stall_in_call"}
#  Those that say when to come again: what was asked for, not our own 10 ms
WAITS = {"quota_402", "rate_seconds", "rate_window", "rate_reset_header", "overloaded_503", "html_502"}


def check_rows(stored, rows, run_id, name=None):
    """The rows of a session: who says what; the calls as they are to be run, and behind them one result for each."""
    assert [row["role"] for row in stored] == [role for role, _ in rows], stored
    calls, waiting = [], []
    for row, (role, content) in zip(stored, rows):
        assert row["run_id"] == run_id, stored
        assert content is None or (content in (row.get("content") or "") if role == "tool" or "used up" in content
                                   else (row.get("content") or "") == content), stored
        assert role == "tool" or not waiting, stored
        if role == "tool":
            waiting.remove(row["tool_call_id"])
        for call in row.get("tool_calls", []):
            waiting.append(call["id"])
            calls.append((call["function"]["name"], json.loads(call["function"]["arguments"])))
    assert not waiting and calls == CALLS.get(name, [ECHO] * sum(row is CALL for row in rows)), stored
    if stored and stored[-1]["role"] == "assistant":
        assert stored[-1]["finish_reason"] == FINISH.get(name, "stop"), stored


def check(chat, faults, name, expected):
    words, rows, requests = expected
    start = time.monotonic()
    data = chat.ask(f"please @{name}")
    assert name not in WAITS or time.monotonic() - start >= 0.9
    stored = chat.rows(data["run_id"])
    assert words in data["text"], (data, faults.requests(name))
    assert len(faults.requests(name)) == requests
    check_rows(stored, rows, data["run_id"], name)
    run = chat.run(data["run_id"])
    if data["kind"] == "error":
        assert run["state"] == "failed" and words in run["error"], run
    else:
        assert run["state"] == "completed" and (run.get("output") or "") in data["text"] and "error" not in run, run
        assert name in UNTOLD or not stored[1:] or run["usage"]["output_tokens"] > 0, run
    return data, stored


@pytest.mark.parametrize("name", ROWS)
def test_openai(request, faults, name):
    check(request.getfixturevalue("hasty" if name in SILENT else "openai"), faults, name, ROWS[name])


@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropic(anthropic, faults, name):
    check(anthropic, faults, name, ANTHROPIC[name])


@pytest.mark.parametrize("name, requests", [
    ("auth_401", 1), ("billing_402", 1), ("model_404", 1), ("safety_400", 1), ("bare_404", 1), ("html_502_for_ever", 3),
    ("drop_in_call_for_ever", 3), ("empty_for_ever", 1),
])
def test_another_provider_stands_in(standby, faults, name, requests):
    before = len(faults.requests(name))
    data = standby.ask(f"please @{name}")
    assert data["text"] == "standing in"
    check_rows(standby.rows(data["run_id"]), [USER, ("assistant", "standing in")], data["run_id"])
    assert len(faults.requests(name)) - before == requests
    assert all(request["model"] == "m" for request in faults.requests(name))
    assert faults.requests("standby_" + name)[-1]["model"] == "standby"
    assert standby.ask("please @ok")["text"] == FINE  # The next turn begins with the first one again


def test_what_helps_no_other_provider_is_said_at_once(standby, faults):
    for name in ("format_400", "policy_404"):
        data = standby.ask(f"please @{name}")
        assert data["kind"] == "error" and standby.rows(data["run_id"]) == []
        assert not faults.requests("standby_" + name)


def test_what_is_not_supported_is_left_out(openai, faults):
    openai.ask("please @no_stream_options") if not faults.requests("no_stream_options") else None
    first, second = faults.requests("no_stream_options")[-2:]
    assert "stream_options" in first and "stream_options" not in second
    openai.ask("please @no_streaming") if not faults.requests("no_streaming") else None
    first, second = faults.requests("no_streaming")[-2:]
    assert first["stream"] is True and second["stream"] is False


def test_after_too_many_requests_the_first_provider_cools_down(standby, faults):
    before, asked = len(faults.requests("ok")), len(faults.requests("rate_for_ever"))
    assert standby.ask("please @rate_for_ever")["text"] == "standing in"
    assert standby.ask("please @ok")["text"] == "standing in"
    assert len(faults.requests("ok")) == before and len(faults.requests("rate_for_ever")) == asked + 1


def test_thoughts_go_back_to_who_has_thought_them(openai, anthropic, faults):
    openai.ask("please @reasoning") if not faults.requests("reasoning") else None
    call = faults.requests("reasoning")[1]["messages"][-2]
    assert call["tool_calls"] and call["reasoning_content"] == "hmm yes"
    anthropic.ask("please @a_tools") if not faults.requests("a_tools") else None
    openai.ask("please @encrypted") if not faults.requests("encrypted") else None
    first, second = faults.requests("encrypted")[1:3]
    assert first["messages"][-2]["reasoning_content"] == "hmm" and "reasoning_content" not in second["messages"][-2]
    blocks = faults.requests("a_tools")[1]["messages"][-2]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}
    assert blocks[1]["type"] == "tool_use" and blocks[1]["input"] == {"command": "echo from-the-tool"}


def test_cache_marks(anthropic, faults):
    anthropic.ask("please @a_ok")
    anthropic.ask("once more @a_ok", new=False)
    body = faults.requests("a_ok")[-1]
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    marked = [message for message in body["messages"] if "cache_control" in message["content"][-1]]
    assert len(marked) == min(3, len(body["messages"])) and marked[-1] is body["messages"][-1]


def test_usage_and_cost(openai, anthropic):
    for chat, name, expected in ((openai, "cached", (7, 4, 0, 7, 2, (7 + 7 + 4 * 0.1) / 10)), (anthropic, "a_ok", (5, 3, 2, 9, 0, (5 + 9 + 3 * 0.1) / 10))):
        data = chat.ask(f"please @{name}")
        session = chat.run(data["run_id"])["session_id"]
        token = chat.daemon.operator
        operator = Peer(chat.daemon.endpoint, "cli.usage", token)
        row, = operator.ask({"type": "usage.get", "to": "store"}, {"id": session})[2]["usage"]
        operator.close()
        found = tuple(row[key] for key in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"))
        assert found == expected[:5] and abs(row["estimated_usd"] - expected[5]) < 1e-6 and row["cost_status"] == "estimated"


@pytest.mark.parametrize("chat, cost", [("standby", None), ("priced", True)])
def test_cost_of_who_stands_in(request, faults, chat, cost):
    chat = request.getfixturevalue(chat)
    data = chat.ask("please @auth_401")
    assert data["text"] == "standing in"
    operator = Peer(chat.daemon.endpoint, "cli.usage", chat.daemon.operator)
    row, = operator.ask({"type": "usage.get", "to": "store"}, {"id": chat.run(data["run_id"])["session_id"]})[2]["usage"]
    operator.close()
    used = row["input_tokens"] * 0.1 + row["output_tokens"] * 0.05
    assert used > 0 and row.get("cost_status") == (None if cost is None else "estimated"), row
    assert cost is None or abs(row["estimated_usd"] - used) < 1e-6


@pytest.mark.parametrize("place", ["nobody", "deaf", "tls"])
def test_who_can_not_be_reached(faults, place):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        waiting = []
        port = faults.tls_port if place == "tls" else listener.getsockname()[1]
        if place == "deaf":  # Nobody accepts, and there is no room to wait
            listener.listen(0)
            for _ in range(2):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(listener.getsockname())
                waiting.append(client)
        chat = Chat(settings(faults, retries=1, patience_s=1, base=f"http{'s' if place == 'tls' else ''}://127.0.0.1:{port}/v1"))
        data = chat.ask("hello")
        run, rows = chat.run(data["run_id"]), chat.rows(data["run_id"])
        chat.close()
        for client in waiting:
            client.close()
    assert data["kind"] == "error" and "The turn failed: " in data["text"] and "not sent" in data["text"] and "after 1 repeats" in data["text"]
    assert run["state"] == "failed" and "not sent" in run["error"] and rows == []


def fill(chat, words="talk @ok", turns=12):
    """A conversation of so many turns; the rows of it."""
    run = None
    for turn in range(turns):
        run = chat.ask(f"{words} {turn} " + "word " * 100, new=turn == 0)["run_id"]
    return chat.rows(run)


@pytest.mark.parametrize("name", ["overflow", "payload", "tier"])
def test_what_is_too_long_becomes_shorter(openai, faults, name):
    before = fill(openai)
    notice = openai.ask(f"and now @{name}", new=False)
    assert notice["kind"] == "notice" and "summary" in notice["text"]
    data = openai.hear()
    assert data["text"] == FINE
    after = openai.rows(data["run_id"])
    assert len(after) < len(before)
    assert [row["content"] for row in after[:3]] == [row["content"] for row in before[:3]]
    assert any("Goal: to be brief." in row["content"] for row in after)
    assert after[-2]["content"] == f"and now @{name}" and after[-1]["content"] == FINE
    assert len(faults.requests(name)) == 2


@pytest.mark.parametrize("name, requests", [("big_refusal", 2), ("big_drop", 3)])
def test_what_says_nothing_of_the_length_may_mean_it(faults, name, requests):
    chat = Chat(settings(faults, more="compression:\n  enabled: false\n"))
    fill(chat, turns=3)
    for number in range(5):
        chat.ask(f"more @ok {number} " + "word " * 22000, new=False)
    for number in range(11):
        chat.ask(f"talk @ok {number}", new=False)
    notice = chat.ask(f"and now @{name}", new=False)
    assert notice["kind"] == "notice" and "summary" in notice["text"]
    data = chat.hear()
    assert data["text"] == FINE and len(faults.requests(name)) == requests
    rows = chat.rows(data["run_id"])
    assert len(rows) < 38 and any("Goal: to be brief." in row["content"] for row in rows)
    assert rows[-2]["content"] == f"and now @{name}" and rows[-1]["content"] == FINE
    chat.close()


def test_what_leads_nowhere_is_not_run_for_ever(faults):
    chat = Chat(settings(faults, more="  loop_stop: true\n"))
    data = chat.ask("please @fails_for_ever")
    results = [row["content"] for row in chat.rows(data["run_id"]) if row["role"] == "tool"]
    assert data["text"] == FINE and ['"exit_code":3' in result for result in results] == [True] * 5 + [False]
    assert "BLOCKED: This very call has failed 5 times. It was not run." in results[5]
    chat.close()


def test_when_the_steps_are_used_up_it_says_what_was_done(faults):
    """B.13 44: the last call is without tools, and asks for a summary; a child has a number of its own."""
    chat = Chat(settings(faults, more="  max_iterations: 2\ndelegation:\n  max_iterations: 1\n"))
    steps = [USER, CALL, TOOL, CALL, TOOL]
    for name, words, rows in (("steps", FINE, [*steps, ("assistant", FINE)]),
                              ("steps_for_ever", "The turn failed: it needs more steps than are allowed", steps),
                              ("steps_fail", failed("there is no summary of that", "format_error"), steps)):
        data = chat.ask(f"please @{name}")
        assert words in data["text"] and chat.run(data["run_id"])["state"] == ("completed" if words is FINE else "failed")
        check_rows(chat.rows(data["run_id"]), rows, data["run_id"])
        requests = faults.requests(name)
        assert ["tools" in request for request in requests] == [True, True, False]
        assert "number of steps of this turn is used up" in json.dumps(requests[2]) and "used up" not in json.dumps(requests[1])
    assert chat.ask("please @delegates")["text"] == FINE
    assert ["tools" in request for request in faults.requests("steps_of_a_child")] == [True, False]
    chat.close()


def test_a_summary_that_fails_is_not_asked_for_in_each_turn(faults):
    before = len(faults.requests("summary_fails"))
    chat = Chat(settings(faults, more="compression:\n  context_tokens: 4000\n"))
    rows = fill(chat, "talk @ok @sum_fails", turns=20)
    assert len(rows) == 40 and len(faults.requests("summary_fails")) == before + 1
    chat.close()


@pytest.mark.parametrize("name, words", [("sum_fails", "no summary today"), ("sum_long", "the summary is no shorter")])
def test_without_a_summary_nothing_is_lost(openai, name, words):
    before = fill(openai, f"talk @ok @{name}")
    data = openai.ask(f"and now @overflow @{name}", new=False)
    while data["kind"] == "notice":
        data = openai.hear()
    assert data["kind"] == "error" and words in data["text"] and "/new" in data["text"], data
    assert openai.rows(data["run_id"]) == before


def test_a_short_conversation_that_is_too_long_is_a_reason(openai, faults):
    data = openai.ask("please @overflow_for_ever")
    assert data["kind"] == "error" and "could not be made smaller" in data["text"]
    assert openai.rows(data["run_id"]) == [] and len(faults.requests("overflow_for_ever")) == 1


def test_a_long_conversation_becomes_shorter_by_itself_and_by_command(faults):
    chat = Chat(settings(faults, more="compression:\n  context_tokens: 4000\n"))
    record = hook(chat.daemon.home, "record", ["session:compress"], RECORD)
    reread(chat.daemon, "record")
    rows = None
    notices = []
    for turn in range(24):
        header, body, _ = inbound(f"talk @ok {turn} " + "word " * 100)
        body["source"]["chat_id"] = "long"
        assert chat.peer.ask(header, body)[0]["type"] == "accepted"
        while (data := chat.hear())["kind"] == "notice":
            notices.append(data["text"])
        rows = chat.rows(data["run_id"])
    assert notices and len(rows) < 48
    header, body, _ = inbound("/compress the words")
    body["source"]["chat_id"] = "long"
    assert chat.peer.ask(header, body)[0]["type"] == "accepted"
    assert "summary" in chat.hear()["text"]
    assert "Keep above all what concerns: the words" in json.dumps(faults.requests("summary")[-1])
    shorter = chat.rows(data["run_id"])
    assert len(shorter) <= len(rows) and shorter != rows
    told = wait_until(lambda: len(told := heard(record)) > len(notices) and told)
    assert ["run_id" in event for event in told] == [True] * len(notices) + [False]
    assert {event["session_id"] for event in told} == {chat.run(data["run_id"])["session_id"]}
    chat.close()


def test_a_turn_keeps_the_settings_that_it_began_with(faults, tmp_path):
    chat = Chat(settings(faults))
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def last_call(name):
        """Whether the call behind the result of the tool has tools: the last one of a turn has none."""
        return "tools" in faults.requests(name)[-1]

    header, body, run_id = chat.message(f"@k_tool $ cat {gate}")
    assert chat.peer.ask(header, body)[0]["type"] == "accepted"
    writer = open_when_read(gate)  # The tool runs
    chat.daemon.configure("agent.max_iterations", "1")
    os.close(writer)
    while chat.hear().get("run_id") != run_id:
        pass
    chat.ask("@k_asked $ true")
    assert last_call("k_tool") and not last_call("k_asked")
    chat.close()


def test_calls_run_one_after_the_other(openai, tmp_path):
    mark = tmp_path / "mark"
    openai.ask(f"@two_calls $ sleep 0.3; echo first >> {mark} && echo second >> {mark}")
    assert mark.read_text().split() == ["first", "second"]


def test_without_a_warning_there_is_none_66(faults):
    chat = Chat(settings(faults, more="  inactivity_warning_s: 0\n  inactivity_abort_s: 1\n", patience_s=100))
    data = chat.ask("please @deaf_for_ever")
    assert data["kind"] == "error" and re.search("nothing has happened for [1-9] seconds", data["text"])
    assert chat.run(data["run_id"])["state"] == "failed" and chat.rows(data["run_id"]) == []
    chat.close()


def test_nothing_happens_for_too_long(faults):
    more = "  inactivity_warning_s: 1\n  inactivity_abort_s: 2\n  auxiliary_model: titles\n"
    chat = Chat(settings(faults, more=more, patience_s=100))
    notice = chat.ask("please @deaf_for_ever")
    assert notice["kind"] == "notice" and re.search("nothing has happened for [1-9] seconds: the model m does not go on", notice["text"])
    data = chat.hear()
    assert data["kind"] == "error" and re.search(r"nothing has happened for [2-9] seconds: the model m does not go on \(call 1\)", data["text"])
    assert chat.ask("well @ok", new=False)["text"] == FINE
    # A new session gets a title of the auxiliary model, beside everything
    data = chat.ask("well @ok")
    session = chat.run(data["run_id"])["session_id"]
    wait_until(lambda: chat.peer.ask({"type": "session.get", "to": "store"}, {"id": session})[2]["session"].get("title") == "A title of words")
    assert faults.requests("title")[-1]["model"] == "titles"
    chat.close()
