"""Chaos on a chat platform: messages in and answers out, under all faults at once, while the adapter is killed again and again.

    chaos.py [telegram|discord|slack] [MESSAGES [SEED [KILL_S]]]

argosd runs with --isolate, so that the adapter is a process of its own: that one gets kill -9. Counted at the end, of each message: how many turns
it made (one), and what became of the answer: there once; there more than once, all but one marked as a possible repetition; or reported as
unknown (Discord and Slack can tell whether it is there, so neither a mark nor a second one is good there). Anything else (missing, twice without a mark, two turns) fails.
So does a text that is left over from while it was being written, but: in groups of Telegram nobody can tell whether the first one was sent when the
adapter is killed, or its answer is lost, at that moment (at most as many as kills and faults); Slack may take it after the answer of the next life of
the adapter has looked for it (at most as many as kills).

The verdict is a table; --json: one document.
"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
from conftest import BUILD, Argosd  # noqa: E402
from chaos_worlds import WORLDS  # noqa: E402

AHEAD = 200  # Messages without an answer at a time
STRIDE = 20  # And looked at so often
LOOK_S = 0.3
KILLED_S = 60  # After everything was said


def children(pid, words):
    """Processes below pid whose command line has these words."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                if words in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode():
                    found.append(int(child))
            except OSError:
                pass
    return found


class Killer(threading.Thread):
    """kill -9 of the adapter every `every` seconds, once it is there."""

    def __init__(self, daemon, adapter, every):
        super().__init__(daemon=True)
        self.adapter = adapter
        self.process, self.every, self.kills, self.end = daemon.process.pid, every, 0, threading.Event()

    def run(self):
        while not self.end.wait(self.every):
            for pid in children(self.process, f"--only {self.adapter}"):
                os.kill(pid, signal.SIGKILL)
                self.kills += 1


