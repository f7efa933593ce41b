"""Argos client: a full peer of the broker with pyzmq and nothing else, in one file, since people copy it.

A Peer belongs to one thread. It does something only inside its calls: `turn` (one round, at most so long), `run` (until `stop`), `next`
(the next event), or a call that waits for its answer. Such a call may also be made from within a handler; what comes in the meantime is
handed out afterwards (answers to sends with `then` are told at once). Give the peer a turn at least every few seconds while it holds a lease, or the lease ends (15 s of silence).

    with argos.Peer("echo", home="~/.argos") as peer:            # or endpoint="tcp://host:7420", key="echo.key"
        reply = peer.request("service:echo", "echo.request", {"text": "hello"})
        peer.send("service:log", "log.line", {"text": "kept"}, key="a")         # durable: returns when it is on disk
        peer.publish("topic:news", "news.item", {"n": 1})
        peer.serve("echo", on_request=lambda request: peer.reply(request, "echo.reply", request.body))
        peer.subscribe("topic:news", on_entry=lambda entry: print(entry.n, entry.body))
        peer.run()

What is served or read without a handler is handed out by `next`. A refused serve or subscribe is told to `on_refused`, or else raised by
`turn`, `run` and `next`. After a lost connection the peer connects again by itself (pauses of
0.1 to 30 s), says which leases it holds, and sends again, in order, what was not answered; a request that may have reached its worker
fails with `gone` instead. docs/adapters.md is the guide, docs/protocol.md the wire.
"""
import collections
import contextlib
import json
import os
import random
import stat
import threading
import time
import uuid

import zmq

HEADER_MAX, PART_MAX, COMMIT_MAX, PARTS_MAX = 4096, 1 << 20, 2 << 20, 64
OUT_MAX, OUT_BYTES_MAX = 65536, 64 << 20  # Unanswered sends, and their bytes together
CREDIT_MESSAGES, CREDIT_BYTES = 64, 4 << 20  # Entries and direct messages granted ahead
SILENCE_S, HELLO_S = 6.0, 6.0
BACKOFF_MIN_S, BACKOFF_MAX_S, BACKOFF_LEASE_S = 0.1, 30.0, 2.0
DEATHS_MAX, GIVE_UP_MS = 3, 5000  # Starts of the core that end with one send unanswered; pause before another attempt
REQUEST_S = 30.0

FIRE, ACCEPT, REQUEST, COMMIT, DONE, RELEASE = range(6)


class Refused(Exception):
    """The broker or the other end said no. code is one of schema/errors.json; sent: a request may have reached its worker."""

    def __init__(self, code, reason="", part=-1, sent=False):
        super().__init__(f"{code}: {reason}" if reason else code)
        self.code, self.reason, self.part, self.sent = code, reason, part, sent


class Event:
    """Something that came: kind is lease, mail, lost, request, word (a later word on a request, `cancel` for one), entry or end."""

    def __init__(self, kind, header, meta, body, lease=None):
        self.kind, self.header, self.meta, self.body, self.lease = kind, header, meta, body, lease
        self.type, self.id, self.re = header.get("type", ""), header.get("id", ""), header.get("re", "")
        self.key, self.sender = header.get("key", ""), meta.get("from", "")
        self.topic, self.n, self.attempt, self.seq = (meta.get(name, none) for name, none in
                                                      (("topic", ""), ("n", -1), ("attempt", 0), ("seq", 0)))
        self.subscription = self.topic  # Of an entry or end: the topic, or the pattern, that was subscribed
        self.bytes = 0  # Of our credit


class Lease:
    """A leased message: commit any number of times, then done or release. Each commit is numbered; one is unanswered at a time."""

    def __init__(self, peer, service, event):
        self.peer, self.service, self.event = peer, service, event
        self.seq, self.number, self.attempt = event.meta["seq"], event.meta["lease"], event.attempt
        self.type, self.key, self.body = event.type, event.key, event.body
        self.n, self.seen, self.open, self.unanswered = 1, 0, True, None

    def commit(self, parts, take=(), then=None):
        """Parts are made by argos.part. Waits and raises Refused; with then, calls then(refused or None, seq) later instead."""
        return self.peer._commit(self, COMMIT, parts, take, then)

    def done(self, parts=(), take=(), then=None):
        """The last commit: the message is consumed with it."""
        return self.peer._commit(self, DONE, parts, take, then)

    def release(self, delay_ms=0, clean=False, reject=None):
        """Give it back. clean: nothing outside has begun, the attempt is not counted. reject: a code; it becomes a dead letter."""
        if not self.open:
            return
        header = {"type": "release", "id": self.peer._new_id(), "seq": self.seq, "lease": self.number}
        self.peer._end(self)
        body = {"reject": reject} if reject else {"delay_ms": delay_ms, "clean": clean}
        self.peer._queue(_Out(RELEASE, header, frames(header, body)))


