"""Background jobs: started from a chat, they outlive argosd, and their end comes back into the chat that started them, once."""
import json
import os
import pathlib
import re
import signal

import pytest

from conftest import wait_until
from test_gateway import Chat, Peer


@pytest.fixture
def chat(argosd):
    chat = Chat(argosd)
    yield chat
    chat.peer.close()


class Jobs:
    """Asks the jobs actor, as the operator."""

    def __init__(self, daemon):
        self.peer = Peer(daemon.endpoint, "jobs-test", daemon.operator)

    def ask(self, kind, body=None):
        header, _, body = self.peer.ask({"type": kind, "to": "service:job", "ttl_ms": 20000}, body or {})
        return body if header["type"] == "job.result" else {"type": header["type"], **body}

    def list(self):
        return self.ask("job.list")["jobs"]

    def row(self, job):
        return self.ask("job.output", {"id": job})["job"]

    def close(self):
        self.peer.close()


@pytest.fixture
def jobs(argosd):
    jobs = Jobs(argosd)
    yield jobs
    jobs.close()


def tool(chat, name, **arguments):
    """The result of a call of a tool in the chat."""
    answer = chat.ask("!tool %s %s" % (name, json.dumps(arguments)))["text"]
    return answer


def start(chat, command, **more):
    answer = tool(chat, "terminal", command=command, background=True, **more)
    return re.search(r"proc_([0-9a-f]{12})", answer).group(1), answer


def test_it_comes_back_into_the_chat(chat, jobs):
    job, answer = start(chat, "echo from the job; exit 3")
    assert "do not wait for it and do not poll" in answer
    told = chat.hear()
    assert f"Background process proc_{job} exited (exit code 3)" in told["text"]
    assert "Command: echo from the job; exit 3" in told["text"] and "Output:\nfrom the job" in told["text"]
    wait_until(lambda: jobs.list()[0]["followed_up"])
    row = jobs.list()[0]
    assert (row["id"], row["status"], row["exit_code"]) == (job, "failed", 3)


def test_it_outlives_argosd(argosd):
    chat = Chat(argosd)
    job, _ = start(chat, "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended", workdir=str(argosd.home))
    chat.peer.close()
    argosd.kill()
    argosd.start()
    chat, jobs = Chat(argosd), Jobs(argosd)
    row = jobs.ask("job.output", {"id": job})
    assert row["job"]["status"] == "running" and row["text"] == "begun\n"
    (argosd.home / "go").touch()
    told = chat.hear()
    assert f"proc_{job} completed normally (exit code 0)" in told["text"] and "begun\nended" in told["text"]
    chat.peer.close()
    jobs.close()
