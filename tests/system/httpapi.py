"""The HTTP interface, seen by a client: requests, event streams, and what schema/http.json says of each answer.

Every JSON answer that Api.call gets is held against the shape that is documented for its route, method and status: a member that is not
documented fails as one that is missing does. So each test of the interface is a test of its description too.
"""
import http.client
import json
import re
import time

from conftest import DEADLINE_S, ROOT

HTTP = json.loads((ROOT / "schema" / "http.json").read_text())
seen = set()  # (id of a route, status) that answered

UNKNOWN = "run_" + "0" * 32


class Api:
    """One argosd, seen through HTTP."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.headers = {"Authorization": f"Bearer {daemon.key}"}

    def open(self, method, path, body=None, headers=None, auth=True):
        """Send a request; returns the answer, whose body is still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=30)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, {**(self.headers if auth else {}), **(headers or {})})
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def call(self, method, path, body=None, headers=None, auth=True):
        """Returns the status, the headers and the JSON (None when there is no body)."""
        answer = self.open(method, path, body, headers, auth)
        data = answer.read()
        answer.connection.close()
        value = json.loads(data) if data and "json" in answer.headers["Content-Type"] else data.decode() or None
        check_shape(method, path, answer, value)
        return answer.status, answer.headers, value

    def start(self, text, **more):
        """A new run; returns its id."""
        status, headers, body = self.call("POST", "/v1/runs", {"input": text, **more})
        assert status == 202 and body["status"] == "started" and headers["Location"] == f"/v1/runs/{body['run_id']}"
        return body["run_id"]

    def get(self, run_id):
        return self.call("GET", f"/v1/runs/{run_id}")[2]

    def stream(self, run_id, after=None, query=""):
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        return Stream(self.open("GET", f"/v1/runs/{run_id}/events{query}", headers=headers))

    def finish(self, run_id):
        """Read the run to its end; returns its events."""
        return self.stream(run_id).all()


class Stream:
    """Events of one answer. Checks the frames as it reads them."""

    def __init__(self, answer):
        self.answer = answer
        self.status = answer.status
        self.comments = []
        self.deadline = time.monotonic() + 4 * DEADLINE_S  # Comments keep a silent stream open for ever

    def frame(self):
        """The next frame as (id or None, event or None for comments); None at the end."""
        lines = []
        while True:
            assert time.monotonic() < self.deadline, "the stream does not end"
            line = self.answer.readline()
            if not line:
                assert not lines
                return None
            if line == b"\n":
                break
            lines.append(line.decode().rstrip("\n"))
        number, event = None, None
        for line in lines:
            if line.startswith("data: "):
                assert event is None, "two data lines in a frame"
                event = json.loads(line[6:])
            elif line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith(":"):
                self.comments.append(line)
            else:
                assert line == "retry: 2000"
        return number, event

    def next(self):
        """The next event, with its number as "id"; None at the end."""
        while True:
            frame = self.frame()
            if frame is None:
                return None
            if frame[1] is not None:
                return {**frame[1], "id": frame[0]}

    def all(self):
        events = []
        while (event := self.next()) is not None:
            events.append(event)
        self.close()
        return events

    def close(self):
        self.answer.close()
        self.answer.connection.close()


KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}


def fits(shape, value, where="answer"):
    """Fails unless the value is of that shape. A small part of JSON Schema: what schema/http.json uses."""
    if "$ref" in shape:
        return fits(HTTP["shapes"][shape["$ref"].rsplit("/", 1)[-1]], value, where)
    if "oneOf" in shape:
        errors = []
        for each in shape["oneOf"]:
            try:
                return fits(each, value, where)
            except AssertionError as error:
                errors.append(str(error))
        raise AssertionError(f"{where}: fits none: {errors}")
    assert "const" not in shape or value == shape["const"], f"{where}: {value!r}"
    assert "enum" not in shape or value in shape["enum"], f"{where}: {value!r}"
    if "type" in shape:
        kinds = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
        good = any(isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds)
        assert good, f"{where}: {value!r} is not of type {kinds}"
    if isinstance(value, list) and "items" in shape:
        for index, item in enumerate(value):
            fits(shape["items"], item, f"{where}[{index}]")
    if isinstance(value, dict):
        missing = set(shape.get("required", [])) - set(value)
        assert not missing, f"{where}: {sorted(missing)} missing"
        for name, member in value.items():
            known = shape.get("properties", {}).get(name, shape.get("additionalProperties", True))
            assert known is not False, f"{where}: {name} is not documented"
            if isinstance(known, dict):
                fits(known, member, f"{where}.{name}")
    return None


def route_of(method, path):
    path = path.split("?")[0]
    for row in HTTP["routes"]:
        if row["method"] == method and re.fullmatch(re.sub(r"\\{[a-z_]+\\}", "[^/]+", re.escape(row["path"])), path):
            return row
    return None


def check_shape(method, path, answer, value):
    """The answer is what schema/http.json says."""
    row = route_of(method, path)
    status = str(answer.status)
    if row and status in row["answers"]:
        shape = row["answers"][status]
        seen.add((row["id"], status))
        if shape and "/" in shape:
            assert answer.headers["Content-Type"].startswith(shape)
        elif shape:
            fits(HTTP["shapes"][shape], value)
        else:
            assert value is None
    elif value is not None:
        assert answer.status >= 400, f"{method} {path}: {status} is not documented"
        fits(HTTP["shapes"]["Error"], value)


def text_of(events):
    return "".join(event["delta"] for event in events if event["event"] == "message.delta")


def names(events):
    return [event["event"] for event in events]


def is_error(answer, status, code=None, part=""):
    assert answer[0] == status, answer
    error = answer[2]["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert code is None or error["code"] == code, error
    assert part in error["message"], error
