"""kill -9 of argosd at random instants while background jobs are started, run and end, and what must hold afterwards.

jobloop.py [JOBS] [KILLS] [SEED]: prints the seed. Each job ran exactly once, has its true exit code and its complete output, and its chat
was told of its end exactly once. `load` busy processes keep the machine from being idle.
"""
import collections
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from conftest import Argosd
from platform_peer import Platform, message
from test_adapter_pyzmq import Peer

CHATS = 20
CALM_S = (0.1, 1.5)  # Between two kills
JOB_S = 2.0  # Longest sleep of a job
OUTPUT_MAX = 40000  # Bytes of a job
KEPT = 65536  # Bytes of output that are kept
FLOOD = 10 << 30  # Bytes of the one that floods
FLOOD_S = 300
END_S = 240
SETTINGS = """provider: {kind: rehearsal}
gateway: {queue_max: 10000}
jobs: {max_tracked: 10000, max_per_session: 10000, max_per_owner: 10000, keep_s: 86400, output_max: %d}
broker: {lease_ms: 2000, quiet_ms: 1000, ping_ms: 500}
""" % KEPT


class Client(Platform):
    """The platform, which also starts jobs: with the operator's token, which is another at each start of argosd."""

    def __init__(self, daemon):
        self.daemon = daemon
        super().__init__(daemon.endpoint, "test.loop", "deliver.test.loop")

    def _word(self, header, body=None):
        if header["type"] == "hello":
            body = {**body, "token": self.daemon.operator}
        super()._word(header, body)

    def _refused(self, header, body):
        if body["code"] == "denied":  # The token was that of the start before
            self._connect()
            return "another token"
        return super()._refused(header, body)


