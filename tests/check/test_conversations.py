"""Counts the conversations that a scripted platform plays end to end: the tests that are marked so, by name. There are 60 at least, all kinds among them, one for each command.

`test_conversations.py --list` prints them.
"""
import collections
import contextlib
import io
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST = 60
PHASES = ("queued", "starting", "streaming", "in a tool", "waiting for approval")
WANTED = ["two users in one group", "a thread shared by all", "the session of somebody else", "reset while busy",
          *(f"fifty messages while busy [{mode}]" for mode in ("interrupt", "queue", "steer")),
          *(f"stop while {phase}" for phase in PHASES),
          *(f"while {phase} [{what}]" for phase in PHASES for what in ("restart", "kill")),
          *(f"command [{row['name']}]" for row in json.loads((ROOT / "schema" / "commands.json").read_text(encoding="utf-8")))]


class Collected:
    """Takes the tests that pytest would run."""

    def pytest_collection_modifyitems(self, items):
        self.names = collections.Counter()
        for item in items:
            case = f" [{item.callspec.id}]" if hasattr(item, "callspec") else ""
            for mark in item.iter_markers("conversation"):
                self.names.update(name + case for name in mark.args)


def main():
    collected, said = Collected(), io.StringIO()
    files = [str(path) for path in sorted((ROOT / "tests" / "system").glob("test_*.py")) if "mark.conversation" in path.read_text(encoding="utf-8")]
    sys.path.insert(0, str(ROOT / "tests" / "system"))
    with contextlib.redirect_stdout(said):
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *files], plugins=[collected])
    if code:
        print(said.getvalue())
        return 1
    wrong = [f"there is no conversation: {name}" for name in WANTED if name not in collected.names]
    wrong += [f"two conversations are called {name}" for name, count in collected.names.items() if count > 1]
    if len(collected.names) < LEAST:
        wrong.append(f"{len(collected.names)} conversations, {LEAST} are wanted")
    listed = [*sorted(collected.names), ""] if "--list" in sys.argv else []
    print("\n".join(wrong or [*listed, f"{len(collected.names)} conversations"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
