"""What the HTTP interface says of itself is what it serves; keys, scopes and owners; health, metrics, models."""
import json
import re
import subprocess

import pytest

from conftest import BUILD
from httpapi import HTTP, UNKNOWN, Api, is_error


@pytest.fixture(scope="module")
def api(shared_argosd):
    return Api(shared_argosd)


def argos(home, *words):
    return subprocess.run([str(BUILD / "argos"), "--home", str(home), *words], capture_output=True, text=True, check=False)


def new_key(api, name, scopes, *more):
    """A key of the HTTP interface, made by the command; returns an Api that uses it."""
    made = argos(api.daemon.home, "--json", "keys", "new", name, "--http", "--scope", scopes, *more)
    assert made.returncode == 0, made.stderr
    other = Api(api.daemon)
    other.headers = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
    return other


def test_the_description_is_the_table(api):
    status, _, doc = api.call("GET", "/openapi.json", auth=False)
    assert status == 200 and doc["openapi"] == "3.1.0" and doc["components"]["schemas"] == HTTP["shapes"]
    told = {(method.upper(), path, operation["operationId"]) for path, operations in doc["paths"].items()
            for method, operation in operations.items()}
    assert told == {(row["method"], row["path"], row["id"]) for row in HTTP["routes"]}
    shapes = {name for row in HTTP["routes"] for name in [row.get("request"), *row["answers"].values()] if name and "/" not in name}
    references = set(re.findall(r"#/components/schemas/([A-Za-z]+)", json.dumps(doc)))
    assert shapes | references | {"Error"} == set(HTTP["shapes"]), "a shape without a use, or a use without a shape"


def test_every_route_is_dispatched_and_every_other_method_refused(api):
    for row in HTTP["routes"]:
        path = re.sub(r"\{[a-z_]+\}", "x", row["path"])
        answer = api.call(row["method"], path, "not json" if row["method"] == "POST" else None)
        assert answer[0] not in (405, 501) and (answer[2] is None or not isinstance(answer[2], dict) or
                                                answer[2].get("error", {}).get("code") != "not_found"), (row, answer)
        allowed = {other["method"] for other in HTTP["routes"] if other["path"] == row["path"]}
        wrong = api.call("PUT", path)
        is_error(wrong, 405, "method_not_allowed")
        assert set(wrong[1]["Allow"].split(", ")) == allowed
    is_error(api.call("GET", "/v2/runs"), 404, "not_found")


def test_scopes_are_what_the_table_says(api):
    keys = {scope: new_key(api, f"scope-{scope}", scope) for scope in ("runs", "chat", "read", "admin")}
    for row in HTTP["routes"]:
        path = re.sub(r"\{[a-z_]+\}", "x", row["path"])
        for scope, key in keys.items():
            status, _, body = key.call(row["method"], path, "not json" if row["method"] == "POST" else None)
            refused = status == 403 and body["error"]["code"] == "insufficient_scope"
            assert refused == (bool(row["scopes"]) and scope != "admin" and scope not in row["scopes"]), (row["id"], scope)


def test_owners_do_not_see_each_other(api):
    one, two = new_key(api, "one", "runs"), new_key(api, "two", "runs,read")
    again = new_key(api, "one.b", "read", "--owner", "one")
    admin = new_key(api, "boss", "admin")
    run = one.start("hello")
    one.finish(run)
    assert again.get(run)["status"] == "completed" and admin.get(run)["status"] == "completed"
    assert api.get(run)["status"] == "completed", "the key of the file api-key may all"
    for method, path in [("GET", f"/v1/runs/{run}"), ("GET", f"/v1/runs/{run}/events"), ("POST", f"/v1/runs/{run}/stop")]:
        is_error(two.call(method, path), 404, "run_not_found")
    assert [row["run_id"] for row in one.call("GET", "/v1/runs")[2]["data"]] == [run]
    assert two.call("GET", "/v1/runs")[2]["data"] == []
    key = {"Idempotency-Key": "of-each-its-own"}
    answers = [each.call("POST", "/v1/runs", {"input": "hello"}, key) for each in (one, two)]
    assert [answer[0] for answer in answers] == [202, 202], answers
    first, second = (answer[2] for answer in answers)
    assert first["run_id"] != second["run_id"] and not second["replayed"]


def test_a_revoked_key_is_refused_at_once(api):
    key = new_key(api, "short-lived", "read")
    assert key.call("GET", "/v1/models")[0] == 200
    assert argos(api.daemon.home, "keys", "revoke", "short-lived", "--http").returncode == 0
    is_error(key.call("GET", "/v1/models"), 401, "gateway_auth_failed")
    assert "revoked" in argos(api.daemon.home, "keys", "list").stdout
    assert argos(api.daemon.home, "keys", "new", "short-lived", "--http", "--scope", "read").returncode != 0
    for words in (["x", "--http", "--scope", "write"], ["Bad Name", "--http", "--scope", "read"], ["x", "--http"]):
        assert argos(api.daemon.home, "keys", "new", *words).returncode != 0
    path = api.daemon.home / "http-keys.json"
    assert path.stat().st_mode & 0o777 == 0o600 and "argos_" not in path.read_text()


def test_c144_c146_what_needs_a_key(api):
    for row in HTTP["routes"]:
        path = re.sub(r"\{[a-z_]+\}", "x", row["path"])
        status = api.call(row["method"], path, auth=False)[0]
        assert (status == 401) == bool(row["scopes"]), row


def test_c147_c162_health(api):
    for path in ("/health", "/v1/health"):
        status, headers, body = api.call("GET", path, auth=False)
        assert status == 200 and body["status"] == "ok" and body["platform"] == "argos"
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    body = api.call("GET", "/health/detailed")[2]
    assert body["status"] == "ok" and body["readiness"]["checks"] == {"store": "ok", "broker": "ok", "agent": "ok"}


def test_c160_models(api):
    model = api.call("GET", "/v1/models")[2]["data"][0]
    assert model["id"] == model["root"] == "argos" and model["parent"] is None
    assert api.call("GET", "/v1/models/argos")[2] == model == api.call("GET", "/v1/models")[2]["data"][0]
    is_error(api.call("GET", "/v1/models/other"), 404, "model_not_found")


def test_c160_the_name_can_be_set(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("http: {model_name: house}\n")
    assert Api(daemon.start()).call("GET", "/v1/models")[2]["data"][0]["id"] == "house"
    assert daemon.stop() == 0


def test_c161_capabilities_are_the_routes(api):
    body = api.call("GET", "/v1/capabilities")[2]
    assert body["auth"] == {"type": "bearer", "required": True} and body["features"]["run_events_replay"]
    assert body["endpoints"] == {row["id"]: {"method": row["method"], "path": row["path"]} for row in HTTP["routes"]}


def test_metrics_have_bounded_labels(api):
    run = api.start("hello")
    api.finish(run)
    text = api.call("GET", "/metrics")[2]
    assert 'argos_http_requests_total{route="runs.start",class="2xx"}' in text and 'argos_up{part="agent"} 1' in text
    assert run not in text and UNKNOWN not in text
    ids = {row["id"] for row in HTTP["routes"]} | {"none"}
    assert set(re.findall(r'route="([^"]*)"', text)) <= ids
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) argos_[a-z_]+ .+|argos_[a-z_]+(\{[a-z]+="[a-z0-9_.]+"(,class="[2-5]xx")?\})? [0-9.e+]+', line), line
