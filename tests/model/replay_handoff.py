"""What may follow what in the row of a handoff: the steps of handoff.pml, for histories of the model and of the real store.

An event is (what, number, state, epoch, claims, sent), the row as it is behind the change. Those of the model are the lines `T ...` of
a simulation by spin; those of the real store are written by triggers, in the transactions that make the changes, and what happened is
read from the row before and behind. One table judges both: replay_handoff.py test runs it over simulations of the model, sound ones and
ones with a planted fault that a row shows.
"""
import collections
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

Event = collections.namedtuple("Event", "what number state epoch claims sent")
NONE, PENDING, RUNNING, COMPLETED, FAILED = range(5)
STATES = {"pending": PENDING, "running": RUNNING, "completed": COMPLETED, "failed": FAILED}

#  What happens -> states of the row before; and the row behind it, by what it was: number, epoch, claims, sent
STEPS = {
    "ask": ((NONE, COMPLETED, FAILED), lambda row: (PENDING, 0, 0, 0)),
    "claim": ((PENDING,), lambda row: (RUNNING, row.epoch + 1, row.claims + 1, row.sent)),
    "marked": ((RUNNING,), lambda row: (RUNNING, row.epoch, row.claims, 1)),
    "complete": ((RUNNING,), lambda row: (COMPLETED, row.epoch, row.claims, row.sent)),
    "give_up": ((RUNNING,), lambda row: (FAILED, row.epoch, row.claims, row.sent)),
    "expire": ((RUNNING,), lambda row: (FAILED if row.sent or row.claims > 1 else PENDING, row.epoch + 1, row.claims, row.sent)),
    "back": ((COMPLETED,), lambda row: (FAILED, row.epoch, row.claims, row.sent)),
    "call_off": ((PENDING,), lambda row: (FAILED, row.epoch, row.claims, row.sent)),
}

#  Written by the database itself: the row of each session behind each change that is one
TRIGGERS = """
CREATE TABLE handoff_history (at INTEGER PRIMARY KEY AUTOINCREMENT, session, id, state, epoch, claims, sent);
CREATE TRIGGER handoff_history_ask AFTER INSERT ON handoffs BEGIN
  INSERT INTO handoff_history (session, id, state, epoch, claims, sent)
    VALUES (NEW.session_id, NEW.id, NEW.state, NEW.epoch, NEW.claims, NEW.sent);
END;
CREATE TRIGGER handoff_history_change AFTER UPDATE ON handoffs
  WHEN OLD.state <> NEW.state OR OLD.epoch <> NEW.epoch OR OLD.claims <> NEW.claims OR OLD.sent <> NEW.sent BEGIN
  INSERT INTO handoff_history (session, id, state, epoch, claims, sent)
    VALUES (NEW.session_id, NEW.id, NEW.state, NEW.epoch, NEW.claims, NEW.sent);
END;
"""


def judge(row, event):
    """Raises AssertionError when the model has no such step; returns the row behind it."""
    before, behind = STEPS[event.what]
    assert row.state in before, f"{event}: the row was {row}"
    assert (event.state, event.epoch, event.claims, event.sent) == behind(row), f"{event}: the row was {row}"
    assert event.number > row.number if event.what == "ask" else event.number == row.number, f"{event}: the row was {row}"
    assert event.what != "complete" or row.sent, f"{event}: it was never marked as sent"
    return event


def check(events):
    """The names of the steps, all of which the model has."""
    row, steps = Event("", 0, NONE, 0, 0, 0), []
    for event in events:
        row = judge(row, event)
        steps.append(event.what)
    assert steps, "there is no history"
    assert row.state in (COMPLETED, FAILED), f"it has not ended: {row}"
    return steps


def named(changes):
    """Rows of the real store -> events: which step of the table leads to each, "none" when no one does."""
    row = Event("", 0, NONE, 0, 0, 0)
    for number, state, epoch, claims, sent in changes:
        after = (STATES[state], epoch, claims, sent)
        what = next((name for name, (before, behind) in STEPS.items() if row.state in before and behind(row) == after
                     and (name == "ask") == (number != row.number)), None)
        assert what, f"no step of the model leads from {row} to {after}"
        row = Event(what, number, *after)
        yield row


