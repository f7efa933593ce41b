#!/usr/bin/env python3
"""Each case of the HTTP interface's conformance list is in the name of a test, or is named here with the reason why it is not."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

#  Numbers that the list has; the others were never given out
CASES = ("1-25 27-32 34-39 41-46 48-53 55-60 62-67 69-74 76-81 83-88 90-95 "
         "97-102 104-109 111-116 118-123 125-130 132-137 139-144 146-151 153-158 160-165 167-172 174-179")

NOT_HERE = {
    "C158": "store and broker live and die together: docs/adr/0023",
    **dict.fromkeys(["C171", "C172", "C174", "C175", "C176"], "there is no scheduler: its routes come with it"),
}


def main():
    cases = set()
    for span in CASES.split():
        first, _, last = span.partition("-")
        cases |= {f"C{number:03}" for number in range(int(first), int(last or first) + 1)}
    named = set()
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("tests/**/*.c"), *ROOT.glob("tests/node/*.mjs")]:
        if path == pathlib.Path(__file__).resolve() or "node_modules" in path.parts:
            continue
        for name in re.findall(r"^(?:def )?((?:test_)?(?:c[0-9]{3}_)+)[a-z]|test\(.((?:C[0-9]{3} )+)", path.read_text(errors="replace"), re.MULTILINE):
            named |= {number.upper() for number in re.findall(r"[cC][0-9]{3}", "".join(name))}
    missing, stale = cases - named - set(NOT_HERE), (set(NOT_HERE) & named) | (set(NOT_HERE) - cases) | (named - cases)
    print(f"{len(cases)} cases, {len(named)} in names of tests, {len(NOT_HERE)} with a reason")
    for title, numbers in (("no test is named by", missing), ("named, and not expected", stale)):
        if numbers:
            print(f"{title}: {' '.join(sorted(numbers))}", file=sys.stderr)
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main())
