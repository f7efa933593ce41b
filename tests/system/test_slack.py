"""The Slack adapter against Socket Mode and a Web API that keep their rules (tests/fakes/fake_slack.py)."""
import hashlib
import json
import pathlib
import stat
import subprocess
import sys

import pytest

from conftest import BUILD, wait_until
from edits import Events, Gate
from person import Person
from test_adapter_pyzmq import Peer
from test_cli import argos

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
from fake_slack import ANA, APP_TOKEN, ARCHIVED, BOT, BOT_TOKEN, CHANNEL, OUTSIDE, FakeSlack  # noqa: E402


@pytest.fixture
def slack():
    fake = FakeSlack().start()
    yield fake
    fake.stop()


def settings(daemon, slack, extra=""):
    (daemon.home / "argos.yaml").write_text(
        "platforms:\n  slack:\n    token: env:SLACK_BOT_TOKEN\n    app_token: env:SLACK_APP_TOKEN\n"
        f"    base_url: {slack.url}\n    allowed_users: [{ANA}]\n{extra}")
    return {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}


@pytest.fixture
def ready(daemon, slack):
    daemon.start(env=settings(daemon, slack))
    daemon.wait_log("event=connected")
    yield daemon
    assert BOT_TOKEN not in daemon.text() and APP_TOKEN not in daemon.text() and "ticket=" not in daemon.text()
    if daemon.process.poll() is None:
        assert daemon.stop() == 0, daemon.text()


def answered(slack, channel, text, count=1, thread=None):
    slack.until(lambda: slack.texts(channel, thread).count(text) >= count, what=f"{text!r}; there is {slack.texts(channel)}")
    assert slack.texts(channel, thread).count(text) == count


def test_talk(ready, slack):
    """One session for a direct chat; what is said twice is answered once, and acknowledged twice."""
    direct = slack.direct(ANA)
    slack.say(ANA, direct, "hello &lt;you&gt; <https://e.x|there>", repeat=3)
    answered(slack, direct, "You said: hello &lt;you&gt; there (https://e.x)")
    slack.say(ANA, direct, "again")
    answered(slack, direct, "You said: again")
    gate = Gate(ready.tools_home)
    slack.say(ANA, direct, gate.words)
    slack.until(lambda: all(id_ in slack.acks for id_ in slack.delivered), what="an acknowledgement that waits for no answer")
    assert len(slack.texts(direct)) == 2
    gate.open()
    slack.until(lambda: len(slack.texts(direct)) == 3)
    assert not any(m.get("thread_ts") for m in slack.messages.values())


def test_mention_is_answered_in_its_thread(ready, slack):
    slack.say(ANA, CHANNEL, "not for you")
    asked = slack.say(ANA, CHANNEL, f"<@{BOT}> hello")
    answered(slack, CHANNEL, "You said: [Ana] hello", thread=asked)
    slack.say(ANA, CHANNEL, "more", thread=asked)
    answered(slack, CHANNEL, "You said: [Ana] more", thread=asked)
    slack.say(ANA, CHANNEL, "!status", thread=asked)
    slack.until(lambda: len(slack.texts(CHANNEL)) == 3)
    assert len(slack.texts(CHANNEL, asked)) == 3
    assert (CHANNEL, asked, "is writing...") in slack.statuses


def test_commands_and_buttons(ready, slack):
    direct = slack.direct(ANA)
    slack.command(ANA, direct, "/argos", "status")
    slack.until(lambda: slack.texts(direct))
    slack.until(lambda: any(payload for _, _, payload in slack.acks.values()))
    slack.press(ANA, direct, {"ts": slack.ts()}, "press me")
    answered(slack, direct, "You said: press me")


def test_long_answers_and_files(ready, slack):
    direct = slack.direct(ANA)
    slack.say(ANA, direct, "x" * 5000)
    slack.until(lambda: sum(len(text) for text in slack.texts(direct)) == 5010)
    slack.say(ANA, direct, "read this", files=[slack.file("note.txt", b"contents of a file")], subtype="file_share")
    slack.until(lambda: any(text.startswith("You said: read this") and "note.txt" in text for text in slack.texts(direct)))


def test_connections_take_over(ready, slack):
    """A new connection before the old one ends; a cut; a zombie of a connection: nothing is lost."""
    direct = slack.direct(ANA)
    slack.announce("refresh_requested")
    slack.say(ANA, direct, "while it changes")
    slack.until(lambda: slack.numbers == 2 and len(slack.connections) == 1)
    answered(slack, direct, "You said: while it changes")
    slack.cut_all()
    slack.say(ANA, direct, "after a cut")
    answered(slack, direct, "You said: after a cut")
    slack.announce("warning")
    slack.until(lambda: slack.numbers == 4)
    slack.say(ANA, direct, "in the end")
    answered(slack, direct, "You said: in the end")


