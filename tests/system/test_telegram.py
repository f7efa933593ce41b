"""The Telegram adapter against a Bot API that keeps its rules (tests/fakes/fake_telegram.py): conversations, topics, buttons, files."""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import pytest

from conftest import BUILD, Argosd, wait_until
from edge import free_port
from edits import Events, Gate
from person import Person

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
from fake_telegram import FakeTelegram, new_token  # noqa: E402

ANA, GROUP = 5001, -1001000000001
SERVICE = "deliver.telegram.main"

@pytest.fixture(scope="module")
def one():
    """A bot for all tests that change no settings and kill nothing: (argosd, fake)."""
    folder = tempfile.mkdtemp(prefix="argos-")
    with FakeTelegram() as fake:
        daemon = begin(Argosd(folder), fake)
        yield daemon, fake
        code = daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)
    assert code == 0 and fake.bot.token.split(":")[1] not in daemon.text(), daemon.text()


@pytest.fixture
def telegram(request):
    """A Telegram in which Ana is; that of `one`, or one of its own."""
    if "ready" in request.fixturenames and not request.node.get_closest_marker("platform"):
        fake = request.getfixturevalue("one")[1]
        fake.forget()
        fake.private(ANA)
        yield fake
        return
    with FakeTelegram() as fake:
        fake.private(ANA)
        yield fake


def settings(daemon, telegram, extra="", account=""):
    """The file of settings, and the environment that has the token."""
    (daemon.home / "argos.yaml").write_text("platforms:\n  telegram:\n    token: env:TELEGRAM_BOT_TOKEN\n"
                                            f"    base_url: {telegram.url}\n{extra}{account}")
    return {"TELEGRAM_BOT_TOKEN": telegram.bot.token}


def begin(daemon, telegram, extra=""):
    daemon.start(env=settings(daemon, telegram, extra))
    daemon.wait_log("event=connected")
    return daemon


@pytest.fixture
def ready(request, telegram):
    """An argosd whose bot is there: that of all, or, with a mark `platform` of further settings, one of its own."""
    mark = request.node.get_closest_marker("platform")
    if not mark:
        yield request.getfixturevalue("one")[0]
        return
    daemon = request.getfixturevalue("daemon")
    begin(daemon, telegram, "".join(f"    {line}\n" for line in mark.args))
    yield daemon
    assert telegram.bot.token.split(":")[1] not in daemon.text()
    if daemon.process.poll() is None:
        assert daemon.stop() == 0, daemon.text()


@pytest.fixture
def person(ready):
    person = Person(ready, SERVICE)
    yield person
    person.close()


def whole(telegram, chat, text):
    """A message with this text that is not being written any more."""
    telegram.wait(lambda: any(text in have and "\u258c" not in have for have in telegram.texts(chat)))
    return telegram.wait_text(chat, text)


#  Conversations

def test_talk(ready, telegram):
    telegram.say(ANA, "hello")
    telegram.wait_text(ANA, "You said: hello")
    telegram.say(ANA, "and again")
    telegram.wait_text(ANA, "You said: and again")
    gate = Gate(ready.tools_home)
    telegram.say(ANA, gate.words)
    telegram.wait(lambda: (ANA, "typing", None) in telegram.bot.actions)
    gate.open()
    wait_until(lambda: {row["command"] for row in telegram.bot.commands} >= {"new", "status", "stop"})


def test_marks_become_entities(ready, telegram):
    telegram.say(ANA, "!say **bold** and `code` 👍 _it_")
    message = whole(telegram, ANA, "bold and code")
    assert message["text"] == "bold and code 👍 it"
    assert [(e["type"], e["offset"], e["length"]) for e in message["entities"]] == [("bold", 0, 4), ("code", 9, 4), ("italic", 17, 2)]


def test_a_long_answer_comes_in_pieces(ready, telegram):
    telegram.say(ANA, "!big 9000")
    telegram.wait(lambda: sum(len(text) for text in telegram.texts(ANA)) >= 8990)
    assert len(telegram.texts(ANA)) >= 3
    assert all(len(text) <= 4096 for text in telegram.texts(ANA))


