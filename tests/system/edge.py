"""A second node of an argosd under test: agent and tools in a process of their own, with a home of its own, over tcp + CURVE.

The node's name is edge. Its home is the folder edge in the home of the core (`apart` hides either from the process of the other); the configuration is
the core's, plus the nodes.
"""
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

NODES = "nodes: {{core: {{actors: [core, gateway, handoff, api], bind: [{bind}, \"tcp://{host}:{port}\"]}}, " \
        "edge: {{actors: [\"{agents}\", tools, telegram, discord, slack], broker: \"tcp://{host}:{port}\"}}}}\n"
ACTORS = ("agent", "tools", "jobs", "cache", "telegram", "discord", "slack")  # Those of the node

AHEAD_S = 5
WITHOUT_EDGE = 'mount -t tmpfs none "$0/edge" && exec "$@"'
ONLY_EDGE = 'cd "$0/edge" && mount -t tmpfs none "$0" && mkdir "$0/edge" && mount --no-canonicalize --bind . "$0/edge" && cd / && exec "$@"'


def free_port():
    """A port below those that the kernel gives to whoever asks for any: nobody gets it by accident."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def read(path):
    return path.read_text() if path.exists() else ""


class Edge:
    """The node; say(line) is called for each line of its log."""

    def __init__(self, home, build, say, host="127.0.0.1", prefix=(), nodes=NODES):
        self.core_home = pathlib.Path(home)
        self.home = self.core_home / "edge"
        self.build = build
        self.host, self.prefix = host, list(prefix)
        self.say = say
        self.nodes = nodes
        self.agents = "agent*2"
        self.written = ""  # What the settings say of the nodes
        self.process = None
        self.env = {}
        self.up, self.stopping = threading.Event(), None
        self.port = free_port()

    def apart(self):
        """As if on a host of its own: its clock is ahead, and neither process sees the home of the other. Returns the words before the core's command."""
        self.env = {"LD_PRELOAD": str(self.build / "tests" / "libargos_clock_shim.so"), "ARGOS_CLOCK_SHIM": str(AHEAD_S),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode:
            return []  # tests/dev/placements.sh says so
        self.prefix = ["unshare", "--mount", "sh", "-c", ONLY_EDGE, str(self.core_home)]
        return ["unshare", "--mount", "sh", "-c", WITHOUT_EDGE, str(self.core_home)]

    def prepare(self):
        """Write the nodes into the settings of both, and make the key of the node once.

        The core's stand in its local.yaml: its argos.yaml is as the test has written it, or argosd.
        """
        self.core_home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)
        text = read(self.core_home / "argos.yaml")
        bind = re.search(r"^bind: \[(.*)\]$", text, re.MULTILINE)  # A node has addresses of its own
        nodes = self.nodes.format(host=self.host, port=self.port, agents=self.agents, bind=bind.group(1) if bind else "ipc")
        (self.home / "argos.yaml").write_text((text if text.strip() != "{}" else "") + "\n" + nodes)
        self.written = nodes
        local = self.core_home / "local.yaml"
        if not re.search("^nodes:", read(local), re.MULTILINE):
            local.write_text(read(local) + nodes)
        if not (self.home / "keys" / "edge.key").exists():
            self.make_key()

    def make_key(self):
        """As the core would, in a home without settings: its own may be wrong."""
        with tempfile.TemporaryDirectory() as folder:
            keys, core = pathlib.Path(folder) / "keys", self.core_home / "keys"
            if core.exists():
                shutil.copytree(core, keys)
            subprocess.run([str(self.build / "argos"), "--home", folder, "keys", "new", "edge", "--role", "core"], check=True, stdout=subprocess.DEVNULL)
            shutil.copytree(keys, core, dirs_exist_ok=True)
            (self.home / "keys").mkdir(mode=0o700, exist_ok=True)
            shutil.copy(keys / "edge.key", self.home / "keys")

    def start(self, env):
        if self.process and self.process.poll() is None:
            return
        self.up.clear()
        self.stopping = threading.Event()
        self.process = subprocess.Popen([*self.prefix, str(self.build / "argosd"), "--home", str(self.home), "--node", "edge"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", env={**env, **self.env})
        threading.Thread(target=self._read, args=(self.process.stderr, self.stopping), daemon=True).start()

    def _read(self, stream, stopping):
        for line in stream:
            if "event=ready" in line:
                self.up.set()
            if "event=stopping" in line:
                stopping.set()
            #  The tests wait for the core to be ready
            self.say(line.rstrip("\n").replace("event=ready", "event=edge-up"))
        stopping.set()

    def wait_up(self, deadline_s=30):
        assert self.up.wait(deadline_s), "the node edge did not come up"

    def signal(self, number):
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, number)

    def wait(self, deadline_s):
        return self.process.wait(deadline_s) if self.process else 0

    def end(self, number, deadline_s):
        """Tell it, twice: without its core there is nothing that could end."""
        if not self.process:
            return
        self.signal(number)
        self.stopping.wait(deadline_s)
        self.signal(number)
        self.wait(deadline_s)

    def close(self):
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait()
