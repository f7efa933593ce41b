#!/usr/bin/python3
"""Ask Argos something over ZeroMQ and print the answer as it comes. Needs python3-zmq and a running argosd.

    example.py [--home DIR] [TEXT]
"""
import argparse
import json
import os
import sys
import time
import uuid

import zmq

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--home", default=os.environ.get("ARGOS_HOME", os.path.expanduser("~/.argos")))
arguments.add_argument("text", nargs="*", default=["hello"])
options = arguments.parse_args()
home = options.home
try:
    with open(os.path.join(home, "run", "broker.endpoint"), encoding="utf-8") as file:
        endpoint = file.readline().strip()
except FileNotFoundError:
    endpoint = f"ipc://{home}/run/broker.sock"

socket = zmq.Context.instance().socket(zmq.DEALER)
socket.setsockopt(zmq.LINGER, 0)
socket.connect(endpoint)


def send(header, body):
    socket.send_multipart([b"AR1", json.dumps(header).encode(), b"", json.dumps(body).encode()])


def receive():
    if not socket.poll(30_000):
        sys.exit(f"no answer from {endpoint}; is argosd running?")
    _, header, meta, body = socket.recv_multipart()
    return json.loads(header), json.loads(meta), json.loads(body)


me = "example.main"  # A service name stays declared, so it is the same each time
streamed = False
run_id = "run_" + uuid.uuid4().hex
send({"type": "hello", "id": "1"}, {"name": me, "instance": int(time.time() * 1000), "protocol": 1})
assert receive()[0]["type"] == "welcome"
send({"type": "credit"}, {"messages": 100_000, "bytes": 1 << 30})
# The durable answer comes to who serves the service of the platform and account
send({"type": "serve", "id": "2"}, {"service": "deliver." + me, "slots": 4})
send({"type": "subscribe", "id": "3", "to": "topic:run." + run_id}, {"from": 0})
# The id of a message is the sender's: the same id is the same message, for 30 days
send({"type": "message.inbound", "id": "example:" + run_id, "to": "service:gateway", "key": me, "durable": True},
     {"source": {"platform": "example", "account": me[8:], "chat_id": "1", "chat_type": "dm", "user_id": "me"},
      "text": " ".join(options.text), "run_id": run_id})
# The stream, and the durable answer, which is all that a command like /status has
while True:
    header, meta, body = receive()
    if header["type"] == "turn.delta":
        print(body["delta"], end="", flush=True)
        streamed = True
    elif header["type"] == "refused":
        sys.exit(f"refused: {body}")
    elif header["type"] == "deliver.request":
        print("" if streamed and body["kind"] == "answer" else body["text"])
        send({"type": "done", "id": "5", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}, {})
    elif header.get("re") == "5":
        break
send({"type": "bye"}, {})
socket.setsockopt(zmq.LINGER, 1000)
socket.close()