def test_a_text_that_is_being_written_is_one_message(ready, telegram):
    telegram.say(ANA, "!slow 80")
    telegram.wait(lambda: telegram.sent(ANA, "edit"))
    telegram.wait(lambda: any("\u258c" not in text and len(text) > 100 for text in telegram.texts(ANA)))
    assert len(telegram.texts(ANA)) == 1
    assert all("\u258c" in message["text"] for message in telegram.sent(ANA))


@pytest.mark.platform("drafts: false")
def test_without_drafts_it_is_sent_once(ready, telegram):
    telegram.say(ANA, "!slow 30")
    telegram.wait(lambda: telegram.sent(ANA))
    assert not telegram.sent(ANA, "edit")


def test_what_is_edited_is_not_heard_twice(ready, telegram):
    message = telegram.say(ANA, "first")
    telegram.wait_text(ANA, "You said: first")
    telegram.update("edited_message", {**message, "text": "changed", "edit_date": 1})
    telegram.say(ANA, "second")
    telegram.wait_text(ANA, "You said: second")
    assert len(telegram.texts(ANA)) == 2


def test_a_message_that_waits_is_answered_as_it_was_edited(ready, telegram):
    gate = Gate(ready.tools_home)
    with Events(ready) as events:
        telegram.say(ANA, gate.words)
        waiting = telegram.say(ANA, "old words")
        album = telegram.keep_file(b"\xff\xd8", "p.jpg", "image/jpeg")
        photo = telegram.say(ANA, caption="a cat", photo=[{"file_id": album, "file_unique_id": "u", "file_size": 2, "width": 9, "height": 9}])
        telegram.duplicate = 1
        telegram.edit(ANA, waiting, "new words")
        telegram.duplicate = 0
        telegram.update("edited_message", {**photo, "caption": "a dog", "edit_date": 2})
        for message, text in ((waiting, "new words"), (photo, "a dog")):
            assert events.next(str(message["message_id"]))["message"] == text
        gate.open()
        whole(telegram, ANA, "You said: new words")
        assert "photo.jpg" in whole(telegram, ANA, "You said: a dog")["text"]
        assert not any("old words" in text or "a cat" in text for text in telegram.texts(ANA))


def test_reactions_are_told(ready, telegram):
    telegram.say(ANA, "hello")
    answer = telegram.wait_text(ANA, "You said: hello")["message_id"]
    with Events(ready) as events:
        telegram.react(ANA, answer, [], ["👍"])
        telegram.react(ANA, answer, ["👍"], ["❤"])
        telegram.react(ANA, answer, ["❤"], [])
        told = [events.next(str(answer)) for _ in range(3)]
    assert [(event["emoji"], event["state"]) for event in told] == [("👍", "added"), ("❤", "added"), ("❤", "removed")]
    assert all(event["user_id"] == str(ANA) for event in told)


def test_an_update_that_comes_twice_is_one_message(ready, telegram):
    telegram.duplicate = 1
    telegram.say(ANA, "twice")
    telegram.duplicate = 0
    telegram.say(ANA, "end")
    telegram.wait_text(ANA, "You said: end")
    assert [text for text in telegram.texts(ANA) if "twice" in text] == ["You said: twice"]


def test_after_a_kill_nothing_is_heard_twice(daemon, telegram):
    begin(daemon, telegram)
    telegram.say(ANA, "one")
    whole(telegram, ANA, "You said: one")
    daemon.kill()
    telegram.say(ANA, "two")
    daemon.start(env={"TELEGRAM_BOT_TOKEN": telegram.bot.token})
    whole(telegram, ANA, "You said: two")
    #  What was said and not yet known to be said may come again, marked
    texts = [text.replace("♻️ (this may be a repetition) ", "") for text in telegram.texts(ANA)]
    assert list(dict.fromkeys(texts)) == ["You said: one", "You said: two"]
    assert daemon.stop() == 0


