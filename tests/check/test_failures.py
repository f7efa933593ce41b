"""docs/failures.md has each story once, the decision about what went wrong elsewhere each pain once, docs/adapter-faults.md its rows, and every test that they name is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
#  Document, form of the first column, how many there are
TABLES = [("docs/failures.md", r"H\d+", [f"H{n}" for n in range(1, 65)]),
          ("docs/adr/0019-what-went-wrong-elsewhere.md", r"\d+", [str(n) for n in range(1, 72)]),
          ("docs/job-faults.md", r"\d+", [str(n) for n in range(46, 58)] + ["60"]),
          ("docs/adapter-faults-sockets.md", r"\d+", "9 10 12 13 14 27 37 38 39 40 43 56 57 59 60 64 65 67 68 69 70".split()),
          ("docs/adapter-faults.md", r"\d+", "1 2 3 4 5 7 8 15 16 17 18 19 20 21 28 29 30 31 32 33 34 37 41 42 46 47 48 49 50 51 52 53 54 55 58 61 62 63 66 72 73 75 76 79 "
           "6 11 22 23 24 25 26 35 36 44 45 71 74 77 78 80".split())]


def tests():
    known = set()
    for path in (ROOT / "tests").rglob("test_*"):
        if path.suffix in (".c", ".py") and "node_modules" not in path.parts:
            known.update(re.findall(r"^(?:def )?([a-z][a-z0-9_]+) ?\(", path.read_text(encoding="utf-8"), re.MULTILINE))
    return known


def wrong_in(document, first, expected, known):
    text = (ROOT / document).read_text(encoding="utf-8")
    rows = re.findall(rf"^\| ({first}) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    if [row for row, _ in rows] != expected:
        yield f"{document}: the rows are not {expected[0]} to {expected[-1]}"
    for row, shown in rows:
        names = re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", shown)
        if not names and "`./dev" not in shown and shown != "no such adapter":
            yield f"{document}: {row}: names no test"
        for name in names:
            if name not in known:
                yield f"{document}: {row}: there is no test {name}"


def main():
    known = tests()
    wrong = [line for table in TABLES for line in wrong_in(*table, known)]
    print("\n".join(wrong) or f"{sum(len(rows) for _, _, rows in TABLES)} stories")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
