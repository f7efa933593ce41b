"""What may follow what in a lane: the transitions of the store in lane.pml, for histories of the model and of the real store.

An event is (what, row, lane, lease, holder, attempt, n). The histories of the model are the lines `T ...` of a simulation by
spin; those of the real store are written by triggers in the transactions that make the changes. One table judges both, so the
model allows what the store does: replay.py test runs it over simulations of the model, sound ones and ones with planted faults.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

Event = collections.namedtuple("Event", "what row lane lease holder attempt n")

#  Event -> state of the row before, and after
TRANSITIONS = {
    "put": (None, "waits"),
    "take": ("waits", "leased"),
    "commit": ("leased", "leased"),
    "release": ("leased", "waits"),
    "done": ("leased", "gone"),
    "taken": ("waits", "gone"),
    "bury": (("waits", "leased"), "gone"),
    "redrive": ("gone", "waits"),
}

#  As lane.pml calls them
NAMES = {"PUT": "put", "TAKE": "take", "CK": "commit", "REL": "release", "DN": "done", "TAKEN": "taken", "REJ": "bury",
         "RDV": "redrive"}

#  Written by the database itself, in the transaction of the change
TRIGGERS = """
CREATE TABLE history (number INTEGER PRIMARY KEY AUTOINCREMENT, what, row, lane, lease, holder, attempt, n);
CREATE TRIGGER history_put AFTER INSERT ON queue BEGIN
  INSERT INTO history (what, row, lane, lease, holder, attempt, n)
    VALUES ('put', NEW.seq, NEW.service || ' ' || NEW.key, 0, '', 0, 0);
  INSERT INTO history (what, row, lane, lease, holder, attempt, n)
    SELECT 'take', NEW.seq, NEW.service || ' ' || NEW.key, NEW.lease, NEW.holder, NEW.attempt, 0
    WHERE NEW.lease IS NOT NULL;
END;
CREATE TRIGGER history_change AFTER UPDATE ON queue WHEN OLD.lease IS NOT NEW.lease OR OLD.n <> NEW.n BEGIN
  INSERT INTO history (what, row, lane, lease, holder, attempt, n)
    SELECT CASE WHEN OLD.lease IS NULL THEN 'take' WHEN NEW.lease IS NULL THEN 'release'
                WHEN OLD.lease = NEW.lease THEN 'commit' ELSE 'taken over' END,
           NEW.seq, NEW.service || ' ' || NEW.key, ifnull (NEW.lease, OLD.lease), ifnull (NEW.holder, OLD.holder),
           NEW.attempt, NEW.n;
END;
CREATE TRIGGER history_end AFTER DELETE ON queue BEGIN
  INSERT INTO history (what, row, lane, lease, holder, attempt, n)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM dead WHERE seq = OLD.seq) THEN 'bury'
                WHEN OLD.lease IS NULL THEN 'taken' ELSE 'done' END,
           OLD.seq, OLD.service || ' ' || OLD.key, ifnull (OLD.lease, 0), ifnull (OLD.holder, ''), OLD.attempt, OLD.n;
END;
"""


class Row:
    def __init__(self):
        self.state, self.lease, self.holder, self.attempt, self.n = None, 0, "", 0, 0


class Replay:
    """Raises AssertionError at the first event that the model does not have."""

    def __init__(self):
        self.rows, self.lanes = collections.defaultdict(Row), collections.defaultdict(set)
        self.last_lease = 0

    def event(self, event):
        before, after = TRANSITIONS.get(event.what, ((), None))
        row = self.rows[event.row]
        assert row.state == before or (isinstance(before, tuple) and row.state in before), \
            f"{event}: the row is {row.state or 'not there'}"
        getattr(self, event.what)(event, row)
        row.state = after
        (self.lanes[event.lane].discard if after == "gone" else self.lanes[event.lane].add)(event.row)

    def put(self, event, row):
        pass

    def redrive(self, event, row):
        row.lease = 0

    def take(self, event, row):
        others = self.lanes[event.lane] - {event.row}
        assert not any(self.rows[other].state == "leased" for other in others), f"{event}: the lane is leased"
        assert not any(other < event.row for other in others), f"{event}: another row comes first"
        assert event.lease > self.last_lease, f"{event}: lease {self.last_lease} was given out before"
        assert event.attempt == row.attempt + 1, f"{event}: attempt {row.attempt} came before"
        self.last_lease = row.lease = event.lease
        row.holder, row.attempt, row.n = event.holder, event.attempt, 0

    def commit(self, event, row):
        assert (event.lease, event.holder) == (row.lease, row.holder), f"{event}: held by {row.holder} as {row.lease}"
        assert event.n == row.n + 1, f"{event}: commit {row.n} came before"
        row.n = event.n

    def release(self, event, row):
        assert event.lease == row.lease, f"{event}: the lease is {row.lease}"
        assert event.attempt in (row.attempt, row.attempt - 1), f"{event}: attempt {row.attempt} came before"
        row.attempt, row.lease, row.holder = event.attempt, 0, ""

    def done(self, event, row):
        assert (event.lease, event.holder) == (row.lease, row.holder), f"{event}: held by {row.holder} as {row.lease}"

    def taken(self, event, row):
        """Only the holder of the lane takes; its own row goes in the same transaction, perhaps before."""

    def bury(self, event, row):
        pass


def check(events):
    """The number of events, all of which the model has."""
    replay, count = Replay(), 0
    for event in events:
        replay.event(event)
        count += 1
    left = [number for number, row in replay.rows.items() if row.state != "gone"]
    assert not left, f"rows that have not ended: {left[:5]}"
    assert count, "there is no history"
    return count


def simulate(seed, *defines):
    """The history of one random run of the model."""
    model = pathlib.Path(__file__).with_name("lane.pml")
    with tempfile.TemporaryDirectory(prefix="argos-model-") as folder:
        command = ["spin", "-T", f"-n{seed}", "-u20000", *defines, str(model)]
        text = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False).stdout
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["T"]:
            numbers = [int(word) for word in words[2:]]
            yield Event(NAMES[words[1]], numbers[0], numbers[1], numbers[2], str(numbers[3]), numbers[4], numbers[5])


def objections(seeds, *defines):
    found = []
    for seed in seeds:
        try:
            check(simulate(seed, *defines))
        except AssertionError as error:
            found.append(str(error))
    return found


def main():
    sound = ["-DNM=2", "-DMAIL=1", "-DCRASHES=1", "-DEXPIRES=1", "-DWCRASH=1", "-DDEAD=1", "-DPARK=1"]
    wrong = objections(range(1, 31), *sound)
    assert not wrong, f"the table does not allow what the model does: {wrong[0]}"
    for fault in ("-DTWOHOLDERS=1", "-DNOPERSIST=1"):
        found = next((text for seed in range(1, 301) for text in objections([seed], "-DNM=2", "-DCRASHES=2", "-DEXPIRES=0", fault)
                      if "is leased" in text), None)
        assert found, f"the table allows what the model does with {fault}"
        print(f"{fault}: {found}")
    print("30 histories of the model are well")


if __name__ == "__main__":
    sys.exit(main() if sys.argv[1:] == ["test"] else "usage: replay.py test")