def test_a_long_paste_and_an_album_are_one_message_each(ready, telegram):
    telegram.say(ANA, "a" * 4096)
    telegram.say(ANA, "b" * 10)
    telegram.wait(lambda: "aaabbb" in "".join(telegram.texts(ANA)))
    photo = [telegram.keep_file(b"\xff\xd8" + bytes([n]) * 1000, "p.jpg", "image/jpeg") for n in range(2)]
    for number, file in enumerate(photo):
        telegram.say(ANA, media_group_id="77", photo=[{"file_id": file, "file_unique_id": "u", "file_size": 1002, "width": 9, "height": 9}],
                     **({"caption": "look"} if number == 0 else {}))
    telegram.wait(lambda: telegram.texts(ANA)[-1].startswith("You said: look"))
    answer = telegram.texts(ANA)[-1]
    assert answer.count("photo.jpg") == 2, answer


#  Groups and topics

def mention(text, name="@fake_bot"):
    at = len(text[:text.index(name)].encode("utf-16-le")) // 2
    return [{"type": "mention", "offset": at, "length": len(name)}]


def test_in_a_group_only_what_is_for_us(ready, telegram):
    telegram.group(GROUP)
    telegram.say(GROUP, "nobody")
    telegram.say(GROUP, "mail a@fake_bot2 👋")
    telegram.say(GROUP, "/status@other_bot")
    text = "👍👍 hey @fake_bot what"
    telegram.say(GROUP, text, entities=mention(text))
    answer = whole(telegram, GROUP, "You said")
    assert answer["text"].endswith("👍👍 hey  what")
    assert answer["reply_to_message"]["text"] == text
    telegram.say(GROUP, "you there", reply_to=answer["message_id"])
    telegram.wait_text(GROUP, "you there")
    telegram.say(GROUP, "/status@fake_bot")
    telegram.wait(lambda: len(telegram.texts(GROUP)) == 3)


@pytest.mark.platform("require_mention: false", 'ignored_threads: ["9"]')
def test_topics_have_conversations_of_their_own(ready, telegram):
    chat = telegram.group(GROUP, forum=True)
    telegram.chats[chat].topics.update({7: "seven", 9: "nine"})
    telegram.say(chat, "in seven", thread=7)
    telegram.say(chat, "in nine", thread=9)
    telegram.say(chat, "in general")
    telegram.wait(lambda: len(telegram.texts(chat)) == 2)
    seven, general = (telegram.wait_text(chat, f"in {name}") for name in ("seven", "general"))
    assert seven["message_thread_id"] == 7 and "message_thread_id" not in general
    #  Where it types; it may have been too fast for that
    assert {thread for where, _, thread in telegram.bot.actions if where == chat} <= {7, 1}


@pytest.mark.platform("require_mention: false")
def test_a_chain_of_replies_is_no_topic(ready, telegram):
    telegram.group(GROUP)
    telegram.say(GROUP, "a reply", message_thread_id=3)
    assert "message_thread_id" not in telegram.wait_text(GROUP, "a reply")


@pytest.mark.platform("require_mention: false")
def test_a_group_that_gets_another_id_stays_one_conversation(ready, telegram, person):
    telegram.group(-77, kind="group")
    telegram.say(-77, "before")
    telegram.wait_text(-77, "before")
    telegram.migrate(-77, GROUP)
    telegram.say(GROUP, "/status")
    telegram.wait_text(GROUP, "Session")
    assert person.receipt(person.deliver(-77, "to the old one"))["state"] == "sent"
    assert "to the old one" in telegram.texts(GROUP)


#  What can be asked of it

