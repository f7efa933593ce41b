"""What the broker shows of itself: argos top, peers, services, trace; and an observer that reads by pattern."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from conftest import BUILD, DEADLINE_S, PLACEMENT
from test_adapter_pyzmq import Peer, inbound


def argos(daemon, *arguments):
    """Run the command line; its exit code and what it printed."""
    done = subprocess.run([str(BUILD / "argos"), "--home", str(daemon.home), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stdout


CAPABILITIES = {"platform": "test", "account": "main", "length": 4096, "unit": "utf16", "edit": True}


def chat(daemon):
    """One message through the gateway and the agent to our delivery; the id of the message."""
    peer = Peer(daemon.endpoint, "test.main")
    peer.send({"type": "credit"}, {"messages": 1000, "bytes": 10_000_000})
    assert peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 4, "capabilities": CAPABILITIES})[0]["type"] == "accepted"
    header, body, _ = inbound("hello")
    assert peer.ask(header, body)[0]["type"] == "accepted"
    _, meta, _ = peer.receive(lambda h, m: h["type"] == "deliver.request")
    done = peer.ask({"type": "done", "seq": meta["seq"], "lease": meta["lease"], "n": 1, "seen": 0}, None, [
        ({"type": "receipt.put", "to": "store", "durable": True}, {"state": "sent", "platform_ids": ["1"]})])
    assert done[0]["type"] == "accepted"
    return peer, header["id"]


def test_top_and_lists_show_peers_and_services(argosd):
    peer, _ = chat(argosd)
    code, out = argos(argosd, "top", "--once", "--json")
    stats = json.loads(out)
    assert code == 0 and stats["totals"]["stored"] > 0
    peers = {row["name"]: row for row in stats["peers"]}
    agent = next(row for name, row in peers.items() if name.split(".")[0].split("@")[0] == "agent")
    assert {"gateway", "test.main"} <= set(peers)
    assert agent["via"] == {"one": "inproc", "isolate": "ipc", "nodes": "tcp"}[PLACEMENT] and peers["test.main"]["via"] == "ipc"
    assert peers["test.main"]["in_messages"] >= 4 and peers["test.main"]["out_bytes"] > 100
    services = {row["name"]: row for row in stats["services"]}
    assert services["deliver.test.main"]["done"] == 1 and services["turn"]["in"] == 1
    assert all(row["waiting"] == 0 and row["oldest_ms"] == 0 for row in services.values())
    code, out = argos(argosd, "top", "--once")
    assert code == 0 and "deliver.test.main" in out and "test.main" in out and "\033" not in out
    code, out = argos(argosd, "peers", "--json")
    assert code == 0 and [row["name"] for row in json.loads(out)["peers"]] == sorted(
        row["name"] for row in json.loads(out)["peers"])
    rows = {row["name"]: row for row in json.loads(out)["peers"]}
    assert rows["test.main"]["capabilities"] == CAPABILITIES and rows["gateway"]["build"].startswith("argos ")
    assert "capabilities" not in rows["gateway"] and rows["gateway"]["build"] in argos(argosd, "peers")[1]
    code, out = argos(argosd, "services")
    assert code == 0 and out.startswith("SERVICE") and "gateway" in out
    # What waits has an age
    assert peer.ask({"type": "serve"}, {"service": "deliver.test.main", "slots": 0})[0]["type"] == "accepted"
    header, body, _ = inbound("once more")
    assert peer.ask(header, body)[0]["type"] == "accepted"
    deadline = time.monotonic() + DEADLINE_S
    while True:
        rows = json.loads(argos(argosd, "services", "--json")[1])["services"]
        row = next(row for row in rows if row["name"] == "deliver.test.main")
        if row["waiting"] == 1 and row["oldest_ms"] > 0:
            break
        assert time.monotonic() < deadline
    peer.close()


def test_trace_shows_every_hop_of_a_chat_message(argosd):
    peer, ident = chat(argosd)
    code, out = argos(argosd, "trace", ident, "--json")
    records = json.loads(out)["records"]
    assert code == 0
    hops = [(record["event"], record.get("type", ""), re.sub(r"([.]\d+)?(@.*)?$", "", record.get("peer", "")), record["depth"])
            for record in records]
    wanted = [("accepted", "message.inbound", "test.main", 0), ("leased", "", "gateway", 0), ("sent", "", "gateway", 0),
              ("accepted", "turn.request", "gateway", 1), ("done", "", "gateway", 0), ("leased", "", "agent", 1),
              ("sent", "", "agent", 1), ("accepted", "deliver.request", "agent", 2), ("done", "", "agent", 1),
              ("leased", "", "test.main", 2), ("sent", "", "test.main", 2), ("done", "", "test.main", 2)]
    for event, type_, peer_, depth in wanted:
        assert any(hop[0] == event and hop[2] == peer_ and hop[3] == depth and (not type_ or hop[1] == type_)
                   for hop in hops), (event, type_, peer_, depth, hops)
    # Of the delivery the same, and for people
    code, out = argos(argosd, "trace", ident)
    assert code == 0 and "deliver.request" in out and "began" in out
    assert argos(argosd, "trace", "nobody")[0] == 1
    assert argos(argosd, "trace")[0] == 2
    peer.close()


def test_an_observer_reads_by_pattern(home, daemon):
    home.joinpath("argos.yaml").write_text("ipc_roles: [adapter, client, tool, observer]\n")
    daemon.start()
    observer = Peer(daemon.endpoint, "watcher")
    observer.send({"type": "credit"}, {"messages": 10000, "bytes": 100_000_000})
    end = observer.ask({"type": "subscribe", "to": "topic:run.*"}, {})
    assert end[0]["type"] == "end" and end[2] == {"n": -1, "closed": False}
    peers = []
    topics = {}
    for _ in range(2):
        peers.append(chat(daemon)[0])
        peers[-1].close()
        while True:
            entry, meta, _ = observer.receive(lambda _, m: m.get("topic", "").startswith("run."))
            topics.setdefault(meta["topic"], []).append(meta["n"])
            if entry["type"] == "run.completed":
                break
    assert len(topics) == 2
    assert all(numbers == list(range(len(numbers))) for numbers in topics.values())
    stats = observer.ask({"type": "broker.stats", "to": "actor:broker"}, {})
    assert stats[0]["type"] == "broker.stats.result" and stats[2]["totals"]["topics"] >= 2
    refused = observer.ask({"type": "subscribe", "to": "topic:run.>.x"}, {})
    assert refused[2]["code"] == "invalid"
    observer.close()


def test_who_is_no_observer_sees_nothing(argosd):
    peer = Peer(argosd.endpoint, "stranger")
    assert peer.ask({"type": "broker.stats", "to": "actor:broker"}, {})[2]["code"] == "denied"
    assert peer.ask({"type": "broker.trace", "to": "actor:broker"}, {"id": "x"})[2]["code"] == "denied"
    assert peer.ask({"type": "subscribe", "to": "topic:>"}, {})[2]["code"] == "denied"
    peer.close()


def test_top_on_a_terminal_sorts_and_leaves_it_as_it_was(argosd):
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    before = termios.tcgetattr(terminal)
    process = subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "top"], stdin=terminal, stdout=terminal,
                               stderr=subprocess.PIPE)
    seen = b""

    def until(text):
        nonlocal seen
        deadline = time.monotonic() + DEADLINE_S
        while text not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([main], [], [], 0.1)[0]:
                seen += os.read(main, 65536)

    until(b"gateway")
    frame = seen[seen.index(b"\033[H"):]
    wide = [line for line in (re.sub(rb"\033\[[HKJ]", b"", line) for line in frame.split(b"\r\n")) if len(line) > 60]
    assert not wide
    os.write(main, b"l")
    until(b"[l]eases")
    seen = b""
    until(b"SERVICE")  # The next second
    os.write(main, b"q")
    until(b"\033[?1049l")
    assert process.wait(DEADLINE_S) == 0, process.stderr.read()
    assert termios.tcgetattr(terminal) == before
    process.stderr.close()
    os.close(main)
    os.close(terminal)


if __name__ == "__main__":
    pytest.main([__file__])


def test_a_service_is_paused_and_a_peer_drained_by_order(argosd):
    peer, _ = chat(argosd)
    assert argos(argosd, "services", "pause", "gateway")[0] == 0
    header, body, _ = inbound("while it is paused")
    assert peer.ask(header, body)[0]["type"] == "accepted"
    code, out = argos(argosd, "services", "--json")
    rows = {row["name"]: row for row in json.loads(out)["services"]}
    assert code == 0 and rows["gateway"]["paused"] and rows["gateway"]["waiting"] == 1
    assert argos(argosd, "services", "drop", "gateway")[0] == 1, "it has messages and workers"
    assert argos(argosd, "peers", "drain", "test.main")[0] == 0
    assert argos(argosd, "services", "resume", "gateway")[0] == 0
    code, out = argos(argosd, "peers", "--json")
    assert next(row for row in json.loads(out)["peers"] if row["name"] == "test.main")["drained"]
    assert argos(argosd, "peers", "resume", "test.main")[0] == 0
    delivered = peer.receive(lambda header, _: header["type"] == "deliver.request")
    assert delivered[2]["text"] == "You said: while it is paused"
    for order in ("drain", "resume"):
        assert argos(argosd, "peers", order, "nobody.here")[0] == 1, "nobody has that name"
    peer.close()
