"""The runs API of a real argosd, with the rehearsal provider behind it. Cases are named by their conformance number."""
import concurrent.futures
import re
import time

import pytest

from httpapi import UNKNOWN, Api, Stream, is_error, names, text_of

@pytest.fixture
def api(argosd):
    return Api(argosd)


@pytest.fixture
def configured(daemon):
    """Starts the daemon with some settings."""
    def start(settings):
        daemon.home.mkdir(exist_ok=True)
        (daemon.home / "argos.yaml").write_text(settings)
        return Api(daemon.start())

    yield start
    if daemon.process and daemon.process.poll() is None:
        assert daemon.stop() == 0, daemon.text()


# Start

def test_c001_c007_c018_a_run_is_accepted(api):
    assert re.fullmatch(r"run_[0-9a-f]{32}", api.start("hello"))


def test_c001_without_a_key_on_loopback_when_that_is_allowed(configured):
    api = configured("http: {allow_unauthenticated_loopback: true}\n")
    assert api.call("POST", "/v1/runs", {"input": "hello"}, auth=False)[0] == 202
    wrong = {"Authorization": "Bearer wrong"}
    is_error(api.call("POST", "/v1/runs", {"input": "hello"}, wrong, auth=False), 401)
    is_error(api.call("POST", "/v1/runs", {"input": "hello"}, {"Host": "evil.example"}, auth=False), 401)


def test_c002_its_status_can_be_read(api):
    run = api.start("hello")
    status, headers, body = api.call("GET", f"/v1/runs/{run}")
    assert status == 200 and body["run_id"] == run and body["object"] == "hermes.run"
    assert body["status"] in ("queued", "running", "completed")
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert time.time() - 60 < body["created_at"] <= body["updated_at"] < time.time() + 60
    events = api.finish(run)
    body = api.get(run)
    assert body["status"] == "completed" and body["output"] == events[-1]["output"] == "You said: hello"
    assert body["usage"] == events[-1]["usage"] and body["last_event"] == "run.completed"


@pytest.mark.parametrize("body, part", [("not json", "JSON"), ("{}", "input"), ('{"input":""}', "input"), ("[]", "object"),
                                        ("5", "object"), ('"x"', "object"), ('{"input":7}', "input"), ("[" * 100000, "JSON"),
                                        (b'{"input":"\xff"}', "JSON"), ('{"input":"\\ud800"}', "JSON")])
def test_c003_c004_c005_c012_c017_bad_bodies_are_refused_and_leave_nothing(api, body, part):
    is_error(api.call("POST", "/v1/runs", body), 400, part=part)
    assert api.call("GET", "/v1/runs")[2] == {"object": "list", "data": []}


def test_c006_c021_a_key_is_needed(api):
    run = api.start("hello")
    for method, path in [("POST", "/v1/runs"), ("GET", "/v1/runs"), ("GET", f"/v1/runs/{run}"),
                         ("GET", f"/v1/runs/{run}/events"), ("POST", f"/v1/runs/{run}/stop")]:
        for headers in [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic " + api.daemon.key},
                        {"Authorization": b"Bearer \xff\xfe"}]:
            answer = api.call(method, path, headers=headers, auth=False)
            is_error(answer, 401, "gateway_auth_failed")
            assert answer[2]["error"]["type"] == "gateway_auth_error" and answer[1]["WWW-Authenticate"] == "Bearer"
    assert api.call("GET", "/v1/runs", headers={"Authorization": f"bEARER  {api.daemon.key} "}, auth=False)[0] == 200


def test_c008_c011_a_session_is_kept(api):
    run = api.start("hello", session_id="my session")
    api.finish(run)
    assert api.get(run)["session_id"] == "my session"


def test_c013_an_array_is_history_and_prompt(api):
    run = api.start([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, "three"])
    assert text_of(api.finish(run)) == "You said: three"


def test_c014_c015_bad_history_is_named(api):
    is_error(api.call("POST", "/v1/runs", {"input": "a", "conversation_history": "x"}), 400, part="conversation_history")
    history = [{"role": "user", "content": "x"}, {"role": "user"}]
    is_error(api.call("POST", "/v1/runs", {"input": "a", "conversation_history": history}), 400,
             part="conversation_history[1]")


