"""The Discord adapter against a gateway and an API that keep their rules (tests/fakes/fake_discord.py)."""
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
import fake_discord  # noqa: E402
from fake_discord import ANA, BEN, BOT, CHANNEL, TOKEN, FakeDiscord  # noqa: E402


@pytest.fixture
def discord():
    fake = FakeDiscord().start()
    yield fake
    fake.stop()


def settings(daemon, discord, extra=""):
    (daemon.home / "argos.yaml").write_text(
        f"platforms:\n  discord:\n    token: env:DISCORD_BOT_TOKEN\n    base_url: {discord.url}\n    allowed_users: [{ANA}]\n{extra}")
    return {"DISCORD_BOT_TOKEN": TOKEN}


@pytest.fixture
def ready(daemon, discord):
    daemon.start(env=settings(daemon, discord))
    daemon.wait_log("event=connected")
    yield daemon
    assert TOKEN not in daemon.text()
    if daemon.process.poll() is None:
        assert daemon.stop() == 0, daemon.text()


def answered(discord, channel, text, count=1):
    discord.until(lambda: discord.texts(channel).count(text) >= count, what=f"{text!r} in {discord.texts(channel)}")
    assert discord.texts(channel).count(text) == count


def test_talk(ready, discord):
    """A direct message, a repeated event, a command of the menu."""
    direct = discord.direct(ANA)
    discord.say(ANA, direct, "hello", repeat=2)
    answered(discord, direct, "You said: hello")
    discord.say(ANA, direct, "again")
    answered(discord, direct, "You said: again")
    answered(discord, direct, "You said: hello")
    assert direct in discord.typed
    assert {row["name"] for row in discord.commands} >= {"new", "status", "stop"}
    sent = [r.json() for r in discord.calls("POST */messages")]
    assert all(body["allowed_mentions"]["parse"] == [] for body in sent)


def test_mention_makes_a_thread(ready, discord):
    """Nothing without a mention; a mention is answered in a thread, and there none is needed."""
    discord.say(ANA, CHANNEL, "not for you")
    asked = discord.say(ANA, CHANNEL, f"<@{BOT}> hello")
    answered(discord, asked, "You said: [Ana] hello")
    assert discord.channels[asked]["parent_id"] == CHANNEL and discord.channels[asked]["type"] == 11
    discord.say(ANA, asked, "more")
    answered(discord, asked, "You said: [Ana] more")
    discord.say(ANA, CHANNEL, f"<@&{fake_discord.OWN_ROLE}> role")
    discord.until(lambda: any("role" in m["content"] and m["author"]["id"] == BOT for m in discord.messages.values()))
    assert not discord.texts(CHANNEL)


def test_buttons_and_commands(ready, discord):
    direct = discord.direct(ANA)
    pressed = discord.interact(ANA, direct, 2, {"id": "1", "name": "status", "type": 1})
    discord.until(lambda: discord.texts(direct))
    assert discord.callbacks[pressed]["type"] == 4 and discord.callbacks[pressed]["data"]["flags"] == 64
    said = discord.interact(ANA, direct, 3, {"custom_id": "press me", "component_type": 2})
    answered(discord, direct, "You said: press me")
    assert discord.callbacks[said] == {"type": 6}
    discord.interact(BEN, CHANNEL, 3, {"custom_id": "not I", "component_type": 2})
    discord.say(ANA, direct, "after")
    answered(discord, direct, "You said: after")
    assert not any("not I" in text for text in discord.texts(CHANNEL))


def test_long_answers_and_files(ready, discord):
    direct = discord.direct(ANA)
    discord.say(ANA, direct, "x" * 3000)
    discord.until(lambda: sum(len(text) for text in discord.texts(direct)) == 3010)
    discord.say(ANA, direct, "read this", attachments=[discord.file("note.txt", b"contents of a file")])
    discord.until(lambda: any(text.startswith("You said: read this") and "note.txt" in text for text in discord.texts(direct)))


