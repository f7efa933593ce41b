"""Services: what was paused stays so, and who is put out hears why."""
import json
import os
import subprocess

from conftest import BUILD, DEADLINE_S
from test_adapter_pyzmq import Peer
from test_gateway import Chat


def argos(daemon, *words):
    return subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), *words], check=True, text=True, capture_output=True,
                          timeout=DEADLINE_S).stdout


def paused(peer):
    services = peer.ask({"type": "broker.status", "to": "actor:broker"}, {})[2]["services"]
    return {row["name"] for row in services if row["paused"]}


def test_a_pause_holds_over_a_restart(daemon):
    daemon.start()
    chat = Chat(daemon)
    for name in ("turn", "deliver.test.main"):
        argos(daemon, "services", "pause", name)
    chat.peer.close()
    assert daemon.stop() == 0
    daemon.start()
    chat = Chat(daemon)
    assert paused(chat.peer) == {"turn", "deliver.test.main"}
    run = chat.say("hello")
    argos(daemon, "services", "resume", "turn")
    argos(daemon, "services", "resume", "deliver.test.main")
    assert chat.answer(run)["text"] == "You said: hello"
    assert not paused(chat.peer)
    chat.peer.close()
    assert daemon.stop() == 0


def test_who_is_put_out_hears_why(daemon):
    """Also when the core takes a while to write it."""
    daemon.start(env={"LD_PRELOAD": str(BUILD / "tests" / "libargos_send_shim.so"),
                      "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    argos(daemon, "keys", "new", "visitor", "--role", "client")
    token = json.loads((daemon.home / "keys" / "visitor.key").read_text())["token"]
    peer = Peer(daemon.endpoint, "visitor", token)
    argos(daemon, "keys", "revoke", "visitor")
    told = peer.receive(lambda header, _: header["type"] == "refused" and "re" not in header)
    assert told[2]["code"] == "denied" and "revoked" in told[2]["reason"]
    peer.socket.close()
    assert daemon.stop() == 0
