"""The client libraries, each through the same script: a driver of its language does what a line tells it and says what comes.

And the sample worker and adapter of each language as they are, against the real daemon.
"""
import contextlib
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import zmq

from conftest import BUILD, DEADLINE_S, ROOT, wait_until
from edge import free_port

sys.path.insert(0, str(ROOT / "clients" / "python"))
import argos  # noqa: E402

NODE = ROOT / "clients" / "node"
PYTHON = ["/usr/bin/python3", "-B"]
NODE_MISSING = None if shutil.which("node") and (NODE / "node_modules").is_dir() else "node, or clients/node/node_modules (npm ci), is not there"
DRIVERS = {
    "c": [str(BUILD / "tests" / "client_driver")],
    "node": ["node", str(ROOT / "tests" / "system" / "clients" / "driver.mjs")],
    "python": [*PYTHON, str(ROOT / "tests" / "system" / "clients" / "driver.py")],
}
SAMPLES = {
    "c": ([str(BUILD / "echo_worker")], [str(BUILD / "echo_adapter")]),
    "node": (["node", str(NODE / "echo_worker.mjs")], ["node", str(NODE / "echo_adapter.mjs")]),
    "python": ([*PYTHON, str(ROOT / "clients" / "python" / "echo_worker.py")],
               [*PYTHON, str(ROOT / "clients" / "python" / "echo_adapter.py")]),
}


class Program:
    """A program with pipes, whose lines are waited for."""

    def __init__(self, command, env=None, stderr=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0,
                                        env={**os.environ, **(env or {})})
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout as pipe:
            for line in iter(pipe.readline, b""):
                self.lines.put(line.decode().rstrip("\n"))
        self.lines.put(None)

    def line(self):
        line = self.lines.get(timeout=DEADLINE_S)
        assert line is not None, "it has ended"
        return line

    def write(self, text):
        self.process.stdin.write(text.encode() + b"\n")

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(DEADLINE_S)

    def end(self):
        """End of its input; the exit code."""
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)

    def close(self):
        if self.process.poll() is None:
            self.kill()


class Driver(Program):
    """A peer in some language."""

    def __init__(self, language, endpoint, name, key=None, welcome=True, env=None):
        super().__init__([*DRIVERS[language], endpoint, name, *([str(key)] if key else [])], env)
        self.waiting, self.tags = [], 0
        if welcome:
            self.event("welcome")

    def do(self, verb, **command):
        self.tags += 1
        self.write(json.dumps({"do": verb, "tag": self.tags, **command}))
        return self.tags

    def event(self, name, **wanted):
        """The next event of that name with those members; others wait for their turn."""
        def fits(event):
            return event["event"] == name and all(event.get(key) == value for key, value in wanted.items())

        for index, event in enumerate(self.waiting):
            if fits(event):
                return self.waiting.pop(index)
        while True:
            event = json.loads(self.line())
            if fits(event):
                return event
            self.waiting.append(event)

    def ask(self, verb, **command):
        """Do it and wait for the answer."""
        return self.event("answer", tag=self.do(verb, **command))

    def request(self, to, kind, body, timeout_ms=20000):
        return self.ask("request", to=to, type=kind, body=body, timeout_ms=timeout_ms)

    def serve(self, service, slots):
        """Returns when the broker knows: it has answered what was sent behind it."""
        self.do("serve", service=service, slots=slots)
        assert self.request("actor:broker", "broker.status", {})["code"] == "ok"

    def send(self, to, kind, body, **more):
        return self.ask("send", to=to, type=kind, body=body, **more)


@pytest.fixture
def programs():
    """What is put in here is killed after the test."""
    started = []
    yield started
    for program in started:
        program.close()


def languages(table):
    return [pytest.param(name, marks=pytest.mark.skipif(name == "node" and NODE_MISSING is not None, reason=str(NODE_MISSING)))
            for name in sorted(table)]


@pytest.fixture(params=languages(DRIVERS))
def driver(request, programs):
    """Makes drivers of one language."""
    def make(endpoint, name, key=None, **more):
        programs.append(Driver(request.param, endpoint, name, key, **more))
        return programs[-1]
    return make


