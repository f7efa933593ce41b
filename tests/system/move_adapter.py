#!/usr/bin/python3
"""The adapter of ./dev move: its platform is a stream of JSON lines on a TCP socket, which says again what was not acknowledged.

    move_adapter.py PLATFORM_HOST PORT ENDPOINT KEYFILE|- ACCOUNT

From the platform: {"id","chat","text"}; to it: {"accepted": id}, {"delivery": seq, "chat", "text"}. SIGTERM: nothing new is taken, what is
leased or sent is ended, then bye.
"""
import json
import pathlib
import select
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import argos

host, port, endpoint, key, account = sys.argv[1:]
name = f"pipe.{account}"
stopping, open_leases, unaccepted = False, 0, 0
platform = socket.create_connection((host, int(port)))


def tell(**line):
    platform.sendall(json.dumps(line).encode() + b"\n")


def say(line):
    global unaccepted
    source = {"platform": "pipe", "account": account, "chat_id": line["chat"], "chat_type": "dm", "user_id": line["chat"]}

    def answered(refused, _):
        global unaccepted
        unaccepted -= 1
        if refused is None:
            tell(accepted=line["id"])
        else:
            print(f"refused: {refused}", file=sys.stderr, flush=True)

    unaccepted += 1
    peer.send("service:gateway", "message.inbound", {"source": source, "text": line["text"], "message_id": line["id"]},
              id=f"{account}:{line['chat']}:{line['id']}", key=f"{account}:{line['chat']}", then=answered)


def on_lease(lease):
    global open_leases

    def ended(refused, _):
        global open_leases
        open_leases -= 1
        if refused is not None:
            print(f"done refused: {refused}", file=sys.stderr, flush=True)

    if not peer.live():
        lease.release(clean=True)
        return
    open_leases += 1
    tell(delivery=lease.seq, chat=lease.body["chat_id"], text=lease.body["text"])
    lease.done([argos.part("receipt.put", "store", {"state": "sent"})], then=ended)


def stop(*_):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
lines = b""
told = False
with argos.Peer(name, endpoint, None, None if key == "-" else key) as peer:
    peer.serve("deliver." + name, on_lease=on_lease, slots=16)
    print("up", flush=True)
    while not stopping or open_leases or unaccepted:
        if stopping and not told:
            peer.serve("deliver." + name, on_lease=on_lease, slots=0)
            told = True
        ready, _, _ = select.select([peer] + ([] if stopping else [platform]), [], [], min(peer.due() or 0.2, 0.2))
        if platform in ready:
            read = platform.recv(65536)
            if not read:
                break
            *whole, lines = (lines + read).split(b"\n")
            for text in whole:
                say(json.loads(text))
        peer.turn()
# A close with something unread would be a reset, and a reset may take what was told last with it
platform.shutdown(socket.SHUT_WR)
while platform.recv(65536):
    pass
