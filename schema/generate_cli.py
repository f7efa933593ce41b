"""generate_cli - what is derived from schema/cli/commands.json: the words of `argos` and `argosd` (cmd/argos_say_words.{h,c}), and the
manual pages in docs/man/. generate.py writes them.

A command has `lines` (its words and what they do), perhaps `text` and `options`, and `examples`; every command needs an example.
`free`: what is behind it may begin with a dash, though it has no options.
"""

import json
import re
import textwrap

COLUMN = 36  # where the explanation of a line of the help begins
WIDTH = 100
DATE = "2026-11-01"  # of the pages: one build is as the other


def load(schema):
    table = json.loads((schema / "cli" / "commands.json").read_text(encoding="utf-8"))
    for row in table["argos"]:
        if not row["lines"] or not row["examples"] or set(row) - {"name", "lines", "text", "options", "examples", "free"}:
            raise SystemExit(f"generate: cli/commands.json, {row['name']}: lines and examples are needed, or a member is unknown")
    return table


# --- the words of the programs


def columns(pairs, column, indent=""):
    """Two columns; a long first one has the second below it."""
    lines = []
    for first, second in pairs:
        head = indent + first
        body = textwrap.wrap(second, WIDTH - column) or [""]
        if len(head) + 2 > column:
            lines.append(head)
        else:
            lines.append((head.ljust(column) + body.pop(0)).rstrip())
        lines += [" " * column + line for line in body]
    return lines


def help_lines(row):
    return columns([(" ".join(filter(None, ["argos", row["name"], words])), says) for words, says in row["lines"]], COLUMN)


def help_more(row):
    """What COMMAND --help says below its lines."""
    lines = ["", *textwrap.wrap(row["text"], WIDTH)] if "text" in row else []
    if "options" in row:
        lines += ["", *columns(row["options"], 24, "  ")]
    return lines + ["", "For example:", *columns(row["examples"], 60, "  ")]


def second_words(row):
    """What may stand behind the command: the first group of alternatives of each line, and all options."""
    found = []
    for words, _ in row["lines"]:
        groups = words.replace("[", " ").replace("]", " ").split()
        for number, group in enumerate(groups):
            found += [word for word in group.split("|") if (number == 0 or word[0] == "-") and re.fullmatch(r"-{0,2}[a-z-]*[a-z]", word)]
    found += [option.split()[0] for option, _ in row.get("options", [])]
    return list(dict.fromkeys(found))


def c_text(lines, indent):
    return "\n".join(indent + json.dumps(line + "\n", ensure_ascii=False) for line in lines)


def words_header():
    return """\
//  argos_say_words - the words of the command lines as data: what `argos help`, COMMAND --help,
//  the completion of shells and `argosd --help` say.
//
//  Generated from cli/commands.json by schema/generate.py; do not edit.

#ifndef ARGOS_SAY_WORDS_H
#define ARGOS_SAY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

//  One command of argos

typedef struct {
    const char *name;  //  First word
    const char *words; //  What may follow it, for completion: words and options, "" = nothing
    bool options;      //  It has options of its own
    const char *lines; //  Its lines in the help
    const char *more;  //  What its own help says below them
} argos_say_words_t;

//  Row number `index`, NULL behind the last. Static.
const argos_say_words_t *argos_say_words (size_t index);

//  The row of a command, NULL = there is none. Static.
const argos_say_words_t *argos_say_words_find (const char *name);

//  What stands below the list of all commands; and the help of argosd. Static.
extern const char argos_say_words_end[];
extern const char argos_say_words_daemon[];

#endif
"""