class Chaos:
    def __init__(self, platform, messages, seed, every, rate=0.08):
        self.platform, self.messages, self.random, self.every, self.rate, self.seed = platform, messages, random.Random(seed), every, rate, seed

    def run(self, home):
        self.world = WORLDS[self.platform](min(50, self.messages), self.rate, self.seed)
        (pathlib.Path(home) / "argos.yaml").write_text(f"platforms:\n  {self.platform}:\n    {self.world.settings}")
        daemon = Argosd(home)
        daemon.start("--isolate", env=self.world.env)
        try:
            if self.platform != "telegram":
                daemon.wait_log("event=connected")  # What is said before there is a session for it is not heard
            killer = Killer(daemon, f"{self.platform}.main", self.every)
            killer.start()
            begun = time.monotonic()
            self.talk()
            self.settle(lambda: self.answered() >= self.messages, KILLED_S)
            killer.end.set()  # It is started again later each time: what is left would take ever so long
            killer.join()
            self.settle(lambda: self.answered() >= self.messages, 600)
            seconds = time.monotonic() - begun
            self.world.clear()
            self.settle(lambda: not self.waiting(daemon), 120)
            report = {"platform": self.platform, **self.count(daemon), "kills": killer.kills, "faults": self.world.faults_met(),
                      "seconds": round(seconds, 1), "a_second": round(self.messages / seconds, 1)}
            report["wrong"] = list(self.faults_of(report))
            assert daemon.stop() == 0, daemon.text()
            return report
        finally:
            daemon.close()
            self.world.end()

    def talk(self):
        for number in range(self.messages):
            if number % STRIDE == 0:
                self.settle(lambda number=number: self.answered() > number - AHEAD, 600)
            self.world.say(number, f"m{number}. and some more words, so that it is shown while it is written", self.random.random() < 0.1)

    def settle(self, condition, deadline_s):
        """Wait; whatever is late is found by the count. All that was said is read for it: now and then, and not while the fake waits."""
        end = time.monotonic() + deadline_s
        while not condition() and time.monotonic() < end:
            time.sleep(LOOK_S)

    def said(self):
        """{number of a message: [texts of bots about it]}."""
        found = {}
        for text in self.world.texts():
            number = re.search(r"m(\d+)\.", text)
            if number:
                found.setdefault(int(number.group(1)), []).append(text)
        return found

    def answered(self):
        return sum(any("\u258c" not in text for text in texts) for texts in self.said().values())

    def query(self, daemon, sql):
        done = subprocess.run([BUILD / "argos", "db", "query", sql, "--json", "--home", daemon.home], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]

    def waiting(self, daemon):
        done = subprocess.run([BUILD / "argos", "services", "--json", "--home", daemon.home], capture_output=True, text=True, check=True)
        rows = json.loads(done.stdout)
        rows = rows.get("services", rows) if isinstance(rows, dict) else rows
        return sum(row["waiting"] for row in rows if row["name"] in (f"deliver.{self.platform}.main", "gateway", "turn"))

    def count(self, daemon):
        said = self.said()
        runs = self.query(daemon, "SELECT count(*) AS runs FROM runs")
        report = {"messages": self.messages, "runs": next(iter(self.values(runs))), "once": 0, "marked": 0, "unknown": 0, "missing": [],
                  "twice": [], "drafts_left": 0}
        unknown = next(iter(self.values(self.query(daemon, "SELECT count(*) AS n FROM receipts WHERE state = 'unknown'"))))
        for number in range(self.messages):
            texts = said.get(number, [])
            final = [text for text in texts if "\u258c" not in text]
            plain = [text for text in final if not self.world.mark or not text.startswith(self.world.mark)]
            report["drafts_left"] += len(texts) - len(final)
            if not final:
                report["missing"].append(number)
            elif len(plain) > 1:
                report["twice"].append((number, texts))
            elif len(final) == 1:
                report["once"] += 1
            else:
                report["marked"] += 1
        report["unknown"] = unknown
        return report

    def faults_of(self, report):
        """What must not be, in words."""
        allowed = sum(report[why] for why in self.world.drafts_stay)
        if report["runs"] != self.messages:
            yield f"{report['runs']} turns were made of {self.messages} messages"
        if len(report["missing"]) > report["unknown"]:
            yield f"{len(report['missing'])} answers are missing, {report['unknown']} are reported as unknown: {report['missing'][:20]}"
        if report["twice"]:
            yield f"{len(report['twice'])} answers are there twice without a mark: {report['twice'][:3]}"
        if report["drafts_left"] > allowed:
            yield f"{report['drafts_left']} texts are left over from while they were written"

    @staticmethod
    def values(rows):
        """Whatever the form of a result is, its numbers."""
        for row in rows:
            for value in row.values() if isinstance(row, dict) else row:
                if isinstance(value, int):
                    yield value
                elif isinstance(value, list):
                    yield from Chaos.values(value)


def show(report):
    rows = (("messages", "messages"), ("turns", "runs"), ("answers there once", "once"), ("marked as possible repetitions", "marked"),
            ("reported as unknown", "unknown"), ("missing", "missing"), ("twice without a mark", "twice"), ("left over from while they were written", "drafts_left"),
            ("kill -9 of the adapter", "kills"), ("other faults", "faults"), ("seconds", "seconds"))
    print(f"chaos on {report['platform']}")
    for name, member in rows:
        value = report[member]
        print(f"  {name:40} {len(value) if isinstance(value, list) else value}")
    for line in report["wrong"]:
        print(f"  WRONG: {line}")
    print("  FAILED" if report["wrong"] else "  nothing lost, nothing twice unmarked")


def main():
    words = [word for word in sys.argv[1:] if word != "--json"]
    platform = words.pop(0) if words and words[0] in WORLDS else "telegram"
    numbers = [int(word) for word in words]
    messages, seed, every = (numbers + [5000, 1, 2][len(numbers):])[:3]
    with tempfile.TemporaryDirectory(prefix="argos-") as home:
        report = Chaos(platform, messages, seed, every).run(home)
    if "--json" in sys.argv:
        print(json.dumps(report))
    else:
        show(report)
    sys.exit(1 if report["wrong"] else 0)


if __name__ == "__main__":
    main()
