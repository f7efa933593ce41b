"""docs/failures.md has each story once, and every test that it names is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    text = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
    known = set()
    for path in (ROOT / "tests").rglob("test_*"):
        if path.suffix in (".c", ".py") and "node_modules" not in path.parts:
            known.update(re.findall(r"^(?:def )?([a-z][a-z0-9_]+) ?\(", path.read_text(encoding="utf-8"), re.MULTILINE))
    rows = re.findall(r"^\| (H\d+) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    wrong = [] if [row for row, _ in rows] == [f"H{n}" for n in range(1, 65)] else ["the rows are not H1 to H64"]
    for row, shown in rows:
        for name in re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", shown):
            if name not in known:
                wrong.append(f"{row}: there is no test {name}")
    print("\n".join(wrong) or f"{len(rows)} stories")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
