#!/usr/bin/python3
"""A complete platform adapter: the platform is a pipe. A line read is a message from a person, a line printed an answer.

    echo_adapter.py [--home DIR | --endpoint E] [--key FILE] [PLATFORM [ACCOUNT]]       (or $ARGOS_ENDPOINT, $ARGOS_KEY, $ARGOS_PLATFORM ...)

Durable once it is accepted; a line is read only when the one before it was accepted. Each answer is leased, printed and ended with a
receipt. Kill it at any time: what was accepted is answered after the next start. It ends after the end of its input, when the last line has
been accepted and answered.
"""
import argparse
import os
import select
import signal
import sys
import time

import argos

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--home")
arguments.add_argument("--endpoint")
arguments.add_argument("--key")
arguments.add_argument("platform", nargs="?", default=os.environ.get("ARGOS_PLATFORM", "pipe"))
arguments.add_argument("account", nargs="?", default=os.environ.get("ARGOS_ACCOUNT", "main"))
options = arguments.parse_args()
account = f"{options.platform}.{options.account}"
started, count, unanswered, lines, ended = int(time.time() * 1000), 0, 0, b"", False


def say(text):
    """A message in. The id is what makes it the same message after a crash: a real platform has one for each message."""
    global count, unanswered
    count += 1
    source = {"platform": options.platform, "account": options.account, "chat_id": "1", "chat_type": "dm", "user_id": "me"}
    message_id = f"{started}.{count}"
    try:
        peer.send("service:gateway", "message.inbound", {"source": source, "text": text, "message_id": message_id},
                  id=f"{account}:1:{message_id}", key=f"{account}:1")
        unanswered += 1
    except argos.Refused as refused:
        print(f"not accepted: {refused}", file=sys.stderr)  # Nothing has happened; a real platform would be asked to send it again


def on_lease(lease):
    global unanswered
    if not peer.live():
        lease.release(clean=True)  # The lease may have ended meanwhile: no effect may begin
    elif lease.type != "deliver.request" or not isinstance(lease.body.get("text"), str):
        lease.release(reject="unknown_type")
    else:
        unanswered -= 1
        receipt = {"state": "sent"}
        if lease.body.get("op", "send") == "send":
            print(("(perhaps again) " if lease.attempt > 1 else "") + lease.body["text"], flush=True)
        else:  # edit, delete, react, prompt, media: a pipe can't
            receipt = {"state": "refused", "op": lease.body["op"], "error": "unsupported"}
        lease.done([argos.part("receipt.put", "store", receipt)], then=lambda refused, _: refused and print(refused, file=sys.stderr))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    with argos.Peer(os.environ.get("ARGOS_NAME", account), options.endpoint, options.home, options.key) as peer:
        peer.serve("deliver." + account, on_lease=on_lease, slots=4,
                   capabilities={"platform": options.platform, "account": options.account, "length": 262144, "unit": "bytes"})
        while not ended or unanswered > 0:
            ready, _, _ = select.select([peer] + ([] if ended else [sys.stdin]), [], [], peer.due())
            if sys.stdin in ready:
                read = os.read(sys.stdin.fileno(), 65536)
                ended = not read
                *whole, lines = (lines + read + (b"\n" if ended else b"")).split(b"\n")
                for line in whole:
                    if line.strip():
                        say(line.decode(errors="replace"))
            peer.turn()
except argos.Refused as refused:  # Also of the serve, for which no on_refused is set
    sys.exit(f"echo_adapter: {refused}")
