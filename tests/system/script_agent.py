"""An agent that a test plays: leases turns in the place of ours, asks people, parks, answers. It writes what docs/messages.md says."""
import json
import subprocess
import time
import uuid

from conftest import BUILD, wait_until
from test_adapter_pyzmq import Peer


def argos(daemon, *words):
    made = subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "--json", *words], capture_output=True, text=True, timeout=30)
    assert made.returncode == 0, made.stdout + made.stderr
    return json.loads(made.stdout) if made.stdout.startswith(("{", "[")) else made.stdout


class ScriptAgent:
    """Everything that our agent had is over; from now on turns are ours."""

    def __init__(self, daemon):
        key = argos(daemon, "keys", "new", "script", "--role", "core")
        for name in daemon.names("agent"):
            argos(daemon, "peers", "drain", name)
        token = json.loads(open(key["file"], encoding="utf-8").read())["token"]
        self.peer = Peer(daemon.endpoint, "agent@script", token)
        self.peer.send({"type": "credit"}, {"messages": 10_000, "bytes": 100_000_000})
        assert self.peer.ask({"type": "serve"}, {"service": "turn", "slots": 8})[0]["type"] == "accepted"

    def lease(self, run_id=None):
        """The next turn: (header, meta, body)."""
        return self.peer.receive(lambda header, meta: header["type"] == "turn.request" and run_id in (None, header["id"]))

    def side(self, type_):
        return self.peer.receive(lambda header, meta: header["type"] == type_)

    def ask(self, turn, text="Run it?", kind="approval", options=None, timeout_s=60, allowed=None, takes=()):
        """Ask the chat of the turn and park; returns the id of the question."""
        header, meta, body = turn
        question = "q_" + uuid.uuid4().hex[:12]
        if options is None:
            options = [{"id": name, "label": name.title()} for name in ("once", "session", "always", "deny")]
        deadline = int(time.time() * 1000) + timeout_s * 1000
        value = {"id": question, "kind": kind, "session_id": body["session_id"], "run_id": body["run_id"], "call_id": "c1", "text": text,
                 "options": options, "source": body["source"], "deadline": deadline, "state": "open",
                 **({"allowed": allowed} if allowed else {})}
        record = {"space": "question", "key": f"{body['session_id']}/{question}", "value": value, "version": 0, "expires_at": deadline + 86_400_000}
        prompt = {"op": "prompt", "kind": "notice", "text": text, "chat_id": body["source"]["chat_id"], "run_id": body["run_id"],
                  "options": [{"id": f"{question}:{option['id']}", "label": option["label"]} for option in options]}
        if not options:
            prompt = {"kind": "notice", "text": text, "chat_id": body["source"]["chat_id"], "run_id": body["run_id"]}
        platform, account = body["source"]["platform"], body["source"]["account"]
        asked = {"question_id": question, "kind": kind, "tool_call_id": "c1", "text": text, "options": options, "deadline": deadline}
        entry = {"type": "question.asked", "to": f"topic:run.{body['run_id']}", "durable": True, "id": question + ".asked"}
        parts = [({"type": "record.put", "to": "store"}, record), (entry, asked),
                 ({"type": "deliver.request", "to": f"service:deliver.{platform}.{account}", "key": body["source"]["chat_id"], "durable": True,
                   "id": question}, prompt)]
        commit = {"type": "commit", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": max([0, *(side["seq"] for side in takes)])}
        if takes:
            commit["take"] = [side["seq"] for side in takes]
        answer = self.peer.ask(commit, None, parts)
        assert answer[0]["type"] == "accepted", answer
        release = {"delay_ms": timeout_s * 1000, "clean": True}
        answer = self.peer.ask({"type": "release", "seq": meta["seq"], "lease": meta["lease"]}, release)
        assert answer[0]["type"] == "accepted", answer
        return question

    def finish(self, turn, text, takes=(), n=1, state="completed"):
        """End the turn with an answer to its chat; takes: side messages (meta) that it has used."""
        header, meta, body = turn
        source = body["source"]
        over = {"type": "run." + state, "to": f"topic:run.{body['run_id']}", "durable": True, "last": True}
        parts = [({"type": "run.finish", "to": "store"}, {"run_id": body["run_id"], "state": state, **({"output": text} if state == "completed" else {})}),
                 (over, {"output": text, "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}} if state == "completed" else {}),
                 ({"type": "deliver.request", "to": f"service:deliver.{source['platform']}.{source['account']}", "key": source["chat_id"],
                   "durable": True, "id": body["run_id"] + ".answer"},
                  {"kind": "answer", "text": text, "chat_id": source["chat_id"], "run_id": body["run_id"]})]
        seen = max([0, *(side["seq"] for side in takes)])
        done = {"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": n, "seen": seen}
        if takes:
            done["take"] = [side["seq"] for side in takes]
        answer = self.peer.ask(done, None, parts)
        assert answer[0]["type"] == "accepted", answer

    def close(self):
        self.peer.close()