def test_operations(ready, telegram, person):
    sent = person.receipt(person.deliver(ANA, "x" * 5000))
    assert sent["state"] == "sent" and len(sent["platform_ids"]) == 2
    assert person.receipt(person.deliver(ANA, "short", op="edit", message_ids=sent["platform_ids"]))["state"] == "sent"
    assert telegram.texts(ANA) == ["short"]
    assert person.receipt(person.deliver(ANA, "short", op="edit", message_ids=sent["platform_ids"][:1]))["state"] == "sent"  # As it is
    one = sent["platform_ids"][0]
    assert person.receipt(person.deliver(ANA, op="react", message_ids=[one], emoji="✅"))["state"] == "sent"
    assert telegram.chats[ANA].messages[int(one)]["reactions"] == [{"type": "emoji", "emoji": "👍"}]
    assert person.receipt(person.deliver(ANA, op="delete", message_ids=[one]))["state"] == "sent"
    assert person.receipt(person.deliver(ANA, op="delete", message_ids=[one]))["state"] == "sent"  # It is gone: that was the wish
    gone = person.receipt(person.deliver(ANA, "x", op="edit", message_ids=["999"]))
    assert gone["state"] == "refused" and "not found" in gone["error"]
    assert person.receipt(person.deliver(404, "x"))["error"].endswith("chat not found")


def test_who_has_blocked_the_bot_is_gone_until_something_comes_through(ready, telegram, person):
    gone = lambda: [row["key"] for row in person.peer.ask(  # noqa: E731
        {"type": "delivery.list", "to": "store"}, {"state": "gone", "service": SERVICE})[2]["deliveries"]]
    before = set(gone())
    telegram.chats[ANA].blocked = True
    receipt = person.receipt(person.deliver(ANA, "hello?"))
    assert receipt["state"] == "refused" and receipt["error"].startswith("forbidden: ") and set(gone()) - before == {str(ANA)}
    receipt = person.receipt(person.deliver(404404, "anybody?"))
    assert receipt["state"] == "refused" and receipt["error"].startswith("not_found: ")
    telegram.chats[ANA].blocked = False
    assert person.receipt(person.deliver(ANA, "there you are"))["state"] == "sent" and set(gone()) - before == {"404404"}


def test_buttons(ready, telegram, person):
    options = [{"id": "once", "label": "Once"}, {"id": "deny", "label": "No"}]
    receipt = person.receipt(person.deliver(ANA, "Run it?", op="prompt", options=options))
    message = int(receipt["platform_ids"][0])
    rows = telegram.chats[ANA].messages[message]["reply_markup"]["inline_keyboard"]
    assert [row[0]["callback_data"] for row in rows] == ["once", "deny"]
    query = telegram.press(ANA, message, "once")
    telegram.wait_text(ANA, "You said: once")
    telegram.wait(lambda: telegram.bot.queries[query] and "reply_markup" not in telegram.chats[ANA].messages[message])


def test_requests(ready, telegram, person):
    forum = telegram.group(GROUP, forum=True)
    telegram.group(-55, kind="group")
    kind, made = person.ask("thread.create", chat_id=str(forum), name="Handoff 1")
    assert kind == "thread.create.result" and telegram.chats[forum].topics[int(made["thread_id"])] == "Handoff 1"
    assert telegram.texts(forum)[-1] == "📌 Handoff 1"
    assert person.ask("thread.create", chat_id="-55", name="x")[1]["code"] == "unsupported"
    assert person.ask("chat.info", chat_id=str(forum))[1] == {"chat_id": str(forum), "chat_type": "forum", "thread_id": "1", "name": "Lab"}
    assert person.ask("chat.info", chat_id="1234")[1]["code"] == "not_found"
    assert person.ask("probe")[1] == {"ok": True, "user_name": "fake_bot"}


def test_a_synthetic_turn_and_the_first_human_message_share_a_conversation(ready, telegram, person):
    """What chat.info and thread.create say is the source that a real message in that thread has."""
    forum = telegram.group(GROUP, forum=True)
    info, thread = person.ask("chat.info", chat_id=str(forum))[1], person.ask("thread.create", chat_id=str(forum), name="n")[1]
    telegram.say(forum, "@fake_bot hello", thread=int(thread["thread_id"]), entities=mention("@fake_bot"))
    answer = whole(telegram, forum, "hello")
    assert answer["message_thread_id"] == int(thread["thread_id"])
    key = f"agent:main:telegram:{info['chat_type']}:{forum}:{thread['thread_id']}"
    route = person.peer.ask({"type": "route.get", "to": "store"}, {"key": key})[2]["route"]
    assert route and route["session_id"], key