def words_source(table):
    rows = []
    for row in table["argos"]:
        words = second_words(row)
        options = "true" if row.get("free") or any(word[0] == "-" for word in words) else "false"
        rows.append(f'    {{ "{row["name"]}", "{" ".join(words)}", {options},\n{c_text(help_lines(row), "      ")},\n'
                    f'{c_text(help_more(row), "      ")} }},')
    end = ["", "COMMAND --help says more about one of them. Each takes", *columns(table["common"], 20, "  "),
           *textwrap.wrap("Exit: " + ", ".join(f"{code} {says}" for code, says in table["exits"]) + ".", WIDTH)]
    daemon = table["argosd"]
    usage = [("usage: " if not number else "       ") + line for number, line in enumerate(daemon["synopsis"])]
    usage += columns(daemon["options"], 22, "  ")
    body = "\n".join(rows)
    return f"""\
//  argos_say_words - the table of the commands.
//
//  Generated from cli/commands.json by schema/generate.py; do not edit.

#include "argos_say_words.h"

#include <string.h>

// clang-format off
static const argos_say_words_t s_rows[] = {{
{body}
}};

const char argos_say_words_end[] =
{c_text(end, "    ")};

const char argos_say_words_daemon[] =
{c_text(usage, "    ")};
// clang-format on

const argos_say_words_t *
argos_say_words (size_t index)
{{
    return index < sizeof s_rows / sizeof *s_rows ? &s_rows[index] : NULL;
}}

const argos_say_words_t *
argos_say_words_find (const char *name)
{{
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++)
        if (strcmp (s_rows[i].name, name) == 0)
            return &s_rows[i];
    return NULL;
}}
"""


# --- the manual pages


