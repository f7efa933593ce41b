"""A soak of the HTTP interface: posts, readers that read, crawl, take nothing and leave, chats that are given up, bad requests, and wrk
beside them; then the process must be as large as it was.

    python3 tests/system/soak.py [MINUTES]

Every 10 s a line. It fails when
  * the fewest descriptors of the last third are more than 16 above those of the second third (the first one warms up),
  * the memory of the last third (median of what is the process's own: RssAnon) is more than a twentieth and 2 MiB above that of the second,
  * when all clients have gone, a stream is still open or more than 16 descriptors are beyond those before the load,
  * a client has met what it did not expect, or argosd has ended.
"""
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from conftest import ROOT, Argosd
from httpapi import Api

WORKERS = 8
CONNECTIONS = 16  # Of wrk
QUIET_S = 60
KEPT = 16  # Descriptors that may stay open: connections to the model are kept for the next turn, at both ends
SETTINGS = "runs: {retention_s: 60}\nhttp: {keepalive_s: 5}\nagent: {auto_title: false}\n"


class Soak:
    def __init__(self, daemon):
        self.api = Api(daemon)
        self.port = daemon.port
        self.over = threading.Event()
        self.done = {}
        self.errors = []

    def raw(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
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

    def deaf(self, rng):
        """A reader that takes nothing of a long answer for a while, and leaves, or is cut."""
        run = self.api.start("hello " + "y" * 200000)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.settimeout(30)
            client.connect(("127.0.0.1", self.port))
            head = f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.api.daemon.key}\r\n\r\n"
            client.sendall(head.encode())
            assert client.recv(64).startswith(b"HTTP/1.1 200")
            self.over.wait(rng.random() * 12)

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
            name = rng.choice(["run", "run", "crawl", "deaf", "chat", "chat", "respond", "wrong", "stop"])
            try:
                getattr(self, name)(rng)
            except Exception as error:  # The soak goes on; what went wrong is told at the end
                self.errors.append(f"{name}: {error!r}")
            self.done[name] = self.done.get(name, 0) + 1

    def metric(self, name):
        text = self.api.call("GET", "/metrics")[2]
        return int(float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1]))


def size(pid):
    """Descriptors, and KiB of memory that is the process's own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        anonymous = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    return len(os.listdir(f"/proc/{pid}/fd")), anonymous


def start_wrk(soak, minutes):
    """wrk reads a run that is kept open, so that it outlives its retention."""
    held = soak.api.start("!hang")
    wrk = subprocess.Popen(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, int(minutes * 60) - 5)}s", "--timeout", "20s", "-s", str(ROOT / "tests/system/soak.lua"),
                            f"http://127.0.0.1:{soak.port}", "--", held, soak.api.daemon.key], stdout=subprocess.PIPE, text=True)
    return held, wrk


def wait_quiet(soak, pid, before):
    """All clients have gone: what is left of them, when it has settled or the patience is over."""
    end = time.monotonic() + QUIET_S
    while True:
        streams, descriptors = soak.metric("argos_http_streams"), size(pid)[0]
        if (streams == 0 and descriptors <= before) or time.monotonic() > end:
            return streams, descriptors
        threading.Event().wait(0.5)


def verdict(name, good, words):
    print(f"{'ok    ' if good else 'FAILED'} {name}: {words}", flush=True)
    return good


def judge(soak, samples, before, after, wrk_said):
    third = max(1, len(samples) // 3)
    fds, memory = zip(*samples)
    middle, last = slice(third, 2 * third), slice(-third, None)
    was, now = statistics.median(memory[middle]), statistics.median(memory[last])
    errors = re.search(r"Socket errors: (.*)", wrk_said)
    total = re.search(r"(\d+) requests in", wrk_said)
    return all([
        verdict("descriptors", min(fds[last]) <= min(fds[middle]) + 16, f"fewest {min(fds[middle])} in the second third, {min(fds[last])} in the last"),
        verdict("memory", now <= was * 1.05 + 2048, f"median {was / 1024:.1f} MiB in the second third, {now / 1024:.1f} MiB in the last"),
        verdict("afterwards", after[0] == 0 and after[1] <= before, f"{after[0]} streams; {before} descriptors before the load, {after[1]} after it"),
        verdict("wrk", bool(total) and not errors, f"{total[1] if total else 0} requests; socket errors: {errors[1] if errors else 'none'}"),
        verdict("clients", not soak.errors, f"{sum(soak.done.values())} {json.dumps(soak.done)}; errors: {soak.errors[:5] or 'none'}"),
    ])


def main(minutes):
    daemon = Argosd(tempfile.mkdtemp(prefix="argos-soak-"))
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(SETTINGS)
    daemon.start()
    soak, pid = Soak(daemon), daemon.process.pid
    soak.api.finish(soak.api.start("warm up"))
    before = size(pid)[0] + KEPT
    held, wrk = start_wrk(soak, minutes)
    threads = [threading.Thread(target=soak.work, args=(seed,), daemon=True) for seed in range(WORKERS)]
    samples, begin, end = [], time.monotonic(), time.monotonic() + minutes * 60
    print("   min  descriptors  memory  streams  done  errors")
    for thread in threads:
        thread.start()
    while time.monotonic() < end and daemon.process.poll() is None:
        soak.over.wait(min(10, max(0.1, end - time.monotonic())))
        samples.append(size(pid))
        print(f"{(time.monotonic() - begin) / 60:6.1f} {samples[-1][0]:12} {samples[-1][1] / 1024:6.1f}M {soak.metric('argos_http_streams'):8} "
              f"{sum(soak.done.values()):5} {len(soak.errors):7}", flush=True)
    soak.over.set()
    for thread in threads:
        thread.join(60)
    wrk_said = wrk.communicate(timeout=120)[0]
    soak.api.call("POST", f"/v1/runs/{held}/stop")
    after = wait_quiet(soak, pid, before)
    good = judge(soak, samples, before, after, wrk_said)
    code = daemon.stop()
    return 0 if verdict("argosd", code == 0, f"exit code {code}") and good else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30))