@pytest.mark.own_placement  # The order to the broker is given at its own home
def test_what_is_refused_busy_keeps_its_order(daemon, discord):
    """The lane takes two; the third message is refused, and the fourth, which Discord pushes meanwhile, does not pass it."""
    def argos(*words):
        done = subprocess.run([BUILD / "argos", "--json", "--home", daemon.home, *words], check=True, capture_output=True, text=True, timeout=30)
        return json.loads(done.stdout)

    def waiting():
        return next((row["waiting"] for row in argos("services")["services"] if row["name"] == "gateway"), 0)

    daemon.start(env=settings(daemon, discord, "service_limits: [{service: gateway, lane_max: 2}]\n"))
    daemon.wait_log("event=connected")
    direct = discord.direct(ANA)
    argos("services", "pause", "gateway")
    for number in range(2):
        discord.say(ANA, direct, f"number {number}")
    wait_until(lambda: waiting() == 2)
    for number in range(2, 6):
        discord.say(ANA, direct, f"number {number}")
    wait_until(lambda: argos("status")["broker"]["refused"].get("busy", 0) >= 2)
    assert waiting() == 2
    argos("services", "resume", "gateway")
    answered(discord, direct, "You said: number 5")
    assert discord.texts(direct) == [f"You said: number {number}" for number in range(6)]
    assert daemon.stop() == 0


def test_connection_is_resumed(ready, discord):
    """Cuts, op 7, op 9, codes: what was said meanwhile is answered once, and a session is only made anew when it has to be."""
    direct = discord.direct(ANA)
    for number, fault in enumerate((lambda: discord.cut_all(), lambda: discord.gateway(7), lambda: discord.close_all(4000),
                                    lambda: discord.gateway(9, True))):
        before = len(discord.sockets)
        fault()
        discord.until(lambda: len(discord.sockets) > before)
        discord.say(ANA, direct, f"number {number}")
        answered(discord, direct, f"You said: number {number}")
    assert len(discord.identifies) == 1
    discord.gateway(9, False)
    discord.until(lambda: len(discord.identifies) == 2)
    discord.say(ANA, direct, "anew")
    answered(discord, direct, "You said: anew")
    assert discord.identifies[1] - discord.identifies[0] >= 5


def test_a_draft_that_nobody_saw_sent_becomes_the_answer(ready, discord):
    """The answer to its call is lost: the next one with its nonce finds it, and nothing stays beside the answer."""
    direct = discord.direct(ANA)
    before = len(discord.texts(direct))
    discord.fault("POST */messages", "drop_after")
    discord.say(ANA, direct, "!slow 30")
    discord.until(lambda: any("token30" in text and "\u258c" not in text for text in discord.texts(direct)[before:]))
    assert len(discord.texts(direct)[before:]) == 1


def test_a_turn_that_is_stopped_leaves_no_cursor(ready, discord):
    direct = discord.direct(ANA)
    discord.say(ANA, direct, "!slow 4000")
    discord.until(lambda: any("\u258c" in text for text in discord.texts(direct)))
    discord.say(ANA, direct, "/stop")
    discord.until(lambda: any("topped" in text for text in discord.texts(direct)))
    discord.until(lambda: not any("\u258c" in text for text in discord.texts(direct)))
    assert any("token0" in text or "token1" in text for text in discord.texts(direct))


def test_a_page_of_the_proxy_holds_up_everything(ready, discord):
    """429 without JSON: nothing is called before it is over, not even for others."""
    direct = discord.direct(ANA)
    discord.fault("POST */messages", "html", status=429, headers={"Retry-After": "1"})
    discord.say(ANA, direct, "behind the page")
    answered(discord, direct, "You said: behind the page")
    calls = [call.at for call in discord.calls(f"POST */channels/{direct}/messages")][-2:]
    assert calls[1] - calls[0] > 0.9


def test_zombie_is_noticed(daemon, discord):
    discord.beat_ms = 500
    daemon.start(env=settings(daemon, discord))
    daemon.wait_log("event=connected")
    direct = discord.direct(ANA)
    discord.zombie = True
    discord.say(ANA, direct, "who hears me")
    daemon.wait_log('event="heartbeat not answered"')
    discord.zombie = False
    answered(discord, direct, "You said: who hears me")
    assert daemon.stop() == 0


def test_edits_and_reactions(ready, discord):
    """What waits is answered as it is now; previews and our own edits are nothing; an edit of what began a thread belongs there; reactions are told."""
    direct, gate = discord.direct(ANA), Gate(ready.tools_home)
    with Events(ready) as events:
        discord.say(ANA, direct, gate.words)
        waiting = discord.say(ANA, direct, "old words")
        discord.edit(direct, waiting, "new words", times=2)
        discord.edit(direct, waiting)
        assert events.next()["message"] == "new words"
        gate.open()
        answered(discord, direct, "You said: new words")
        assert not any("old words" in text for text in discord.texts(direct))
        asked = discord.say(ANA, CHANNEL, f"<@{BOT}> hello")
        answered(discord, asked, "You said: [Ana] hello")
        discord.edit(CHANNEL, asked, f"<@{BOT}> too late")
        told = events.next()
        assert told["message"] == "too late" and told["thread_id"] == asked and "run_id" not in told
        ours = next(id_ for (channel, id_), entry in discord.messages.items() if channel == direct and entry["author"]["id"] == BOT)
        discord.put_emoji(ANA, CHANNEL, asked, "😀")
        discord.put_emoji(ANA, direct, ours, "👍")
        discord.put_emoji(ANA, direct, waiting, "👍", on=False)
        told = [events.next() for _ in range(2)]
        assert [(event["message_id"], event["state"]) for event in told] == [(ours, "added"), (waiting, "removed")]