def roff(text):
    """A text as roff: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "".join(char if ord(char) < 128 else f"\\[u{ord(char):04X}]" for char in text)


def line(text):
    """One line of text, which must not look like a request."""
    text = roff(" ".join(text.split()))
    return "\\&" + text if text[:1] in (".", "\\") and text.startswith((".", "\\(aq")) else text


def tagged(pairs):
    lines = []
    for first, second in pairs:
        lines += [".TP", "\\fB" + roff(first) + "\\fR", line(second) if second else "\\&"]
    return lines


def literal(lines):
    return [".RS 4", ".nf", *[("\\&" + roff(text)) if text else "\\&" for text in lines], ".fi", ".RE"]


def title(name, section, says):
    return ['.\\" Generated from schema/ by schema/generate.py; do not edit.',
            f'.TH {name.upper()} {section} {DATE} Argos "Argos"', ".SH NAME", f"{roff(name)} \\- {roff(says)}"]


def see_also(*pages):
    lines = [".SH SEE ALSO"]
    for number, (name, section) in enumerate(pages):
        lines.append(f".BR {roff(name)} ({section})" + (" ," if number + 1 < len(pages) else ""))
    return lines


def page(lines):
    return "\n".join(lines) + "\n"


def argos_page(table):
    lines = title("argos", 1, "talk to the agents of argosd, and look at what it does")
    lines += [".SH SYNOPSIS", ".B argos", ".RI [ \\-\\-home\\~DIR ]", ".RI [ \\-\\-json ]", ".I COMMAND", ".RI [ WORDS ]"]
    lines += [".SH DESCRIPTION", line("argos is the command line of Argos, a broker for AI agents. All but a few of its commands ask the "
                                      "argosd that runs in the home; those that work on the home itself need none."),
              ".SH OPTIONS", *tagged(table["common"]), ".SH COMMANDS"]
    for row in table["argos"]:
        lines += [f".SS {row['name']}"]
        lines += tagged([(" ".join(filter(None, ["argos", row["name"], words])), says) for words, says in row["lines"]])
        lines += [".PP", line(row["text"])] if "text" in row else []
        lines += [".PP", "Options:", *tagged(row["options"])] if "options" in row else []
        lines += [".PP", "For example:", *tagged(row["examples"])]
    lines += [".SH EXIT STATUS", *tagged(table["exits"]), ".SH ENVIRONMENT", *tagged(table["environment"]), ".SH FILES", *tagged(table["files"])]
    return page(lines + see_also(("argosd", 8), ("argos.yaml", 5), ("argos-protocol", 7)))


def argosd_page(table):
    daemon = table["argosd"]
    lines = title("argosd", 8, "the daemon of Argos, a broker for AI agents") + [".SH SYNOPSIS", ".nf"]
    lines += [roff(text) for text in daemon["synopsis"]] + [".fi", ".SH DESCRIPTION"]
    for number, text in enumerate(daemon["text"]):
        lines += ([".PP"] if number else []) + [line(text)]
    lines += [".SH OPTIONS", *tagged(daemon["options"]), ".SH SIGNALS", *tagged(daemon["signals"]), ".SH EXIT STATUS", *tagged(daemon["exits"]),
              ".SH ENVIRONMENT", *tagged(table["environment"]), ".SH FILES", *tagged(table["files"]), ".SH EXAMPLES", *tagged(daemon["examples"])]
    return page(lines + see_also(("argos", 1), ("argos.yaml", 5), ("argos-protocol", 7)))


def setting_kind(member):
    if "enum" in member:
        return "one of " + ", ".join(str(value) for value in member["enum"])
    kind = member.get("type", "any")
    text = " or ".join(kind) if isinstance(kind, list) else kind
    if "minimum" in member and "maximum" in member:
        text += f" {member['minimum']} to {member['maximum']}"
    return {"object": "a block", "array": "a list", "boolean": "true or false"}.get(text, text)


def setting_rows(schema, resolve, root, prefix=""):
    for name, member in schema.get("properties", {}).items():
        brief = prefix and "$ref" in member and "properties" in resolve(member, root)
        member = {**resolve(member, root), **member}
        facts = [setting_kind(member)]
        if "default" in member:
            facts.append("default " + json.dumps(member["default"], ensure_ascii=False))
        elif member.get("examples") and not isinstance(member["examples"][0], (dict, list)):
            facts.append("for example " + json.dumps(member["examples"][0], ensure_ascii=False))
        yield prefix + name, f"{member['description'].rstrip('.')}. ({'; '.join(facts)})"
        if brief:
            continue
        yield from setting_rows(member, resolve, root, prefix + name + ".")
        if "x-name" in member:
            yield from setting_rows(resolve(member["additionalProperties"], root), resolve, root, f"{prefix}{name}.{member['x-name'].upper()}.")


def yaml_page(schema, resolve):
    lines = title("argos.yaml", 5, "the settings of argosd")
    lines += [".SH DESCRIPTION", line("argos.yaml in the home of argosd, a YAML file, has its settings. Every key may be left out. local.yaml, which "
                                      "argos config set writes, lies over it, and the environment over both. A secret may be env:NAME or file:PATH: "
                                      "where it is. argos config check says whether the files are valid, argos config show where each value "
                                      "comes from; argos config reload makes argosd read them again. The names below have a dot for each level; a "
                                      "name in capitals is yours."),
              ".SH KEYS", *tagged(setting_rows(schema, resolve, schema)), ".SH EXAMPLE"]
    lines += literal(["provider:", "  kind: openai", "  base_url: https://api.openai.com/v1", "  model: gpt-4o-mini", "  key: env:OPENAI_API_KEY", "http:", "  port: 8642"])
    return page(lines + see_also(("argos", 1), ("argosd", 8)))


def plain(text):
    """A paragraph of Markdown without its marks."""
    return re.sub(r"\*\*?([^*]+)\*\*?", r"\1", text.replace("`", ""))


def markdown(text):
    """The Markdown of the protocol's first half as roff: headings, code, tables, paragraphs."""
    lines, paragraph, code, started = [], [], None, False

    def flush():
        nonlocal started
        if paragraph:
            lines.extend(([".PP"] if started else []) + [line(plain(" ".join(paragraph)))])
            started = True
            paragraph.clear()

    for text_line in text.splitlines():
        if text_line.startswith("```"):
            flush()
            if code is not None:
                lines.extend(literal(code))
            code, started = ([], started) if code is None else (None, True)
        elif code is not None:
            code.append(text_line)
        elif text_line.startswith("# "):
            continue
        elif text_line.startswith("## "):
            flush()
            lines.append(".SH " + roff(plain(text_line[3:]).upper()))
            started = False
        elif text_line.startswith("|"):
            flush()
            cells = [plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", text_line)[1:-1]]
            if not set(cells[0]) <= set("-") and cells[0] != "member":
                lines.extend(tagged([(cells[0], "; ".join(filter(None, cells[1:])))]))
                started = True
        elif not text_line.strip():
            flush()
        else:
            paragraph.append(text_line)
    flush()
    return lines


def protocol_page(head, types, errors):
    lines = title("argos-protocol", 7, "how a program speaks with the broker of Argos") + [".SH DESCRIPTION"]
    lines += markdown(head) + [".SH TYPES", "Members and bounds of each are in docs/protocol.md and in the schemas."]
    lines += tagged((name, f"{schema['title']}, from {schema['x-from']} to {schema['x-to']}. {schema['description']}") for name, schema in types.items())
    lines += [".SH ERRORS", *tagged(errors.items())]
    return page(lines + see_also(("argos", 1), ("argosd", 8)))
