"""kill -9 of argosd and of its client at random instants of a stream of turns with tools, and what must hold afterwards.

killloop.py [KILLS] [SEED]: prints the seed; with the same seed the same victims die after the same times.
"""
import collections
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from conftest import Argosd

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "model"))
import replay  # noqa: E402

CHATS = 6
CALM_S = (0.05, 1.2)  # Between two kills
CLIENT_SHARE = 0.3
END_S = 120
SETTINGS = """provider: {kind: rehearsal}
gateway: {queue_max: 1000}
broker: {lease_ms: 2000, quiet_ms: 1000, ping_ms: 500}
log: {level: warn}
"""


class KillLoop:
    chats = CHATS

    def __init__(self, folder, seed):
        self.folder, self.seed = pathlib.Path(folder), seed
        self.random = random.Random(seed)
        self.log = self.folder / "log"
        self.daemon = Argosd(self.folder / "home")
        self.client = None
        self.kills = collections.Counter()

    def prepare(self):
        self.log.mkdir()
        self.daemon.home.mkdir(exist_ok=True)
        (self.daemon.home / "argos.yaml").write_text(SETTINGS)
        for name in ("sent", "accepted", "world", "tools", "refused"):
            (self.log / name).touch()
        self.daemon.start()
        assert self.daemon.stop() == 0, self.daemon.text()
        self.record()
        self.daemon.start()
        self.start_client()

    def record(self):
        """From now on the database writes each change of the queue into a history, in the transaction of the change."""
        database = sqlite3.connect(self.daemon.home / "argos.db")
        database.executescript(replay.TRIGGERS)
        database.close()

    def start_client(self):
        script = pathlib.Path(__file__).with_name("killloop_client.py")
        command = [*self.client_prefix(), sys.executable, "-B", str(script), str(self.daemon.home), str(self.log), str(self.seed), str(self.chats),
                   *self.client_door()]
        self.client = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def client_prefix(self):
        """Words before its command."""
        return []

    def client_door(self):
        """Endpoint and key file; none: the ipc socket of the home."""
        return []

    def kill_one(self):
        # The one use of time itself: the instant of a kill is to be any
        time.sleep(self.random.uniform(*CALM_S))
        assert self.client.poll() is None, "the client has failed"
        assert self.daemon.process.poll() is None, f"argosd has ended by itself:\n{self.daemon.text()}"
        if self.random.random() < CLIENT_SHARE:
            self.kills["client"] += 1
            self.client.kill()
            self.client.wait()
            self.start_client()
        else:
            self.kills["argosd"] += 1
            self.daemon.kill()
            self.daemon.start()

    def run(self, kills):
        self.prepare()
        for _ in range(kills):
            self.kill_one()
        self.finish()

    def finish(self):
        """Nothing more is sent; wait until everything is delivered."""
        (self.log / "stop").touch()
        assert self.client.wait(END_S) == 0
        assert self.daemon.stop() == 0, self.daemon.text()

    def close(self):
        if self.client and self.client.poll() is None:
            self.client.kill()
            self.client.wait()
        self.daemon.close()

    def told(self):
        return f"{self.kills['argosd']} kills of argosd, {self.kills['client']} of the client"

    # What must hold

    def lines(self, name):
        return [line.split() for line in (self.log / name).read_text().splitlines()]

    def check(self):
        """Raises AssertionError; returns what is worth telling."""
        database = sqlite3.connect(self.daemon.home / "argos.db")
        number = lambda sql: database.execute(sql).fetchone()[0]
        sent = [(int(chat), int(n)) for chat, n in self.lines("sent")]
        assert number("SELECT count (*) FROM queue") == 0, "something is left in the queue"
        assert number("SELECT count (*) FROM dead") == 0, "something was given up"
        marked = self.check_deliveries(database, sent)
        events = replay.check(replay.Event(*row) for row in database.execute(
            "SELECT what, row, lane, lease, holder, attempt, n FROM history ORDER BY number"))
        lost = self.check_tools()
        unknown = self.check_transcripts(database, sent)
        return (f"{len(sent)} turns, {self.told()}, {marked} second effects marked, {lost} tools not run, "
                f"{unknown} tool results unknown, {events} changes of the queue that the model has")

    def check_deliveries(self, database, sent):
        """One final delivery for each message; a second effect only with a higher attempt; the order of each chat."""
        seqs, attempts, order = collections.defaultdict(set), collections.defaultdict(list), collections.defaultdict(list)
        for chat, number, seq, attempt, kind in self.lines("world"):
            assert kind == "answer", f"{chat}:{number} ended as {kind}"
            key = (int(chat), int(number))
            seqs[key].add(seq)
            attempts[key].append(int(attempt))
            if len(attempts[key]) == 1:
                order[key[0]].append(key[1])
        assert set(seqs) == set(sent), f"not delivered: {sorted(set(sent) - set(seqs))}"
        twice = [key for key, values in seqs.items() if len(values) != 1]
        assert not twice, f"more than one delivery: {twice}"
        unmarked = [key for key, values in attempts.items() if len(set(values)) != len(values) or values != sorted(values)]
        assert not unmarked, f"unmarked second effects: {unmarked}"
        for chat, numbers in order.items():
            assert numbers == sorted(numbers), f"chat {chat} is out of order: {numbers}"
        receipts = dict(database.execute("SELECT run_id, count (*) FROM receipts GROUP BY run_id"))
        assert set(receipts.values()) == {1} and len(receipts) == len(sent)
        unasked = {line[0] for line in self.lines("accepted")} - {f"kill:{chat}:{number}" for chat, number in sent}
        assert not unasked, f"accepted and never sent: {unasked}"
        return sum(len(values) - 1 for values in attempts.values())

    def check_tools(self):
        """A tool runs once or, when its beginning was recorded and its end was not, perhaps not at all."""
        ran = collections.Counter(line[0] for line in self.lines("tools"))
        assert not [key for key, count in ran.items() if count > 1], f"tools that ran twice: {ran.most_common(3)}"
        return sum("!tool" in self.text(chat, number) and f"{chat}:{number}" not in ran
                   for chat, number in ((int(a), int(b)) for a, b in self.lines("sent")))

    def text(self, chat, number):
        from killloop_client import text_of
        return text_of(self.seed, self.log, chat, number)

    def check_transcripts(self, database, sent):
        """Each turn is there once, whole and in order: user, assistant; or user, call, result, assistant."""
        runs, users, unknown = collections.defaultdict(list), collections.defaultdict(list), 0
        rows = database.execute("SELECT session_id, role, content, extra FROM messages ORDER BY id")
        last = {}
        for session, role, content, extra in rows:
            run_id = json.loads(extra or "{}").get("run_id")
            runs[run_id].append(role)
            assert last.get(session) == run_id or len(runs[run_id]) == 1, f"{run_id} is torn apart in {session}"
            last[session] = run_id
            if role == "user":
                users[session].append(int(run_id[20:], 16))
            unknown += role == "tool" and "done" not in (content or "")
        for chat, number in sent:
            roles = runs.pop(f"run_{chat:016x}{number:016x}", [])
            tool = "!tool" in self.text(chat, number)
            wanted = ["user", "assistant", "tool", "assistant"] if tool else ["user", "assistant"]
            assert roles == wanted, f"{chat}:{number} has {roles}"
        assert not runs, f"rows of nobody: {list(runs)[:3]}"
        for session, numbers in users.items():
            assert numbers == list(range(len(numbers))), f"{session} is out of order: {numbers}"
        return unknown


def main(kills=200, seed=None):
    seed = str(seed or random.randrange(1 << 32))
    print(f"kill loop: {kills} kills, seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="argos-")
    loop = KillLoop(folder, seed)
    try:
        loop.run(int(kills))
        print(loop.check(), flush=True)
    except BaseException:
        print(f"failed with seed {seed}; home and logs are left in {folder}", flush=True)
        raise
    finally:
        loop.close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:3])