def test_edits_and_reactions(ready, slack):
    """What waits is answered as it is now; previews and our own edits are nothing; an edit of what began a thread belongs there; reactions are told."""
    direct, gate = slack.direct(ANA), Gate(ready.tools_home)
    with Events(ready) as events:
        slack.say(ANA, direct, gate.words)
        waiting = slack.say(ANA, direct, "old words")
        slack.edit(direct, waiting, "new words", times=2)
        slack.edit(direct, waiting, "new words", edited=False)
        assert events.next()["message"] == "new words"
        gate.open()
        answered(slack, direct, "You said: new words")
        assert not any("old words" in text for text in slack.texts(direct))
        asked = slack.say(ANA, CHANNEL, f"<@{BOT}> hello")
        answered(slack, CHANNEL, "You said: [Ana] hello", thread=asked)
        slack.edit(CHANNEL, asked, f"<@{BOT}> too late")
        told = events.next()
        assert told["message"] == "too late" and told["thread_id"] == asked and "run_id" not in told
        ours = next(ts for (channel, ts), message in slack.messages.items() if channel == direct and message["user"] == BOT)
        slack.react(ANA, CHANNEL, asked, "grin")
        slack.react(ANA, direct, ours, "thumbsup")
        slack.react(ANA, direct, waiting, "thumbsup", on=False)
        told = [events.next() for _ in range(2)]
        assert [(event["message_id"], event["state"]) for event in told] == [(ours, "added"), (waiting, "removed")]


def test_sends_that_fail(ready, slack):
    """What was perhaps sent is looked for; each answer is there once."""
    direct = slack.direct(ANA)
    post = "POST */chat.postMessage"
    for number, fault in enumerate(({"do": "drop"}, {"do": "drop_after"}, {"do": "html", "status": 502},
                                    {"do": "status", "status": 429, "headers": {"Retry-After": "1"}},
                                    {"do": "status", "status": 200, "body": {"ok": False, "error": "internal_error"}})):
        slack.fault(post, **fault)
        slack.say(ANA, direct, f"try {number}")
        answered(slack, direct, f"You said: try {number}")
    assert len(slack.calls("POST */conversations.history")) >= 3


def test_a_draft_that_nobody_saw_sent_becomes_the_answer(ready, slack):
    """The answer to its call is lost: it is found by its mark, and nothing stays beside the answer."""
    direct = slack.direct(ANA)
    before = len(slack.texts(direct))
    slack.fault("POST */chat.postMessage", "drop_after")
    slack.say(ANA, direct, "!slow 30")
    slack.until(lambda: any("token30" in text and "\u258c" not in text for text in slack.texts(direct)[before:]))
    assert len(slack.texts(direct)[before:]) == 1


def test_death_while_sending(daemon, slack):
    """Killed between the call and its answer: the next start finds the message and does not send it again."""
    env = settings(daemon, slack)
    daemon.start(env=env)
    daemon.wait_log("event=connected")
    direct = slack.direct(ANA)
    slack.fault("POST */chat.postMessage", "hang_after")
    slack.say(ANA, direct, "one")
    slack.until(lambda: slack.texts(direct))
    daemon.kill()
    daemon.start(env=env)
    slack.until(lambda: slack.calls("POST */conversations.history"))
    slack.say(ANA, direct, "two")
    answered(slack, direct, "You said: two")
    answered(slack, direct, "You said: one")
    assert daemon.stop() == 0


def test_refused_token(daemon, slack):
    slack.revoked = True
    daemon.start(env=settings(daemon, slack))
    daemon.wait_log("the token was revoked")
    assert daemon.stop() == 0


def test_setup(daemon, slack):
    """Tokens in each other's place, one that is wrong, and then two that work."""
    home = daemon.home_of("slack")

    def setup(*tokens):
        return subprocess.run([BUILD / "argos", "setup", "slack", "--base-url", slack.url, "--home", home], capture_output=True,
                              text=True, input="\n".join(tokens) + "\n", timeout=60, env={"PATH": "/usr/bin:/bin"}, check=False)
    for tokens, said in (((APP_TOKEN, BOT_TOKEN), "begins with xoxb-"), (("xoxb-nobody", APP_TOKEN), "the token of the bot: Slack does not know it"),
                         ((BOT_TOKEN, "xapp-nobody"), "the token of the app: Slack does not know it")):
        done = setup(*tokens)
        assert done.returncode == 1 and said in done.stdout + done.stderr, (done.stdout, done.stderr)
    done = setup(BOT_TOKEN, APP_TOKEN)
    assert done.returncode == 0 and "@gw is set up as slack.main" in done.stdout, (done.stdout, done.stderr)
    for name, token in (("slack.main", BOT_TOKEN), ("slack.main.app", APP_TOKEN)):
        secret = home / "secrets" / name
        assert secret.read_text() == token and stat.S_IMODE(secret.stat().st_mode) == 0o600
    daemon.start()
    daemon.wait_log("event=connected")
    assert daemon.stop() == 0