@pytest.fixture(params=languages(SAMPLES))
def samples(request, programs):
    """Starts the sample worker or adapter of one language."""
    def start(which, daemon, *arguments, **more):
        programs.append(Program([*SAMPLES[request.param][which == "adapter"], "--home", str(daemon.home), *arguments], **more))
        return programs[-1]
    return start


def service(peer, name, member):
    """A member of what the broker says of a service: leased, workers."""
    answer = peer.request("actor:broker", "broker.status", {})
    return next((item[member] for item in answer["body"]["services"] if item["name"] == name), 0)


def dead_letters(daemon):
    command = [str(BUILD / "argos"), "--home", str(daemon.home), "--json", "dead", "list"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=DEADLINE_S).stdout)["dead"]


class Door:
    """A way into a daemon: its endpoint, and the path of a key for a name (None: none is needed)."""

    def __init__(self, daemon, way):
        self.daemon, self.way = daemon, way
        if way == "ipc":
            return
        # Who comes without a key may look on only
        self.tcp = f"tcp://127.0.0.1:{free_port()}"
        (daemon.home / "argos.yaml").write_text(f'bind: [ipc, "{self.tcp}"]\nipc_roles: [observer]\n')
        for name in ("echo", "client"):
            subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "keys", "new", name, "--role", "client"],
                           check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE_S)

    @property
    def endpoint(self):
        return self.tcp if self.way == "tcp" else self.daemon.endpoint

    def key(self, name):
        return None if self.way == "ipc" else self.daemon.home / "keys" / f"{name}.key"


@pytest.fixture(params=["ipc", "token", "tcp"])
def door(request, daemon):
    door = Door(daemon, request.param)
    daemon.start()
    yield door
    assert daemon.stop() == 0, daemon.text()


def test_a_wrong_key_is_said_in_time(daemon, driver):
    door = Door(daemon, "tcp")
    daemon.start()
    public, secret = zmq.curve_keypair()
    for wrong in ({"public": public.decode(), "secret": secret.decode()}, {"server": public.decode()}):  # Not known here; of another broker
        path = daemon.home / "keys" / "wrong.key"
        path.write_text(json.dumps({**json.loads(door.key("echo").read_text()), **wrong}))
        path.chmod(0o600)
        stranger = driver(door.endpoint, "echo", path, welcome=False)
        answer = stranger.ask("connect", timeout_ms=400)
        assert answer["code"] == "expired" and "does it know this key" in answer["reason"]
        stranger.kill()


@pytest.mark.parametrize("way", ["token", "tcp"])
def test_whose_key_is_revoked_hears_it_and_ends(daemon, driver, way):
    door = Door(daemon, way)
    daemon.start()
    client = driver(door.endpoint, "client", door.key("client"))
    subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "keys", "revoke", "client"], check=True, stdout=subprocess.DEVNULL,
                   timeout=DEADLINE_S)
    assert client.event("final")["code"] == "denied"


def test_whose_key_is_revoked_does_not_hang(daemon, driver):
    """The connection is cut and none comes in its place: libzmq gives it up, and a socket that takes nothing must not be waited for."""
    door = Door(daemon, "tcp")
    daemon.start()
    client = driver(door.endpoint, "client", door.key("client"))
    client.send("service:gateway", "message.inbound", {}, key="a")
    subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "keys", "revoke", "client"], check=True, stdout=subprocess.DEVNULL,
                   timeout=DEADLINE_S)
    heard = []

    def ask():
        """The code of an answer; of a client that has heard of it before the cut, and has ended, the reason that it has told."""
        if not heard:
            try:
                return client.request("actor:broker", "broker.status", {}, timeout_ms=500)["code"]
            except (BrokenPipeError, AssertionError):
                heard.append(client.event("final")["code"])
        return heard[0]

    wait_until(lambda: ask() != "ok")  # It is out within a second
    for _ in range(4):  # Longer than the handshake that is refused
        assert ask() != "ok"


