"""Actors in processes of their own: isolated beside the core, on a second node, and foreign adapters that argosd starts."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap

import pytest

from conftest import BUILD, DEADLINE_S, Argosd, wait_until
from edge import Edge, free_port
from test_gateway import Chat

pytestmark = pytest.mark.own_placement

ACTORS = ["jobs", "tools", "agent", "gateway", "handoff", "api"]


def children(pid):
    """The argosd processes below pid: {what stands behind --only: pid}"""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid and "--only" in words:
            found[words[words.index("--only") + 1]] = int(entry.name)
    return found


def configure(daemon, text):
    (daemon.home / "argos.yaml").write_text(text)


@pytest.fixture
def isolated(home):
    daemon = Argosd(home)
    daemon.start("--isolate")
    yield daemon
    daemon.close()


def test_each_actor_is_a_process(isolated):
    assert sorted(children(isolated.process.pid)) == sorted(ACTORS)
    chat = Chat(isolated)
    assert chat.ask("hello")["text"] == "You said: hello"
    assert "42" in chat.ask("!tool terminal {\"command\":\"echo $((6*7))\"}")["text"]
    pids = children(isolated.process.pid).values()
    assert isolated.stop() == 0, isolated.text()
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids)


def test_the_children_die_with_the_daemon(isolated):
    pids = children(isolated.process.pid).values()
    os.kill(isolated.process.pid, signal.SIGKILL)
    wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids))


ADAPTER = """
    import os, sys
    print("it has pid", os.getpid(), "endpoint", os.environ["ARGOS_ENDPOINT"].split(":")[0], "name", os.environ["ARGOS_NAME"], "colour", os.environ["COLOUR"],
          "key" if any(name.endswith("_API_KEY") for name in os.environ) else "no key", flush=True)
    sys.stdin.read()
    import signal
    signal.pause()
