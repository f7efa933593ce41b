"""A chat platform for the tests that kill things: obeys its window, pings, and connects again whenever nothing answers."""
import json
import time

import zmq

PING_S = 0.5
SILENCE_S = 2.0


class Platform:
    """Sends inbound messages until each is accepted and gets what is to be delivered. Nothing is kept but in memory. key: what a key file has."""

    def __init__(self, endpoint, name, service, slots=64, key=None):
        self.endpoint, self.name, self.service, self.slots, self.key = endpoint, name, service, slots, key
        self.instance = 0
        self.socket = None
        self.pending = {}  # id -> (header, body), in order, until it is accepted
        self.connects = 0
        self._connect()

    def _connect(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 20)
        if self.key:
            self.socket.curve_serverkey = self.key["server"].encode()
            self.socket.curve_publickey, self.socket.curve_secretkey = self.key["public"].encode(), self.key["secret"].encode()
        self.socket.connect(self.endpoint)
        self.instance = max(self.instance + 1, int(time.time() * 1000))
        self.ready = False
        self.sent = self.granted = 0
        self.unsent = []
        self.open = set()  # Deliveries whose end is not answered yet
        self.heard = self.pinged = time.monotonic()
        self.connects += 1
        self._word({"type": "hello", "id": "hello"},
                   {"name": self.name, "instance": self.instance, "protocol": 1, "leases": []})

    def _word(self, header, body=None):
        self.socket.send_multipart([b"AR1", json.dumps(header).encode(), b"",
                                    b"" if body is None else json.dumps(body).encode()])

    def _send(self, frames):
        self.unsent.append(frames)
        self._flush()

    def _flush(self):
        while self.ready and self.unsent and self.sent < self.granted:
            self.socket.send_multipart(self.unsent.pop(0))
            self.sent += 1

    def post(self, header, body):
        """A durable message; it is sent again after each reconnect until it is accepted."""
        self.pending[header["id"]] = (header, body)
        if self.ready:
            self._send([b"AR1", json.dumps(header).encode(), b"", json.dumps(body).encode()])

    def done(self, meta, receipt):
        """End a delivery with its receipt."""
        header = {"type": "done", "id": f"done:{meta['seq']}:{meta['lease']}", "seq": meta["seq"],
                  "lease": meta["lease"], "n": 1, "seen": 0}
        part = {"type": "receipt.put", "to": "store", "durable": True}
        self.open.add(meta["seq"])
        self._send([b"AR1", json.dumps(header).encode(), b"", b"", json.dumps(part).encode(), json.dumps(receipt).encode()])

    def _welcomed(self, body):
        self.ready = True
        self.granted = body["window"]["messages"]
        self._word({"type": "serve", "id": "serve"}, {"service": self.service, "slots": self.slots})
        for header, data in list(self.pending.values()):
            self._send([b"AR1", json.dumps(header).encode(), b"", json.dumps(data).encode()])

    def _refused(self, header, body):
        """Returns why that may be; whatever else is refused fails."""
        code = body["code"]
        if code == "no_session":
            self._connect()
            return "the session had ended"
        if header.get("re", "").startswith("done:") and code == "fenced":
            self.open.discard(int(header["re"].split(":")[1]))
            return "the lease was over, the message comes again"
        if "seq" in header:
            self.open.discard(header["seq"])
            return "the broker has ended the lease"
        raise AssertionError(f"refused: {header} {body}")

    def pump(self, wait_s=0.1):
        """Handle what comes within that time; returns events ("accepted", id), ("done", seq), ("deliver", header, meta, body) or
        ("refused", code, why)."""
        events = []
        now = time.monotonic()
        if now - self.heard > SILENCE_S:
            self._connect()
        elif now - self.pinged > PING_S:
            self.pinged = now
            self._word({"type": "ping", "id": "ping"})
        wait = wait_s
        while self.socket.poll(wait * 1000):
            wait = 0
            frames = self.socket.recv_multipart()
            self.heard = time.monotonic()
            header, meta, body = (json.loads(frame or b"{}") for frame in frames[1:4])
            kind, answered = header["type"], header.get("re", "")
            if kind == "welcome":
                self._welcomed(body)
            elif kind == "credit":
                self.granted = body["messages"]
            elif kind == "refused":
                events.append(("refused", body["code"], self._refused(header, body)))
            elif kind == "accepted" and answered in self.pending:
                del self.pending[answered]
                events.append(("accepted", answered))
            elif kind == "accepted" and answered.startswith("done:"):
                seq = int(answered.split(":")[1])
                self.open.discard(seq)
                events.append(("done", seq))
            elif kind == "deliver.request":
                events.append(("deliver", header, meta, body))
            self._flush()
        return events

    def close(self):
        if self.ready:
            self._word({"type": "bye"})
        self.socket.close(1000)


def message(account, chat, number, text):
    """An inbound message of chat, whose ids follow from its number; its run has a number of its own."""
    run_id = f"run_{chat:016x}{number:016x}"
    header = {"type": "message.inbound", "id": f"{account}:{chat}:{number}", "to": "service:gateway",
              "key": f"{account}:{chat}", "durable": True}
    body = {"source": {"platform": "test", "account": account, "chat_id": str(chat), "chat_type": "dm", "user_id": "u"},
            "text": text, "message_id": str(number), "run_id": run_id}
    return header, body
