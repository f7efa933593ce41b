"""What system tests share: a real argosd in a home of its own.

The build to be tested is named by $ARGOS_BUILD (default: build/), the placement by $ARGOS_PLACEMENT: one process (default), isolate (each
actor a process), nodes (agent and tools on a second node with a clock and mounts of its own, over tcp with CURVE). No test sleeps:
everything waits for an event, with a deadline.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from edge import ACTORS, Edge

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ARGOS_BUILD", ROOT / "build"))
DEADLINE_S = int(os.environ.get("ARGOS_DEADLINE_S", 30))  # More for what makes the programs slow, as valgrind
RESTART = 75  # Exit code
PLACEMENT = os.environ.get("ARGOS_PLACEMENT", "one")

#  Who runs us in the background, or by nohup, has these ignored; a program that we start would inherit that, but no handler
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


class Argosd:
    """One home, and the argosd that runs on it (or not). Attributes: home, endpoint, port, key, log (list of lines)."""

    placement = PLACEMENT  # "one" while a test runs that is marked own_placement

    def __init__(self, home, agents=2):
        """agents: how many there are, where there can be more than one (what one remembers, another one has to learn for itself)."""
        self.home = pathlib.Path(home)
        self.process = None
        self.port = None
        self.log = []
        self._changed = threading.Condition()
        self._reader = None
        self.prefix = []  # Words before the command
        self.edge = Edge(home, BUILD, self._say) if self.placement == "nodes" else None
        self.host = self.edge.apart() if self.edge else []  # The same, before those
        if self.edge:
            self.edge.agents = f"agent*{agents}"

    @property
    def endpoint(self):
        other = self.home / "run" / "broker.endpoint"
        return other.read_text() if other.exists() else f"ipc://{self.home}/run/broker.sock"

    def home_of(self, actor):
        """The home of the process that has this actor: where it looks for what is its own (prompts, skills, secrets, files of tools)."""
        if not self.edge or actor not in ACTORS:
            return self.home
        self.edge.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.edge.home

    @property
    def tools_home(self):
        """The home of the process that has the tools."""
        return self.home_of("tools")

    @property
    def homes(self):
        """Of all processes: each reads its own settings."""
        return [self.home, self.edge.home] if self.edge else [self.home]

    def names(self, actor):
        """Under which names it is known at the broker: one for each that there is."""
        if not self.edge or actor not in ACTORS:
            return [actor]
        count = int(self.edge.agents.partition("*")[2]) if actor == "agent" else 1
        return [f"{actor}.{number}@edge" for number in range(1, count + 1)] if count > 1 else [f"{actor}@edge"]

    @property
    def key(self):
        return (self.home / "api-key").read_text().strip()

    @property
    def operator(self):
        return (self.home / "run" / "operator.token").read_text()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @staticmethod
    def clean_env():
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name != "ARGOS_HOME"}
        #  Who may speak is what test_allow.py is about, what a message does to a running turn test_busy.py
        return {**kept, "GATEWAY_ALLOW_ALL_USERS": "true", "HERMES_GATEWAY_BUSY_INPUT_MODE": "queue",
                "HERMES_GATEWAY_BUSY_ACK_ENABLED": "false", "GATEWAY_HOME_NOTICE": "false"}

    def launch(self, *arguments, env=None):
        """Start the process without waiting for it. The port of the API is any free one, unless an argument names it."""
        command = [*self.host, *self.prefix, str(BUILD / "argosd"), "--home", str(self.home), *arguments]
        if self.placement == "isolate":
            command += ["--isolate"]
        if self.edge:
            self.edge.prepare()
        if "--port" not in arguments:
            command += ["--port", "0"]
        clean = self.clean_env()
        self.log = []
        self.port = None
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, errors="replace", env={**clean, **(env or {})})
        if self.edge:
            self.edge.start({**clean, **(env or {})})
        self._reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        return self

    def _say(self, line):
        with self._changed:
            self.log.append(line)
            found = re.search(r"event=listening .*port=(\d+)", line)
            if found:
                self.port = int(found.group(1))
            self._changed.notify_all()

    def _read(self, stream):
        for line in stream:
            self._say(line.rstrip("\n"))
        with self._changed:
            self.log.append(None)  # The end
            self._changed.notify_all()

    def wait_log(self, text, deadline_s=DEADLINE_S):
        """Wait for a line of the log with this text; returns it. Fails when the process ends before, or at the deadline."""
        def found():
            return next((line for line in self.log if line is None or text in line), False)

        with self._changed:
            done = self._changed.wait_for(lambda: found() is not False, deadline_s)
            assert done and found(), f"no line with {text!r} in:\n" + "\n".join(filter(None, self.log))
            return found()

    def start(self, *arguments, env=None):
        """Start it and wait until it is ready."""
        self.launch(*arguments, env=env)
        self.wait_log("event=ready")
        if self.edge:
            self.edge.wait_up()
        return self

    def signal(self, number):
        """Send it to all. What asks for an end reaches the core behind the end of its node, whose turns could not end without it."""
        if self.edge:
            self.edge.signal(number)
        if self.edge and number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            threading.Thread(target=lambda: (self.edge.wait(None), self.process.send_signal(number)), daemon=True).start()
        else:
            os.kill(self.process.pid, number)

    def configure(self, key, value):
        """Set it in each home, and wait until each process has read it."""
        for home in self.homes:
            subprocess.run([BUILD / "argos", "config", "set", key, value, "--home", home], check=True, capture_output=True, timeout=DEADLINE_S)
        read = self._count_read()
        processes = 1 + (self._children() if self.placement == "isolate" else 0) + bool(self.edge)
        subprocess.run([BUILD / "argos", "config", "reload", "--home", self.home], check=True, capture_output=True, timeout=DEADLINE_S)
        if self.edge:
            self.edge.signal(signal.SIGHUP)
        with self._changed:
            assert self._changed.wait_for(lambda: self._count_read() >= read + processes, DEADLINE_S), self.text()

    def write_local(self, text):
        """Write local.yaml of the core; where it says which nodes there are, it goes on to."""
        (self.home / "local.yaml").write_text(text + (self.edge.written if self.edge else ""))

    def _count_read(self):
        return sum("event=settings changed=" in (line or "") for line in self.log)

    def _children(self):
        """How many processes the actors are."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(b"--child" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in children)

    def wait(self, deadline_s=DEADLINE_S):
        """Wait for its end; returns the exit code (negative: the signal that killed it)."""
        code = self.process.wait(deadline_s)
        if self.edge and code != -signal.SIGKILL:
            self.edge.end(signal.SIGUSR1 if code == RESTART else signal.SIGTERM, deadline_s)
        self._reader.join(deadline_s)
        return code

    def stop(self):
        """SIGTERM, and the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        """kill -9."""
        self.signal(signal.SIGKILL)
        if self.edge:
            self.edge.wait(DEADLINE_S)  # One that is dying would count as running
        return self.wait()

    def text(self):
        return "\n".join(filter(None, self.log))

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        if self.edge:
            self.edge.close()


def pytest_configure(config):
    config.addinivalue_line("markers", "platform(*lines): further settings of the chat platform")
    config.addinivalue_line("markers", "conversation(*names): a platform plays these from end to end; tests/check/test_conversations.py counts them")
    config.addinivalue_line("markers", "own_placement: starts no daemon, or is about a placement that it makes itself: an Argosd is one process to begin with")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    Argosd.placement = "one" if item.get_closest_marker("own_placement") else PLACEMENT


@pytest.fixture
def home():
    """An empty folder with a short path; removed after the test."""
    folder = tempfile.mkdtemp(prefix="argos-")
    yield pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def daemon(home):
    """An argosd that is not running yet."""
    daemon = Argosd(home)
    yield daemon
    daemon.close()


@pytest.fixture
def argosd(daemon):
    """An argosd that is ready; ended by SIGTERM after the test, which has to succeed."""
    daemon.start()
    yield daemon
    if daemon.process.poll() is None:
        code = daemon.stop()
        assert code == 0, f"exit code {code}:\n{daemon.text()}"


@pytest.fixture
def tools_home(daemon):
    """The home of the process that has the tools: no other can give them a file to read."""
    return daemon.tools_home


@pytest.fixture(scope="module")
def shared_argosd():
    """One for all tests of a file, which keep out of each other's way."""
    folder = tempfile.mkdtemp(prefix="argos-")
    daemon = Argosd(folder).start()
    yield daemon
    code = daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)
    assert code == 0, f"exit code {code}:\n{daemon.text()}"


def open_when_read(path):
    """Open a named pipe for writing once somebody reads from it; returns the descriptor."""
    def opened():
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None  # Nobody does

    return wait_until(opened)


def wait_until(condition, deadline_s=DEADLINE_S):
    """Wait for something that gives no sign (a file, a process that is gone); returns what condition() returns."""
    deadline = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "the deadline has passed"
        time.sleep(0.01)
