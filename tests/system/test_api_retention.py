"""How long runs are kept that have ended (runs.retention_s), and what goes with them."""
from conftest import wait_until
from httpapi import Api, is_error


def test_c023_c066_c134_c135_a_run_goes_with_all_that_is_its_own_and_never_before_its_end(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("runs: {retention_s: 6}\n")
    api = Api(daemon.start())
    assert api.call("GET", "/v1/capabilities")[2]["features"]["runs_idempotency"]["retention_seconds"] == 6
    open_run = api.start("!hang")
    key = {"Idempotency-Key": "once"}
    run = api.call("POST", "/v1/runs", {"input": "hello"}, key)[2]["run_id"]
    events = api.finish(run)
    assert events[-1]["event"] == "run.completed"
    assert api.finish(run) == events  # Read once, and kept
    first = api.call("POST", "/v1/responses", {"input": "remember me", "conversation": "talk"})[2]
    assert api.call("GET", f"/v1/responses/{first['id']}")[0] == 200

    wait_until(lambda: api.call("GET", f"/v1/runs/{run}")[0] == 404)
    is_error(api.call("GET", f"/v1/runs/{run}"), 404, "run_not_found")
    is_error(api.call("GET", f"/v1/runs/{run}/events"), 404, "run_not_found")
    is_error(api.call("POST", f"/v1/runs/{run}/stop"), 404, "run_not_found")
    wait_until(lambda: api.call("GET", f"/v1/responses/{first['id']}")[0] == 404)
    is_error(api.call("POST", "/v1/responses", {"input": "on", "previous_response_id": first["id"]}), 404)
    assert [row["run_id"] for row in api.call("GET", "/v1/runs?status=active")[2]["data"]] == [open_run]

    status, headers, again = api.call("POST", "/v1/runs", {"input": "something else"}, key)
    assert status == 202 and again["replayed"] is False and "Idempotency-Replayed" not in headers

    assert api.finish(again["run_id"])[-1]["output"] == "You said: something else"
    anew = api.call("POST", "/v1/responses", {"input": "hello", "conversation": "talk"})[2]  # Its name has gone with the response
    assert anew["status"] == "completed" and anew["previous_response_id"] is None

    assert api.get(open_run)["status"] == "running"
    assert api.call("POST", f"/v1/runs/{open_run}/stop")[0] == 200
    assert api.finish(open_run)[-1]["event"] == "run.cancelled"
    assert daemon.stop() == 0
