"""A soak of the HTTP interface: posts, readers that read, crawl and leave, chats that are given up, bad requests; then the process must be as large as it was.

    python3 tests/system/soak.py [MINUTES]

Every 10 s a line: descriptors, resident memory, what was done. Fails when the fewest descriptors of the last third are more than those
of the second one, or its memory by more than a tenth and 8 MiB.
"""
import http.client
import json
import os
import random
import socket
import statistics
import sys
import tempfile
import threading
import time

from conftest import Argosd
from httpapi import Api

WORKERS = 8


class Soak:
    def __init__(self, daemon):
        self.api = Api(daemon)
        self.port = daemon.port
        self.over = threading.Event()
        self.done = {}
        self.errors = []

    def raw(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", path, json.dumps(body), self.api.headers)
        return connection

    def run(self, rng):
        """A run that is read to its end."""
        events = self.api.finish(self.api.start("hello " + "x" * rng.randrange(2000)))
        assert events[-1]["event"] == "run.completed"

    def crawl(self, rng):
        """A reader that takes a few bytes at a time, and leaves."""
        run = self.api.start(f"!slow {1 + rng.randrange(20)}")
        stream = self.api.stream(run)
        for _ in range(rng.randrange(5)):
            if stream.answer.read(7) == b"":
                break
        stream.close()

    def chat(self, rng):
        """A chat whose client hangs up somewhere."""
        body = {"messages": [{"role": "user", "content": f"!slow {1 + rng.randrange(30)}"}], "stream": rng.random() < 0.5}
        connection = self.raw("/v1/chat/completions", body)
        if rng.random() < 0.5:
            answer = connection.getresponse()
            answer.read() if rng.random() < 0.5 else answer.read(100)
        connection.close()

    def respond(self, rng):
        answer = self.api.call("POST", "/v1/responses", {"input": "hello"})
        assert answer[0] == 200
        if rng.random() < 0.5:
            assert self.api.call("DELETE", "/v1/responses/" + answer[2]["id"])[0] == 200

    def wrong(self, rng):
        assert self.api.call("POST", "/v1/runs", rng.choice(["[", "5", "{}", '{"input":7}']))[0] == 400
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * rng.randrange(8000))

    def stop(self, rng):
        run = self.api.start("!slow 1000")
        assert self.api.call("POST", f"/v1/runs/{run}/stop")[0] == 200
        assert self.api.finish(run)[-1]["event"] == "run.cancelled"

    def work(self, seed):
        rng = random.Random(seed)
        while not self.over.is_set():
            name = rng.choice(["run", "run", "crawl", "chat", "chat", "respond", "wrong", "stop"])
            try:
                getattr(self, name)(rng)
            except Exception as error:  # The soak goes on; what went wrong is told at the end
                self.errors.append(f"{name}: {error!r}")
            self.done[name] = self.done.get(name, 0) + 1


def size(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return len(os.listdir(f"/proc/{pid}/fd")), rss


def main(minutes):
    daemon = Argosd(tempfile.mkdtemp(prefix="argos-soak-")).start()
    soak = Soak(daemon)
    threads = [threading.Thread(target=soak.work, args=(seed,), daemon=True) for seed in range(WORKERS)]
    samples, end = [], time.monotonic() + minutes * 60
    for thread in threads:
        thread.start()
    while time.monotonic() < end and daemon.process.poll() is None:
        soak.over.wait(min(10, max(0.1, end - time.monotonic())))
        samples.append(size(daemon.process.pid))
        print(f"{samples[-1][0]:5} descriptors {samples[-1][1] // 1024:6} MiB  {sum(soak.done.values())} done {len(soak.errors)} errors", flush=True)
    soak.over.set()
    for thread in threads:
        thread.join(60)
    third = max(1, len(samples) // 3)
    fds, rss = zip(*samples)
    middle, last = slice(third, 2 * third), slice(-third, None)
    flat = min(fds[last]) <= min(fds[middle]) + 16  # The low water: what is open at the moment comes and goes
    steady = statistics.median(rss[last]) <= statistics.median(rss[middle]) * 1.1 + 8192
    code = daemon.stop()
    print(json.dumps({"done": soak.done, "errors": soak.errors[:10], "descriptors flat": flat, "memory steady": steady, "exit": code}))
    return 0 if flat and steady and code == 0 and not soak.errors else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30))
