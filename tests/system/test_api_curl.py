"""curl, as it is, against the HTTP interface."""
import json
import subprocess

import pytest

from httpapi import Api, text_of


@pytest.fixture(scope="module")
def api(shared_argosd):
    return Api(shared_argosd)


def curl(api, path, *words, data=None):
    """Returns the status and what curl writes; fails when curl does."""
    done = subprocess.run(["curl", "-sS", "--max-time", "30", "-w", "\n%{http_code} %{http_version}", "-H", f"Authorization: Bearer {api.daemon.key}", *words,
                           f"{api.daemon.url}{path}"], input=data, capture_output=True, text=True, check=True)
    body, _, last = done.stdout.rpartition("\n")
    return int(last.split()[0]), body


def test_a_run_from_its_start_to_its_end(api):
    status, body = curl(api, "/v1/runs", "-d", '{"input":"!slow 5"}')  # Sent as the data of a form
    assert status == 202
    run = json.loads(body)["run_id"]
    status, text = curl(api, f"/v1/runs/{run}/events", "-N")
    events = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]
    assert status == 200 and events[-1]["event"] == "run.completed" and text_of(events) == events[-1]["output"]
    status, rest = curl(api, f"/v1/runs/{run}/events", "-N", "-H", "Last-Event-ID: 2")
    assert status == 200 and [line for line in rest.split("\n") if line.startswith("id: ")][0] == "id: 3"
    assert curl(api, f"/v1/runs/{run}/events?after=2", "--http1.0")[1].split("id: ", 1)[1] == rest.split("id: ", 1)[1]
    assert json.loads(curl(api, f"/v1/runs/{run}")[1])["status"] == "completed"
    assert curl(api, f"/v1/runs/{run}/stop", "-X", "POST")[0] == 404


def test_a_chat_and_a_response_as_streams(api):
    status, text = curl(api, "/v1/chat/completions", "-N", "--json", '{"messages":[{"role":"user","content":"hello"}],"stream":true}')
    assert status == 200 and "You said" in text and text.rstrip().endswith("data: [DONE]")
    status, text = curl(api, "/v1/responses", "-N", "--json", '{"input":"hello","stream":true}')
    assert status == 200 and text.count("event: response.completed") == 1


def test_large_bodies_with_and_without_a_length(api):
    """Above a megabyte curl asks first (Expect), and waits a second when it is not answered."""
    def answer(size, *words):
        return curl(api, "/v1/runs", "--data-binary", "@-", *words, data=json.dumps({"input": "x" * size}))

    for words in ((), ("-H", "Transfer-Encoding: chunked"), ("-H", "Expect:")):
        status, body = answer(2_000_000, *words)
        assert status == 202, body
        status, body = answer(12_000_000, *words)
        assert status == 413 and json.loads(body)["error"]["code"] == "body_too_large"


def test_heads_and_refusals(api):
    status, text = curl(api, "/health", "-I")
    assert status == 200 and "X-Content-Type-Options: nosniff" in text
    status, text = curl(api, "/v1/runs", "-i", "-X", "PUT")
    assert status == 405 and "Allow: GET, POST" in text
    status, body = curl(api, "/v1/models", "-H", "Authorization: Bearer another")
    assert status == 400 and "ambiguous" in json.loads(body)["error"]["message"], "two keys"