def test_files_both_ways(ready, telegram, person):
    data = bytes(range(256)) * 3000
    file = telegram.keep_file(data, "report.pdf", "application/pdf")
    telegram.say(ANA, caption="read this", document={"file_id": file, "file_unique_id": "u", "file_name": "report.pdf",
                                                     "mime_type": "application/pdf", "file_size": len(data)})
    blob = "sha256:" + hashlib.sha256(data).hexdigest()
    assert blob in telegram.wait_text(ANA, "read this")["text"]
    for kind, name in (("document", "back.pdf"), ("voice", "v.ogg"), ("image", "no.jpg")):
        receipt = person.receipt(person.deliver(ANA, "caption", op="media",
                                                attachments=[{"blob": blob, "kind": kind, "name": name, "media_type": "application/pdf"}]))
        message = telegram.chats[ANA].messages[int(receipt["platform_ids"][0])]
        got = message.get("voice") if kind == "voice" else message["document"]  # What is no image goes as a document
        assert telegram.files[got["file_id"]][0] == data and message["caption"] == "caption"


def test_what_cannot_be_fetched_is_said(ready, telegram):
    telegram.faults.add("getFile", "500")
    telegram.say(ANA, caption="broken", document={"file_id": "none", "file_name": "a.bin", "file_size": 3})
    telegram.say(ANA, caption="huge", document={"file_id": "none", "file_name": "b.bin", "file_size": 30 << 20})
    assert "could not be fetched" in telegram.wait_text(ANA, "broken")["text"]
    assert "larger than 20 MB" in telegram.wait_text(ANA, "huge")["text"]


#  Accounts, webhook, tokens

def test_two_accounts(daemon, telegram):
    with FakeTelegram() as other:
        other.private(ANA)
        env = settings(daemon, telegram, f"    accounts:\n      work:\n        token: env:WORK\n        base_url: {other.url}\n")
        daemon.start(env={**env, "WORK": other.bot.token})
        for fake in (telegram, other):
            fake.say(ANA, "hello " + fake.bot.username)
            fake.wait_text(ANA, "You said: hello")
        assert len(telegram.texts(ANA)) == len(other.texts(ANA)) == 1
        assert daemon.stop() == 0


def test_a_token_has_one_owner(daemon, telegram):
    env = settings(daemon, telegram, "    accounts:\n      again:\n        token: env:TELEGRAM_BOT_TOKEN\n")
    daemon.start(env=env)
    assert "another adapter on this host uses the same token" in daemon.wait_log("can't work")
    telegram.say(ANA, "hello")
    telegram.wait_text(ANA, "You said: hello")
    assert daemon.stop() == 0


def test_a_bad_token_is_said_and_the_daemon_runs(daemon, telegram):
    settings(daemon, telegram)
    daemon.start(env={"TELEGRAM_BOT_TOKEN": new_token()})
    assert "is the token right" in daemon.wait_log("can't work")
    person = Person(daemon, SERVICE)
    kind, answer = person.ask("probe")
    assert kind == "probe.result" and not answer["ok"] and "Unauthorized" in answer["problem"]
    person.close()
    assert daemon.stop() == 0


