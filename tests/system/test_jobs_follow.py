"""`argos jobs output -f` while the job says what it has to say in the midst of a question. The jobs actor is played."""
import json
import subprocess

import pytest

from conftest import BUILD
from script_agent import argos
from test_adapter_pyzmq import Peer

JOB = "0123456789ab"
TOPIC = f"job.{JOB}"
TEXT = "one\n"


def answer(peer, request, status, text, start=0):
    job = {"id": JOB, "status": status, "command": "x", "started_at": 1}
    body = {"job": job, "command": "x", "text": text, "from": start, "next": start + len(text), "total": len(TEXT), "dropped": 0}
    peer.send({"type": "job.result", "to": "actor:" + request[1]["from"], "re": request[0]["id"]}, body)


def test_entries_that_come_before_the_answer(argosd):
    key = argos(argosd, "keys", "new", "script", "--role", "core")
    for name in argosd.names("jobs"):
        argos(argosd, "peers", "drain", name)
    with open(key["file"], encoding="utf-8") as file:
        peer = Peer(argosd.endpoint, "jobs@script", json.load(file)["token"])
    peer.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    assert peer.ask({"type": "serve"}, {"service": "job", "slots": 8})[0]["type"] == "accepted"
    peer.send({"type": "subscribe", "id": "sub", "to": "topic:" + TOPIC}, {"from": 0})
    follower = subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "jobs", "output", "-f", JOB], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def asked():
        return peer.receive(lambda header, _: header["type"] == "job.output")

    answer(peer, asked(), "running", "")
    request = asked()  # Behind its subscription
    peer.send({"type": "job.text", "to": "topic:" + TOPIC}, {"from": 0, "next": len(TEXT), "text": TEXT})
    peer.send({"type": "job.ended", "to": "topic:" + TOPIC}, {"job": {"id": JOB}})
    for kind in ("job.text", "job.ended"):  # What we have got the follower has got too
        peer.receive(lambda header, meta, kind=kind: header["type"] == kind and meta.get("topic") == TOPIC)
    answer(peer, request, "running", TEXT)
    last = asked()
    assert last[2]["from"] == len(TEXT)
    answer(peer, last, "done", "", len(TEXT))
    assert (follower.communicate(timeout=30)[0], follower.returncode) == (TEXT, 0)
    peer.close()
