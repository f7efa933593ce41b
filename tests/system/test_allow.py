"""Who may speak: strangers, pairing, what the settings allow, and that what is denied leaves nothing behind."""
import re

import pytest

from conftest import wait_until
from test_cli import argos
from test_gateway import Chat

CLOSED = {"GATEWAY_ALLOW_ALL_USERS": "false"}


class People(Chat):
    """One account, many who write to it."""

    def say(self, text, user="u", chat_type="dm", **more):
        self.chat = user if chat_type == "dm" else "G"
        platform, account = self.name.split(".")
        source = {"platform": platform, "account": account, "chat_id": self.chat, "chat_type": chat_type, "user_id": user,
                  "user_name": f"Name of {user}", **more.pop("source", {})}
        return super().say(text, source=source, **more)

    def settle(self):
        """Wait until the gateway has nothing in hand."""
        def services():
            return self.peer.ask({"type": "broker.status", "to": "actor:broker"}, {})[2]["services"]

        wait_until(lambda: [(row["waiting"], row["leased"]) for row in services() if row["name"] == "gateway"] == [(0, 0)])

    def hear_from(self, user):
        answer = self.hear()
        assert answer["chat_id"] == user, answer
        return answer["text"]


def start(daemon, settings="", **env):
    (daemon.home / "argos.yaml").write_text("provider: {kind: rehearsal}\n" + settings)
    daemon.start(env={**CLOSED, **env})
    return People(daemon)


def pairing(daemon, *words):
    result = argos(daemon.home, "pairing", *words)
    return result.returncode, result.stdout + result.stderr


@pytest.mark.conversation("a stranger is paired")
def test_a_stranger_is_paired_speaks_and_is_sent_away(daemon):
    people = start(daemon)
    people.say("let me in", user="ann")
    told = people.hear_from("ann")
    code = re.search(r"argos pairing approve test ([A-HJ-NP-Z2-9]{8})`", told).group(1)
    people.say("/new", user="ann")  # Within ten minutes: told once, then silence
    assert "Too many" in people.hear_from("ann")
    people.say("/status", user="ann")

    status, text = pairing(daemon)
    assert status == 0 and "ann" in text and "WAITING" in text and code not in text and "PAIRED" not in text
    assert pairing(daemon, "approve", "test", "AAAAAAAA") == (1, "argos: pairing approve: no code like that waits on test (not_found)\n")
    assert pairing(daemon, "approve", "line", code)[0] == 1
    for words in (["approve", "test"], ["revoke"], ["approve", "test", code, "more"], ["list", "test"], ["forget"]):
        assert pairing(daemon, *words)[0] == 2
    assert pairing(daemon, "approve", "test", code.lower()) == (0, "ann may speak now\n")
    status, text = pairing(daemon, "list")
    assert status == 0 and "PAIRED" in text and "Name of ann" in text and "WAITING" not in text

    run = people.say("hello", user="ann")
    assert "hello" in people.hear_from("ann")
    assert people.run(run)["state"] == "completed"
    people.say("hello", user="bob")  # Somebody else is somebody else
    assert "pairing approve" in people.hear_from("bob")

    assert pairing(daemon, "revoke", "test", "ann") == (0, "ann may not speak any more\n")
    assert pairing(daemon, "revoke", "test", "ann")[0] == 1
    refused = people.say("hello again", user="ann")  # Told before that it is too much: silence
    people.settle()
    assert people.run(refused) is None
    assert pairing(daemon, "clear") == (0, "1 dropped\n")
    assert pairing(daemon)[1] == "nobody waits, and nobody is paired\n"
    people.peer.close()
    assert daemon.stop() == 0


def test_pairing_outlives_a_kill(daemon):
    people = start(daemon)
    people.say("let me in", user="ann")
    code = re.search(r"`([A-Z2-9]{8})`", people.hear_from("ann")).group(1)
    daemon.kill()
    daemon.start(env=CLOSED)
    assert pairing(daemon, "approve", "test", code)[0] == 0
    daemon.kill()
    people = start(daemon)
    people.say("hello", user="ann")
    assert "hello" in people.hear_from("ann")
    people.peer.close()


def test_five_wrong_codes_lock_a_platform(daemon):
    people = start(daemon)
    people.say("let me in", user="ann")
    code = re.search(r"`([A-Z2-9]{8})`", people.hear_from("ann")).group(1)
    for _ in range(5):
        assert "not_found" in pairing(daemon, "approve", "test", "AAAAAAAA")[1]
    assert "busy" in pairing(daemon, "approve", "test", code)[1]
    assert pairing(daemon, "clear", "test") == (0, "1 dropped\n")
    assert "not_found" in pairing(daemon, "approve", "test", code)[1]
    people.peer.close()


