#!/usr/bin/env python3
"""test_settings - every key of schema/config.schema.json is read by something.

A key counts as read when its path stands in the code as one string, as argos_setting wants it, or each of its names in one file;
a member of the snapshot (the table of argos_config.c) has to be used outside of it. Standard library only.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schema" / "config.schema.json").read_text(encoding="utf-8"))
#  It only says which variable is which key
NO_READER = {"actors/base/argos_config_env.c"}
CONFIG = re.compile(r"actors/base/argos_config[a-z_]*\.[ch]$")
TABLE = "actors/base/argos_config.c"


#  Known before their readers are there; a key that has one must go from this list
WAITING = set("""""".split())


def code():
    """{path of the file: text without comments} of the program."""
    files = {}
    for layer in ("broker", "actors", "adapters", "cmd"):
        for path in sorted((ROOT / layer).rglob("*.[ch]")):
            text = path.read_text(encoding="utf-8")
            files[str(path.relative_to(ROOT))] = re.sub(r'//[^\n]*|("(?:\\.|[^"\\\n])*")', lambda found: found.group(1) or "", text)
    return files


def resolve(schema):
    return SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema


def keys(schema, prefix=""):
    """(path, kind) of each key; kind is path, name (a member of an item or an entry) or platform."""
    for name, member in schema.get("properties", {}).items():
        member = resolve(member)
        path = prefix + name
        if name == "platforms" and not prefix:
            yield from ((key, "platform") for key, _ in keys(resolve(member["additionalProperties"])))
        elif "properties" in member:
            yield from keys(member, path + ".")
        else:
            yield path, "path"
            if name == "reset_by_type":
                continue  # The keys of session_reset
            inner = resolve(member.get("items") or member.get("additionalProperties") or {})
            yield from ((key, "name") for key, _ in keys(inner))


def field(files, path):
    """Whether the member of the snapshot that has this key is used; None = there is none."""
    found = re.search(r'FIELD\s*\(\s*\w+,\s*"%s",\s*([\w.]+)\s*\)' % re.escape(path), files[TABLE])
    if not found:
        return None
    member = re.compile(r"(?:->|\.)%s\b" % re.escape(found.group(1).rsplit(".", 1)[-1]))
    return any(member.search(text) for name, text in files.items() if not CONFIG.search(name))


def is_read(files, path, kind):
    if kind == "platform" and path.split(".")[0] in ("dm", "group", "channel", "forum", "thread", "session_reset", "display"):
        return True  # The same keys as around them
    used = field(files, path) if kind == "path" else None
    if used is not None:
        return used
    sources = [source for name, source in files.items() if name not in NO_READER]
    words = [f'"{word}"' for word in path.split(".")]
    if kind == "name":
        words = words[-1:]
    return any(f'"{path}"' in source or all(word in source for word in words) for source in sources)


def main():
    files = code()
    unread = {path for path, kind in keys(SCHEMA) if not is_read(files, path, kind)}
    wrong = [f"{path}: nothing reads it" for path in sorted(unread - WAITING)]
    wrong += [f"{path}: is read, or is no key: take it from WAITING" for path in sorted(WAITING - unread)]
    chat, platform = SCHEMA["$defs"]["chat"]["properties"], SCHEMA["$defs"]["platform"]["properties"]
    wrong += [f"platforms.*.{key}: not the same around and inside of a kind of chat" for key in chat if platform.get(key) != chat[key]]
    print("\n".join(wrong) or "every key is read")
    return 1 if wrong else 0


sys.exit(main())