def test_requests_commits_and_topics(door, driver):
    worker, client = (driver(door.endpoint, name, door.key(name)) for name in ("echo", "client"))
    worker.serve("echo", 4)

    # A request, its refusals
    tag = client.do("request", to="service:echo", type="echo.request", body={"text": "grüße"}, timeout_ms=20000)
    asked = worker.event("request")
    assert asked["type"] == "echo.request" and asked["body"] == {"text": "grüße"}
    worker.do("reply", re=asked["id"], type="echo.reply", body=asked["body"])
    answer = client.event("answer", tag=tag)
    assert (answer["code"], answer["type"], answer["body"]) == ("ok", "echo.reply", {"text": "grüße"})
    assert client.request("service:nobody-serves-this", "echo.request", {})["code"] == "no_service"
    assert client.request("actor:nobody", "echo.request", {})["code"] == "no_peer"
    tag = client.do("request", to="service:echo", type="echo.request", body={}, timeout_ms=20000)
    worker.do("reply", re=worker.event("request")["id"], type="error", body={"code": "invalid", "reason": "no text"})
    assert client.event("answer", tag=tag)["code"] == "invalid"
    assert client.request("service:echo", "echo.request", {}, timeout_ms=200)["code"] == "expired"

    # A durable message; the same again; its lease, two commits, done
    sent = client.send("service:echo", "echo.job", {"text": "1"}, id="job-1", key="a")
    assert sent["code"] == "ok" and sent["seq"] > 0
    assert client.send("service:echo", "echo.job", {"text": "1"}, id="job-1", key="a")["seq"] == sent["seq"]
    assert client.send("service:echo", "echo.job", {"text": "other"}, id="job-1", key="a")["code"] == "conflict"
    lease = worker.event("lease")
    assert (lease["seq"], lease["attempt"], lease["key"], lease["body"]) == (sent["seq"], 1, "a", {"text": "1"})
    entry = {"to": "topic:echo", "type": "echo.step"}
    assert worker.ask("lease.commit", seq=lease["seq"], parts=[{**entry, "body": {"step": 1}}])["code"] == "ok"
    assert client.send("service:echo", "echo.more", {"text": "aside"}, key="a", side=True)["code"] == "ok"
    mail = worker.event("mail")
    assert mail["seq"] == lease["seq"] and mail["type"] == "echo.more"
    done = worker.ask("lease.done", seq=lease["seq"], parts=[{**entry, "body": {"step": 2}}], take=[mail["mail"]])
    assert done["code"] == "ok"

    # A release comes again; one that is rejected does not
    client.send("service:echo", "echo.job", {"text": "2"}, key="a")
    lease = worker.event("lease")
    worker.do("release", seq=lease["seq"])
    again = worker.event("lease")
    assert (again["seq"], again["attempt"]) == (lease["seq"], 2)
    worker.do("release", seq=lease["seq"], reject="invalid")
    batch = [{"to": "service:echo", "type": "echo.job", "key": "b", "body": {"text": text}} for text in ("3", "4")]
    assert client.ask("commit", id="batch-1", parts=batch)["code"] == "ok"
    for text in ("3", "4"):
        lease = worker.event("lease")
        assert lease["body"] == {"text": text}
        assert worker.ask("lease.done", seq=lease["seq"])["code"] == "ok"

    # The topic from its beginning, then live, then from a number
    client.do("subscribe", topic="echo", **{"from": 0})
    steps = [client.event("entry"), client.event("entry")]
    assert [step["body"] for step in steps] == [{"step": 1}, {"step": 2}]
    assert client.event("end")["n"] == steps[1]["n"]
    worker.do("publish", topic="echo", type="echo.live", body={"x": 1})
    assert client.event("entry")["type"] == "echo.live"
    worker.do("subscribe", topic="echo", **{"from": steps[1]["n"]})
    assert worker.event("entry")["body"] == {"step": 2}
    client.do("unsubscribe", topic="echo")
    assert worker.end() == 0 and client.end() == 0