def test_c016_history_wins_over_the_chain(api):
    body = {"input": "a", "previous_response_id": "resp_1"}
    is_error(api.call("POST", "/v1/runs", body), 404)
    assert api.call("POST", "/v1/runs", {**body, "conversation_history": []})[0] == 202


# Events

def test_c019_c034_c037_events_are_read_to_the_end(api):
    run = api.start("!slow 10")
    answer = api.open("GET", f"/v1/runs/{run}/events")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache, no-transform" and answer.headers["X-Accel-Buffering"] == "no"
    stream = Stream(answer)
    events = stream.all()
    assert [event["id"] for event in events] == list(range(len(events)))
    assert all(event["run_id"] == run and isinstance(event["timestamp"], float) for event in events)
    assert events[-1]["event"] == "run.completed" and text_of(events) == events[-1]["output"]
    assert stream.comments[0] == ": connected" and stream.comments[-1] == ": stream closed"


def test_c020_an_unknown_run_has_no_events(api):
    for run in (UNKNOWN, "x", "run_" + "g" * 32):
        is_error(api.call("GET", f"/v1/runs/{run}/events"), 404, "run_not_found")
        is_error(api.call("GET", f"/v1/runs/{run}"), 404, "run_not_found")


def test_c022_a_reader_that_leaves_changes_nothing(api):
    run = api.start("!slow 10")
    first = api.stream(run)
    assert first.next()["id"] == 0
    first.close()
    events = api.finish(run)
    assert events[-1]["event"] == "run.completed" and text_of(events) == events[-1]["output"]


def test_c024_c032_cut_after_each_event_and_resumed(api):
    run = api.start("!slow 8")
    events, after = [], None
    while not events or events[-1]["event"] != "run.completed":
        stream = api.stream(run, after)
        assert stream.status == 200
        events.append(stream.next())
        after = events[-1]["id"]
        stream.close()
    assert [event["id"] for event in events] == list(range(len(events)))
    assert text_of(events) == events[-1]["output"] and "stream.gap" not in names(events)
    assert api.stream(run, after).status == 204
    assert api.stream(run, query=f"?last_event_id={after}").status == 204


def test_c025_all_readers_get_all_events(api):
    run = api.start("!slow 10")
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: api.finish(run), range(20)))
    assert all(answer == answers[0] for answer in answers)
    assert text_of(answers[0]) == answers[0][-1]["output"]


def test_c027_c030_a_late_reader_gets_everything_and_no_more(api):
    run = api.start("hello")
    first = api.finish(run)
    again = api.finish(run)
    assert again == first and names(again).count("run.completed") == 1


def test_c035_tools_are_shown(api):
    events = api.finish(api.start('!tool terminal {"command":"echo hi"}'))
    started = next(event for event in events if event["event"] == "tool.started")
    completed = next(event for event in events if event["event"] == "tool.completed")
    assert started["tool"] == completed["tool"] == "terminal" and started["preview"] == "echo hi"
    assert started["tool_call_id"] == completed["tool_call_id"]
    assert completed["error"] is False and completed["duration"] == round(completed["duration"], 3)
    assert events[-1]["event"] == "run.completed" and "hi" in events[-1]["output"]


def test_c036_c053_a_failure_is_told(api):
    run = api.start("!fail 401")
    events = api.finish(run)
    body = api.get(run)
    assert names(events) == ["run.failed"] and body["status"] == "failed" and body["last_event"] == "run.failed"
    assert body["error"] == events[-1]["error"] and "Provider authentication failed:" in body["error"]


def test_c038_any_text_stays_one_line_and_comes_back(api):
    text = 'a\nb\rc\u2028d\u2029e\U0001F600"\\\t\x7f'
    events = api.finish(api.start(text))
    assert text in text_of(events)


