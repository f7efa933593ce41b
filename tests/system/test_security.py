"""Who gets in, and as what: keys and tokens against the real daemon, strangers against its ports."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pytest
import zmq

from conftest import BUILD, DEADLINE_S, Argosd, wait_until
from edge import free_port
from test_adapter_pyzmq import Peer, inbound

DEAF_MS = 400  # Patience with what must not come
HALF_OPEN = int(os.environ.get("ARGOS_HALF_OPEN", "1000"))  # tests/dev/halfopen.sh: 10,000
BATCH = 250


def argos(home, *words):
    return subprocess.run([str(BUILD / "argos"), "--home", str(home), "--json", *words], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False)


def new_key(daemon, name, role, *more):
    """A key, as its bundle says."""
    made = argos(daemon.home, "keys", "new", name, "--role", role, *more)
    assert made.returncode == 0, made.stdout
    return json.loads(pathlib.Path(json.loads(made.stdout)["file"]).read_text())


def dealer(key=None, server=None):
    """A socket that is not connected yet."""
    made = zmq.Context.instance().socket(zmq.DEALER)
    made.setsockopt(zmq.LINGER, 0)
    if key:
        made.curve_serverkey = (server or key["server"]).encode()
        made.curve_publickey, made.curve_secretkey = key["public"].encode(), key["secret"].encode()
    return made


def say(sock, header, body=None, meta=b""):
    sock.send_multipart([b"AR1", json.dumps(header).encode(), meta, json.dumps(body or {}).encode()])


def hear(sock, wait_ms=DEADLINE_S * 1000):
    """(header, meta, body) of the next message, None when none comes."""
    if not sock.poll(wait_ms):
        return None
    return tuple(json.loads(frame or b"{}") for frame in sock.recv_multipart()[1:4])


def hello(sock, name, **more):
    say(sock, {"type": "hello", "id": "h"}, {"name": name, "instance": int(time.time() * 1000), "protocol": 1, **more})
    return sock


def connected(endpoint, name, key=None, **more):
    sock = dealer(key)
    sock.connect(endpoint)
    return hello(sock, name, **more)


def welcomed(daemon, name, key):
    """A peer over tcp. The folder of the keys is watched, so a new key may be a moment behind."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        sock = connected(daemon.tcp, name, key)
        answer = hear(sock, 1000)
        if answer:
            assert answer[0]["type"] == "welcome", answer
            return sock
        sock.close()
    raise AssertionError("not taken in")


def code(answer):
    assert answer and answer[0]["type"] == "refused", answer
    return answer[2]["code"]


@pytest.fixture(scope="module")
def secured():
    """A daemon that listens on ipc and on tcp, and has the keys `good` (client) and `line-bot`."""
    home = tempfile.mkdtemp(prefix="argos-")
    daemon = Argosd(home)
    daemon.tcp_port = free_port()
    daemon.tcp = f"tcp://127.0.0.1:{daemon.tcp_port}"
    daemon.good = new_key(daemon, "good", "client")
    daemon.bot = new_key(daemon, "line-bot", "adapter", "--platform", "line", "--account", "main")
    (daemon.home / "argos.yaml").write_text(f'bind: [ipc, "{daemon.tcp}"]\n')
    daemon.start()
    yield daemon
    daemon.close()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def keeper(secured):
    """The operator, over ipc."""
    peer = Peer(secured.endpoint, "keeper", secured.operator)
    yield peer
    peer.close()


def sessions(keeper):
    return {item["name"]: item["role"] for item in keeper.ask({"type": "broker.status", "to": "actor:broker"})[2]["sessions"]}


def test_files_are_for_their_owner_only(secured):
    assert (secured.home / "keys").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (secured.home / "keys").iterdir()} == {0o600}
    assert (secured.home / "run" / "operator.token").stat().st_mode & 0o777 == 0o600
    assert (secured.home / "run").stat().st_mode & 0o777 == 0o700


def test_a_key_has_its_role_and_the_broker_stamps_who_sent(secured, keeper):
    sock = welcomed(secured, "good.1", secured.good)
    keeper.send({"type": "credit"}, {"messages": 10, "bytes": 1_000_000})  # Heard when the next question is answered
    assert sessions(keeper)["good.1"] == "client" and sessions(keeper)["keeper"] == "operator"
    say(sock, {"type": "a.b", "to": "actor:keeper"})
    assert keeper.receive(lambda header, _: header["type"] == "a.b")[1]["from"] == "good.1"
    say(sock, {"type": "dead.list", "id": "x", "to": "store"})
    assert code(hear(sock)) == "denied"
    say(sock, {"type": "a.b", "id": "y", "to": "actor:keeper"}, meta=b'{"from":"gateway"}')
    assert code(hear(sock)) == "invalid"
    sock.close()


def test_an_adapter_key_is_for_one_account(secured):
    sock = welcomed(secured, "line-bot", secured.bot)
    answers = []
    for service in ("deliver.line.main", "deliver.line.other", "deliver.telegram.main", "turn", "line-bot"):
        say(sock, {"type": "serve", "id": service}, {"service": service, "slots": 1})
        answer = hear(sock)
        answers.append(answer[0]["type"] if answer[0]["type"] == "accepted" else code(answer))
    assert answers == ["accepted"] + ["denied"] * 4
    sock.close()


@pytest.mark.parametrize("name", ["good", "line-bot", "gateway", "anyone@good"])
def test_a_name_that_the_key_does_not_allow(secured, name):
    key = secured.bot if name == "good" else secured.good
    sock = connected(secured.tcp, name, key)
    assert code(hear(sock)) == "denied"
    sock.close()


