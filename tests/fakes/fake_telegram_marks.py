"""MarkdownV2 and HTML as the Bot API reads them: text and entities, or the complaint that it has."""
import html
import re

RESERVED = set("_*[]()~`>#+-=|{}.!")
MARKS = [("||", "spoiler"), ("__", "underline"), ("*", "bold"), ("_", "italic"), ("~", "strikethrough")]
TAGS = {"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline", "s": "strikethrough",
        "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "code": "code", "pre": "pre", "a": "text_link",
        "blockquote": "blockquote"}


class Refused(Exception):
    """code, description, parameters of an answer that is not ok."""

    def __init__(self, code, description, **parameters):
        super().__init__(description)
        self.code, self.description, self.parameters = code, description, parameters


def units(text):
    """Length in UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def entity(kind, start, out, **more):
    return {"type": kind, "offset": units(start), "length": units(out) - units(start), **more}


def complain(text, at, what):
    raise Refused(400, f"Bad Request: can't parse entities: {what} at byte offset {len(text[:at].encode())}")


def markdown_v2(text):
    out, entities, stack, at = "", [], [], 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text) and ord(text[at + 1]) < 127:
            out += text[at + 1]
            at += 2
        elif char == "`":
            fence = "```" if text.startswith("```", at) else "`"
            end = text.find(fence, at + len(fence))
            if end < 0:
                complain(text, at, "Can't find end of " + ("Pre" if fence == "```" else "Code") + " entity")
            inside = text[at + len(fence):end]
            language = re.match(r"(\w+)\n", inside) if fence == "```" else None
            start = out
            out += re.sub(r"\\(.)", r"\1", inside[language.end():] if language else inside.lstrip("\n") if fence == "```" else inside)
            entities.append(entity("pre" if fence == "```" else "code", start, out, **({"language": language.group(1)} if language else {})))
            at = end + len(fence)
        elif mark := next((m for m in MARKS if text.startswith(m[0], at)), None):
            if stack and stack[-1][0] == mark:
                _, start = stack.pop()
                entities.append(entity(mark[1], start, out))
            else:
                stack.append((mark, out))
            at += len(mark[0])
        elif char == "[":
            stack.append((("[", "text_link"), out))
            at += 1
        elif char == "]" and stack and stack[-1][0][0] == "[" and text.startswith("](", at):
            end = at + 2
            while end < len(text) and text[end] != ")":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                complain(text, at, "Can't find end of a URL")
            _, start = stack.pop()
            entities.append(entity("text_link", start, out, url=re.sub(r"\\(.)", r"\1", text[at + 2:end])))
            at = end + 1
        elif char == ">" and (at == 0 or text[at - 1] == "\n"):
            at += 1
        elif char in RESERVED:
            raise Refused(400, f"Bad Request: can't parse entities: Character '{char}' is reserved and must be escaped with the preceding '\\'")
        else:
            out += char
            at += 1
    if stack:
        complain(text, len(text), f"Can't find end of {stack[-1][0][1].capitalize()} entity")
    return out, entities


def html_mode(text):
    out, entities, stack, at = "", [], [], 0
    for found in re.finditer(r"<(/?)([a-zA-Z-]+)([^>]*)>|<", text):
        out += html.unescape(text[at:found.start()])
        at = found.end()
        closes, name, attributes = found.group(1), (found.group(2) or "").lower(), found.group(3) or ""
        if name not in TAGS:
            complain(text, found.start(), f'Unsupported start tag "{name}"')
        if not closes:
            stack.append((name, out, attributes))
        elif not stack or stack[-1][0] != name:
            complain(text, found.start(), f'Unmatched end tag "{name}"')
        else:
            _, start, own = stack.pop()
            url = re.search(r'href="([^"]*)"', own)
            entities.append(entity(TAGS[name], start, out, **({"url": html.unescape(url.group(1))} if url else {})))
    if stack:
        complain(text, len(text), f'Can\'t find end tag corresponding to start tag "{stack[-1][0]}"')
    return out + html.unescape(text[at:]), entities


def read(text, mode, entities):
    """Text and entities as they are stored; trimmed, as the server does."""
    if mode and mode.lower() == "markdownv2":
        text, entities = markdown_v2(text)
    elif mode and mode.lower() == "html":
        text, entities = html_mode(text)
    elif mode and mode.lower() != "markdown":
        raise Refused(400, "Bad Request: unsupported parse_mode")
    entities = entities or []
    total, data = units(text), text.encode("utf-16-le")
    for item in entities:
        first, last = item["offset"], item["offset"] + item["length"]
        if first < 0 or item["length"] <= 0 or last > total:
            raise Refused(400, "Bad Request: ENTITY_BOUNDS_INVALID")
        for at in (first, last):
            if at < total and 0xDC00 <= int.from_bytes(data[2 * at:2 * at + 2], "little") < 0xE000:
                raise Refused(400, "Bad Request: can't parse entities: an entity cuts a character")
    lead = units(text) - units(text.lstrip())
    text = text.strip()
    total = units(text)
    kept = []
    for item in sorted(entities, key=lambda e: (e["offset"], -e["length"])):
        first, last = max(item["offset"] - lead, 0), min(item["offset"] + item["length"] - lead, total)
        if last > first:
            kept.append({**item, "offset": first, "length": last - first})
    return text, kept
