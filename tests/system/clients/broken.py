#!/usr/bin/python3
"""broken - an adapter with one fault, named like the case of `argos adapter-check` that has to find it.

    broken.py CASE          ("none": without a fault; "late": without one, but its platform is not there at once)

The Python client with one thing done wrong; see test_adapter_check.py.
"""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients" / "python"))
import argos  # noqa: E402

fault = sys.argv[1]
service = f"deliver.{os.environ['ARGOS_PLATFORM']}.{os.environ['ARGOS_ACCOUNT']}"
first_lease = {}
repeat = {}  # When what is not answered is repeated
REPEAT_S = 1  # Less than `slow` waits, and more than answers of the other cases take on a busy machine


class Broken(argos.Peer):
    """A peer with faults of the protocol."""

    def _word(self, kind, body=None, **header):
        if kind == "hello":
            repeat.clear()  # What was not answered is sent again anyway
        if kind == "hello" and fault == "hello":
            body = {**body, "protocol": 7}
        elif kind == "hello" and fault == "reconnect":
            body = {**body, "leases": []}  # Forgets what it holds
        elif kind == "hello" and fault == "crash":
            body = {**body, "instance": 1}  # Each start looks like the one before
        elif kind == "ping" and fault == "drain" and not self._leases:
            return  # Pings only for its leases
        super()._word(kind, body, **header)

    def _flush(self):
        if fault == "credit":
            self._window = [1 << 30, 1 << 50]
        super()._flush()

    def again(self):
        """Repeats what is not answered, though the connection lives."""
        for out in self._outs.values():
            if out.kind == argos.DONE and out.sent and self._state == "ready" and time.monotonic() > repeat.setdefault(out.id, time.monotonic() + REPEAT_S):
                self._socket.send_multipart(out.data)
                repeat[out.id] = time.monotonic() + REPEAT_S


def on_lease(lease):
    text = lease.body.get("text", "")
    if fault == "oversize" and len(text) > 65536:
        os.abort()  # A buffer of 64 KiB
    if fault == "duplicate":
        lease.number = first_lease.setdefault(lease.seq, lease.number)  # Known: goes on under the old lease
    if lease.type != "deliver.request" and fault != "bad":
        lease.release(reject="unknown_type")
        return
    receipt = [] if fault == "deliver" else [argos.part("receipt.put", "store", {"state": "sent"})]
    lease.done(receipt, then=lambda *_: None)


with Broken() as peer:
    if fault == "late":
        peer.serve(service, on_lease=on_lease, slots=0)
        come = time.monotonic() + 0.5
        while time.monotonic() < come:
            peer.turn(0.1)
    peer.serve(service, on_lease=on_lease, slots=4)
    while True:
        peer.turn(0.1 if fault == "slow" else 60)
        if fault == "slow":
            peer.again()