def test_adapter_check(home, slack):
    """All cases of the judge."""
    slack.channels["1"] = {"name": "x", "member": True}
    (home / "argos.yaml").write_text(
        f"platforms:\n  slack:\n    token: env:SLACK_BOT_TOKEN\n    app_token: env:SLACK_APP_TOKEN\n    base_url: {slack.url}\n")
    command = f"{BUILD}/argosd --home {home} --only slack.main --broker \"$ARGOS_ENDPOINT\""
    done = subprocess.run([BUILD / "argos", "adapter-check", command, "--platform", "slack", "--account", "main"],
                          capture_output=True, text=True, timeout=200, check=False,
                          env={"PATH": "/usr/bin:/bin", "SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "ARGOS_HOME": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_chats_that_take_nothing(ready, slack):
    """One that is not there, one we are not in, one that is over: refused, and the ledger knows them as gone."""
    peer = Peer(ready.endpoint, "ops.test", ready.operator)
    said = {"C9": "not_found: channel_not_found", OUTSIDE: "forbidden: not_in_channel", ARCHIVED: "forbidden: is_archived"}
    for chat in said:
        header = {"type": "deliver.request", "to": "service:deliver.slack.main", "key": chat, "durable": True, "id": f"to-{chat}"}
        assert peer.ask(header, {"kind": "notice", "text": "hello", "chat_id": chat})[0]["type"] == "accepted"
    for chat in said:
        ready.wait_log(f'id="to-{chat}" state=refused')
    wait_until(lambda: len(gone(ready)) == len(said))
    assert {row["key"]: row["error"] for row in gone(ready)} == said
    peer.close()


def gone(daemon):
    return json.loads(argos(daemon.home, "deliveries", "list", "gone", "--json").stdout)["deliveries"]


@pytest.fixture
def person(ready):
    person = Person(ready, "deliver.slack.main")
    yield person
    person.close()


def test_operations(person, slack):
    """Pieces, an edit of them, reactions, a deletion, buttons, files in three steps."""
    direct = slack.direct(ANA)
    sent = person.send(direct, "x" * 5000)
    assert sent["state"] == "sent" and len(sent["platform_ids"]) == 2, sent
    first = sent["platform_ids"][0]
    assert person.send(direct, "short <!channel>", op="edit", message_ids=sent["platform_ids"])["state"] == "sent"
    assert len(slack.texts(direct)) == 1 and slack.texts(direct)[0].startswith("short") and "<!channel>" not in slack.texts(direct)[0]
    assert person.send(direct, op="react", message_ids=[first], emoji="👀")["state"] == "sent"
    assert slack.reactions == {(direct, first, "eyes")}
    assert person.send(direct, op="react", message_ids=[first], emoji="")["state"] == "sent" and not slack.reactions
    assert person.send(direct, op="delete", message_ids=[first])["state"] == "sent" and not slack.texts(direct)
    assert person.send(direct, op="delete", message_ids=[first])["state"] == "sent"  # It is gone: that was the wish
    asked = person.send(direct, "Run it?", op="prompt", options=[{"id": "once", "label": "Once"}, {"id": "deny", "label": "No"}])["platform_ids"][0]
    blocks = slack.messages[direct, asked]["blocks"]
    buttons = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    assert [(button["value"], button["text"]["text"]) for button in buttons] == [("once", "Once"), ("deny", "No")]
    data = bytes(range(256)) * 300
    slack.say(ANA, direct, "keep this", files=[slack.file("a.bin", data, "application/octet-stream")], subtype="file_share")
    slack.until(lambda: any(text.startswith("You said: keep this") for text in slack.texts(direct)))
    files = [{"blob": "sha256:" + hashlib.sha256(data).hexdigest(), "kind": "document", "name": name} for name in ("one.bin", "two.bin")]
    made = person.send(direct, "two files", op="media", attachments=files)
    assert made["state"] == "sent", made
    assert [(file["name"], file["data"]) for file in slack.pending.values()] == [("one.bin", data), ("two.bin", data)]
    assert any("two files" in text for text in slack.texts(direct)) and any(len(m.get("files", [])) for (_, _), m in slack.messages.items() if m["user"] == BOT)


def test_threads_are_made_once(person, slack):
    """A first message, one also when its answer is lost; what is said there is in the place that was told."""
    slack.fault("POST */chat.postMessage", "drop_after")
    kind, made = person.ask("thread.create", chat_id=CHANNEL, name="Handoff *<!channel>* " + "x" * 100)
    assert kind == "thread.create.result", made
    seeds = [m["text"] for m in slack.messages.values() if m.get("user") == BOT]
    assert len(seeds) == 1 and seeds[0].startswith(":thread: *Handoff") and "<" not in seeds[0]
    assert made["source"] == {"chat_id": CHANNEL, "thread_id": made["thread_id"], "chat_type": "thread", "scope_id": "T1"}
    slack.say(ANA, CHANNEL, "first word", thread=made["thread_id"])
    answered(slack, CHANNEL, "You said: [Ana] first word", thread=made["thread_id"])
    assert person.ask("thread.create", chat_id="C2", name="x")[1]["code"] == "unsupported"
    assert person.ask("thread.create", chat_id="C9", name="x")[1]["code"] == "not_found"
    assert person.ask("chat.info", chat_id=CHANNEL)[1] == {"chat_id": CHANNEL, "chat_type": "group", "name": "lab", "topic": "what it is about"}
    assert person.ask("probe")[1] == {"ok": True, "user_name": "gw"}
