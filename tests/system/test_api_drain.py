"""What the HTTP interface does while the daemon goes down, and across a restart in the middle of a run; the cap and repeats."""
import json
import signal
import threading

from conftest import wait_until
from httpapi import Api, is_error

CHAT = "/v1/chat/completions"


def settings(daemon, text):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(text)


def test_c081_a_drain_lets_chats_end_and_takes_no_new_ones(daemon):
    settings(daemon, "gateway: {drain_timeout_s: 20}\n")
    api = Api(daemon.start())
    answer, gate = {}, daemon.tools_home / "gate"
    held = "!tool terminal " + json.dumps({"command": f"until [ -e {gate} ]; do sleep 0.05; done"})

    def ask():
        answer["chat"] = api.call("POST", CHAT, {"messages": [{"role": "user", "content": held}]})

    chat = threading.Thread(target=ask)
    chat.start()
    run = wait_until(lambda: [row for row in api.call("GET", "/v1/runs?status=active")[2]["data"] if row["status"] == "running"])[0]["run_id"]
    daemon.process.send_signal(signal.SIGTERM)  # The process that has the interface
    daemon.wait_log("event=stopping")
    refused = wait_until(lambda: (tried := api.call("POST", "/v1/runs", {"input": "x"}))[0] == 503 and tried)
    is_error(refused, 503, "gateway_draining")
    assert refused[1]["Retry-After"] == "1"
    is_error(api.call("POST", CHAT, {"messages": [{"role": "user", "content": "x"}]}), 503, "gateway_draining")
    assert api.get(run)["status"] == "running"
    gate.touch()
    chat.join()
    assert answer["chat"][0] == 200 and answer["chat"][2]["choices"][0]["finish_reason"] == "stop"
    assert daemon.wait() == 0
    daemon.wait_log("event=drained left=nothing")


def test_c070_c080_a_repeat_is_met_although_the_cap_is_reached(daemon):
    settings(daemon, "http: {max_concurrent_runs: 1}\n")
    api = Api(daemon.start())
    key = {"Idempotency-Key": "held"}
    status, _, first = api.call("POST", "/v1/runs", {"input": "!hang"}, key)
    assert status == 202
    is_error(api.call("POST", "/v1/runs", {"input": "other"}), 429, "rate_limit_exceeded")
    for path, body in [(CHAT, {"messages": [{"role": "user", "content": "x"}]}), ("/v1/responses", {"input": "x"})]:
        is_error(api.call("POST", path, body), 429, "rate_limit_exceeded", "max 1")
    again = api.call("POST", "/v1/runs", {"input": "!hang"}, key)
    assert again[0] == 202 and again[2]["replayed"] and again[2]["run_id"] == first["run_id"]
    assert api.call("POST", f"/v1/runs/{first['run_id']}/stop")[0] == 200
    assert daemon.stop() == 0


def test_c072_c073_a_run_goes_on_after_a_restart_and_a_repeat_meets_it(daemon):
    api = Api(daemon.start())
    key = {"Idempotency-Key": "once"}
    run = api.call("POST", "/v1/runs", {"input": "!slow 15"}, key)[2]["run_id"]
    assert api.stream(run).next()["event"] == "message.delta"
    assert daemon.kill() < 0
    api = Api(daemon.start())
    assert api.get(run)["status"] in ("queued", "running", "completed")
    again = api.call("POST", "/v1/runs", {"input": "!slow 15"}, key)
    assert again[0] == 202 and again[2]["run_id"] == run and again[2]["replayed"]
    assert api.finish(run)[-1]["event"] == "run.completed"
    assert api.call("POST", "/v1/runs", {"input": "!slow 15"}, key)[2]["status"] == "completed"
    assert daemon.stop() == 0
