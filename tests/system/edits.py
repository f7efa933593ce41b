"""What tests of edits and reactions share: a turn that stands, so that what is said next waits, and what hooks hear."""
import json
import os
import uuid

from conftest import wait_until
from test_adapter_pyzmq import Peer


class Gate:
    """`words` are a message whose turn stands in a tool until the gate is opened."""

    def __init__(self, home):
        self.path = home / f"gate.{uuid.uuid4().hex}"  # Tests may share the home
        self.pipe = None
        os.mkfifo(self.path)
        self.words = "!tool terminal " + json.dumps({"command": f"cat {self.path}"})

    def stands(self):
        """Wait until the tool is there."""
        def read():
            try:
                self.pipe = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)  # Fails until somebody reads it
            except OSError:
                return False
            return True
        wait_until(read)

    def open(self):
        if self.pipe is None:
            self.stands()
        os.write(self.pipe, b"opened")
        os.close(self.pipe)
        self.pipe = None


class Events:
    """What is told of messages that are none (docs/hooks.md)."""

    def __init__(self, daemon):
        self.peer = Peer(daemon.endpoint, "ops.events", daemon.operator)
        self.peer.send({"type": "credit"}, {"messages": 10_000, "bytes": 100_000_000})
        self.peer.send({"type": "subscribe", "id": "s1", "to": "topic:hook.events"}, {"from": 0})

    def next(self, about=None):
        """The next one, of all that there are, or of those about a message of the platform."""
        while True:
            body = self.peer.receive(lambda header, _: header["type"] == "hook.event")[2]
            if body["event"].startswith("message:") and about in (None, body["message_id"]):
                return body

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.close()