def test_who_has_no_key_may_not_be_called_like_one(secured):
    for name in ("good", "good.7", "line-bot.x"):
        sock = connected(secured.endpoint, name)
        assert code(hear(sock)) == "denied"
        sock.close()


def test_a_token_gives_the_role_of_its_key_over_ipc(secured, keeper):
    sock = connected(secured.endpoint, "line-bot.2", token=secured.bot["token"])
    assert hear(sock)[0]["type"] == "welcome" and sessions(keeper)["line-bot.2"] == "adapter"
    say(sock, {"type": "run.list", "id": "x", "to": "store"})
    assert code(hear(sock)) == "denied"  # A client's, which a peer without a token is too
    sock.close()
    sock = connected(secured.endpoint, "someone", token="x" * 43)
    assert code(hear(sock)) == "denied"
    sock.close()


def test_strangers_get_nothing(secured):
    public, secret = (half.decode() for half in zmq.curve_keypair())
    wrong = {"public": public, "secret": secret, "server": secured.good["server"]}
    strangers = [connected(secured.tcp, "good"), connected(secured.tcp, "good", wrong),
                 connected(secured.tcp, "good", {**secured.good, "server": public})]
    for stranger in strangers:
        assert hear(stranger, DEAF_MS) is None
        stranger.close()


def test_a_revoked_key_is_out_at_once(secured, keeper):
    sock = welcomed(secured, "late", new_key(secured, "late", "worker"))
    over_ipc = new_key(secured, "local", "worker")
    local = None
    while local is None:  # As above
        local = connected(secured.endpoint, "local", token=over_ipc["token"])
        if hear(local)[0]["type"] != "welcome":
            local = local.close()
    for peer, service in ((sock, "late.work"), (local, "local.work")):
        say(peer, {"type": "serve", "id": "s"}, {"service": service, "slots": 1})
        assert hear(peer)[0]["type"] == "accepted"
        keeper.ask({"type": "a.job", "to": f"service:{service}", "durable": True}, {})
        assert hear(peer)[0]["type"] == "a.job"
    for name in ("late", "local"):
        assert argos(secured.home, "keys", "revoke", name).returncode == 0
        wait_until(lambda: name not in sessions(keeper))  # By an event of the folder: the peers themselves say nothing
    services = keeper.ask({"type": "broker.status", "to": "actor:broker"})[2]["services"]
    assert {item["leased"] for item in services if item["name"] in ("late.work", "local.work")} == {0}
    again = connected(secured.endpoint, "local", token=over_ipc["token"])
    assert code(hear(again)) == "denied"
    for peer in (sock, local, again):
        peer.close()


class Relay:
    """Passes one connection on, and keeps what the client has sent."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = "tcp://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.port, self.sent = port, []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.port))
        threading.Thread(target=self._pass, args=(server, client, None), daemon=True).start()
        self._pass(client, server, self.sent)

    @staticmethod
    def _pass(source, target, kept):
        try:
            while data := source.recv(65536):
                if kept is not None:
                    kept.append(data)
                target.sendall(data)
        except OSError:
            pass
        target.close()


def test_a_replayed_connection_is_nobody(secured, keeper):
    relay = Relay(secured.tcp_port)
    sock = connected(relay.endpoint, "good.replay", secured.good)
    assert hear(sock)[0]["type"] == "welcome"
    sock.close()
    replayed = socket.create_connection(("127.0.0.1", secured.tcp_port), timeout=DEADLINE_S)
    for data in relay.sent:
        try:
            replayed.sendall(data)
        except OSError:
            break
    received = b""
    try:  # The broker's greeting and its share of the handshake, made anew: then it lets go
        while data := replayed.recv(65536):
            received += data
    except OSError:
        pass
    assert b"READY" not in received and b"good.replay" not in received
    replayed.close()
    # A hello that is said again, by the same connection or by another, leaves one session
    sock = welcomed(secured, "good.replay", secured.good)
    hello(sock, "good.replay")
    assert hear(sock)[0]["type"] == "welcome"
    assert list(sessions(keeper)).count("good.replay") == 1
    sock.close()


def serves(daemon):
    """Whether a new peer is taken in and a message accepted."""
    peer = Peer(daemon.endpoint, "honest")
    header, body, _ = inbound("still there?")
    assert peer.ask(header, body)[0]["type"] == "accepted"
    peer.close()


def test_garbage_on_the_port(secured):
    noise = [os.urandom(65536), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" + os.urandom(512),
             b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00CURVE" + bytes(100), b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(44) + b"\x04\xff" * 500]
    for data in noise * 10:
        with socket.create_connection(("127.0.0.1", secured.tcp_port)) as sock:
            try:
                sock.sendall(data)
            except OSError:
                pass
    serves(secured)
    welcomed(secured, "good.after", secured.good).close()


def test_half_open_connections(secured):
    greeting = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x01CURVE" + bytes(15) + bytes(32)
    for batch in range(HALF_OPEN // BATCH):
        opened = []
        for number in range(BATCH):
            sock = socket.create_connection(("127.0.0.1", secured.tcp_port), timeout=DEADLINE_S)
            if number % 2:
                sock.sendall(greeting)  # Half of them begin a handshake
            opened.append(sock)
        if batch % 4 == 0:
            serves(secured)  # While they are open
        for sock in opened:
            sock.close()
    welcomed(secured, "good.late", secured.good).close()
