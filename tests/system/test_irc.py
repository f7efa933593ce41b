"""The worked example of a foreign adapter (clients/python/irc_adapter.py) against a real server, ngircd: plain and TLS."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

from conftest import BUILD, ROOT, wait_until
from edge import free_port

NGIRCD = shutil.which("ngircd") or "/usr/sbin/ngircd"
ADAPTER = ["/usr/bin/python3", str(ROOT / "clients" / "python" / "irc_adapter.py")]
pytestmark = pytest.mark.skipif(not os.path.exists(NGIRCD), reason="ngircd is not installed")


class Server:
    """ngircd on loopback."""

    def __init__(self, folder):
        self.port, self.tls_port, self.folder = free_port(), free_port(), folder
        self.cert = folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", str(folder / "key.pem"), "-out", str(self.cert)],
                       check=True, capture_output=True)
        (folder / "ngircd.conf").write_text(f"""[Global]
Name = irc.test
Info = test
Listen = 127.0.0.1
Ports = {self.port}
MotdPhrase = hello
[Limits]
MaxConnectionsIP = 0
MaxJoins = 0
[Options]
DNS = no
Ident = no
PAM = no
[SSL]
CertFile = {self.cert}
KeyFile = {folder / "key.pem"}
Ports = {self.tls_port}
""")
        self.process = None

    def start(self):
        self.process = subprocess.Popen([NGIRCD, "-n", "-f", str(self.folder / "ngircd.conf")], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        wait_until(self.listens)
        return self

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
            self.process = None


class Person:
    """A client of IRC: what a test says and hears."""

    def __init__(self, server, nick, channel=None):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 5)
        self.file, self.nick = self.socket.makefile("rw", encoding="utf-8", newline="\r\n"), nick
        self.say(f"NICK {nick}")
        self.say(f"USER {nick} 0 * :{nick}")
        self.until(" 001 ")
        if channel:
            self.say(f"JOIN {channel}")
            self.until(" 366 ")

    def say(self, line):
        self.file.write(line + "\n")
        self.file.flush()

    def until(self, text, seconds=20):
        self.socket.settimeout(seconds)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            line = self.file.readline().rstrip("\r\n")
            assert line, "the server has closed the connection"
            if line.startswith("PING"):
                self.say("PONG" + line[4:])
            if text in line:
                return line
        raise AssertionError(f"{text} did not come")

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("irc")).start()
    yield made
    made.stop()


def adapter(home, server, tls=False, **env):
    words = [*ADAPTER, "--home", str(home), "--join", "#lab", "--server", f"localhost:{server.tls_port}" if tls else f"127.0.0.1:{server.port}"]
    if tls:
        words += ["--tls", "--ca", str(server.cert)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})


def connected(process):
    for line in process.stderr:
        if "connected as" in line:
            return line.split()[-1]
    raise AssertionError("it has ended")


@pytest.fixture
def argosd_irc(daemon):
    (daemon.home / "argos.yaml").write_text("platforms:\n  irc:\n    allow_all_users: true\n")
    daemon.start()
    yield daemon
    assert daemon.stop() == 0, daemon.text()


@pytest.mark.parametrize("tls", [False, True])
def test_talk(argosd_irc, server, tls):
    """Directly, in a channel by its nick, in lines that fit, with characters whole; a command."""
    process = adapter(argosd_irc.home, server, tls)
    try:
        nick = connected(process)
        ana = Person(server, f"ana{int(tls)}", "#lab")
        ana.say(f"PRIVMSG {nick} :hello")
        assert ana.until("PRIVMSG ana").endswith(":You said: hello")
        ana.say("PRIVMSG #lab :nobody is called")
        ana.say(f"PRIVMSG #lab :{nick}: in the channel")
        assert ana.until("PRIVMSG #lab").endswith("in the channel")
        text = "grün " * 78
        ana.say(f"PRIVMSG {nick} :{text}")
        first, second = ana.until("PRIVMSG ana"), ana.until("PRIVMSG ana")
        assert max(len(first.encode()), len(second.encode())) <= 510
        both = first.split(" :", 1)[1] + " " + second.split(" :", 1)[1]
        assert both.split() == ("You said: " + text).split()
        ana.say(f"PRIVMSG {nick} :!whoami")
        ana.until("PRIVMSG ana")
        ana.close()
    finally:
        process.terminate()
        assert process.wait(10) == 0


def test_the_server_goes_and_comes_back(argosd_irc, tmp_path_factory):
    """What is answered while the server is away is said when it is back."""
    own = Server(tmp_path_factory.mktemp("irc")).start()
    process = adapter(argosd_irc.home, own)
    try:
        nick = connected(process)
        own.stop()
        own.start()
        assert connected(process) == nick
        ben = Person(own, "ben")
        ben.say(f"PRIVMSG {nick} :back")
        assert ben.until("PRIVMSG ben").endswith(":You said: back")
        ben.close()
    finally:
        process.terminate()
        process.wait(10)
        own.stop()


def test_adapter_check(server):
    """One case here: ngircd makes each of the ten wait for its registration; all pass."""
    result = subprocess.run([str(BUILD / "argos"), "--json", "adapter-check", "--only", "duplicate", " ".join(ADAPTER)], capture_output=True, text=True, timeout=60,
                            env={**os.environ, "IRC_SERVER": f"127.0.0.1:{server.port}", "IRC_NICK": "checked"})
    assert result.returncode == 0, result.stdout


def test_it_is_small():
    lines = pathlib.Path(ADAPTER[1]).read_text().splitlines()
    assert len(lines) < 300