class _Out:
    """A message on its way, until it is answered."""

    def __init__(self, kind, header, data, then=None, deadline=None, lease=None):
        self.kind, self.header, self.data, self.then, self.deadline, self.lease = kind, header, data, then, deadline, lease
        self.id, self.sent, self.bytes = header.get("id", ""), False, sum(map(len, data)) - 3
        self.boot, self.deaths = 0, 0  # The start of the core to which it was sent, and how many have ended with it
        self.name = self.id if kind != FIRE else id(self)  # In the table of what is not answered


def part(kind, to, body=None, **header):
    """One part of a commit: its type, its address and its body. Header members: id, key, side, urgent, not_before, ttl_ms, last."""
    return {"type": kind, "to": to, **{name: value for name, value in header.items() if value not in (None, False)}}, body or {}


def encode(value, limit):
    try:
        data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as error:  # A lone surrogate (a file name, say), NaN: the broker would not take it either
        raise Refused("invalid", str(error)) from None
    if len(data) > limit:
        raise Refused("too_big", f"{len(data)} bytes; at most {limit}")
    return data


def decode(frame):
    """The object of a frame; None when it is none, or can't be read (one that is nested too deep, say)."""
    try:
        value = json.loads(frame or b"{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def frames(header, body=None, parts=()):
    """The frames of one message."""
    data = [b"AR1", encode(header, HEADER_MAX), b"", encode(body, PART_MAX) if body else b""]
    for part_header, part_body in parts:
        data += [encode(part_header, HEADER_MAX), encode(part_body, PART_MAX) if part_body else b""]
    if len(parts) > PARTS_MAX or sum(map(len, data[4:])) > COMMIT_MAX:
        raise Refused("too_big", f"a commit has at most {PARTS_MAX} parts and {COMMIT_MAX} bytes")
    return data


def _is_pattern(topic):
    return any(segment in ("*", ">") for segment in topic.split("."))


def _fits(pattern, topic):
    """`*` is any one segment, `>` at the end one or more."""
    wanted, segments = pattern.split("."), topic.split(".")
    if wanted[-1] == ">" and len(segments) >= len(wanted):
        wanted.pop()
        del segments[len(wanted):]
    return len(wanted) == len(segments) and all(want in ("*", segment) for want, segment in zip(wanted, segments))


def _number(body, name, none=0):
    value = body.get(name)
    return value if type(value) is int else none


def _refusal(body, sent):
    """What the body of a `refused` or an `error` says."""
    code, reason = (body.get(name) if isinstance(body.get(name), str) else none for name, none in (("code", "internal"), ("reason", "")))
    return Refused(code, reason, _number(body, "part", -1), sent)


def find_endpoint(home=None):
    """Where the broker of a home listens ($ARGOS_ENDPOINT first, unless a home is named)."""
    if home is None and os.environ.get("ARGOS_ENDPOINT"):
        return os.environ["ARGOS_ENDPOINT"]
    home = os.path.realpath(os.path.expanduser(home or os.environ.get("ARGOS_HOME") or "~/.argos"))
    try:
        with open(os.path.join(home, "run", "broker.endpoint"), encoding="utf-8") as file:
            return file.readline().strip()
    except FileNotFoundError:
        return f"ipc://{home}/run/broker.sock"


def read_key(path):
    """A file that `argos keys new` wrote; refused when others can read it."""
    if os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PermissionError(f"{path}: others can read it; set its mode to 0600")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class _Context:
    """The ZeroMQ context of all peers. It ends with the last of them, which waits until its last words are written: an interpreter
    that ends would else take them along."""

    lock, users, context = threading.Lock(), 0, None

    @classmethod
    def hold(cls):
        with cls.lock:
            cls.users += 1
            cls.context = cls.context or zmq.Context()

    @classmethod
    def drop(cls):
        with cls.lock:
            cls.users -= 1
            if cls.users == 0:
                cls.context.term()
                cls.context = None


class Peer:
    """One connection to the broker. name: who we are; it may be given by $ARGOS_NAME. key: path of a key file."""

    def __init__(self, name=None, endpoint=None, home=None, key=None):
        self.name = name or os.environ["ARGOS_NAME"]
        self.endpoint = endpoint or find_endpoint(home)
        key = key or os.environ.get("ARGOS_KEY")
        self.key = read_key(key) if key else None
        here = self.endpoint == os.environ.get("ARGOS_ENDPOINT")  # argosd gives an adapter of its settings both
        self.token = self.key.get("token") if self.key else os.environ.get("ARGOS_TOKEN") if here else None
        self.instance = int(time.time() * 1000)
        self.store, self.welcome = None, {}
        self.final = None  # The Refused that ended this instance for good
        self.on_welcome = None  # Called with (peer, new_store) after each hello
        self._leases, self._services, self._topics = {}, {}, {}
        self._outs, self._bytes, self._deadlines = {}, 0, {}  # Unanswered, in order; their bytes; those with a deadline
        self._unsent = collections.deque()
        self._events, self._stopped = collections.deque(), False
        self._refusals = collections.deque()  # Of serves and subscribes, to be raised
        self._prefix, self._count, self._backoff = uuid.uuid4().hex, 0, 0.0
        self._socket, self._state = None, "wait"
        _Context.hold()
        self._open()
        self._connect()

    def __enter__(self):
        return self.connect()

    def __exit__(self, kind, *_):
        """A program that fails is not done with what it holds: no bye, so that it costs its leases a strike."""
        self._leave(kind is None or issubclass(kind, (SystemExit, KeyboardInterrupt, GeneratorExit)))

    # -- The connection -------------------------------------------------------------------------

    def _open(self):
        if self._socket is not None:
            self._socket.close(0)
        self._socket = _Context.context.socket(zmq.DEALER)
        for option, value in ((zmq.LINGER, 0), (zmq.SNDHWM, 20000), (zmq.RCVHWM, 20000), (zmq.RECONNECT_IVL_MAX, 1000)):
            self._socket.setsockopt(option, value)
        if self.key and self.endpoint.startswith("tcp:"):
            self._socket.curve_publickey, self._socket.curve_secretkey = self.key["public"].encode(), self.key["secret"].encode()
            self._socket.curve_serverkey = self.key["server"].encode()

    def _connect(self):
        self._socket.connect(self.endpoint)
        self._hello()

    def _write(self, data):
        """Never waits: a socket that takes nothing has no connection to come (its key was revoked, say), and is given up."""
        try:
            self._socket.send_multipart(data, zmq.DONTWAIT)
        except zmq.Again:
            if self._state != "wait":
                self._lost()
            return False
        return True

    def _word(self, kind, body=None, **header):
        self._write(frames({"type": kind, **header}, body))

    def _new_id(self):
        self._count += 1
        return f"{self._prefix}.{self._count}"

    def _hello(self):
        self._state, self._hello_id, self._hello_at = "hello", self._new_id(), time.monotonic()
        held = [(lease.seq, lease.number) for lease in self._leases.values()]
        held += [(out.header["seq"], out.header["lease"]) for out in self._outs.values() if out.kind == RELEASE]
        body = {"name": self.name, "instance": self.instance, "protocol": 1,
                "leases": [{"seq": seq, "lease": number} for seq, number in held]}
        if self.token and not self.endpoint.startswith("tcp:"):
            body["token"] = self.token
        self._word("hello", body, id=self._hello_id)

    def _lost(self):
        pause = min(self._backoff or BACKOFF_MIN_S, BACKOFF_LEASE_S if self._leases else BACKOFF_MAX_S)
        self._backoff = pause * 2
        self._retry_at = time.monotonic() + pause * random.uniform(0.8, 1.2)
        self._state = "wait"
        self._open()  # Nothing of the old session can come any more

    def _welcome(self, header, body):
        if self._state != "hello" or header.get("re") != self._hello_id:
            return
        try:
            states = {(item["seq"], item["lease"]): item["state"] for item in body.get("leases", ())}
            window = [int(body["window"][name]) for name in ("messages", "bytes")]
            body = {**body, "store": str(body["store"]), **{name: int(body[name]) for name in ("boot", "lease_ms", "ping_ms")}}
        except (KeyError, TypeError, ValueError):
            return  # No welcome of ours
        new_store = self.store not in (None, body["store"])
        self.store, self.welcome, self._backoff = body["store"], body, 0.0
        self._heard = self._pinged = self._answered = time.monotonic()
        states = {} if new_store else states
        for lease in list(self._leases.values()):
            state, out = states.get((lease.seq, lease.number), "lost"), lease.unanswered
            if state == "done" and out and out.kind == DONE:
                self._answer(out, None, {})
            elif state != "valid":
                self._lose(lease, "fenced")
        self._settle(body["boot"])
        self._unsent = collections.deque(self._outs.values())
        self._window = window
        self._used, self._got, self._granted = [0, 0], [0, 0], [CREDIT_MESSAGES, CREDIT_BYTES]
        self._state = "ready"
        self._word("credit", {"messages": CREDIT_MESSAGES, "bytes": CREDIT_BYTES})
        for service in self._services:
            self._say_serve(service)
        for topic, read in self._topics.items():
            if new_store:
                read.update(last=-1, closed=False)
            if not read["closed"]:
                self._say_subscribe(topic)
        if self.on_welcome:
            self.on_welcome(self, new_store)

    def _settle(self, boot):
        """Nothing that the core may have died of is sent to it for ever; lost connections don't count."""
        for out in [out for out in self._outs.values() if out.sent]:
            out.deaths += out.boot != boot
            out.boot = boot
            if out.kind == REQUEST:
                self._answer(out, Refused("gone", "the connection was lost", sent=True))
            elif out.lease and out.deaths >= DEATHS_MAX:
                lease = out.lease
                lease.release(GIVE_UP_MS, clean=False)
                self._answer(out, Refused("fenced", "the core ended with it again and again", sent=True))
                self._events.append(Event("lost", {}, {"seq": lease.seq}, {}, lease))
            elif out.kind != RELEASE and out.deaths >= DEATHS_MAX:
                self._answer(out, Refused("gone", "the core ended with it again and again", sent=True))

    def connect(self, timeout=30.0):
        """Wait until the broker has taken us in. Raises Refused, or TimeoutError: nobody answers there, or knows this key."""
        try:
            self._wait(lambda: self._state == "ready", timeout)
        except TimeoutError:
            raise TimeoutError(f"no welcome from {self.endpoint}: is the broker there, and does it know this key?") from None
        return self

    def close(self):
        """Say bye: leases are freed without a strike. Messages that are not answered are given up."""
        self._leave(True)

    def _leave(self, bye):
        if self._socket is None:
            return
        if self._state == "ready":
            self._flush()
            if bye:
                self._word("bye")
        self._socket.close(500)
        _Context.drop()
        self._socket, self._state = None, "final"
        self.final = self.final or Refused("gone", "closed")

    def live(self):
        """Whether the newest answered ping is younger than the lease time: before any effect outside."""
        return self._state == "ready" and (not self.welcome["ping_ms"] or
                                           time.monotonic() - self._answered < self.welcome["lease_ms"] / 1000)

    def fileno(self):
        """The descriptor for an event loop of your own; another one after a reconnect. Readable, or after due() seconds: turn()."""
        return self._socket.getsockopt(zmq.FD)

    def due(self):
        """Seconds until turn is wanted even when the descriptor is silent."""
        return 0.0 if self._events or self._refusals or self._socket.getsockopt(zmq.EVENTS) & zmq.POLLIN else self._due()

    # -- Out --------------------------------------------------------------------------------------

    def _queue(self, out):
        if self.final:
            raise self.final
        if out.id and out.id in self._outs:
            raise Refused("busy", "a message of this id is on its way")
        if out.kind != RELEASE and (len(self._outs) >= OUT_MAX or self._bytes + out.bytes > OUT_BYTES_MAX):
            raise Refused("busy", "too much is on its way")
        self._outs[out.name] = out
        self._bytes += out.bytes
        if out.deadline:
            self._deadlines[out.name] = out
        self._unsent.append(out)
        self._flush()

    def _flush(self):
        while self._state == "ready" and self._unsent:
            out = self._unsent[0]
            if out.kind != RELEASE:
                if self._used[0] >= self._window[0] or self._used[1] + out.bytes > self._window[1]:
                    return
                self._used[0] += 1
                self._used[1] += out.bytes
            if not self._write(out.data):
                return
            out.sent, out.boot = True, self.welcome["boot"]
            self._unsent.popleft()
            if out.kind == FIRE:
                self._drop(out)

    def _drop(self, out):
        del self._outs[out.name]
        self._bytes -= out.bytes
        self._deadlines.pop(out.name, None)
        if not out.sent and out in self._unsent:
            self._unsent.remove(out)

    def _answer(self, out, refused, body=None, kind=""):
        self._drop(out)
        lease = out.lease
        if lease:
            lease.unanswered = None
            if not refused and out.kind == COMMIT:
                lease.n += 1
            elif not refused or refused.code == "fenced":
                self._end(lease)
        if out.then:
            out.then(refused, (kind, body) if out.kind == REQUEST else (body or {}).get("seq", 0))
        if lease and refused and refused.code == "fenced":
            self._events.append(Event("lost", {}, {"seq": lease.seq}, {}, lease))

    def _send(self, kind, header, body, parts=(), then=None, deadline=None, lease=None, timeout=None):
        """Queue it; without then, wait for the answer and return it."""
        result = []
        out = _Out(kind, header, frames(header, body, parts), then or (lambda *answer: result.append(answer)), deadline, lease)
        if lease:
            lease.unanswered = out
        try:
            self._queue(out)
        except Refused:
            if lease:
                lease.unanswered = None
            raise
        if then:
            return None
        self._wait(lambda: result, timeout)
        refused, answer = result[0]
        if refused:
            raise refused
        return answer

    def request(self, to, kind, body=None, timeout=REQUEST_S, then=None, **header):
        """Ask a service, an actor or the store. Returns the body of the reply, or raises Refused; with then: then(refused, (type, body))."""
        header = {"type": kind, "id": self._new_id(), "to": to, "ttl_ms": max(1, int(timeout * 1000)), **header}
        answer = self._send(REQUEST, header, body, then=then, deadline=time.monotonic() + timeout)
        return answer[1] if answer else None

    def send(self, to, kind, body=None, id=None, then=None, timeout=None, **header):
        """A durable message: on disk when this returns its seq. The same id again is the same message, for 30 days: name one if
        your process may end before the answer. With then: then(refused, seq). timeout only ends the waiting."""
        header = {**part(kind, to, None, **header)[0], "id": id or self._new_id(), "durable": True}
        return self._send(ACCEPT, header, body, then=then, timeout=timeout)

    def commit(self, parts, id=None, then=None):
        """Several durable messages and store operations as one accepted unit, known by its id."""
        return self._send(ACCEPT, {"type": "commit", "id": id or self._new_id()}, None, self._parts(parts), then)

    def _parts(self, parts):
        return [({**head, **({} if head["to"] == "store" else {"id": head.get("id") or self._new_id(), "durable": True})}, body)
                for head, body in parts]

    def _commit(self, lease, kind, parts, take, then):
        if not lease.open or lease.unanswered:
            raise Refused("busy" if lease.open else "fenced", "a commit is unanswered" if lease.open else "the lease is over")
        header = {"type": "done" if kind == DONE else "commit", "id": self._new_id(), "seq": lease.seq, "lease": lease.number,
                  "n": lease.n}
        if kind == DONE:
            header["seen"] = lease.seen
        if take:
            header["take"] = list(take)
        return self._send(kind, header, None, self._parts(parts), then, lease=lease)

    def publish(self, topic, kind, body=None, lease=None, **header):
        """A passing entry of a topic, under a lease if one is named. Entries that are kept are durable: `send` to the topic."""
        header = part(kind, "topic:" + topic.removeprefix("topic:"), None, **header)[0]
        if lease:
            header.update(seq=lease.seq, lease=lease.number)
        self._queue(_Out(FIRE, header, frames(header, body)))

    def reply(self, request, kind, body=None):
        """Answer a request."""
        header = {"type": kind, "to": "actor:" + request.sender, "re": request.id}
        self._queue(_Out(FIRE, header, frames(header, body)))

    def refuse(self, request, code, reason=""):
        """Answer a request that can't be served."""
        self.reply(request, "error", {"code": code, "reason": reason})

    # -- Work and topics --------------------------------------------------------------------------

    def serve(self, service, on_lease=None, on_request=None, on_mail=None, on_lost=None, slots=1, types=None, **more):
        """Be a worker: on_lease(lease), on_request(event), on_mail(event: a side message), on_lost(lease). slots 0 = pause."""
        service = service.removeprefix("service:")
        self._services[service] = {"lease": on_lease, "request": on_request, "mail": on_mail, "lost": on_lost,
                                   "body": {"service": service, "slots": slots, **({"types": list(types)} if types else {}), **more}}
        if self._state == "ready":
            self._say_serve(service)

    def _say_serve(self, service):
        self._word("serve", self._services[service]["body"], id="service:" + service)

    def subscribe(self, topic, on_entry=None, on_end=None, start=0):
        """Read a topic from entry number start: on_entry(event), then on_end(event: caught up), then live ones. A pattern
        (`run.*`, `run.>`) reads what is live of all topics that fit; event.topic says which. Of patterns that overlap the first has it."""
        topic = topic.removeprefix("topic:")
        if topic in self._topics and self._state == "ready":
            self._word("unsubscribe", to="topic:" + topic)
        self._topics[topic] = {"entry": on_entry, "end": on_end, "from": start, "last": -1, "closed": False, "id": "",
                               "pattern": _is_pattern(topic)}
        if self._state == "ready":
            self._say_subscribe(topic)

    def _say_subscribe(self, topic):
        read = self._topics[topic]
        read["id"] = self._new_id()
        self._word("subscribe", {"from": max(read["last"] + 1, read["from"])}, id=read["id"], to="topic:" + topic)

    def unsubscribe(self, topic):
        topic = topic.removeprefix("topic:")
        if self._topics.pop(topic, None) and self._state == "ready":
            self._word("unsubscribe", to="topic:" + topic)

    def _end(self, lease):
        lease.open = False
        if self._leases.get(lease.seq) is lease:
            del self._leases[lease.seq]
        if lease.unanswered:
            lease.unanswered.lease, lease.unanswered = None, None

    def _lose(self, lease, code):
        out = lease.unanswered
        self._end(lease)
        if out:
            self._answer(out, Refused(code, "the lease is over"))
        self._events.append(Event("lost", {}, {"seq": lease.seq}, {}, lease))

    # -- In ---------------------------------------------------------------------------------------

    def _handle(self, message):
        if len(message) != 4 or message[0] != b"AR1":
            return
        header, meta, body = map(decode, message[1:])
        if header is None or meta is None or not isinstance(header.get("type"), str):
            return
        self._heard = time.monotonic()
        kind, out = header["type"], self._outs.get(header.get("re", ""))
        if "from" not in meta:  # The broker's own word, or its answer to a request
            word = getattr(self, "_on_" + kind, None)
            if word:
                word(header, body or {}, out)
            elif out and out.kind == REQUEST and self._state == "ready":
                self._replied(out, body, kind)
        elif self._state == "ready":
            self._message(header, meta, body, sum(map(len, message)) - 3, out)

    def _on_welcome(self, header, body, _):
        self._welcome(header, body)

    def _on_pong(self, header, _, __):
        with contextlib.suppress(ValueError):
            self._answered = max(self._answered, float(header.get("re", 0)))

    def _on_credit(self, _, body, __):
        if self._state == "ready":
            self._window = [max(self._window[0], _number(body, "messages")), max(self._window[1], _number(body, "bytes"))]

    def _on_accepted(self, _, body, out):
        if out and out.kind != REQUEST:
            self._answer(out, None, body)

    def _on_end(self, header, body, _):
        n = _number(body, "n", -1)
        for topic, read in self._topics.items():
            if read["id"] == header.get("re"):
                read["last"], read["closed"] = max(read["last"], n), read["closed"] or body.get("closed") is True
                self._events.append(Event("end", header, {"topic": topic, "n": n}, body))

    def _on_refused(self, header, body, out):
        refused, answered = _refusal(body, body.get("sent", False)), header.get("re", "")
        code = refused.code
        lease = self._leases.get(header.get("seq", 0))
        unasked = "seq" not in header and (code == "superseded" or (code == "denied" and not answered))  # The key has been revoked
        if unasked or (answered == self._hello_id and code in ("denied", "invalid")):
            self._over(refused)
        elif answered == self._hello_id and self._state == "hello":
            self._lost()
        elif code == "no_session":
            if out:
                out.sent = False
            if self._state == "ready":
                self._hello()
        elif out:
            self._answer(out, refused)
        elif lease and not answered and lease.number == header.get("lease"):
            self._lose(lease, code)
        else:
            self._word_refused(next(("topic:" + topic for topic, read in self._topics.items() if read["id"] == answered), answered), refused)

    on_refused = None  # Called with (address, Refused) when a serve or subscribe was refused; without it turn, run and next raise that

    def _word_refused(self, address, refused):
        """A serve or subscribe of ours was refused; address tells which."""
        if self.on_refused:
            self.on_refused(address, refused)
        elif address.startswith("topic:") or address.removeprefix("service:") in self._services:
            self._refusals.append(Refused(refused.code, f"{address}: {refused.reason}"))

    def _over(self, refused):
        self.final, self._state = refused, "final"
        for lease in list(self._leases.values()):
            self._lose(lease, refused.code)
        for out in list(self._outs.values()):
            self._answer(out, refused)

    def _message(self, header, meta, body, size, out):
        if "mail" in meta:
            lease = self._leases.get(meta["mail"])
            if lease and lease.number == meta["lease"]:
                lease.seen = max(lease.seen, meta["seq"])
                if body is not None:
                    self._events.append(Event("mail", header, meta, body, lease))
        elif "lease" in meta:
            self._leased(header, meta, body)
        elif "topic" in meta:
            topic = meta["topic"].removeprefix("topic:")
            subscription = self._reads(topic, meta["n"], header.get("last", False))
            if subscription and body is not None:
                event = Event("entry", header, {**meta, "topic": topic}, body)
                event.subscription, event.bytes = subscription, size
                self._events.append(event)
            else:
                self._renew(size)
        elif header.get("re") and not header.get("to", "").startswith("service:") and header["type"] != "cancel":
            if out and out.kind == REQUEST:
                self._replied(out, body, header["type"])
        elif body is None:
            self._unreadable(header, meta, size)
        else:
            event = Event("word" if header.get("re") else "request", header, meta, body)
            event.bytes = size if header.get("to", "").startswith("actor:") else 0
            self._events.append(event)

    def _reads(self, topic, n, last):
        """Which subscription an entry is for: that of its topic, unless it has had it; else of a pattern, which keeps no number."""
        read = self._topics.get(topic)
        if read and n > read["last"]:
            read["last"], read["closed"] = n, read["closed"] or last
            return topic
        return next((pattern for pattern, read in self._topics.items() if read["pattern"] and _fits(pattern, topic)), None)

    def _replied(self, out, body, kind):
        """A reply; one of type `error` is the refusal of the worker itself."""
        if body is None:
            self._answer(out, Refused("invalid", "the body of the reply is not a JSON object", sent=True))
        else:
            self._answer(out, _refusal(body, True) if kind == "error" else None, body, kind)

    def _unreadable(self, header, meta, size):
        """A request whose body is no object: its handler is spared that."""
        if header.get("to", "").startswith("actor:"):
            self._renew(size)
        if header.get("id") and not header.get("re"):
            with contextlib.suppress(Refused):  # Too much is on its way
                self.refuse(Event("request", header, meta, None), "invalid", "the body is not a JSON object")

    def _leased(self, header, meta, body):
        known = self._leases.get(meta["seq"])
        if known and known.number == meta["lease"]:
            return
        if known:
            self._lose(known, "fenced")
        service = header["to"].removeprefix("service:")
        event = Event("lease", header, meta, body)
        event.lease = self._leases[meta["seq"]] = Lease(self, service, event)
        if body is None:
            event.lease.release(reject="invalid")
        elif service not in self._services:
            event.lease.release(clean=True)
        else:
            self._events.append(event)

    def _renew(self, size):
        if not size or self._state != "ready":
            return
        self._got = [self._got[0] + 1, self._got[1] + size]
        if self._granted[0] - self._got[0] <= CREDIT_MESSAGES // 2 or self._granted[1] - self._got[1] <= CREDIT_BYTES // 2:
            self._granted = [self._got[0] + CREDIT_MESSAGES, self._got[1] + CREDIT_BYTES]
            self._word("credit", {"messages": self._granted[0], "bytes": self._granted[1]})

    # -- The loop -----------------------------------------------------------------------------------

    def _clock(self):
        now = time.monotonic()
        for out in [out for out in self._deadlines.values() if out.deadline <= now]:
            self._answer(out, Refused("expired", "the deadline has passed", sent=out.sent))
        if self._state == "wait" and now >= self._retry_at:
            self._connect()
        elif self._state == "hello" and now - self._hello_at >= HELLO_S:
            self._lost()
        elif self._state == "ready" and self.welcome["ping_ms"]:
            ping_s = self.welcome["ping_ms"] / 1000
            if now - self._heard >= max(SILENCE_S, 3 * ping_s):
                self._lost()
            elif now - self._pinged >= ping_s:
                self._pinged = now
                self._word("ping", id=str(now))

    def _due(self):
        dues = [out.deadline for out in self._deadlines.values()]
        if self._state == "wait":
            dues.append(self._retry_at)
        elif self._state == "hello":
            dues.append(self._hello_at + HELLO_S)
        elif self._state == "ready" and self.welcome["ping_ms"]:
            dues.append(self._pinged + self.welcome["ping_ms"] / 1000)
        return max(0.0, min(dues) - time.monotonic()) if dues else 3600.0

    def _pump(self, timeout):
        """Take in what comes within that time; hands out nothing."""
        self._clock()
        self._flush()
        if self._state != "final" and self._socket.poll(int(min(timeout, self._due()) * 1000) if timeout > 0 else 0):
            for _ in range(100):
                try:
                    message = self._socket.recv_multipart(zmq.DONTWAIT)
                except zmq.Again:
                    break
                self._handle(message)
                if self._state in ("wait", "final"):
                    break
        self._clock()
        self._flush()

    def _wait(self, condition, timeout=None):
        deadline = time.monotonic() + timeout if timeout is not None else None
        while not condition():
            if self.final:
                raise self.final
            left = 3600.0 if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer from {self.endpoint}")
            self._pump(left + 0.001)

    def _handler(self, event):
        if event.kind in ("entry", "end"):
            return self._topics.get(event.subscription, {}).get(event.kind)
        service = event.lease.service if event.lease else event.header.get("to", "").removeprefix("service:")
        return self._services.get(service, {}).get("request" if event.kind == "word" else event.kind)

    def _take(self):
        """The next event, its credit given back; events of leases that are over are left out."""
        while self._events:
            event = self._events.popleft()
            self._renew(event.bytes)
            if event.kind in ("lost",) or not event.lease or event.lease.open:
                return event
        return None

    def turn(self, timeout=0.0):
        """One round: waits for something at most so many seconds and calls the handlers. Returns the events that have none."""
        left = []
        if not self._events and not self._refusals:
            self._pump(timeout)
        while self._events and not self._stopped:
            event = self._take()
            handler = event and self._handler(event)
            if handler:
                handler(event.lease if event.kind in ("lease", "lost") else event)
            elif event:
                left.append(event)
        if not left and self._refusals:
            raise self._refusals.popleft()
        if self.final and not left:
            raise self.final
        return left

    def next(self, timeout=None):
        """The next event without a handler; None when none came within that time."""
        deadline = time.monotonic() + timeout if timeout is not None else None
        while True:
            event = self._take()
            if event is None:
                if self._refusals:
                    raise self._refusals.popleft()
                left = 3600.0 if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    return None
                if self.final:
                    raise self.final
                self._pump(left + 0.001)
                continue
            handler = self._handler(event)
            if not handler:
                return event
            handler(event.lease if event.kind in ("lease", "lost") else event)

    def __iter__(self):
        """Events without a handler, as they come."""
        while True:
            yield self.next()

    def run(self):
        """Rounds until stop is called. Events without a handler are lost leases at most: serve and subscribe with handlers."""
        self._stopped = False
        while not self._stopped:
            self.turn(3600.0)

    def stop(self):
        """Ends run; from a handler."""
        self._stopped = True
