#!/usr/bin/python3
"""A complete worker: answers requests, and works off durable messages, each exactly once.

    echo_worker.py [--home DIR | --endpoint E] [--key FILE] [SERVICE]

A request is answered with its own body. A durable message is done with a commit that keeps an entry on the topic of the service's name:
consuming it and saying so is one transaction, so after a crash anywhere it is said once. Kill it at any time and start it again.
"""
import argparse
import os
import signal
import sys

import argos

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--home")
arguments.add_argument("--endpoint")
arguments.add_argument("--key")
arguments.add_argument("service", nargs="?", default="echo")
options = arguments.parse_args()
name = os.environ.get("ARGOS_NAME", options.service)  # Without a key, a peer may serve what bears its name


def on_request(request):
    peer.reply(request, "echo.reply", request.body)


def on_lease(lease):
    if lease.type != "echo.job":
        lease.release(reject="invalid")  # It can never be done: a dead letter
        return
    entry = argos.part("echo.done", "topic:" + options.service, {"attempt": lease.attempt, "job": lease.body})
    lease.done([entry], then=lambda refused, _: refused and print(refused))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    with argos.Peer(name, options.endpoint, options.home, options.key) as peer:
        peer.serve(options.service, on_lease=on_lease, on_request=on_request, slots=8)
        print(f"serving {options.service} as {name}", flush=True)
        peer.run()
except argos.Refused as refused:  # Also of the serve, for which no on_refused is set
    sys.exit(f"echo_worker: {refused}")