def test_webhook(daemon, telegram):
    port = free_port()
    env = settings(daemon, telegram, f"    webhook_url: https://example.org/hook\n    webhook_port: {port}\n    webhook_secret: env:HOOK\n")
    daemon.start(env={**env, "HOOK": "s3cret"})
    telegram.wait(lambda: telegram.bot.webhook)
    message = telegram.store(telegram.chats[ANA], {"from": telegram.chats[ANA].user, "text": "by hook"}, None)
    body = json.dumps({"update_id": 5, "message": message}).encode()

    def post(secret, data=body):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", data, {"X-Telegram-Bot-Api-Secret-Token": secret})
        try:
            return urllib.request.urlopen(request, timeout=20).status
        except urllib.error.HTTPError as error:
            return error.code

    assert post("wrong") == 401
    assert post("s3cret", b"{broken") == 400
    assert post(telegram.bot.secret) == 200
    assert post(telegram.bot.secret) == 200  # Its answer was lost: the same once more
    telegram.wait_text(ANA, "You said: by hook")
    assert post("s3cret", json.dumps({"update_id": 6, "message": {**message, "message_id": 99, "text": "next"}}).encode()) == 200
    telegram.wait_text(ANA, "You said: next")
    assert telegram.texts(ANA) == ["You said: by hook", "You said: next"]
    assert daemon.stop() == 0


#  The judge

def test_adapter_check(home, telegram):
    (home / "argos.yaml").write_text(f"platforms:\n  telegram:\n    token: env:TELEGRAM_BOT_TOKEN\n    base_url: {telegram.url}\n")
    telegram.private(1)
    command = f"{BUILD}/argosd --home {home} --only telegram.main --broker \"$ARGOS_ENDPOINT\""
    done = subprocess.run([BUILD / "argos", "adapter-check", command, "--platform", "telegram", "--account", "main", "--json"],
                          capture_output=True, text=True, timeout=200, check=False,
                          env={"PATH": "/usr/bin:/bin", "TELEGRAM_BOT_TOKEN": telegram.bot.token, "ARGOS_HOME": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r'"oversize"', done.stdout)


#  The command line

def argos(daemon, *words, given=None, home=None):
    return subprocess.run([BUILD / "argos", *words, "--home", home or daemon.home], capture_output=True, text=True, input=given, timeout=60,
                          env={"PATH": "/usr/bin:/bin"}, check=False)


def test_adapters_are_listed_probed_and_paused(ready, telegram, person):
    assert re.search(r"telegram\.main +serving", argos(ready, "adapters").stdout)
    assert "@fake_bot" in argos(ready, "adapters", "status").stdout
    assert argos(ready, "adapters", "probe", "telegram.main").returncode == 0
    assert argos(ready, "adapters", "probe", "telegram.other").returncode == 1
    assert "paused" in argos(ready, "adapters", "pause", "telegram.main").stdout
    waiting = person.deliver(ANA, "later")
    assert re.search(r"telegram\.main +paused +1", argos(ready, "adapters").stdout)
    assert not telegram.sent(ANA)
    argos(ready, "adapters", "resume", "telegram.main")
    assert person.receipt(waiting)["state"] == "sent"
    row = json.loads(argos(ready, "adapters", "status", "--json").stdout)["adapters"][0]
    assert row["probe"] == {"ok": True, "user_name": "fake_bot"} and row["capabilities"]["send_idempotency"] == "none"


def test_setup(daemon, telegram):
    home = daemon.home_of("telegram")

    def setup(token, url=telegram.url):
        return argos(daemon, "setup", "telegram", "--base-url", url, given=token + "\n", home=home)

    for token, url, words in (("nonsense", telegram.url, "no token of a bot"), (new_token(), telegram.url, "does not know this token"),
                              (telegram.bot.token, "http://127.0.0.1:1", "can't be reached")):
        done = setup(token, url)
        assert done.returncode == 1 and words in done.stderr and token not in done.stderr
    assert not (home / "local.yaml").exists()
    done = setup(telegram.bot.token)
    assert done.returncode == 0 and "@fake_bot" in done.stdout, done.stderr
    secret = home / "secrets" / "telegram.main"
    assert secret.stat().st_mode & 0o777 == 0o600 and telegram.bot.token not in (home / "local.yaml").read_text()
    daemon.start()
    telegram.say(ANA, "hello")
    whole(telegram, ANA, "You said: hello")
    assert daemon.stop() == 0
