"""A worker that sleeps past its lease (SIGSTOP) and wakes up: its commit is refused as fenced and changes no row."""
import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import threading

from platform_peer import Platform, message
from test_adapter_pyzmq import Peer

#  Leases one delivery, says so, waits for a line on stdin, ends the lease, says what was answered. The session may have ended
#  meanwhile: then it says hello again with the lease in hand, is told that the lease is lost, and tries all the same.
WORKER = """
import json, sys
from test_adapter_pyzmq import Peer
peer = Peer(sys.argv[1], "sleepy.worker")
peer.ask({"type": "serve"}, {"service": "deliver.test.fence", "slots": 1})
header, meta, body = peer.receive(lambda h, m: h["type"] == "deliver.request")
print(json.dumps(meta), flush=True)
sys.stdin.readline()
def done():
    answer = peer.ask({"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}, None, [
        ({"type": "receipt.put", "to": "store", "durable": True}, {"state": "sent", "platform_ids": ["sleepy"]})])
    return answer[2]["code"] if answer[0]["type"] == "refused" else answer[0]["type"]
said = [done()]
if said == ["no_session"]:
    lease = {"seq": meta["seq"], "lease": meta["lease"]}
    hello = {"name": "sleepy.worker", "instance": int(sys.argv[2]), "protocol": 1, "leases": [lease]}
    said += [peer.ask({"type": "hello"}, hello)[2]["leases"][0]["state"], done()]
print(json.dumps(said), flush=True)
"""


def test_a_worker_that_slept_past_its_lease_is_fenced(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(
        "provider: {kind: rehearsal}\nbroker: {lease_ms: 1500, quiet_ms: 800, ping_ms: 200}\n")
    daemon.start()
    sender = Platform(daemon.endpoint, "fence.sender", "deliver.test.fence", slots=0)  # Declares it, takes nothing
    sender.post(*message("fence", 1, 1, "hello"))
    while sender.pending:
        sender.pump()
    sleepy = subprocess.Popen([sys.executable, "-B", "-c", WORKER, daemon.endpoint, str(1 << 50)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, cwd=pathlib.Path(__file__).parent)
    watchdog = threading.Timer(40, sleepy.kill)
    watchdog.start()
    try:
        assert '"attempt": 1' in sleepy.stdout.readline()
        sleepy.send_signal(signal.SIGSTOP)

        # Another worker gets the message when the lease has ended, and ends it
        other = Platform(daemon.endpoint, "awake.worker", "deliver.test.fence")
        leased = None
        while leased is None:
            sender.pump(0)
            leased = next((event for event in other.pump() if event[0] == "deliver"), None)
        assert leased[2]["attempt"] == 2
        other.done(leased[2], {"state": "sent", "platform_ids": ["awake"]})
        while other.open:
            other.pump()

        sleepy.send_signal(signal.SIGCONT)
        sleepy.stdin.write("\n")
        sleepy.stdin.flush()
        said = json.loads(sleepy.stdout.readline())
        assert said in (["fenced"], ["no_session", "lost", "fenced"])
        assert sleepy.wait(20) == 0
    finally:
        watchdog.cancel()
        sleepy.kill()
        sleepy.wait()
    other.close()
    sender.close()
    assert daemon.stop() == 0
    database = sqlite3.connect(daemon.home / "argos.db")
    assert database.execute("SELECT sender, platform_ids FROM receipts").fetchall() == [("awake.worker", '["awake"]')]
    assert database.execute("SELECT count (*) FROM queue").fetchone() == (0,)


def test_a_lease_that_is_not_ones_own_is_fenced(argosd):
    peer = Peer(argosd.endpoint, "liar")
    answer = peer.ask({"type": "done", "seq": 1, "lease": 1, "n": 1, "seen": 0})
    assert answer[0]["type"] == "refused" and answer[2]["code"] == "fenced"
    peer.close()
