"""Each process of --isolate is killed under load, the core too: nothing is lost or done twice, and work goes on within 2 s of its return."""
import collections
import functools
import os
import pathlib
import shutil
import signal
import sqlite3
import time
import urllib.request

import pytest

from conftest import Argosd, wait_until
from platform_peer import Platform, message
from test_placement import ACTORS, children

pytestmark = pytest.mark.own_placement

CHATS = 6
RESUME_S = 2.0
CALM = 12  # Answers that show that work goes on


class Load:
    """Each chat says the next line when the one before is answered; every other line runs a tool."""

    def __init__(self, daemon):
        self.platform = Platform(daemon.endpoint, "kill.main", "deliver.test.kill")
        self.asked, self.answers = collections.Counter(), collections.defaultdict(list)
        self.accepted = set()
        self.asked_at, self.slowest = {}, 0.0
        self.times = collections.defaultdict(list)  # Of the answers of a chat
        self.over = False
        for chat in range(CHATS):
            self.ask(chat)

    def ask(self, chat):
        self.asked[chat] += 1
        number = self.asked[chat]
        text = f'!tool terminal {{"command":"echo {number}"}}' if number % 2 else f"line {number}"
        self.asked_at[chat] = time.monotonic()
        self.platform.post(*message("kill", chat, number, text))

    def turn(self):
        for event in self.platform.pump(0.02):
            if event[0] == "accepted":
                self.accepted.add(event[1])
            elif event[0] == "deliver":
                chat, number = int(event[3]["run_id"][4:20], 16), int(event[3]["run_id"][20:], 16)
                self.platform.done(event[2], {"state": "sent", "run_id": event[3]["run_id"]})
                self.hear(chat, number)
        return True

    def hear(self, chat, number):
        if number in self.answers[chat]:
            return  # Its end was not answered: the same delivery, with a higher attempt
        now = time.monotonic()
        self.answers[chat].append(number)
        self.times[chat].append(now)
        self.slowest = max(self.slowest, now - self.asked_at[chat])
        if not self.over:
            self.ask(chat)

    def until(self, condition):
        wait_until(lambda: self.turn() and condition())

    def calm(self):
        """Work goes on: so many more answers. Returns how long the slowest took."""
        count, self.slowest = self.count(), 0.0
        self.until(lambda: self.count() >= count + CALM)
        return self.slowest

    def count(self):
        return sum(map(len, self.answers.values()))

    def resumes(self, back):
        """The time from then until each chat has had two answers: one of the two lines was said after it, one of the two runs a tool."""
        def second(chat):
            later = [at for at in self.times[chat] if at > back]
            return later[1] if len(later) > 1 else None

        self.until(lambda: all(second(chat) for chat in range(CHATS)))
        return max(second(chat) for chat in range(CHATS)) - back

    def finish(self):
        self.over = True
        self.until(lambda: all(len(self.answers[chat]) == self.asked[chat] for chat in range(CHATS)) and not self.platform.open)
        assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in self.answers.values()), self.answers


@pytest.fixture
def isolated(home):
    daemon = Argosd(home)
    daemon.start("--isolate")
    yield daemon
    daemon.close()


def joined(daemon):
    return sum("event=joined" in line for line in list(daemon.log) if line)


def api_answers(daemon):
    request = urllib.request.Request(f"{daemon.url}/v1/runs", headers={"Authorization": f"Bearer {daemon.key}"})
    try:
        with urllib.request.urlopen(request, timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def in_time(what, measure):
    """One of three tries is in time: the machine may stand still for a moment, a wait that is too long is so each time."""
    tries = []
    while not tries or tries[-1][0] > RESUME_S + 2 * tries[-1][1]:
        assert len(tries) < 3, (what, tries)
        tries.append(measure())
        print(f"{what}: work goes on {tries[-1][0]:.2f} s after its return (an ordinary answer takes up to {tries[-1][1]:.2f} s)")


def kill(daemon, load, actor):
    """Kills it; how long work takes to go on, and an ordinary answer."""
    ordinary = load.calm()
    victim, before = children(daemon.process.pid)[actor], joined(daemon)
    os.kill(victim, signal.SIGKILL)
    load.until(lambda: joined(daemon) > before)
    back = time.monotonic()
    resumed = load.resumes(back)
    if actor == "api":
        load.until(lambda: api_answers(daemon))
        resumed = time.monotonic() - back
    assert children(daemon.process.pid)[actor] != victim
    return resumed, ordinary


def test_each_actor_is_killed_under_load(isolated):
    load = Load(isolated)
    for actor in ACTORS:
        in_time(actor, functools.partial(kill, isolated, load, actor))
    load.finish()
    assert isolated.stop() == 0, isolated.text()


def on_disk(home):
    """The ids of the platform that the store has, as its files are now."""
    copy = home / "copy"
    copy.mkdir()
    for path in home.glob("argos.db*"):
        shutil.copy(path, copy)
    with sqlite3.connect(copy / "argos.db") as database:
        ids = {row[0] for row in database.execute("SELECT id FROM seen WHERE id LIKE 'kill:%'")}
    database.close()
    shutil.rmtree(copy)
    return ids


def kill_core(isolated, load):
    ordinary = load.calm()
    pids = children(isolated.process.pid).values()
    os.kill(isolated.process.pid, signal.SIGKILL)
    assert isolated.wait() == -signal.SIGKILL
    load.turn()  # What it had sent
    missing = load.accepted - on_disk(isolated.home)
    assert load.accepted and not missing, f"accepted and not on disk: {missing}"
    wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids))
    isolated.start("--isolate")
    return load.resumes(time.monotonic()), ordinary


def test_the_core_is_killed_under_load(isolated):
    load = Load(isolated)
    in_time("core", lambda: kill_core(isolated, load))
    load.finish()
    assert isolated.stop() == 0, isolated.text()
