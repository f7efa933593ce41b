#!/usr/bin/python3
"""driver - the Python client behind a pipe: a command a line in, an event a line out. The same in each language; see test_clients.py.

    driver.py ENDPOINT NAME [KEY]
"""
import json
import os
import pathlib
import select
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients" / "python"))
import argos  # noqa: E402

leases, requests = {}, {}


def tell(**event):
    print(json.dumps(event), flush=True)


def answer(tag):
    def then(refused, value):
        if refused:
            tell(event="answer", tag=tag, code=refused.code, reason=refused.reason)
        elif isinstance(value, tuple):
            tell(event="answer", tag=tag, code="ok", type=value[0], body=value[1])
        else:
            tell(event="answer", tag=tag, code="ok", seq=value)
    return then


def parts(command):
    return [argos.part(each.pop("type"), each.pop("to"), each.pop("body", {}), **each) for each in command.get("parts", [])]


def do(peer, verb, tag=None, **command):
    then = answer(tag)
    try:
        if verb == "connect":
            peer.connect(command["timeout_ms"] / 1000)
            tell(event="answer", tag=tag, code="ok")
        elif verb == "request":
            peer.request(command["to"], command["type"], command["body"], command["timeout_ms"] / 1000, then)
        elif verb == "send":
            peer.send(command.pop("to"), command.pop("type"), command.pop("body"), then=then, **command)
        elif verb == "commit":
            peer.commit(parts(command), command["id"], then)
        elif verb == "publish":
            peer.publish(command["topic"], command["type"], command["body"])
        elif verb == "subscribe":
            peer.subscribe(command["topic"], start=command["from"])
        elif verb == "unsubscribe":
            peer.unsubscribe(command["topic"])
        elif verb == "serve":
            peer.serve(command["service"], slots=command["slots"])
        elif verb == "lease.commit":
            leases[command["seq"]].commit(parts(command), then=then)
        elif verb == "lease.done":
            leases[command["seq"]].done(parts(command), command.get("take", ()), then)
        elif verb == "release":
            leases.pop(command["seq"]).release(command.get("delay_ms", 0), command.get("clean", False), command.get("reject"))
        elif verb == "reply":
            peer.reply(requests.pop(command["re"]), command["type"], command["body"])
    except argos.Refused as refused:
        then(refused, 0)
    except TimeoutError as late:
        tell(event="answer", tag=tag, code="expired", reason=str(late))


def show(event):
    if event.kind == "lease":
        leases[event.seq] = event.lease
        tell(event="lease", seq=event.seq, attempt=event.attempt, type=event.type, key=event.key, id=event.id, body=event.body)
    elif event.kind == "mail":
        tell(event="mail", seq=event.lease.seq, mail=event.seq, type=event.type, body=event.body)
    elif event.kind == "lost":
        tell(event="lost", seq=event.seq)
    elif event.kind == "request":
        requests[event.id] = event
        tell(event="request", id=event.id, type=event.type, body=event.body)
    elif event.kind == "entry":
        tell(event="entry", topic=event.topic, n=event.n, type=event.type, body=event.body)
    elif event.kind == "end":
        tell(event="end", topic=event.topic, n=event.n)


def main():
    peer = argos.Peer(sys.argv[2], sys.argv[1], key=sys.argv[3] if len(sys.argv) > 3 else None)
    peer.on_welcome = lambda _, new_store: tell(event="welcome", new_store=new_store)
    peer.on_refused = lambda address, refused: tell(event="refused", address=address, code=refused.code)
    rest = b""
    try:
        while True:
            ready, _, _ = select.select([peer, sys.stdin], [], [], peer.due())
            if sys.stdin in ready:
                read = os.read(sys.stdin.fileno(), 65536)
                if not read:
                    break
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    command = json.loads(line)
                    do(peer, command.pop("do"), **command)
            for event in peer.turn():
                show(event)
    except argos.Refused as refused:
        tell(event="final", code=refused.code)
    peer.close()


main()