def test_a_pattern_reads_all_topics_that_fit(daemon, driver):
    daemon.start()
    for name, role in (("watch", "observer"), ("maker", "worker")):
        subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "keys", "new", name, "--role", role], check=True,
                       stdout=subprocess.DEVNULL, timeout=DEADLINE_S)
    reader, maker = (driver(daemon.endpoint, name, daemon.home / "keys" / f"{name}.key") for name in ("watch", "maker"))
    numbers = {}

    def put(topic, x):
        assert maker.send(f"topic:{topic}", "x.entry", {"x": x})["code"] == "ok"

    def got():
        entry = reader.event("entry")
        assert entry["n"] > numbers.get(entry["topic"], -1), "a repeat"
        numbers[entry["topic"]] = entry["n"]
        return entry["topic"], entry["body"]["x"]

    put("news.a", 0)  # Before it is read
    reader.do("subscribe", topic="news.*", **{"from": 0})
    assert reader.event("end")["topic"] == "news.*"
    reader.do("subscribe", topic="deep.>", **{"from": 0})
    assert reader.event("end")["topic"] == "deep.>"
    for again in (1, 2):  # Also after a reconnect
        for topic in ("news.a", "news", "news.a.b", "news.b", "news.a", "deep", "deep.a.b"):
            put(topic, again)
        assert [got() for _ in range(4)] == [("news.a", again), ("news.b", again), ("news.a", again), ("deep.a.b", again)]
        if again == 1:
            daemon.kill()
            daemon.start()
            reader.event("welcome")
            assert {reader.event("end")["topic"] for _ in range(2)} == {"news.*", "deep.>"}

    # A topic of its own as well: its entry comes for both
    reader.do("subscribe", topic="news.a", **{"from": 0})
    assert [reader.event("entry")["body"]["x"] for _ in range(5)] == [0, 1, 1, 2, 2] and reader.event("end")["topic"] == "news.a"
    put("news.a", 3)
    assert [(entry["topic"], entry["body"]["x"]) for entry in (reader.event("entry"), reader.event("entry"))] == [("news.a", 3)] * 2
    reader.do("unsubscribe", topic="news.*")
    put("news.b", 4)
    put("news.a", 5)
    assert reader.event("entry")["body"] == {"x": 5}


