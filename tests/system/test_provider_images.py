"""Images that came with a message, as a model gets them: in the form of its wire, within limits; else their notes, and the turn goes on."""
import base64
import hashlib
import struct
import zlib

import pytest

from test_provider_faults import FINE, Chat, Faults, settings


def png(color):
    """A picture of one pixel."""
    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
            + part(b"IDAT", zlib.compress(b"\0" + bytes(color))) + part(b"IEND", b""))


def photo(width, height, comments=0):
    """A grey JPEG of that size, whose every block is two bits, and so many comments of 64 KiB."""
    def part(mark, data):
        return b"\xff" + bytes([mark]) + struct.pack(">H", len(data) + 2) + data
    one_code = bytes([1] + [0] * 16)  # Of one bit: no difference to the block before, and nothing else in it
    return (b"\xff\xd8" + part(0xE1, b"Exif\0\0II*\0") + part(0xFE, bytes(65533)) * comments + part(0xDB, b"\0" + b"\x10" * 64)
            + part(0xC0, struct.pack(">BHHBBBB", 8, height, width, 1, 1, 0x11, 0)) + part(0xC4, b"\0" + one_code) + part(0xC4, b"\x10" + one_code)
            + part(0xDA, bytes([1, 1, 0, 0, 63, 0])) + bytes((width + 7) // 8 * ((height + 7) // 8) // 4) + b"\xff\xd9")


def size_of(url):
    """(width, height) of a JPEG in a data URL."""
    kind, _, data = url.partition(",")
    assert kind == "data:image/jpeg;base64"
    height, width = struct.unpack_from(">HH", (data := base64.b64decode(data)), data.index(b"\xff\xc0") + 5)
    return width, height


RED, GREEN = png((255, 0, 0)), png((0, 255, 0))


def url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.fixture(scope="module")
def faults():
    faults = Faults()
    yield faults
    faults.close()


def chat_fixture(**options):
    @pytest.fixture(scope="module")
    def chat(faults):
        chat = Chat(settings(faults, **{**options, "fallback": options.get("fallback", "").replace("PORT", str(faults.port))}))
        yield chat
        chat.close()
    return chat


openai = chat_fixture()
anthropic = chat_fixture(kind="anthropic")
standby = chat_fixture(fallback="fallback_providers:\n  - kind: openai\n    base_url: http://127.0.0.1:PORT/v1\n    model: standby\n"
                                "    key: env:FAULT_KEY\n")


def put(chat, data):
    blob = "sha256:" + hashlib.sha256(data).hexdigest()
    for offset in range(0, len(data), 1 << 18):
        piece = base64.b64encode(data[offset:offset + (1 << 18)]).decode()
        header = {"type": "blob.put", "to": "store", "durable": True}
        assert chat.peer.ask(header, {"blob": blob, "size": len(data), "offset": offset, "data": piece})[0]["type"] == "accepted"
    return blob


def show(chat, words, *files, new=True, sized=True, model="m"):
    """A message with these files; (the delivery, its stored rows)."""
    send(chat, words, *files, new=new, sized=sized, model=model)
    data = chat.hear()
    return data, chat.rows(data["run_id"])


def send(chat, words, *files, new=True, sized=True, model="m"):
    chat.chats += new
    header, body, _ = chat.message(words)
    body["model"] = model
    body["attachments"] = [{"blob": put(chat, data), "kind": "image", "name": "seen.png", **({"size": len(data)} if sized else {})} for data in files]
    assert chat.peer.ask(header, body)[0]["type"] == "accepted"


def images(body):
    """Of each message of a request: what it has of images."""
    found = []
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else []
        found.append([part.get("image_url", {}).get("url") or f"data:{part['source']['media_type']};base64,{part['source']['data']}"
                      for part in parts if part["type"] in ("image", "image_url")])
    return [urls for urls in found if urls]


def said(body):
    content = next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user")
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def check_rows(rows):
    """A note, the reference, and no bytes."""
    assert "[attached image: seen.png" in rows[0]["content"] and "sha256:" in rows[0]["content"]
    assert rows[0]["attachments"][0]["kind"] == "image" and "base64" not in str(rows)
    assert [row["role"] for row in rows[:2]] == ["user", "assistant"]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_sees_them_now_and_in_later_turns(request, faults, wire):
    chat = request.getfixturevalue(wire)
    name = "image" if wire == "openai" else "a_image"
    data, rows = show(chat, f"what is this? @{name}", RED, GREEN)
    assert data["text"] == FINE
    check_rows(rows)
    first = faults.requests(name)[-1]
    assert images(first) == [[url(RED), url(GREEN)]] and said(first).startswith("what is this?")
    assert chat.ask(f"and now? @{name}", new=False)["text"] == FINE
    second = faults.requests(name)[-1]
    assert second["model"] == first["model"] == "m" and images(second) == images(first)
    if wire == "openai":  # What was sent is sent again: caches of providers live on that
        assert second["messages"][:len(first["messages"])] == first["messages"]
    data, rows = show(chat, f"and this? @{name}", GREEN, new=False)
    assert images(faults.requests(name)[-1]) == [[url(RED), url(GREEN)], [url(GREEN)]]


@pytest.mark.parametrize("name, remembered", [
    ("image_refused", True), ("image_string", True), ("image_no_endpoint", True),
    ("image_too_large", False), ("image_unreadable", False), ("image_payload", False), ("a_image_too_large", False),
])
def test_what_is_refused_is_left_to_its_note(request, faults, name, remembered):
    chat = request.getfixturevalue("anthropic" if name.startswith("a_") else "openai")
    data, rows = show(chat, f"what is this? @{name}", RED, model=name)
    assert data["text"] == FINE
    check_rows(rows)
    first, second = faults.requests(name)
    assert images(first) == [[url(RED)]] and images(second) == []
    assert "[attached image: seen.png" in said(second) and "not shown: the model does not take it" in said(second)
    model, name = name, "a_image" if name.startswith("a_") else "image"
    show(chat, f"another one @{name}", GREEN, model=model)
    assert images(faults.requests(name)[-1]) == ([] if remembered else [[url(GREEN)]])


def test_who_stands_in_gets_them_too(standby, faults):
    assert show(standby, "what is this? @auth_401", RED)[0]["text"] == "standing in"
    assert images(faults.requests("standby_auth_401")[-1]) == [[url(RED)]]


def test_a_retry_shows_them_again(openai, faults):
    show(openai, "what is this? @image", RED, GREEN)
    first = faults.requests("image")[-1]
    data = openai.ask("/retry", new=False)
    assert data["text"] == FINE
    again = faults.requests("image")[-1]
    assert images(again) == [[url(RED), url(GREEN)]] and said(again) == said(first) and said(again).count("[attached image") == 2
    rows = openai.rows(data["run_id"])
    assert len([row for row in rows if row["role"] == "user"]) == 1
    check_rows(rows)


def test_limits(openai, faults):
    large = RED + bytes(4 << 20)
    data, rows = show(openai, "what is this? @image", b"no picture at all", large, RED)
    assert data["text"] == FINE
    check_rows(rows)
    body = faults.requests("image")[-1]
    assert images(body) == [[url(RED)]]
    assert "not shown: it is no PNG" in said(body) and "not shown: it is too large" in said(body)
    data, _ = show(openai, "and now? @image", large, sized=False)  # Nobody says how large it is
    assert data["text"] == FINE and "not shown: it is too large" in said(faults.requests("image")[-1])
    many = [png((0, 0, number)) for number in range(10)]
    show(openai, "many @image", *many)
    body = faults.requests("image")[-1]
    assert images(body) == [[url(data) for data in many[2:]]]
    assert said(body).count("not shown: there are newer ones") == 2


def test_a_large_photo_is_made_smaller(openai, anthropic, faults):
    large, small = photo(4096, 3072, 20), photo(4096, 64)
    assert len(large) > 1 << 20 and len(small) < 1 << 20
    for chat, name in (openai, "image"), (anthropic, "a_image"):
        data, rows = show(chat, f"what is this? @{name}", large, small)
        assert data["text"] == FINE
        check_rows(rows)
        (first, second), = images(faults.requests(name)[-1])
        assert size_of(first) == (2048, 1536) and b"Exif" in base64.b64decode(first.partition(",")[2])
        assert second == url(small, "image/jpeg")
        chat.ask(f"and now? @{name}", new=False)  # What was sent is sent again, byte for byte
        assert images(faults.requests(name)[-1]) == [[first, second]]


def test_many_large_photos_find_room(openai, faults):
    data, _ = show(openai, "what are these? @image", *[photo(2400 + 8 * number, 800, 18) for number in range(8)])
    assert data["text"] == FINE
    (*urls,), = images(faults.requests("image")[-1])
    assert [size_of(one)[0] <= 2048 for one in urls] == [True] * 8


def test_a_photo_that_can_not_be_made_smaller_gets_words(openai, faults):
    broken = photo(64, 64, 70)[:-200].replace(b"\xff\xda", b"\xff\x01")
    for words in ("what is this? @image", "and now? @image"):
        data, _ = show(openai, words, broken)
        assert data["text"] == FINE and images(faults.requests("image")[-1]) == []
        assert "not shown: it is too large" in said(faults.requests("image")[-1])


def test_a_stop_waits_for_none_of_them(openai):
    send(openai, "what are these? @image_silent", *[png((number, 0, 0)) + bytes(1000000) for number in range(8)])
    said = openai.ask("/stop", new=False)
    while said["text"] != "Stopped.":
        said = openai.hear()
    assert openai.run(said["run_id"])["state"] == "cancelled"
    assert openai.ask("and now? @ok")["text"] == FINE