"""


def test_a_foreign_adapter_is_started_watched_and_stopped(daemon):
    program = daemon.home / "adapter.py"
    program.write_text(textwrap.dedent(ADAPTER))
    configure(daemon, "adapters:\n  line:\n    command: [" + json.dumps(sys.executable) + ", " + json.dumps(str(program)) + "]\n"
                     "    account: shop\n    env: {COLOUR: \"it's red\", LANG: de_DE}\n")
    daemon.start(env={"OPENAI_API_KEY": "sk-not-for-adapters"})
    line = daemon.wait_log("colour it's red")
    assert "endpoint ipc name line.shop" in line and "no key" in line and "actor=line.shop" in line

    def adapter():
        """Those that run the program, the guard and the shell before it aside: its own pid is the word behind `pid`."""
        return [int(text.split(" pid ")[1].split()[0]) for text in filter(None, list(daemon.log)) if " pid " in text and "line.shop" in text]

    [first] = wait_until(adapter)
    services = json.loads(subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "--json", "status"],
                                         check=True, stdout=subprocess.PIPE, timeout=DEADLINE_S).stdout)
    assert "deliver.line.shop" in json.dumps(services), "its deliveries would not wait"
    os.kill(first, signal.SIGKILL)
    [second] = wait_until(lambda: [pid for pid in adapter() if pid != first])
    assert daemon.stop() == 0
    assert not pathlib.Path(f"/proc/{second}").exists()


def test_named_actors_join_a_core_elsewhere_by_a_key(daemon, tmp_path):
    address = f"tcp://127.0.0.1:{free_port()}"
    configure(daemon, f"bind: [ipc, \"{address}\"]\n")
    daemon.start()
    cli = [str(BUILD / "argos"), "--home", str(daemon.home), "--json"]
    made = subprocess.run([*cli, "keys", "new", "muscle", "--role", "core"], check=True, stdout=subprocess.PIPE, timeout=DEADLINE_S)
    key = json.loads(made.stdout)["file"]

    def peers():
        return {peer["name"]: peer for peer in json.loads(subprocess.run([*cli, "peers"], check=True, stdout=subprocess.PIPE,
                                                                         timeout=DEADLINE_S).stdout)["peers"]}

    for broker, more in ((address, []), (daemon.endpoint, []), (address, ["--isolate"])):
        command = [str(BUILD / "argosd"), "--home", str(tmp_path / "other"), "--port", "0", "--only", "tools", "--broker", broker,
                   "--key", key, *more]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as other:
            wait_until(lambda: "tools@muscle" in peers())
            assert "tools" in peers(), "it must not take the place of the one in the core's process"
            other.terminate()
            assert other.wait(DEADLINE_S) == 0
        wait_until(lambda: "tools@muscle" not in peers())
    # Who may not come in is told why
    nobody = subprocess.run([str(BUILD / "argosd"), "--home", str(tmp_path / "other"), "--only", "tools", "--broker", daemon.endpoint],
                            stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)
    assert nobody.returncode == 1 and "tools can't start: that name belongs to an actor of the core" in nobody.stderr


def test_actors_elsewhere_wait_for_a_core_that_starts_later(daemon, tmp_path):
    address = f"tcp://127.0.0.1:{free_port()}"
    configure(daemon, f"bind: [ipc, \"{address}\"]\n")
    made = subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), "--json", "keys", "new", "muscle", "--role", "core"], check=True,
                          stdout=subprocess.PIPE, timeout=DEADLINE_S)
    command = ["timeout", str(2 * DEADLINE_S), str(BUILD / "argosd"), "--home", str(tmp_path / "other"), "--port", "0", "--only", "tools",
               "--broker", address, "--key", json.loads(made.stdout)["file"]]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as other:
        assert any("actor=tools event=waiting" in line for line in other.stderr)
        daemon.start()
        assert any("event=ready" in line for line in other.stderr)
        other.terminate()
        assert other.wait(DEADLINE_S) == 0


def test_an_address_that_is_taken_is_the_reason(daemon):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "tcp://127.0.0.1:%d" % taken.getsockname()[1]
        configure(daemon, f"bind: [ipc, \"{address}\"]\n")
        daemon.launch()
        assert daemon.wait() == 1
    assert f"broker can't start: {address} can't be bound: Address already in use" in daemon.text()


@pytest.mark.parametrize("text, expected", [
    ("nodes: {core: {actors: [core, gatway]}}\n", "core, tools, jobs, agent, gateway, handoff, api"),
    ("nodes: {a: {actors: [agent], broker: \"tcp://127.0.0.1:7420\"}}\n", "the actor core exactly once"),
    ("nodes: {core: {actors: [core]}, a: {actors: [agent]}}\n", "tcp://host:port of the core"),
    ("bind: [\"tcp://127.0.0.1\"]\n", "tcp://host:port"),
    ("adapters: {Line: {command: [x]}}\n", "a platform of 2 to 32 of a-z 0-9 _, a letter first"),
    ("adapters: {x: {command: [x]}}\n", "a platform of 2 to 32 of a-z 0-9 _, a letter first"),
    ("adapters: {_a: {command: [x]}}\n", "a platform of 2 to 32"),
    ("adapters: {a-b: {command: [x]}}\n", "a platform of 2 to 32"),
    ("platforms: {x: {allow_bots: all}}\n", "platforms"),
    ("adapters: {line: {command: []}}\n", "a list of 1 to 64 words"),
    ("adapters: {line: {command: [x], colour: red}}\n", "one of command, account, env"),
])
def test_a_wrong_placement_is_said(daemon, text, expected):
    configure(daemon, text)
    daemon.launch()
    assert daemon.wait() == 78
    assert expected in daemon.text() and "argos.yaml:1:" in daemon.text()


def test_a_wrong_line_is_said(daemon):
    daemon.launch("--node", "nowhere")
    assert daemon.wait() == 78 and "no node nowhere" in daemon.text()
    for words in (["--only", "gatway"], ["--only", "agent", "--broker", "tcp://127.0.0.1"], ["--only", "agent", "--broker", "tcp://127.0.0.1:9"]):
        daemon.launch(*words)
        assert daemon.wait() == 78, daemon.text()
    daemon.launch("--broker", "tcp://127.0.0.1:9")
    assert daemon.wait() == 2


def test_a_node_without_its_core_ends_when_it_is_told(home):
    """It waits for the core as long as that takes, and hears a signal meanwhile."""
    core = Edge(home, BUILD, lambda line: None)
    core.prepare()
    node = Argosd(core.home)
    try:
        node.launch("--node", "edge")
        node.wait_log("actor=rehearsal event=serving")  # The agents come next, and there is nobody to welcome them
        node.signal(signal.SIGTERM)
        assert node.wait() == 0, node.text()
    finally:
        node.close()