def test_c039_headers_of_streams_and_errors(configured):
    api = configured("http: {cors_origins: [\"http://app.example\"]}\n")
    run = api.start("hello")
    for path in (f"/v1/runs/{run}/events", "/v1/runs/x", "/nowhere", "/health"):
        answer = api.open("GET", path, headers={"Origin": "http://app.example"})
        assert answer.headers["Access-Control-Allow-Origin"] == "http://app.example" and answer.headers["Vary"] == "Origin"
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["X-Request-Id"].startswith("req_")
        answer.connection.close()
        status, headers, body = api.call("GET", path, headers={"Origin": "http://evil.example"})
        assert status == 403 and body is None and "Access-Control-Allow-Origin" not in headers
    status, headers, _ = api.call("OPTIONS", "/v1/runs", auth=False, headers={
        "Origin": "http://app.example", "Access-Control-Request-Headers": "authorization, x-stainless-os"})
    assert status == 200 and "x-stainless-os" in headers["Access-Control-Allow-Headers"]
    assert api.call("OPTIONS", "/v1/runs", auth=False)[0] == 403


@pytest.mark.parametrize("after", ["x", "-1", "", "1.5", "99999999999999999999", "0x1"])
def test_c041_a_last_event_id_that_is_no_number_is_no_last_event_id(api, after):
    run = api.start("hello")
    api.finish(run)
    assert api.stream(run, after).all()[0]["id"] == 0


def test_c043_events_outlive_the_daemon(daemon):
    api = Api(daemon.start())
    run = api.start("!slow 5")
    before = api.finish(run)
    assert daemon.kill() < 0
    api = Api(daemon.start())
    after = api.finish(run)
    assert text_of(after) == text_of(before) and after[-1] == before[-1]
    cut = api.stream(run, before[2]["id"]).all()
    assert cut[0]["event"] == "stream.gap" and text_of(cut) == text_of(before)
    assert api.stream(run, before[-1]["id"]).status == 204
    assert api.get(run)["status"] == "completed"
    assert daemon.stop() == 0


def test_a_run_that_is_cut_by_a_kill_goes_on_and_its_text_is_whole(daemon):
    api = Api(daemon.start())
    run = api.start("!slow 40")
    stream = api.stream(run)
    first = [stream.next() for _ in range(3)]
    daemon.kill()
    api = Api(daemon.start())
    rest = api.stream(run, first[-1]["id"]).all()
    text = ""
    for event in first + rest:
        if event["event"] in ("run.restarted", "stream.gap"):
            text = ""
        text += event.get("delta", "")
    ids = [event["id"] for event in first + rest if event["id"] is not None]
    assert ids == sorted(set(ids)) and rest[-1]["event"] == "run.completed" and text == rest[-1]["output"]
    assert "run.restarted" in names(rest)
    assert daemon.stop() == 0


# Stop

def test_c044_c050_c051_a_stop_ends_the_run(api):
    for text in ("!hang", "!slow 1000", '!tool terminal {"command":"sleep 100"}'):
        run = api.start(text)
        stream = api.stream(run)
        status, _, body = api.call("POST", f"/v1/runs/{run}/stop")
        begin = time.monotonic()
        assert status == 200 and body == {"run_id": run, "status": "stopping"}
        assert api.get(run)["status"] in ("stopping", "cancelled")
        events = stream.all()
        assert events[-1]["event"] == "run.cancelled" and time.monotonic() - begin < 20
        assert stream.comments[-1] == ": stream closed"
        assert api.get(run)["status"] == "cancelled"


def test_c046_c048_unknown_and_finished_runs_can_not_be_stopped(api):
    run = api.start("hello")
    api.finish(run)
    for each in (UNKNOWN, "x", run):
        is_error(api.call("POST", f"/v1/runs/{each}/stop"), 404, "run_not_found")


def test_c049_a_queued_run_can_be_stopped(api):
    first = api.start("!slow 1000", session_id="s")
    second = api.start("hello", session_id="s")
    assert api.call("POST", f"/v1/runs/{second}/stop")[0] == 200
    assert api.call("POST", f"/v1/runs/{first}/stop")[0] == 200
    assert api.finish(second)[-1]["event"] == "run.cancelled"
    assert api.finish(first)[-1]["event"] == "run.cancelled"


