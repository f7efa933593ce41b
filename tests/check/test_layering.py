#!/usr/bin/env python3
"""test_layering - dependencies point down only, the core is pure, and the house keeps its rooms.

    cmd > adapters > actors > broker > schema

Prints each violation with file and line; exit 1 when there is one. Standard library only.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ["schema", "broker", "actors", "adapters", "cmd"]
FOLDERS = [*LAYERS, "clients", "tests"]

TOP_LEVEL = set("""README.md CONTRIBUTING.md LICENSE CMakeLists.txt dev packages.txt argos.example.yaml
    .ci .clang-format .clang-tidy .gitignore schema broker actors adapters clients cmd tests docs""".split())

#  What the pure core may know of the system
PURE = {"assert.h", "ctype.h", "errno.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdarg.h", "stdbool.h",
        "stddef.h", "stdint.h", "stdlib.h", "stdnoreturn.h", "string.h", "uthash.h", "utlist.h", "utarray.h",
        "utstring.h", "jansson.h", "sodium.h"}  # sodium: for its hashes

#  Functions that nobody uses, and what is used by one folder or file only
BANNED = re.compile(r"\b(sprintf|vsprintf|strcpy|strcat|strtok|system|alloca|gmtime|localtime|usleep|sleep|zclock_sleep"
                    r"|zmsg_decode|gets)\s*\(")
ONLY_IN = [
    #  fork has to end in exec; the guard of a command is one small thread and does it
    (re.compile(r"\bfork\s*\("), "actors/base/argos_guard", "fork is the guard's alone: use posix_spawn"),
    #  The same by argos-job, which starts as fast as posix_spawn and asks for one thing more
    (re.compile(r"\bvfork\s*\("), "cmd/argos-job_shell.c", "vfork is that of argos-job alone: use posix_spawn"),
    (re.compile(r"\bzactor_(new|destroy)\s*\("), "actors/base/", "argos_actor_start and _stop are for that"),
    #  What stands behind argos_store_engine.h
    (re.compile(r"#include <sqlite3\.h>"), tuple(f"actors/store/argos_store_{name}." for name in (
        "backup", "column", "connect", "file", "hermes", "hermes_map", "open", "rank", "repair", "space", "sql", "vfs")),
     "operations of the store speak to argos_store_engine.h"),
    (re.compile(r"#include <curl/"), ("actors/base/argos_curl.", "actors/agent/", "actors/tools/", "adapters/", "cmd/"), "libcurl belongs to agent, tools and adapters"),
    (re.compile(r"#include <microhttpd\.h>"), ("actors/api/", "actors/rehearsal/", "adapters/"), "libmicrohttpd belongs to the HTTP servers"),
]
LINES_MAX = 800
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)

violations = []


def violation(path, line, text):
    violations.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            if "node_modules" not in path.parts:
                yield path


def layer(path):
    return path.relative_to(ROOT).parts[0]


def without_comments(text):
    """Comments and strings blanked, line breaks kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda found: found.group() if found.group().startswith('"') and "include" in
                       text[text.rfind("\n", 0, found.start()) + 1:found.start()]
                       else re.sub(r"[^\n]", " ", found.group()), text)


def includes(path, texts):
    for found in INCLUDE.finditer(texts[path]):
        yield found.group(1) == '"', found.group(2), texts[path].count("\n", 0, found.start()) + 1


def check_direction(texts, headers):
    for path in texts:
        if layer(path) not in LAYERS:
            continue
        for own, name, line in includes(path, texts):
            target = headers.get(pathlib.PurePath(name).name) if own else None
            if own and name == "argos.h" and layer(path) == "cmd":
                continue  # The command line is a user of the client library
            if target and layer(target) not in LAYERS:
                violation(path, line, f"{name} is not a part of the program")
            elif target and LAYERS.index(layer(target)) > LAYERS.index(layer(path)):
                violation(path, line, f"{name} is of {layer(target)}, above {layer(path)}")
            elif own and not target:
                violation(path, line, f"{name} is not there")


def check_pure(texts, headers):
    for start in texts:
        if not start.is_relative_to(ROOT / "broker" / "core"):
            continue
        seen, waiting = set(), [start]
        while waiting:
            path = waiting.pop()
            for own, name, line in includes(path, texts):
                target = headers.get(name) if own else None
                if target and target not in seen:
                    seen.add(target)
                    waiting.append(target)
                elif not own and name not in PURE:
                    violation(path, line, f"{start.name} is of the pure core and gets {name}")


def check_words(texts):
    for path, text in texts.items():
        place = str(path.relative_to(ROOT))
        for number, words in enumerate(text.split("\n"), 1):
            if BANNED.search(words):
                violation(path, number, f"banned: {BANNED.search(words).group(1)}")
            for pattern, folders, why in ONLY_IN:
                if pattern.search(words) and layer(path) in LAYERS and not place.startswith(folders):
                    violation(path, number, why)


def check_files(texts):
    for path in texts:
        text = path.read_text(encoding="utf-8")
        if not text.startswith("//  "):
            violation(path, 1, "a file opens with a comment that says what it is")
        if path.suffix == ".c" and text.count("\n") > LINES_MAX and layer(path) != "tests":
            violation(path, LINES_MAX, f"more than {LINES_MAX} lines")


def check_top_level():
    listing = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False)
    if listing.returncode == 0:
        names = {name.split("/")[0] for name in listing.stdout.decode().split("\0") if name}
    else:
        names = {path.name for path in ROOT.iterdir()} - {"build", ".git"}
    for name in sorted(names - TOP_LEVEL):
        violations.append(f"{name}: not one of the top-level entries")


def check_numbers():
    """Each number once, none left out: two of one number would be a database that only some have, and a reference to either."""
    for folder, pattern in (("schema/sql", "[0-9]*.sql"), ("docs/adr", "[0-9]*.md")):
        numbers = sorted(int(path.name[:4]) for path in (ROOT / folder).glob(pattern))
        if numbers != list(range(1, len(numbers) + 1)):
            violations.append(f"{folder}: the numbers are {numbers}")


def main():
    headers = {}
    texts = {path: without_comments(path.read_text(encoding="utf-8")) for path in sources()}
    for path in texts:
        if path.suffix == ".h" and layer(path) in LAYERS:
            if path.name in headers:
                violation(path, 1, f"another {path.name} is in {headers[path.name].parent.relative_to(ROOT)}")
            headers[path.name] = path
    check_direction(texts, headers)
    check_pure(texts, headers)
    check_words(texts)
    check_files(texts)
    check_top_level()
    check_numbers()
    print("\n".join(violations) or f"{len(texts)} files, no violation")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
