#!/usr/bin/python3
"""A complete tool: offers itself to the agents, and is called by the model like one of ours.

    echo_tool.py [--home DIR | --endpoint E] [--key FILE]

The offer is stored, so it is made once and stands while this program is away. What it holds for a task (here: what was said so far) it
lets go of at `task.close`.
"""
import argparse
import signal
import sys

import argos

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
for option in ("--home", "--endpoint", "--key"):
    arguments.add_argument(option)
options = arguments.parse_args()
said = {}  # Per task

OFFER = {
    "name": "echo", "description": "Repeat a text, with how often something was said in this task.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "mutates": False, "idempotent": True, "parallel": True, "close": True,
}


def on_request(request):
    if request.type == "task.close":
        said.pop(request.body["task_id"], None)
        peer.reply(request, "task.closed")
    elif request.type == "tool.call":
        count = said[request.body["session_id"]] = said.get(request.body["session_id"], 0) + 1
        peer.reply(request, "tool.result", {"output": f"{request.body['arguments'].get('text', '')} ({count})", "status": "ok"})


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with argos.Peer("echo-tool", options.endpoint, options.home, options.key) as peer:
    peer.serve("tool.echo", on_request=on_request, slots=8)
    print("offered" if peer.request("service:tools", "tool.offer", OFFER)["changed"] else "known", flush=True)
    peer.run()
