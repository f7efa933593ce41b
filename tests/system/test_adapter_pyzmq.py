"""A platform adapter with nothing but a ZeroMQ binding: the example for authors of adapters.

It speaks docs/protocol.md frame by frame: hello, serve, a message in, deltas of the answer as they come, the durable answer out.
"""
import json
import os
import time
import uuid

import zmq

DEADLINE_S = int(os.environ.get("ARGOS_DEADLINE_S", 20))


class Peer:
    """About all that an Argos peer needs."""

    def __init__(self, endpoint, name, token=None):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(endpoint)
        self.waiting = []
        self.spoken, self.ping_s = time.monotonic(), 2.0
        body = {"name": name, "instance": int(time.time() * 1000), "protocol": 1, "leases": []}
        if token:
            body["token"] = token  # Of a key (argos keys new), or of the operator: gives its role
        self.welcome = self.ask({"type": "hello"}, body)[2]
        self.ping_s = self.welcome.get("ping_ms", 2000) / 1000

    def send(self, header, body=None, parts=()):
        """One message; parts are (header, body) pairs of a commit."""
        frames = [b"AR1", json.dumps(header).encode(), b"", b"" if body is None else json.dumps(body).encode()]
        for part_header, part_body in parts:
            frames += [json.dumps(part_header).encode(), json.dumps(part_body).encode()]
        self.socket.send_multipart(frames)
        self.spoken = time.monotonic()

    def receive(self, wanted):
        """The next message for which wanted(header, meta) is true; others wait for their turn. Pings: who is silent gets nothing new."""
        deadline = time.monotonic() + DEADLINE_S
        for index, message in enumerate(self.waiting):
            if wanted(message[0], message[1]):
                return self.waiting.pop(index)
        while True:
            now = time.monotonic()
            assert now < deadline, "nothing came before the deadline"
            if now - self.spoken >= self.ping_s:
                self.send({"type": "ping", "id": "alive"})
            if not self.socket.poll(self.ping_s * 1000):
                continue
            magic, header, meta, body = self.socket.recv_multipart()[:4]
            assert magic == b"AR1"
            message = (json.loads(header), json.loads(meta or b"{}"), json.loads(body or b"{}"))
            if message[0]["type"] == "pong" and message[0].get("re") == "alive":
                continue
            if wanted(message[0], message[1]):
                return message
            self.waiting.append(message)

    def ask(self, header, body=None, parts=()):
        """Send with a fresh id unless there is one, and wait for what answers it."""
        header.setdefault("id", uuid.uuid4().hex)
        self.send(header, body, parts)
        return self.receive(lambda answer, _: answer.get("re") == header["id"])

    def close(self):
        self.send({"type": "bye"})
        self.socket.close()


def inbound(text, chat="42"):
    """message.inbound of our test platform; the id is account + chat + message id, the key keeps the chat in order."""
    message_id = uuid.uuid4().hex
    run_id = "run_" + uuid.uuid4().hex
    header = {"type": "message.inbound", "id": f"test.main:{chat}:{message_id}", "to": "service:gateway",
              "key": f"test.main:{chat}", "durable": True}
    body = {"source": {"platform": "test", "account": "main", "chat_id": chat, "chat_type": "dm", "user_id": "u1"},
            "text": text, "message_id": message_id, "run_id": run_id}
    return header, body, run_id


def test_a_message_goes_in_and_its_answer_comes_out(argosd):
    peer = Peer(argosd.endpoint, "test.main")
    assert peer.welcome["lease_ms"] == 15000
    peer.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    assert peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4})[0]["type"] == "accepted"

    header, body, run_id = inbound("hello out there")
    topic = f"topic:run.{run_id}"
    peer.send({"type": "subscribe", "id": "sub-1", "to": topic}, {"from": 0})
    accepted = peer.ask(header, body)
    assert accepted[0]["type"] == "accepted" and accepted[2]["seq"] > 0

    # Deltas come as they are made; the numbers of a run's topic begin at 0 and have no gap
    text, numbers = "", []
    while True:
        entry, meta, data = peer.receive(lambda _, m: m.get("topic") == topic[6:])
        numbers.append(meta["n"])
        if entry["type"] == "turn.delta":
            text += data["delta"]
        if entry["type"] == "run.completed":
            break
    assert numbers == list(range(len(numbers)))
    assert text == data["output"] and "hello out there" in text

    # The durable answer: leased to us, sent to the platform (here: nowhere), and done with a receipt
    request, meta, data = peer.receive(lambda h, m: h["type"] == "deliver.request")
    assert meta["attempt"] == 1 and data["text"] == text and data["chat_id"] == "42"
    done = peer.ask({"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}, None, [
        ({"type": "receipt.put", "to": "store", "durable": True}, {"state": "sent", "platform_ids": ["1"], "run_id": run_id})])
    assert done[0]["type"] == "accepted"

    # The same message again is the same message
    assert peer.ask(header, body)[2] == accepted[2]
    peer.close()


def test_who_waits_longer_than_one_may_be_silent_gets_it_all_the_same(daemon):
    (daemon.home / "argos.yaml").write_text("broker: {lease_ms: 3000, quiet_ms: 600, ping_ms: 200}\n")
    daemon.start()
    peer = Peer(daemon.endpoint, "test.main")
    assert peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4})[0]["type"] == "accepted"
    header, body, run_id = inbound("!slow 25")
    assert peer.ask(header, body)[0]["type"] == "accepted"
    assert peer.receive(lambda h, _: h["type"] == "deliver.request")[2]["run_id"] == run_id
    peer.close()
    assert daemon.stop() == 0