class JobLoop:
    def __init__(self, folder, jobs, kills, seed, load=2):
        self.folder, self.count, self.kills = pathlib.Path(folder), jobs, kills
        self.random = random.Random(seed)
        self.daemon = Argosd(self.folder / "home")
        self.daemon.home.mkdir(parents=True)
        (self.daemon.home / "argos.yaml").write_text(SETTINGS)
        self.ran = self.folder / "ran"
        self.ran.mkdir()
        self.jobs = {}  # id -> (number, code, bytes, chat)
        self.sessions = {}  # chat -> session
        self.heard = collections.defaultdict(dict)  # run -> {delivery: (chat, text)}
        self.load = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(load)]

    def job(self, number):
        code, size, chat = self.random.randrange(4), self.random.randrange(OUTPUT_MAX), self.random.randrange(CHATS)
        name = f"{number + 1:012x}"
        command = (f"echo x >> {self.ran}/{name}; sleep {self.random.uniform(0, JOB_S):.2f}; "
                   f"yes {number} | head -c {size}; exit {code}")
        self.jobs[name] = (number, code, size, chat)
        header = {"type": "job.start", "to": "service:job", "id": f"job:{number}", "key": str(chat), "durable": True}
        self.client.post(header, {"command": command, "id": name, "session_id": self.sessions[chat]})

    def pump(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            for event in self.client.pump(0.05):
                if event[0] == "deliver":
                    _, header, _, body = event
                    self.heard[body.get("run_id")][header["id"]] = (body["chat_id"], body["text"])
                    self.client.done(event[2], {"state": "sent"})
        return until()

    def open_sessions(self):
        for chat in range(CHATS):
            self.client.post(*message("loop", chat, 0, "hello"))
        assert self.pump(END_S, lambda: not self.client.pending)
        peer = Peer(self.daemon.endpoint, "look", self.daemon.operator)
        for chat in range(CHATS):
            def session():
                run = peer.ask({"type": "run.get", "to": "store"}, {"run_id": f"run_{chat:016x}{0:016x}"})[2]["run"]
                return run and run.get("session_id")
            assert self.pump(END_S, session)
            self.sessions[chat] = session()
        peer.close()

    def run(self):
        self.daemon.start()
        self.client = Client(self.daemon)
        self.open_sessions()
        killed = started = 0
        while killed < self.kills or started < self.count:
            wanted = self.count if killed >= self.kills else self.count * (killed + 1) // max(self.kills, 1)
            while started < min(wanted, self.count):
                self.job(started)
                started += 1
            self.pump(self.random.uniform(*CALM_S))
            if killed < self.kills:
                self.daemon.kill()
                self.daemon.start()
                killed += 1
        assert self.pump(END_S, lambda: not self.client.pending), f"{len(self.client.pending)} starts were not accepted"
        self.settle()

    def rows(self):
        peer = Peer(self.daemon.endpoint, "look", self.daemon.operator)
        header, _, body = peer.ask({"type": "job.list", "to": "service:job", "ttl_ms": 20000}, {"limit": 1000})
        assert header["type"] == "job.result", body
        rows = {row["id"]: row for row in body["jobs"]}
        for name in set(self.jobs) - set(rows):  # A list has 1,000
            answer = peer.ask({"type": "job.output", "to": "service:job"}, {"id": name})
            if answer[0]["type"] == "job.result":
                rows[name] = answer[2]["job"]
        peer.close()
        return rows

    def settle(self):
        end = time.monotonic() + END_S
        while True:
            rows = self.rows()
            open_ = [name for name in self.jobs if name not in rows or not rows[name]["followed_up"]]
            if not open_:
                heard = {row["followup"] for row in rows.values() if "followup" in row}
                assert self.pump(END_S, lambda: heard <= set(self.heard)), "an answer was not delivered"
                self.pump(1)  # What would come twice
                return
            assert time.monotonic() < end, f"{len(open_)} jobs are not over: {[(name, rows.get(name)) for name in open_[:3]]}"
            self.pump(0.5)

    def check(self):
        """Everything that must hold; returns what does not."""
        wrong = []
        rows = self.rows()
        told = collections.defaultdict(list)  # job -> [(run, chat)] of each delivery that names it
        for run, deliveries in self.heard.items():
            for where, text in deliveries.values():
                for name in re.findall(r"\[Background job ([0-9a-f]{12}) finished\]", text):
                    told[name].append((run, where))
        for name, (number, code, size, chat) in self.jobs.items():
            times = (self.ran / name).read_text() if (self.ran / name).exists() else ""
            row = rows[name]
            if times != "x\n":
                wrong.append(f"{name} ran {len(times) // 2} times")
            if row["exit_code"] != code or row["status"] != ("failed" if code else "done"):
                wrong.append(f"{name} has {row}, expected code {code}")
            if row.get("output_bytes", 0) != size:
                wrong.append(f"{name} wrote {row.get('output_bytes')} of {size} bytes")
            if told[name] != [(row.get("followup"), str(chat))]:
                wrong.append(f"{name} was told {told[name]}, expected once, by {row.get('followup')} in {chat}")
        return wrong

    def flood(self, size=FLOOD):
        """One job writes 10 GB: it comes to its end, every byte is counted, and the disk holds what is kept. Returns what is wrong."""
        def ask(kind, body):  # Each as a peer of its own: the broker of these settings forgets within a second who says nothing
            peer = Peer(self.daemon.endpoint, "flood", self.daemon.operator)
            answer = peer.ask({"type": kind, "to": "service:job", "ttl_ms": 20000}, body)[2]
            peer.close()
            return answer

        body = {"command": f"head -c {size} /dev/zero; echo the end; exit 7"}
        name = ask("job.start", body)["job"]["id"]
        row, end = {"status": "running"}, time.monotonic() + FLOOD_S
        while row["status"] == "running" and time.monotonic() < end:
            row = ask("job.wait", {"id": name, "timeout_ms": 500})["job"]
        output = ask("job.output", {"id": name})
        disk = sum(file.stat().st_blocks * 512 for file in (self.daemon.tools_home / "jobs" / name).iterdir())
        total = size + len("the end\n")
        good = (row.get("exit_code") == 7 and output["total"] == total and output["dropped"] == total - KEPT
                and output["text"].endswith("the end\n") and disk <= KEPT + 4 * 4096)
        return [] if good else [f"{name} has {row}, {output['total']} bytes of {total}, dropped {output['dropped']}, {disk} bytes on the disk"]

    def close(self):
        for process in self.load:
            process.kill()
            process.wait()
        client = getattr(self, "client", None)
        if client:
            client.close()
        self.daemon.close()


def main(jobs, kills, seed):
    folder = tempfile.mkdtemp(prefix="argos-jobs-")
    print(f"jobs={jobs} kills={kills} seed={seed} folder={folder}", flush=True)
    loop = JobLoop(folder, jobs, kills, seed)
    begun = time.monotonic()
    try:
        loop.run()
        wrong = loop.check()
        print(f"{time.monotonic() - begun:.0f} s, {len(wrong)} wrong; now one of 10 GB", flush=True)
        wrong += loop.flood()
        code = loop.daemon.stop()
    finally:
        loop.close()
    print(f"{time.monotonic() - begun:.0f} s, exit code {code}, {len(wrong)} wrong")
    for line in wrong[:20]:
        print("  " + line)
    if not wrong and code == 0:
        shutil.rmtree(folder)
    return 1 if wrong or code else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 100,
                  int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)))
