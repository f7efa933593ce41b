"""A second machine in one line: argos node add here, argosd join there; both homes on this host, with tcp and CURVE between."""
import json
import signal
import stat
import subprocess
import threading

import pytest

from conftest import BUILD, DEADLINE_S, Argosd, wait_until
from edge import free_port
from test_gateway import Chat
from test_provider_wire import answer, provider  # noqa: F401

pytestmark = pytest.mark.own_placement


def run(*words, text=None):
    return subprocess.run([str(word) for word in words], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)


def argos(home, *words):
    return run(BUILD / "argos", "--home", home, *words)


class Node:
    """The process of a node; up is set when it serves."""

    def __init__(self, home, *words, **env):
        self.lines = []
        self.up = threading.Event()
        self.process = subprocess.Popen([str(BUILD / "argosd"), "--home", str(home), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, errors="replace", env={**Argosd.clean_env(), **env})
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if "event=ready" in line:
                self.up.set()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)


@pytest.fixture
def core(daemon):
    """A core without agents and tools, on tcp too."""
    daemon.tcp = f"tcp://127.0.0.1:{free_port()}"
    (daemon.home / "argos.yaml").write_text(f"nodes: {{core: {{actors: [core, gateway, api], bind: [ipc, \"{daemon.tcp}\"]}}}}\n")
    yield daemon
    daemon.close()


def test_a_second_machine_joins_with_one_line(core):
    core.start()
    other = core.home / "other"
    added = argos(core.home, "node", "add", "muscle", "--actors", "agent*2,tools")
    assert added.returncode == 0, added.stderr
    [line] = added.stdout.splitlines()
    words = line.split()
    assert words[:2] == ["argosd", "join"] and len(words) == 3
    assert not (core.home / "keys" / "muscle.key").exists(), "the secret is in the line only"

    joined = run(BUILD / "argosd", "join", "-", "--home", other, text=words[2] + "\n")
    assert joined.returncode == 0, joined.stderr
    assert "--node muscle" in joined.stdout
    key = other / "keys" / "muscle.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and stat.S_IMODE((other / "argos.yaml").stat().st_mode) == 0o600
    stored = json.loads((other / "node.json").read_text())["nodes"]["muscle"]
    assert stored == {"actors": ["agent*2", "tools"], "broker": core.tcp} and "nodes" not in (other / "argos.yaml").read_text()

    chat = Chat(core)
    chat.say("hello")  # Waits in its lane: nobody has agents yet
    node = Node(other, "--node", "muscle")
    try:
        assert node.up.wait(DEADLINE_S), "".join(node.lines)
        assert chat.hear()["text"] == "You said: hello"
        assert "42" in chat.ask("!tool terminal {\"command\":\"echo $((6*7))\"}")["text"]
        peers = json.loads(argos(core.home, "--json", "peers").stdout)
        assert "agent.2@muscle" in json.dumps(peers)
        assert argos(core.home, "keys", "revoke", "muscle").returncode == 0
        wait_until(lambda: "@muscle" not in argos(core.home, "--json", "peers").stdout)
    finally:
        node.stop()


def test_the_log_of_a_node_says_why_it_is_not_let_in(core):
    core.start()
    other = core.home / "other"
    ticket = argos(core.home, "node", "add", "muscle", "--actors", "tools").stdout.split()[2]
    assert run(BUILD / "argosd", "join", ticket, "--home", other).returncode == 0
    record = core.home / "keys" / "muscle.pub"
    valid = record.read_bytes()
    assert argos(core.home, "keys", "revoke", "muscle").returncode == 0
    node = Node(other)
    try:
        wait_until(lambda: "not let in" in "".join(node.lines))
        record.write_bytes(valid)
        assert node.up.wait(DEADLINE_S), "".join(node.lines)
        said = [line for line in node.lines if "let in" in line]
        assert len(said) == 2 and "does not know our key, which it never made or has revoked" in said[0] and "again" in said[1], "".join(node.lines)
    finally:
        node.stop()