def test_sends_that_fail(ready, discord):
    """Refusals, lost answers, limits: each answer is there once."""
    direct = discord.direct(ANA)
    for number, fault in enumerate(({"do": "drop"}, {"do": "drop_after"}, {"do": "html", "status": 502},
                                    {"do": "status", "status": 429, "body": {"message": "", "retry_after": 0.2, "global": False}})):
        discord.fault("POST */messages", **fault)
        discord.say(ANA, direct, f"try {number}")
        answered(discord, direct, f"You said: try {number}")
    discord.rate, discord.window = 2, 0.5
    for number in range(5):
        discord.say(ANA, direct, f"fast {number}")
    for number in range(5):
        answered(discord, direct, f"You said: fast {number}")
    assert discord.texts(direct)[-5:] == [f"You said: fast {number}" for number in range(5)]


def test_refused_token_and_intent(daemon, discord):
    discord.denied_intents = 1 << 15
    daemon.start(env=settings(daemon, discord))
    daemon.wait_log("Message Content Intent")
    assert daemon.stop() == 0


def test_place_outlives_the_process(daemon, discord):
    """What is said while nobody listens is heard by resuming."""
    env = settings(daemon, discord)
    daemon.start(env=env)
    daemon.wait_log("event=connected")
    direct = discord.direct(ANA)
    discord.say(ANA, direct, "one")
    answered(discord, direct, "You said: one")
    daemon.kill()
    discord.say(ANA, direct, "two")
    daemon.start(env=env)
    answered(discord, direct, "You said: two")
    answered(discord, direct, "You said: one")
    assert len(discord.identifies) == 1
    assert daemon.stop() == 0


def test_setup(daemon, discord):
    """A token that is wrong, an intent that is off, and then one that works."""
    home = daemon.home_of("discord")

    def setup(token, *where):
        return subprocess.run([BUILD / "argos", "setup", "discord", *where, "--home", home], capture_output=True, text=True,
                              input=token + "\n", timeout=60, env={"PATH": "/usr/bin:/bin"}, check=False)
    for token, said in (("short", "three parts"), (TOKEN[:-1] + "c", "does not know this token")):
        done = setup(token, "--base-url", discord.url)
        assert done.returncode == 1 and said in done.stdout + done.stderr, (done.stdout, done.stderr)
    for each in daemon.homes:  # Where it is, the settings say from here on
        (each / "argos.yaml").write_text(f"platforms:\n  discord:\n    base_url: {discord.url}\n")
    discord.app_flags = 0
    done = setup(TOKEN)
    assert done.returncode == 1 and "Message Content Intent" in done.stdout + done.stderr
    discord.app_flags = 1 << 18
    done = setup(TOKEN)
    assert done.returncode == 0 and "@gw is set up as discord.main" in done.stdout and BOT in done.stderr, (done.stdout, done.stderr)
    secret = home / "secrets" / "discord.main"
    assert secret.read_text() == TOKEN and stat.S_IMODE(secret.stat().st_mode) == 0o600
    daemon.start()
    daemon.wait_log("event=connected")
    assert daemon.stop() == 0