def test_what_is_denied_leaves_a_record_and_nothing_else(daemon):
    people = start(daemon, "platforms: {test: {allowed_users: [boss, 7], group_allowed_users: [guest]}}\n")
    before = people.read("status.get", {})
    denied = [people.say(text, user=user, chat_type=kind, source=source) for text, user, kind, source in (
        ("hello", "ann", "dm", {}), ("/new", "ann", "dm", {}), ("/background rm -rf /", "ann", "dm", {}), ("/nonsense", "ann", "dm", {}),
        ("hello", "guest", "dm", {}), ("hello", "ann", "group", {}), ("hello", "boss", "dm", {"is_bot": True}),
        ("hello", "boss2", "dm", {"user_name": "boss"}), ("restart gateway", "ann", "dm", {}))]
    allowed = [people.say("hello", user=user, chat_type=kind) for user, kind in (("boss", "dm"), ("7", "dm"), ("guest", "group"), ("boss", "group"))]
    #  The lanes of the gateway are in order of chats, so what comes out is what was allowed
    assert sorted(people.hear()["run_id"] for _ in allowed) == sorted(allowed)
    assert [people.run(run_id) for run_id in denied] == [None] * len(denied)
    after = people.read("status.get", {})
    assert after["runs"] - before["runs"] == 4 and after["sessions"] - before["sessions"] == 4 and after["dead"] == before["dead"]
    people.peer.close()
    assert daemon.stop() == 0


def test_nobody_makes_an_event_of_our_own(daemon):
    people = start(daemon, "platforms: {test: {allow_all_users: true}}\n")
    refused = people.say("do it", internal=True)
    assert "denied" in people.hear()["text"]
    assert people.run(refused) is None
    dead = people.read("dead.list", {})["dead"]
    assert [(letter["type"], letter["code"]) for letter in dead] == [("message.inbound", "denied")]
    people.peer.close()


@pytest.mark.conversation("two accounts, two doors")
def test_an_account_has_a_door_of_its_own(daemon):
    people = start(daemon, "platforms: {test: {accounts: {work: {allowed_users: [ann], unauthorized_dm_behavior: ignore}}}}\n")
    work = People(daemon, "test.work")
    refused, run = work.say("let me in", user="bob"), work.say("hello", user="ann")
    assert work.hear()["run_id"] == run  # And bob hears nothing
    work.settle()
    assert work.run(refused) is None
    people.say("hello", user="ann")
    assert "pairing approve" in people.hear_from("ann")
    work.peer.close()
    people.peer.close()
    assert daemon.stop() == 0


@pytest.mark.conversation("first contact")
def test_the_first_conversation_of_a_platform_is_told_about_its_home_once(daemon):
    people = start(daemon, "platforms: {test: {allow_all_users: true}, other: {allow_all_users: true}}\n", GATEWAY_HOME_NOTICE="true")
    people.say("hello", user="ann")
    assert "📬" in (notice := people.hear())["text"] and "/sethome" in notice["text"] and notice["chat_id"] == "ann"
    assert people.hear_from("ann").endswith("hello")
    run = people.say("hello", user="bob")
    assert people.hear()["run_id"] == run
    assert people.read("record.get", {"space": "told", "key": "home:test"})["record"]["value"]
    other = People(daemon, "other.main")
    assert "✅ Home channel set" in other.ask("/sethome", user="cat")["text"]
    run = other.say("hello", user="cat")
    assert other.hear()["run_id"] == run  # It has a home: nothing to tell
    other.peer.close()
    people.peer.close()
    assert daemon.stop() == 0


def test_a_policy_that_opens_a_platform_says_so(daemon):
    (daemon.home / "argos.yaml").write_text("platforms:\n  test:\n    dm_policy: open\n")
    daemon.launch(env=CLOSED)
    assert daemon.wait() == 78
    assert "argos.yaml:3: platforms.test.dm_policy: expected allow_all_users" in daemon.text()
    people = start(daemon, "platforms: {test: {dm_policy: open, allow_all_users: true}}\n")
    people.say("hello", user="anybody")
    assert "hello" in people.hear()["text"]
    people.peer.close()


def test_the_model_reads_who_speaks_and_what_is_answered(daemon):
    people = start(daemon, "platforms: {test: {allow_all_users: true}}\n")
    people.say("yes", chat_type="group", source={"thread_id": "T"}, reply_to_text="lunch?", reply_to_author_name="Bob",
               channel_context="Bob: lunch?")
    assert '[In reply to Bob: "lunch?"]\n\nBob: lunch?\n\n[New message]\n[Name of u] yes' in people.hear()["text"]
    people.peer.close()