SETTINGS = """
provider: {{kind: openai, base_url: "http://me:sk-in-url@{address}/v1", model: {model}, key: "env:WIRE_KEY"}}
agent: {{system_prompt: "You wait for Odysseus."}}
adapters: {{line: {{command: ["sleep", "1000"], env: {{LINE_TOKEN: sk-of-line}}}}}}
nodes:
  core: {{actors: [core, gateway, api], bind: [ipc, "{tcp}"]}}
  muscle: {{actors: [{actors}], broker: "{tcp}"}}
"""


def test_a_node_takes_its_settings_from_the_core_and_follows_them(core, provider):  # noqa: F811
    """It has no settings of its own but the key of the provider, by its environment."""
    def configure(model, actors):
        (core.home / "argos.yaml").write_text(SETTINGS.format(address=f"127.0.0.1:{provider.server.server_address[1]}", tcp=core.tcp, model=model, actors=actors))

    def asked():
        _, headers, body = provider.requests.pop()
        return headers["Authorization"], json.loads(body)["model"], json.loads(body)["messages"][0]["content"]

    other = core.home / "other"
    configure("odyssey-1", "agent")
    core.start(env={"WIRE_KEY": "sk-of-the-core"})
    ticket = json.loads(argos(core.home, "--json", "node", "add", "muscle").stdout)["ticket"]
    assert run(BUILD / "argosd", "join", ticket, "--home", other).returncode == 0
    chat = Chat(core)
    chat.say("hello")
    provider.answers += [(200, "text/event-stream", answer(text)) for text in ("one", "two")]
    node = Node(other, WIRE_KEY="sk-of-the-node")
    try:
        assert chat.hear()["text"] == "one", "".join(node.lines)
        key, model, prompt = asked()
        assert (key, model) == ("Bearer sk-of-the-node", "odyssey-1") and "You wait for Odysseus." in prompt

        # Nothing secret has left the core
        settings = chat.peer.ask({"type": "config.get", "to": "actor:broker"})[2]["settings"]
        for text in (json.dumps(settings), (other / "node.json").read_text()):
            assert "env:WIRE_KEY" in text and "odyssey-1" in text
            assert not [secret for secret in ("sk-", "LINE_TOKEN", "me:", core.key, core.operator) if secret in text], text

        # Other settings: the node has them without a hand laid on it
        configure("odyssey-2", "\"agent*2\"")
        core.signal(signal.SIGHUP)
        wait_until(lambda: "agent.2@muscle" in argos(core.home, "peers").stdout)
        assert chat.ask("again")["text"] == "two", "".join(node.lines)
        assert asked()[:2] == ("Bearer sk-of-the-node", "odyssey-2")
        peers = {peer["name"]: peer for peer in json.loads(argos(core.home, "--json", "peers").stdout)["peers"]}
        assert peers["argosd@muscle"]["build"].startswith("argos ")

        # Those that it can't use leave it as it was, and it says so
        stored = (other / "node.json").read_text()
        configure("odyssey-3", "agent")
        (core.home / "argos.yaml").write_text((core.home / "argos.yaml").read_text() + "http: {port: 7}\n")
        (other / "argos.yaml").write_text("nodes: {muscle: {actors: [agent], broker: here}}\n")
        core.stop()
        core.start()
        wait_until(lambda: any("taken=no" in line and "nodes" in line for line in node.lines))
        assert (other / "node.json").read_text() == stored and node.process.poll() is None
    finally:
        assert node.stop() == 0, "".join(node.lines)


