"""`argos sessions` against the real daemon: what was said over HTTP is found, named, copied, exported and deleted."""
import json
import subprocess
import urllib.request

import pytest

from conftest import BUILD, wait_until
from test_adapter_pyzmq import Peer
from test_cli import argos
from test_gateway import Chat


def say(argosd, session, text):
    body = json.dumps({"input": text, "session_id": session}).encode()
    request = urllib.request.Request(argosd.url + "/v1/runs", body, {
        "Authorization": "Bearer " + argosd.key, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as reply:
        assert reply.status == 202


def sessions(argosd, *words):
    result = argos(argosd.home, "sessions", *words, "--json")
    assert result.returncode == 0, result.stderr + result.stdout
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return lines[0]["sessions"] if words[0] == "list" else lines


def test_a_session_from_its_first_word_to_its_end(argosd):
    assert "no sessions" in argos(argosd.home, "sessions").stdout
    say(argosd, "alpha-1", "the marmalade recipe")
    wait_until(lambda: [s for s in sessions(argosd, "list") if s["message_count"] == 2])
    [session] = sessions(argosd, "list")
    assert session["id"] == "alpha-1" and session["preview"] == "the marmalade recipe"
    [found] = sessions(argosd, "search", "marmal*")
    assert found["hits"][0]["session_id"] == "alpha-1" and not found["partial"]
    assert ">>>" in argos(argosd.home, "sessions", "search", "recipe").stdout
    sessions(argosd, "rename", "alpha", "Jam")
    [branch] = sessions(argosd, "branch", "Jam")
    [shown] = sessions(argosd, "show", branch["session_id"])
    assert shown["session"]["title"] == "Jam #2" and shown["lineage"]["root"] == "alpha-1"
    lines = sessions(argosd, "export", "alpha-1")
    assert lines[0]["session"]["title"] == "Jam"
    assert [line["message"]["role"] for line in lines[1:]] == ["user", "assistant"]
    assert sessions(argosd, "stats")[0]["messages"] == 4
    sessions(argosd, "delete", "alpha-1")
    assert len(sessions(argosd, "list")) == 1
    assert sessions(argosd, "prune", "1") == [{"deleted": 0}]
    result = argos(argosd.home, "sessions", "show", "alpha")
    assert result.returncode == 1 and "no session" in result.stderr
    assert argos(argosd.home, "sessions", "show").returncode == 2
    assert argos(argosd.home, "sessions", "list", "--limit", "3").returncode == 2


def test_a_search_that_is_cut_off_goes_on(argosd, tmp_path):
    """What is looked for lies behind more messages of others than one search gets through: argos, a chat and the agent find it all the same."""
    def session(name, owner, texts):
        return [json.dumps({"session": {"id": name, "started_at": 1, "owner": owner}}),
                *(json.dumps({"message": {"role": "user", "content": text, "at": 1 + number}}) for number, text in enumerate(texts))]

    file = tmp_path / "sessions.jsonl"
    file.write_text("\n".join([*session("mine", "test:main:u", ["the marmalade of mine"]),
                               *session("bulk", "someone", [f"marmalade common word number {i}" for i in range(40_000)])]) + "\n")
    assert sessions(argosd, "import", str(file))[0]["sessions"] == 2
    for line in [["--owner", "test:main:u"], ["--platform", "none"], []]:
        [found] = sessions(argosd, "search", "marmalade", *line)
        text = argos(argosd.home, "sessions", "search", "marmalade", *line).stdout
        if "none" in line:
            assert found == {"hits": [], "partial": False} and "nothing was found\n" == text
        elif line:
            assert [hit["session_id"] for hit in found["hits"]] == ["mine"] and found["partial"] is False
            assert "mine" in text and ">>>" in text
        else:  # As many as are shown
            assert len(found["hits"]) == 20 and text.count(">>>") == 20
    chat = Chat(argosd)
    assert "of mine `mine`" in chat.ask("/sessions search marmalade")["text"]
    assert "Nothing is found" in chat.ask("/sessions search nowhere")["text"]
    assert '"session_id":"mine"' in chat.ask('!tool session_search {"query":"marmalade"}')["text"].replace(" ", "")
    chat.peer.close()


@pytest.mark.parametrize("line", [["sessions", "export", "--all"], ["sessions", "stats"], ["db", "query", "SELECT 1 AS one"], ["db", "check"]])
def test_what_the_disk_does_not_take_is_a_failure(argosd, line):
    """/dev/full is what a full disk looks like to who writes to it."""
    say(argosd, "alpha-1", "hello")
    wait_until(lambda: sessions(argosd, "list"))
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([BUILD / "argos", "--home", argosd.home, *line], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "could be written" in done.stderr


def test_pruning_ends_when_delegates_have_work(argosd, tmp_path):
    """As many old sessions as one look shows have to stay; the next ones go, and then it is over."""
    def session(name, at, **more):
        return json.dumps({"session": {"id": name, "started_at": at, "last_activity_at": at, **more}}) + "\n"

    file = tmp_path / "sessions.jsonl"
    file.write_text("".join(session(f"p{i}", 1) + session(f"d{i}", 1, kind="delegate", parent=f"p{i}") for i in range(100))
                    + "".join(session(f"free{i}", 2) for i in range(120)))
    assert sessions(argosd, "import", str(file))[0]["sessions"] == 320
    argos(argosd.home, "services", "pause", "turn")
    key = json.loads(argos(argosd.home, "keys", "new", "script", "--role", "core", "--json").stdout)
    peer = Peer(argosd.endpoint, "agent@script", json.loads(open(key["file"], encoding="utf-8").read())["token"])
    source = {"platform": "http", "account": "main", "chat_type": "dm"}
    for i in range(100):
        answer = peer.ask({"type": "turn.request", "id": f"t{i}", "to": "service:turn", "key": f"d{i}", "durable": True},
                          {"run_id": f"r{i}", "session_id": f"d{i}", "text": "hello", "source": source})
        assert answer[0]["type"] == "accepted", answer
    peer.close()
    assert sessions(argosd, "prune", "1") == [{"deleted": 120}]
    assert sessions(argosd, "prune", "1") == [{"deleted": 0}]
    assert len(sessions(argosd, "list", "--all")) == 200
