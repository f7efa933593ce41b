"""The home of a task: two nodes with tools, and each conversation works on one of them.

Each node has a HOME of its own, and a file ~/who that names it: so what a tool reads says where it ran.
"""
import json
import subprocess
import sys
import uuid

import pytest

from conftest import BUILD, DEADLINE_S, ROOT, Argosd, wait_until
from edge import Edge
from test_tools import Chat

sys.path.insert(0, str(ROOT / "clients" / "python"))
import argos  # noqa: E402

pytestmark = pytest.mark.own_placement

NODES = "nodes: {{core: {{actors: [core, gateway, handoff, api, agent, tools], bind: [ipc, \"tcp://{host}:{port}\"]}}, " \
        "edge: {{actors: [tools], broker: \"tcp://{host}:{port}\"}}}}\n" \
        "broker: {{lease_ms: 6000, quiet_ms: 5000, ping_ms: 300}}\n"


class Pair:
    """A core with tools, and the node edge with tools."""

    def __init__(self, home):
        self.daemon = Argosd(home)
        self.edge = Edge(home, BUILD, self.daemon._say, nodes=NODES)
        self.users = {}
        for node in ("core", "edge"):
            self.users[node] = home / f"user-{node}"
            self.users[node].mkdir()
            (self.users[node] / "who").write_text(f"I am {node}\n")
        self.edge.prepare()
        self.daemon.start(env={"HOME": str(self.users["core"])})
        self.start_edge()

    def start_edge(self):
        self.edge.start({**Argosd.clean_env(), "HOME": str(self.users["edge"])})
        self.edge.wait_up()

    def argos(self, *words, check=True):
        return subprocess.run([str(BUILD / "argos"), "--home", str(self.daemon.home), "--json", *words], check=check,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)

    def sessions(self):
        """{id: row} of all, delegates too."""
        listed = json.loads(self.argos("sessions", "list", "--all").stdout)
        return {row["id"]: row for row in listed["sessions"]}

    def jobs(self):
        """Of all nodes, the newest first."""
        return json.loads(self.argos("jobs").stdout)["jobs"]

    def drain(self, on):
        """Nothing new to the tools of the core, or again."""
        self.argos("peers", "drain" if on else "resume", "tools")

    def peers(self):
        return self.argos("peers").stdout

    def close(self):
        self.edge.close()
        self.daemon.close()


@pytest.fixture
def pair(home):
    pair = Pair(home)
    yield pair
    pair.close()


@pytest.fixture
def peer(pair):
    with argos.Peer("line.main", pair.daemon.endpoint) as peer:
        peer.serve("deliver.line.main", slots=16)
        yield peer


def at_edge(pair, peer, chat="7"):
    """A chat whose tools work on edge."""
    chat = Chat(peer, chat)
    pair.drain(True)
    assert "I am edge" in chat.tool("read_file", path="~/who")
    pair.drain(False)
    return chat


def test_a_task_stays_where_its_first_tool_ran(pair, peer):
    chat = at_edge(pair, peer)
    [session] = pair.sessions().values()
    assert session["home"] == "edge"
    shown = json.loads(pair.argos("sessions", "show", session["id"]).stdout)
    assert shown["session"]["home"] == "edge"
    # From now on each of them goes there, though the core is idle: files, the shell and its folder, pages, what children do
    chat.tool("terminal", command="mkdir -p there; cd there; export SAID=hello")
    chat.tool("write_file", path="a.txt", content="one\n")
    assert (pair.users["edge"] / "there" / "a.txt").read_text() == "one\n"
    for number in range(5):
        assert f"{number} hello {pair.users['edge']}/there" in chat.tool("terminal", command=f"echo {number} $SAID $(pwd)")
    assert "a.txt" in chat.tool("search_files", pattern="*.txt", target="files")
    goal = "!tool read_file " + json.dumps({"path": "~/who"})
    assert "I am edge" in chat.tool("delegate_task", goal=goal)
    assert [row["home"] for row in pair.sessions().values()] == ["edge", "edge"]
    # So do its jobs: they are started there, and asked for from anywhere
    assert "was started" in chat.tool("terminal", command="cat ~/who; exec sleep 60", background=True)
    [job] = pair.jobs()
    assert job["node"] == "edge" and "edge" in chat.tool("process", action="log", session_id="proc_" + job["id"])
    assert "I am edge" in pair.argos("jobs", "output", job["id"]).stdout
    started = pair.argos("jobs", "start", "--", "cat ~/who")
    assert started.returncode == 0
    assert len(pair.jobs()) == 2 and pair.jobs()[1]["id"] == job["id"]
    pair.argos("jobs", "kill", job["id"])
    assert pair.jobs()[1]["killed"] is True
    # A tool of a program has no home: it is found wherever that is
    with subprocess.Popen(["/usr/bin/python3", str(ROOT / "clients" / "python" / "echo_tool.py"), "--endpoint", pair.daemon.endpoint],
                          stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout.readline() == "offered\n"
        assert "hello (1)" in chat.tool("echo", text="hello")
        tool.terminate()


def test_a_home_that_is_gone_is_an_error_and_never_another_host(pair, peer):
    chat = at_edge(pair, peer)
    [session] = pair.sessions()
    chat.tool("terminal", command="cd /; export SAID=hello")
    pair.edge.close()
    wait_until(lambda: "tools@edge" not in pair.peers())
    answer = chat.say("!tool read_file " + json.dumps({"path": "~/who"}) + "\n!tool todo {}")
    assert "The node edge, where the files and processes of this task are, is not there" in answer and "I am core" not in answer
    assert pair.sessions()[session]["home"] == "edge"
    # It comes back: everything is as it was
    pair.start_edge()
    assert "hello /" in chat.tool("terminal", command="echo $SAID $(pwd)")
    # Or somebody moves the task
    assert pair.argos("sessions", "home", session, "elsewhere", check=False).returncode == 1
    pair.argos("sessions", "home", session, "core")
    assert pair.sessions()[session]["home"] == "core" and "I am core" in chat.tool("read_file", path="~/who")
    pair.argos("sessions", "home", session, "none")
    assert "home" not in pair.sessions()[session]
    pair.drain(True)
    assert "I am edge" in chat.tool("read_file", path="~/who", limit=5)


def test_a_task_that_two_nodes_race_for_has_one_home(pair, peer):
    chats = [f"race{number}" for number in range(12)]
    call = "!tool read_file " + json.dumps({"path": "~/who"}) + "\n!tool search_files " + json.dumps({"pattern": "I am", "path": "~"})
    answers = {chat: [] for chat in chats}
    for _ in range(2):
        for chat in chats:
            number = uuid.uuid4().hex
            source = {"platform": "line", "account": "main", "chat_id": chat, "chat_type": "dm", "user_id": "u"}
            peer.send("service:gateway", "message.inbound", {"source": source, "text": call, "message_id": number},
                      id=f"line.main:{chat}:{number}", key=f"line.main:{chat}")
        for _ in chats:
            event = peer.next(30)
            event.lease.done([argos.part("receipt.put", "store", {"state": "sent"})])
            answers[event.body["chat_id"]].append(event.body["text"])
    homes = [row["home"] for row in pair.sessions().values()]
    assert len(homes) == len(chats) and set(homes) <= {"core", "edge"}
    for chat, texts in answers.items():
        assert len({f"I am {node}" for text in texts for node in pair.users if f"I am {node}" in text}) == 1, (chat, texts)
