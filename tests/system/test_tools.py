"""Tools of the agent, through the rehearsal provider's `!tool name {json}`: offers of other programs, who may have what run, and what ours do."""
import json
import subprocess
import sys
import uuid

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python"))
import argos  # noqa: E402

OFFER = {"name": "shout", "description": "Say it loud.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}


class Chat:
    """A chat of two with the agent; the next answer to each text."""

    def __init__(self, peer, chat="7"):
        self.peer, self.chat = peer, chat

    def say(self, text, user="u"):
        message_id = uuid.uuid4().hex
        source = {"platform": "line", "account": "main", "chat_id": self.chat, "chat_type": "dm", "user_id": user}
        self.peer.send("service:gateway", "message.inbound", {"source": source, "text": text, "message_id": message_id},
                       id=f"line.main:{self.chat}:{message_id}", key=f"line.main:{self.chat}")
        event = self.peer.next(30)
        assert event is not None and event.kind == "lease" and event.type == "deliver.request"
        event.lease.done([argos.part("receipt.put", "store", {"state": "sent"})])
        return event.body["text"]

    def tool(self, name, user="u", **arguments):
        """What a call results in. A second one stands behind it: a JSON with `error` alone would be taken for an error page of the provider."""
        text = self.say(f"!tool {name} {json.dumps(arguments)}\n!tool attachment {{}}", user)
        return text.rpartition("\n")[0] if "`blob` is missing" in text.rpartition("\n")[2] else text


@pytest.fixture
def chat(argosd):
    with argos.Peer("line.main", argosd.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        yield Chat(peer)


@pytest.fixture
def tool(argosd):
    """clients/python/echo_tool.py, offered."""
    process = subprocess.Popen(["/usr/bin/python3", str(ROOT / "clients" / "python" / "echo_tool.py"), "--endpoint", argosd.endpoint],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "offered\n"
    yield process
    process.terminate()
    process.communicate(timeout=10)


def refusal(peer, body):
    with pytest.raises(argos.Refused) as refused:
        peer.request("service:tools", "tool.offer", body)
    return refused.value.code


def test_a_program_offers_a_tool_and_the_model_has_it_at_once(chat, tool, argosd):
    assert "hello (1)" in chat.tool("echo", text="hello")
    assert "again (2)" in chat.tool("echo", text="again")
    assert "no tool of that name" in chat.tool("nothing_like_that")


def test_an_offer_belongs_to_its_peer_and_ends_when_it_says_so(chat, argosd):
    with argos.Peer("a-tool", argosd.endpoint) as one, argos.Peer("b-tool", argosd.endpoint) as other:
        def on_request(request):
            one.reply(request, "tool.result", {"output": request.body["arguments"]["text"].upper(), "status": "ok"})

        one.serve("tool.shout", on_request=on_request)
        assert one.request("service:tools", "tool.offer", OFFER) == {"changed": True}
        assert one.request("service:tools", "tool.offer", OFFER) == {"changed": False}
        assert refusal(other, OFFER) == "conflict" and refusal(other, {"name": "shout", "withdraw": True}) == "conflict"
        assert refusal(one, {**OFFER, "name": "terminal"}) == "conflict" and refusal(one, {**OFFER, "name": "clarify"}) == "conflict"
        assert refusal(one, {"name": "x"}) == "invalid"
        assert one.request("service:tools", "tool.offer", {"name": "shout", "withdraw": True}) == {"changed": True}
        assert "no tool of that name" in chat.tool("shout", text="x")
        assert other.request("service:tools", "tool.offer", OFFER) == {"changed": True}


def test_who_is_no_admin_gets_no_tool_of_admins(daemon, home):
    (home / "argos.yaml").write_text("gateway: {allow_all_users: true}\nplatforms: {line: {allow_admin_from: [boss]}}\n")
    daemon.start()
    with argos.Peer("line.main", daemon.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        chat = Chat(peer)
        assert "it ran" in chat.tool("terminal", "boss", command="echo it ran")
        assert "BLOCKED: Only an admin" in chat.tool("terminal", command="echo it ran")
        assert "BLOCKED" not in chat.tool("attachment")