def test_adapter_check(home, discord):
    """All cases of the judge."""
    (home / "argos.yaml").write_text(f"platforms:\n  discord:\n    token: env:DISCORD_BOT_TOKEN\n    base_url: {discord.url}\n")
    command = f"{BUILD}/argosd --home {home} --only discord.main --broker \"$ARGOS_ENDPOINT\""
    done = subprocess.run([BUILD / "argos", "adapter-check", command, "--platform", "discord", "--account", "main"],
                          capture_output=True, text=True, timeout=200, check=False,
                          env={"PATH": "/usr/bin:/bin", "DISCORD_BOT_TOKEN": TOKEN, "ARGOS_HOME": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def person(ready):
    person = Person(ready, "deliver.discord.main")
    yield person
    person.close()


def test_operations(person, discord):
    """Pieces, an edit of them, reactions, a deletion, buttons that are pressed, files."""
    direct = discord.direct(ANA)
    sent = person.send(direct, "x" * 3000)
    assert sent["state"] == "sent" and len(sent["platform_ids"]) == 2, sent
    first = sent["platform_ids"][0]
    assert person.send(direct, "short @everyone", op="edit", message_ids=sent["platform_ids"])["state"] == "sent"
    assert discord.texts(direct) == ["short @everyone"]
    assert discord.calls(f"PATCH */{first}")[-1].json()["allowed_mentions"]["parse"] == []
    assert person.send(direct, op="react", message_ids=[first], emoji="👀")["state"] == "sent"
    assert (direct, first, "%F0%9F%91%80") in discord.reactions
    assert person.send(direct, op="react", message_ids=[first], emoji="")["state"] == "sent" and not discord.reactions
    assert person.send(direct, op="delete", message_ids=[first])["state"] == "sent" and not discord.texts(direct)
    assert person.send(direct, op="delete", message_ids=[first])["state"] == "sent"  # It is gone: that was the wish
    asked = person.send(direct, "Run it?", op="prompt", options=[{"id": "once", "label": "Once"}, {"id": "deny", "label": "No"}])["platform_ids"][0]
    row = discord.messages[direct, asked]["components"][0]["components"]
    assert [(button["custom_id"], button["label"]) for button in row] == [("once", "Once"), ("deny", "No")]
    data = bytes(range(256)) * 300
    discord.say(ANA, direct, "keep this", attachments=[discord.file("a.bin", data, "application/octet-stream")])
    discord.until(lambda: any(text.startswith("You said: keep this") for text in discord.texts(direct)))
    files = [{"blob": "sha256:" + hashlib.sha256(data).hexdigest(), "kind": "document", "name": name} for name in ("one.bin", "two.bin")]
    made = person.send(direct, "two files", op="media", attachments=files)
    assert made["state"] == "sent", made
    message = discord.messages[direct, made["platform_ids"][0]]
    assert message["content"] == "two files" and [file["filename"] for file in message["attachments"]] == ["one.bin", "two.bin"]
    assert all(discord.files[file["id"]] == data for file in message["attachments"])


def test_a_thread_of_a_mention_whose_answer_is_lost_is_there(ready, discord):
    """160004: it has been made, by the call before."""
    discord.fault("POST */messages/*/threads", "drop_after")
    asked = discord.say(ANA, CHANNEL, f"<@{BOT}> hello")
    answered(discord, asked, "You said: [Ana] hello")
    assert len(discord.calls("POST */messages/*/threads")) == 2 and not discord.texts(CHANNEL)


def test_threads_are_made_once(person, discord):
    """Public; where that is refused, of one first message, also when its answer is lost; in a forum a post; elsewhere none."""
    kind, made = person.ask("thread.create", chat_id=CHANNEL, name="Handoff <@1> " + "\U0001F600" * 55)
    assert kind == "thread.create.result" and made["source"]["chat_type"] == "thread" and made["source"]["scope_id"] == fake_discord.GUILD, made
    thread = discord.channels[made["thread_id"]]
    assert thread["type"] == 11 and thread["parent_id"] == CHANNEL and len(thread["name"]) == 63
    assert person.ask("thread.create", chat_id=made["thread_id"], name="beside")[1]["chat_id"] == CHANNEL
    discord.fault(f"POST */channels/{CHANNEL}/threads", "status", status=403, body={"code": 50013, "message": "Missing Permissions"})
    discord.fault("POST */messages/*/threads", "drop_after")
    made = person.ask("thread.create", chat_id=CHANNEL, name="of a message")[1]
    assert discord.channels[made["thread_id"]]["name"] == "of a message" and discord.texts(CHANNEL) == ["\U0001F4CC of a message"]
    assert person.ask("thread.create", chat_id=CHANNEL, name="again", message_id=made["thread_id"])[1]["thread_id"] == made["thread_id"]
    post = person.ask("thread.create", chat_id=fake_discord.FORUM, name="post")[1]
    assert discord.texts(post["thread_id"])
    assert person.ask("thread.create", chat_id=fake_discord.VOICE, name="x")[1]["code"] == "unsupported"
    assert person.ask("thread.create", chat_id="1", name="x")[1]["code"] == "not_found"
    assert person.ask("chat.info", chat_id=CHANNEL)[1] == {"chat_id": CHANNEL, "chat_type": "group", "name": "lab"}
    assert person.ask("probe")[1] == {"ok": True, "user_name": "gw"}
    discord.say(ANA, post["thread_id"], "first word")
    answered(discord, post["thread_id"], "You said: [Ana] first word")