def test_nothing_is_overwritten(core):
    other = core.home / "other"
    ticket = json.loads(argos(core.home, "--json", "node", "add", "muscle").stdout)["ticket"]
    other.mkdir()
    (other / "argos.yaml").write_text("log: {level: warn}\n")
    joined = run(BUILD / "argosd", "join", ticket, "--home", other)
    assert joined.returncode == 0, joined.stderr
    assert (other / "argos.yaml").read_text() == "log: {level: warn}\n"
    before = (other / "keys" / "muscle.key").read_bytes()
    again = run(BUILD / "argosd", "join", ticket, "--home", other)
    assert again.returncode == 1 and "there already" in again.stderr
    assert (other / "keys" / "muscle.key").read_bytes() == before
    second = argos(core.home, "node", "add", "muscle")
    assert second.returncode == 1 and "that name is used" in second.stderr and "argosd join" not in second.stdout


@pytest.mark.parametrize("words, expected", [
    ([], "usage"), (["--home"], "usage"), (["not a ticket"], "not a whole ticket"), (["eyJub2RlIjoieCJ9"], "not a whole ticket"), (["a", "b"], "usage"),
])
def test_a_wrong_ticket_is_said(home, words, expected):
    done = run(BUILD / "argosd", "join", *words, *([] if "--home" in words else ["--home", home / "other"]))
    assert done.returncode in (1, 2) and expected in done.stderr
    assert not (home / "other").exists()


@pytest.mark.parametrize("words, expected", [
    (["add"], "node add NAME"), (["add", "gateway"], "a node has a name"), (["add", "a", "--actors", "core"], "actors are"),
    (["add", "a", "--broker", "ipc:///tmp/x"], "tcp://host:port"), (["add", "a", "--actors", "agent.2"], "actors are"),
])
def test_a_wrong_node_is_said(core, words, expected):
    done = argos(core.home, "node", *words)
    assert done.returncode == 2 and expected in done.stderr
    assert not list((core.home / "keys").glob("*")) if (core.home / "keys").exists() else True


def test_an_address_is_needed(daemon):
    done = argos(daemon.home, "node", "add", "muscle")
    assert done.returncode == 2 and "--broker" in done.stderr


def test_a_node_says_where_its_core_is(core):
    core.start()
    other = core.home / "other"
    ticket = argos(core.home, "node", "add", "muscle", "--actors", "tools").stdout.split()[2]
    assert run(BUILD / "argosd", "join", ticket, "--home", other).returncode == 0
    node = Node(other)
    try:
        assert node.up.wait(DEADLINE_S), "".join(node.lines)
        for words in (["status"], ["peers"], ["run", "hello"], ["config", "reload"], ["jobs"]):
            asked = argos(other, *words)
            assert asked.returncode == 69 and core.tcp in asked.stderr and "node muscle" in asked.stderr, asked.stderr
            assert f"pid {node.process.pid}" in asked.stderr and "start argosd" not in asked.stderr
        report = json.loads(argos(other, "--json", "doctor").stdout)
        [daemon] = [one for one in report["findings"] if one["check"] == "daemon"]
        assert daemon["level"] == "ok" and "node muscle" in daemon["text"] and core.tcp in daemon["text"]
        assert report["ok"] and not [one for one in report["findings"] if one["check"] == "ports" and one["level"] != "ok"], report
    finally:
        node.process.kill()
        node.process.wait(DEADLINE_S)
    assert "start argosd" in argos(other, "status").stderr, "what is left in the lock of one that was killed is not believed"


@pytest.mark.parametrize("home_node, names", [("core", ["core"]), ("hearth", ["hearth", "core"])])
def test_the_name_of_the_node_with_the_core_is_no_other_nodes(core, home_node, names):
    (core.home / "argos.yaml").write_text(f"nodes: {{{home_node}: {{actors: [core, gateway], bind: [ipc, \"{core.tcp}\"]}}}}\n")
    for name in names:
        added = argos(core.home, "node", "add", name, "--actors", "tools")
        assert added.returncode == 2 and added.stdout == "" and "the node with the core" in added.stderr, added.stderr
    assert not list(core.home.glob("keys/*")), "nothing was made"
