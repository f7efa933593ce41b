"""/api/sessions of a real argosd."""
import json
import re

import pytest

from httpapi import Api, is_error
from test_api_routes import new_key

PATH = "/api/sessions"


@pytest.fixture(scope="module")
def api(shared_argosd):
    return Api(shared_argosd)


def make(api, **members):
    status, _, body = api.call("POST", PATH, members)
    assert status == 201, body
    return body["session"]


def ids(api, query=""):
    return [session["id"] for session in api.call("GET", PATH + query)[2]["data"]]


def test_a_session_from_its_begin_to_its_end(api):
    session = make(api, title="Plans")
    assert re.fullmatch(r"api_\d+_[0-9a-f]{8}", session["id"]) and session["title"] == "Plans" and session["source"] == "api_server"
    one = f"{PATH}/{session['id']}"
    assert api.call("GET", one)[2] == {"object": "hermes.session", "session": session}
    status, headers, body = api.call("POST", one + "/chat", {"message": "hello"})
    assert status == 200 and body["message"]["content"] == "You said: hello" and body["session_id"] == session["id"]
    assert headers["X-Hermes-Session-Id"] == session["id"]
    messages = api.call("GET", one + "/messages")[2]
    assert [(each["role"], each["content"]) for each in messages["data"]] == [("user", "hello"), ("assistant", "You said: hello")]
    assert messages["pagination"] == {"limit": 500, "offset": 0, "order": "latest", "returned": 2}
    assert [each["role"] for each in api.call("GET", one + "/messages?limit=1")[2]["data"]] == ["assistant"]
    assert [each["role"] for each in api.call("GET", one + "/messages?limit=1&order=oldest")[2]["data"]] == ["user"]
    changed = api.call("PATCH", one, {"title": "Better plans", "archived": True})[2]["session"]
    assert changed["title"] == "Better plans" and changed["archived"] is True
    copy = api.call("POST", one + "/fork", {"id": "the-copy"})
    assert copy[0] == 201 and copy[2]["session"]["parent_session_id"] == session["id"]
    assert api.call("GET", f"{PATH}/the-copy/messages")[2]["pagination"]["returned"] == 2
    assert api.call("DELETE", one)[2] == {"object": "hermes.session.deleted", "id": session["id"], "deleted": True}
    is_error(api.call("GET", one), 404, "session_not_found")


def test_what_is_refused(api):
    make(api, id="taken", title="A title")
    is_error(api.call("POST", PATH, {"id": "taken"}), 409, "session_exists")
    is_error(api.call("POST", PATH, {"id": "../x"}), 400, "invalid_session_id")
    is_error(api.call("POST", PATH, {"title": "A title"}), 400, "invalid_title")
    is_error(api.call("POST", PATH, {"system_prompt": "x"}), 400, "unsupported_session_field")
    is_error(api.call("POST", PATH, {"title": 5}), 400, "invalid_session_field")
    is_error(api.call("POST", PATH, "[]"), 400)
    is_error(api.call("PATCH", f"{PATH}/taken", {"unread": True}), 400, "unsupported_session_field")
    is_error(api.call("PATCH", f"{PATH}/taken", {"archived": "yes"}), 400, "invalid_session_field")
    is_error(api.call("GET", f"{PATH}/taken/messages?limit=x"), 400, "invalid_pagination")
    is_error(api.call("GET", f"{PATH}/taken/messages?order=up"), 400, "invalid_pagination")
    is_error(api.call("POST", f"{PATH}/taken/chat", {"message": ""}), 400, "missing_message")
    for method, rest, body in [("GET", "", None), ("PATCH", "", {}), ("DELETE", "", None), ("GET", "/messages", None), ("POST", "/fork", {}),
                               ("POST", "/chat", {"message": "x"}), ("POST", "/chat/stream", {"message": "x"})]:
        is_error(api.call(method, f"{PATH}/nobody{rest}", body), 404, "session_not_found")


def test_lists_have_pages_and_owners(api):
    one, two = new_key(api, "lister", "chat"), new_key(api, "other", "chat,read")
    for number in range(5):
        make(one, id=f"l{number}", title=f"List {number}")
    assert sorted(ids(one)) == [f"l{n}" for n in range(5)] and ids(two) == []
    page = one.call("GET", f"{PATH}?limit=2&offset=1")[2]
    assert len(page["data"]) == 2 and page["has_more"] and page["limit"] == 2 and page["offset"] == 1
    assert not one.call("GET", f"{PATH}?limit=2&offset=4")[2]["has_more"]
    assert ids(one, "?limit=nonsense&offset=nonsense") == ids(one)
    assert ids(one, "?title=List%203") == ["l3"]
    assert set(ids(one)) <= set(ids(api, "?limit=200")), "the key of the file api-key sees all"
    is_error(two.call("GET", f"{PATH}/l1"), 404, "session_not_found")
    is_error(two.call("POST", f"{PATH}/l1/chat", {"message": "x"}), 404, "session_not_found")


def test_a_chat_as_events(api):
    make(api, id="streamed")
    answer = api.open("POST", f"{PATH}/streamed/chat/stream", {"message": '!tool terminal {"command":"echo hi"}'})
    assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    events, name = [], None
    for line in answer:
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            events.append((name, json.loads(line[6:])))
    answer.connection.close()
    names = [name for name, _ in events]
    assert names[:2] == ["run.started", "message.started"] and names[-3:] == ["assistant.completed", "run.completed", "done"]
    assert "tool.started" in names and "tool.completed" in names and "assistant.delta" in names
    assert [event["seq"] for _, event in events] == list(range(1, len(events) + 1))
    assert {event["session_id"] for _, event in events} == {"streamed"}
    run = events[0][1]["run_id"]
    assert api.get(run)["status"] == "completed"