def test_stops_at_once_after_the_start_always_hold(api):
    def start_and_stop(_):
        run = api.start("!hang")
        assert api.call("POST", f"/v1/runs/{run}/stop")[0] == 200
        return api.finish(run)[-1]["event"]

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        assert set(pool.map(start_and_stop, range(30))) == {"run.cancelled"}


# Keys, cap, plumbing

def test_c067_c074_one_key_is_one_run(api):
    key = {"Idempotency-Key": "abc"}
    _, _, first = api.call("POST", "/v1/runs", {"input": "hello"}, key)
    events = api.finish(first["run_id"])
    status, headers, again = api.call("POST", "/v1/runs", {"input": "hello"}, key)
    assert status == 202 and headers["Idempotency-Replayed"] == "true"
    assert again == {"run_id": first["run_id"], "status": "completed", "replayed": True}
    assert api.finish(first["run_id"]) == events
    is_error(api.call("POST", "/v1/runs", {"input": "other"}, key), 409, "idempotency_key_conflict")
    for bad in ("k" * 256, "a b", b"\xc3\xa9"):
        is_error(api.call("POST", "/v1/runs", {"input": "a"}, {"Idempotency-Key": bad}), 400, "invalid_idempotency_key")


def test_c069_a_key_with_another_session_key_conflicts(api):
    headers = {"Idempotency-Key": "abc", "X-Hermes-Session-Key": "one"}
    status, answer, _ = api.call("POST", "/v1/runs", {"input": "hello"}, headers)
    assert status == 202 and answer["X-Hermes-Session-Key"] == "one"
    is_error(api.call("POST", "/v1/runs", {"input": "hello"}, {**headers, "X-Hermes-Session-Key": "two"}), 409)


def test_c071_racing_posts_with_one_key_are_one_run(api):
    def post(_):
        return api.call("POST", "/v1/runs", {"input": "hello"}, {"Idempotency-Key": "race"})

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(post, range(20)))
    assert {answer[0] for answer in answers} == {202}
    assert len({answer[2]["run_id"] for answer in answers}) == 1
    assert [answer[2]["replayed"] for answer in answers].count(False) == 1
    assert len(api.call("GET", "/v1/runs")[2]["data"]) == 1


def test_c078_c079_the_cap_counts_what_executes(configured):
    api = configured("http: {max_concurrent_runs: 2}\n")
    runs = [api.start("!hang"), api.start("!hang")]
    answer = api.call("POST", "/v1/runs", {"input": "hello"})
    is_error(answer, 429, "rate_limit_exceeded", "max 2")
    assert answer[1]["Retry-After"] == "1" and answer[2]["error"]["type"] == "rate_limit_error"
    active = api.call("GET", "/v1/runs?status=active")[2]["data"]
    assert {run["run_id"] for run in active} == set(runs)
    api.call("POST", f"/v1/runs/{runs[0]}/stop")
    api.finish(runs[0])
    for _ in range(3):
        api.finish(api.start("hello"))
    assert api.call("POST", f"/v1/runs/{runs[1]}/stop")[0] == 200


def test_health_needs_no_key(api):
    for path in ("/health", "/v1/health"):
        status, _, body = api.call("GET", path, auth=False)
        assert status == 200 and body["status"] == "ok"


def test_wrong_paths_and_methods(api):
    is_error(api.call("GET", "/v1/nothing"), 404, "not_found")
    is_error(api.call("GET", "/v1/runs/"), 404, "not_found")
    answer = api.call("DELETE", "/v1/runs")
    is_error(answer, 405)
    assert answer[1]["Allow"] == "GET, POST"


def test_c163_large_bodies(api):
    is_error(api.call("POST", "/v1/runs", {"input": "x", "instructions": "x" * 262145}), 400, "content_too_long")
    is_error(api.call("POST", "/v1/runs", "x" * 10000001), 413, "body_too_large")
    is_error(api.call("POST", "/v1/runs", (b"x" * 100000 for _ in range(101))), 413, "body_too_large")
    api.finish(api.start("x" * 200000))
