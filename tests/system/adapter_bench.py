"""What an adapter costs, on the fake of its platform: messages in and out a second, private memory, processor time when nothing happens.

    adapter_bench.py [telegram|discord|slack]... [MESSAGES]

argosd runs with --isolate, so that the adapter is a process of its own. In: people write, until each message is a run. Out: deliveries that nobody has
asked for, until the fake has each. Memory is what is private and dirty (smaps), idle and three seconds after the messages; the target is 4 MiB. The fakes are
Python and take more time than the adapter: the rates are a lower bound.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
from conftest import BUILD, Argosd  # noqa: E402
from chaos import children  # noqa: E402
from chaos_worlds import WORLDS  # noqa: E402
from test_adapter_pyzmq import Peer  # noqa: E402

LIMIT_KIB = 4096
CHATS = 20
IDLE_S = 10


def private_kib(pid):
    return int(re.search(r"Private_Dirty:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()).group(1))


def ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def until(world, condition, deadline_s=120):
    with world.lock:
        end = time.monotonic() + deadline_s
        while not condition():
            assert time.monotonic() < end, "it took too long"
            world.lock.wait(0.05)


def runs(daemon):
    """How many messages have become runs."""
    done = subprocess.run([BUILD / "argos", "db", "query", "SELECT count(*) AS runs FROM runs", "--json", "--home", daemon.home], capture_output=True,
                          text=True, check=True)
    return int(re.search(r"\d+", done.stdout.splitlines()[-1]).group())


def inbound(world, daemon, messages):
    begun = time.monotonic()
    for number in range(messages):
        world.say(number, f"m{number}.", False)
    while runs(daemon) < messages:
        time.sleep(0.02)  # Another process is asked: there is nothing to wait for
    return messages / (time.monotonic() - begun)


def outbound(world, daemon, platform, messages):
    peer = Peer(daemon.endpoint, "ops.bench", daemon.operator)
    before, begun = len(world.texts()), time.monotonic()
    for number in range(messages):
        chat = world.target(number)
        header = {"type": "deliver.request", "to": f"service:deliver.{platform}.main", "key": chat, "durable": True, "id": f"bench{number}"}
        assert peer.ask(header, {"kind": "notice", "text": f"notice {number}", "chat_id": chat})[0]["type"] == "accepted"
    until(world, lambda: len(world.texts()) >= before + messages)
    peer.close()
    return messages / (time.monotonic() - begun)


def measure(platform, messages, home):
    world = WORLDS[platform](CHATS, 0, 1)
    world.clear()
    (pathlib.Path(home) / "argos.yaml").write_text(f"platforms:\n  {platform}:\n    drafts: false\n    {world.settings}")
    daemon = Argosd(home)
    daemon.start("--isolate", env=world.env)
    try:
        daemon.wait_log(f"actor={platform}.main event=serving")
        time.sleep(3)
        pid = children(daemon.process.pid, f"--only {platform}.main")[0]
        idle, before = private_kib(pid), ticks(pid)
        time.sleep(IDLE_S)
        report = {"platform": platform, "idle_ticks": ticks(pid) - before, "idle_kib": idle}
        report["in_a_second"] = round(inbound(world, daemon, messages))
        until(world, lambda: sum("m" in text for text in world.texts()) >= messages)
        report["out_a_second"] = round(outbound(world, daemon, platform, messages))
        time.sleep(3)
        report["after_kib"] = private_kib(pid)
        report["good"] = report["after_kib"] <= LIMIT_KIB and report["idle_ticks"] <= 1
        assert daemon.stop() == 0, daemon.text()
        return report
    finally:
        daemon.close()
        world.end()


def main():
    names = [word for word in sys.argv[1:] if word in WORLDS] or list(WORLDS)
    messages = next((int(word) for word in sys.argv[1:] if word.isdigit()), 1000)
    good = True
    for name in names:
        with tempfile.TemporaryDirectory(prefix="argos-") as home:
            report = measure(name, messages, home)
        print(json.dumps(report), flush=True)
        good = good and report["good"]
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