def test_the_last_words_of_a_program_arrive(daemon, driver):
    """What a program has done is not done again because it ended at once, and its library had not written it yet."""
    daemon.start()
    client = driver(daemon.endpoint, "client")
    first = driver(daemon.endpoint, "echo", env={"LD_PRELOAD": str(BUILD / "tests" / "libargos_send_shim.so"),
                                                 "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    first.serve("echo", 1)
    for text in ("1", "2"):
        client.send("service:echo", "echo.job", {"text": text}, key="a")
    lease = first.event("lease")
    first.do("lease.done", seq=lease["seq"])
    assert first.end() == 0
    second = driver(daemon.endpoint, "again")
    second.serve("echo", 1)
    assert second.event("lease")["body"] == {"text": "2"}


def test_a_killed_broker_loses_nothing_and_doubles_nothing(daemon, driver):
    daemon.start()
    worker, client = driver(daemon.endpoint, "echo"), driver(daemon.endpoint, "client")
    worker.serve("echo", 1)
    client.do("subscribe", topic="echo", **{"from": 0})
    count, texts = 40, []
    tags = {client.do("send", to="service:echo", type="echo.job", body={"text": str(i)}, id=f"job-{i}", key="a") for i in range(count)}
    for number in range(count):
        lease = worker.event("lease")
        if number == 10:  # With that lease in hand, sends and entries on their way
            daemon.kill()
            daemon.start()
            worker.event("welcome")
        tag = worker.do("lease.done", seq=lease["seq"],
                        parts=[{"to": "topic:echo", "type": "echo.done", "body": lease["body"]}])
        assert lease["attempt"] == 1 and worker.event("answer", tag=tag)["code"] == "ok"
        texts.append(lease["body"]["text"])
    assert texts == [str(i) for i in range(count)]
    for tag in tags:
        assert client.event("answer", tag=tag)["code"] == "ok"
    # The reader went on behind the last entry that it had seen
    entries = [client.event("entry") for _ in range(count)]
    assert [entry["body"]["text"] for entry in entries] == texts
    assert len({entry["n"] for entry in entries}) == count


class Core:
    """The broker's side of the wire, played frame by frame: what a core that dies of something does can't be asked of a real one."""

    def __init__(self, path):
        self.endpoint, self.boot, self.route = f"ipc://{path}", 0, None
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        self.socket.bind(self.endpoint)

    def expect(self, kind):
        """The next message of this type: its header and body; credit, pings and what serves are passed over."""
        while True:
            assert self.socket.poll(DEADLINE_S * 1000), f"no {kind}"
            route, _, header, _, body, *_ = self.socket.recv_multipart()
            header = json.loads(header)
            if header["type"] == kind:
                self.route = route
                return header, json.loads(body or b"{}")

    def say(self, kind, body, meta=None, **header):
        """A body of bytes goes out as it is."""
        frames = [part if isinstance(part, bytes) else json.dumps(part).encode() if part is not None else b""
                  for part in ({"type": kind, **header}, meta, body)]
        self.socket.send_multipart([self.route, b"AR1", *frames])

    def welcome(self, leases=()):
        header, _ = self.expect("hello")
        self.say("welcome", {"store": "s", "boot": self.boot, "lease_ms": 15000, "ping_ms": 0,
                             "window": {"messages": 100, "bytes": 1 << 20}, "leases": list(leases)}, re=header["id"])

    def restart(self, leases):
        self.boot += 1
        self.cut(leases)

    def cut(self, leases):
        self.say("refused", {"code": "no_session", "reason": "who are you"})
        self.welcome(leases)


def test_what_the_core_dies_of_is_given_up(tmp_path, driver):
    core = Core(tmp_path / "core.sock")
    peer = driver(core.endpoint, "echo", welcome=False)
    core.welcome()
    peer.event("welcome")
    peer.do("serve", service="echo", slots=1)
    core.expect("serve")
    core.say("echo.job", {}, {"from": "client", "seq": 1, "lease": 11, "attempt": 1, "hops": 0, "cause": "", "at": 1},
             id="job", to="service:echo", key="a", durable=True)
    peer.event("lease")
    commit = peer.do("lease.commit", seq=1, parts=[])
    word = peer.do("send", to="service:echo", type="echo.job", body={}, id="word", key="a")
    held = [{"seq": 1, "lease": 11, "state": "valid"}]

    def both():
        assert core.expect("commit")[0]["n"] == 1
        assert core.expect("echo.job")[0]["id"] == "word"

    both()
    for again in (core.restart, core.cut, core.cut, core.cut, core.restart):  # Lost connections alone don't count
        again(held)
        both()
    core.restart(held)
    assert peer.event("answer", tag=commit)["code"] == "fenced"
    assert peer.event("answer", tag=word)["code"] == "gone"
    peer.event("lost", seq=1)
    header, body = core.expect("release")
    assert header["lease"] == 11 and not body["clean"] and body["delay_ms"] > 0
    core.socket.close(0)


DEEP = b"[" * 200000  # More than a reader that calls itself can read


@pytest.mark.parametrize("body", [DEEP, b'{"a":' * 100000 + b"1" + b"}" * 100000, b"[]", b"null", b"7", b'{"a":', b"\xff"],
                         ids=["deep", "deep object", "array", "null", "number", "cut", "no text"])
def test_no_body_ends_a_peer(tmp_path, driver, body):
    """What others send is rejected, answered or left out; what was asked is answered; and the peer goes on."""
    core = Core(tmp_path / "core.sock")
    peer = driver(core.endpoint, "echo", welcome=False)
    core.welcome()
    peer.event("welcome")
    meta = {"from": "client", "seq": 1, "lease": 11, "attempt": 1, "hops": 0, "cause": "", "at": 1}

    # A leased message, and a request
    peer.do("serve", service="echo", slots=4)
    core.expect("serve")
    core.say("x.job", body, meta, id="job", to="service:echo", key="a", durable=True)
    header, said = core.expect("release")
    assert (header["seq"], said.get("reject")) == (1, "invalid")
    core.say("x.ask", body, {"from": "client", "at": 1}, id="ask-1", to="service:echo")
    header, said = core.expect("error")
    assert (header["re"], said["code"]) == ("ask-1", "invalid")

    # An answer of a peer, of the store, and the refusal of a worker
    for kind, source in (("x.reply", {"from": "client", "at": 1}), ("x.reply", None), ("error", {"from": "client", "at": 1})):
        tag = peer.do("request", to="service:other", type="x.ask", body={}, timeout_ms=20000)
        core.say(kind, body, source, re=core.expect("x.ask")[0]["id"], to="actor:echo")
        assert peer.event("answer", tag=tag)["code"] == "invalid", (kind, source)

    # An entry is left out, the next one is not; the words of the broker
    peer.do("subscribe", topic="news", **{"from": 0})
    asked = core.expect("subscribe")[0]["id"]
    for kind, re in (("credit", None), ("accepted", None), ("pong", "no number"), ("refused", "no such"), ("end", asked)):
        core.say(kind, body, **({"re": re} if re else {}))
    for n, sent in ((1, body), (2, {"x": 1})):
        core.say("x.entry", sent, {"from": "client", "topic": "news", "n": n, "at": 1, "kept": False}, to="topic:news")
    entry = peer.event("entry")
    assert (entry["n"], entry["body"]) == (2, {"x": 1})
    tag = peer.do("send", to="service:echo", type="x.job", body={}, id="word", key="a")
    core.say("refused", body, re=core.expect("x.job")[0]["id"])
    assert peer.event("answer", tag=tag)["code"] == "internal"
    assert peer.end() == 0
    core.socket.close(0)


def test_a_refused_serve_or_subscribe_is_said(daemon, driver):
    (daemon.home / "argos.yaml").write_text("ipc_roles: [observer]\n")  # Serves nothing
    daemon.start()
    peer = driver(daemon.endpoint, "looker")
    thrown = DRIVERS["node"][:2] == peer.process.args[:2]
    for verb, address, more in (("serve", "service:turn", {"service": "turn", "slots": 1}),
                                ("subscribe", "topic:news.>.x", {"topic": "news.>.x", "from": 0})):
        peer.do(verb, **more)
        code = peer.event("refused", address=address)["code"]
        assert code in ("denied", "invalid")
        if thrown:
            assert peer.event("thrown", address=address)["code"] == code
    assert peer.request("actor:broker", "broker.status", {})["code"] == "ok"  # And it goes on


@pytest.mark.parametrize("wait", ["turn", "next", "run"])
def test_a_refusal_that_nobody_listens_for_is_raised(argosd, wait):
    with argos.Peer("line.main", argosd.endpoint) as peer:
        peer.serve("turn", on_lease=print)
        with pytest.raises(argos.Refused) as refused:
            while True:
                getattr(peer, wait)(*([] if wait == "run" else [DEADLINE_S]))
        assert refused.value.code == "denied" and "service:turn" in str(refused.value)
        assert peer.request("actor:broker", "broker.status", {})["store"]
        assert peer.turn() == []


@pytest.mark.parametrize("which", ["worker", "adapter"])
def test_a_sample_that_may_not_serve_says_so_and_ends(daemon, samples, which):
    (daemon.home / "argos.yaml").write_text("ipc_roles: [observer]\n")
    daemon.start()
    sample = samples(which, daemon, *(["echo"] if which == "worker" else ["pipe", "main"]), stderr=subprocess.PIPE)
    assert sample.process.wait(DEADLINE_S) == 1
    said = sample.process.stderr.read().decode()
    assert "denied" in said and "Traceback" not in said and "    at " not in said, said


def test_what_is_no_text_is_refused_and_the_peer_goes_on(argosd):
    """A lone surrogate (a file name that is no UTF-8, say) and NaN: as what is too large, not as an error of the language."""
    with argos.Peer("line.main", argosd.endpoint) as peer:
        for wrong in ("\udcff", float("nan")):
            for send in (lambda: peer.send("service:gateway", "x.y", {"text": wrong}), lambda: peer.publish("topic:x", "x.y", {"text": wrong}),
                         lambda: peer.commit([argos.part("x.y", "service:gateway", {"text": wrong})])):
                with pytest.raises(argos.Refused) as refused:
                    send()
                assert refused.value.code == "invalid" and not refused.value.sent
        assert peer.request("actor:broker", "broker.status", {})["store"]


@pytest.mark.parametrize("raised", [None, SystemExit, KeyboardInterrupt, ValueError, argos.Refused])
def test_only_who_leaves_in_peace_says_bye(tmp_path, raised):
    """A handler that raises has failed with its lease in hand: a bye would free it without a strike, for ever."""
    core = Core(tmp_path / "core.sock")
    gone, users = core.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED), argos._Context.users
    peer = argos.Peer("echo", core.endpoint)
    core.welcome()

    def on_lease(lease):
        if raised:
            raise raised("a fault of its own")
        peer.stop()

    with contextlib.suppress(raised or StopIteration), peer:
        peer.serve("echo", on_lease=on_lease)
        core.expect("serve")
        core.say("echo.job", {}, {"from": "client", "seq": 1, "lease": 11, "attempt": 1, "hops": 0, "cause": "", "at": 1},
                 id="job", to="service:echo", key="a", durable=True)
        peer.run()
    peer.close()
    assert argos._Context.users == users
    assert gone.poll(DEADLINE_S * 1000), "it is still connected"
    said = []
    while core.socket.poll(0):
        said.append(json.loads(core.socket.recv_multipart()[2])["type"])
    assert ("bye" in said) == (raised not in (ValueError, argos.Refused)), said
    core.socket.disable_monitor()
    core.socket.close(0)


def test_an_instance_that_is_superseded_ends(argosd, driver):
    first = driver(argosd.endpoint, "twice")
    second = driver(argosd.endpoint, "twice")
    assert first.event("final")["code"] == "superseded"
    assert second.request("actor:broker", "broker.status", {})["code"] == "ok"


def test_the_sample_worker(argosd, samples, programs):
    client = Driver("python", argosd.endpoint, "client")
    programs.append(client)
    worker = samples("worker", argosd, "echo")
    assert worker.line().startswith("serving echo")
    wait_until(lambda: service(client, "echo", "workers") == 1)
    client.do("subscribe", topic="echo", **{"from": 0})
    assert client.request("service:echo", "echo.request", {"text": "hello"})["body"] == {"text": "hello"}

    # Killed with a message in hand: the next start gets it again, and says so
    worker.signal(signal.SIGSTOP)
    client.send("service:echo", "echo.job", {"text": "kept"}, key="a")
    wait_until(lambda: service(client, "echo", "leased") == 1)
    worker.kill()
    worker = samples("worker", argosd, "echo")
    entry = client.event("entry")
    assert (entry["type"], entry["body"]) == ("echo.done", {"attempt": 2, "job": {"text": "kept"}})

    # What can never be done is a dead letter
    client.send("service:echo", "echo.nonsense", {}, id="bad", key="a")
    assert [letter["id"] for letter in wait_until(lambda: dead_letters(argosd))] == ["bad"]


def test_a_sample_adapter_of_the_settings_shows_the_token_it_gets(daemon):
    """Nobody comes in by ipc without one here: as which account each of them is taken in is that of its token."""
    commands = {f"echo_{language}": SAMPLES[language][1] for language in SAMPLES if language != "node" or not NODE_MISSING}
    adapters = {platform: {"command": ["sh", "-c", f"sleep 1000 | {shlex.join(command)}"], "account": "shop"}
                for platform, command in commands.items()}
    (daemon.home / "argos.yaml").write_text(f"ipc_roles: []\nadapters: {json.dumps(adapters)}\n")
    daemon.start()

    def roles():
        said = subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "--json", "peers"], check=True, stdout=subprocess.PIPE,
                              timeout=DEADLINE_S)
        return {peer["name"]: peer["role"] for peer in json.loads(said.stdout)["peers"]}

    wait_until(lambda: commands.keys() <= {name.split(".")[0] for name in roles()})
    assert {roles()[f"{platform}.shop"] for platform in commands} == {"adapter"}
    assert daemon.stop() == 0


def test_the_sample_adapter(argosd, samples):
    adapter = samples("adapter", argosd, "pipe", "main")
    adapter.write("hello")
    assert "hello" in adapter.line()
    # An answer that was not printed yet is printed by the next start
    adapter.write("one")
    assert "one" in adapter.line()
    adapter.write("two\nthree")
    assert "two" in adapter.line() and "three" in adapter.line()
    assert adapter.end() == 0