def check_store(database):
    """The steps of each session in the history that the triggers have written."""
    sessions = [name for name, in database.execute("SELECT DISTINCT session FROM handoff_history")]
    assert sessions, "there is no history"
    return {session: check(named(database.execute(
        "SELECT id, state, epoch, claims, sent FROM handoff_history WHERE session = ? ORDER BY at", [session]))) for session in sessions}


def simulate(seed, *defines):
    """The history of one random run of the model."""
    model = pathlib.Path(__file__).with_name("handoff.pml")
    with tempfile.TemporaryDirectory(prefix="argos-model-") as folder:
        text = subprocess.run(["spin", "-T", f"-n{seed}", "-u20000", *defines, str(model)], cwd=folder, capture_output=True, text=True,
                              timeout=60, check=False).stdout
    for line in text.splitlines():
        if line.strip().startswith("T "):
            what, *numbers = line.strip()[2:].split("|")
            yield Event(what, *map(int, numbers))


def objections(seeds, *defines):
    for seed in seeds:
        try:
            check(simulate(seed, *defines))
        except AssertionError as error:
            yield str(error)


#  A journal of the real store, and what makes it a wrong one: the number of a line, and what stands there instead (None: nothing)
JOURNAL = [(1, "pending", 0, 0, 0), (1, "running", 1, 1, 0), (1, "pending", 2, 1, 0), (1, "running", 3, 2, 0), (1, "running", 3, 2, 1),
           (1, "completed", 3, 2, 1), (1, "failed", 3, 2, 1), (2, "pending", 0, 0, 0), (2, "failed", 0, 0, 0)]
WRONG = {
    "claimed without a new epoch": (1, (1, "running", 0, 1, 0)), "claimed twice": (1, (1, "running", 2, 2, 0)),
    "claimed without being counted": (3, (1, "running", 3, 1, 0)), "tried again with the old epoch": (2, (1, "pending", 1, 1, 0)),
    "a third time": (4, (1, "pending", 4, 2, 0)), "completed without the mark": (4, None), "completed by another": (5, (1, "completed", 4, 2, 1)),
    "completed before it was claimed": (1, (1, "completed", 0, 0, 0)), "called off when it was claimed": (1, (1, "failed", 0, 0, 0)),
    "asked for again with the old number": (7, (1, "pending", 0, 0, 0)), "asked for while one is on its way": (5, (2, "pending", 0, 0, 0)),
    "asked for with an old mark": (7, (2, "pending", 0, 0, 1)), "never ended": (8, None),
}


def refused(lines):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE handoffs (id, session_id, state, epoch, claims, sent)")
    database.executescript(TRIGGERS)
    database.executemany("INSERT INTO handoff_history (session, id, state, epoch, claims, sent) VALUES ('s', ?, ?, ?, ?, ?)", lines)
    try:
        check_store(database)
    except AssertionError as error:
        return str(error)
    return ""


def check_journals():
    assert not refused(JOURNAL), refused(JOURNAL)
    for name, (number, instead) in WRONG.items():
        lines = [*JOURNAL[:number], *([instead] if instead else []), *JOURNAL[number + 1:]]
        assert refused(lines), f"a wrong journal is taken: {name}"
    print(f"{len(WRONG)} wrong journals are refused")


def main():
    check_journals()
    wrong = next(objections(range(1, 31)), None)
    assert not wrong, f"the table does not allow what the model does: {wrong}"
    found = next((text for text in objections(range(1, 301), "-DBLINDFAIL=1") if "has not ended" not in text), None)
    assert found, "the table allows that the terminal calls off what is claimed"
    print(f"-DBLINDFAIL=1: {found}")
    print("30 histories of the model are well")


if __name__ == "__main__":
    sys.exit(main() if sys.argv[1:] == ["test"] else "usage: replay_handoff.py test")
