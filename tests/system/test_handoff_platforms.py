"""A session of the terminal goes on at the platforms themselves (their fakes): in a thread, without one, where the platform says no, and where
a part of it fails.

What counts everywhere: the transcript goes with it, the next message of a person there continues it, and a failure leaves it at the
terminal with a reason.
"""
import contextlib
import pathlib
import shutil
import tempfile
import uuid

import pytest

import test_discord
import test_slack
import test_telegram
from conftest import Argosd, wait_until
from fake_discord import ANA as DISCORD_ANA
from fake_discord import BOT as DISCORD_BOT
from fake_discord import CHANNEL as DISCORD_CHANNEL
from fake_discord import FORUM, FakeDiscord
from fake_slack import ANA as SLACK_ANA
from fake_slack import ARCHIVED, FakeSlack
from fake_slack import BOT as SLACK_BOT
from fake_slack import CHANNEL as SLACK_CHANNEL
from fake_slack import OUTSIDE
from fake_telegram import FakeTelegram
from test_gateway import Chat
from test_handoff import LAST, Handoff, row, said

OWN = "each person has a conversation of his own"


class Telegram:
    """Where the bot's texts are, and how a person goes on there."""

    def __init__(self, stack):
        self.fake = stack.enter_context(FakeTelegram())
        self.fake.private(5001)
        self.group = self.fake.group(forum=True)
        self.gone = self.fake.private(5002, "Ben")

    def settings(self, daemon):
        return test_telegram.settings(daemon, self.fake)

    def threaded(self):
        return self.group

    def plain(self):
        return 5001

    def texts(self, target):
        return [m["text"] for _, m in sorted(self.fake.chats[target].messages.items()) if m["from"]["is_bot"] and "text" in m]

    def closed(self):
        self.fake.chats[self.gone].blocked = True
        return self.gone

    def private_topics(self):
        self.fake.private(5003, "Cleo", forum=True)
        self.fake.chats[5003].next_id = 2  # She has pressed start
        return 5003, "thread"

    def no_right_to_make_topics(self):
        group = self.fake.group(-1003000000001, forum=True)
        self.fake.chats[group].rights = False
        return group, "home"

    def a_topic_whose_first_message_is_refused(self):
        self.fake.faults.add("sendMessage", "500", times=1, where=lambda params: params["text"].startswith("\U0001F4CC"))
        return self.fake.group(-1003000000003, forum=True), "thread"

    def a_topic_that_nobody_saw_made(self):
        """It is not made again; the conversation goes on in General."""
        group = self.fake.group(-1003000000002, forum=True)
        self.fake.faults.add("createForumTopic", "drop_after", times=1)
        return group, "home"

    def a_group_without_topics(self):
        return self.fake.group(-5004, kind="group"), OWN

    def made(self, target):
        """How many threads there are."""
        return len(self.fake.chats[target].topics)

    def places(self):
        """Where an answer to a handoff stands: (chat, thread or None), in order."""
        return [(chat.id, message.get("message_thread_id")) for chat in self.fake.chats.values()
                for _, message in sorted(chat.messages.items()) if message["from"]["is_bot"] and LAST in message.get("text", "")]

    def say(self, target, thread, text):
        self.fake.say(target, f"@fake_bot {text}" if target < 0 else text, 5001 if target < 0 else target, thread=thread,
                      entities=[{"type": "mention", "offset": 0, "length": 9}] if target < 0 else None)

    def heard(self, target, thread, text):
        message = self.fake.wait(lambda: next((m for m in self.fake.chats[target].messages.values() if m["from"]["is_bot"]
                                               and text in m.get("text", "") and "You said" in m["text"]), None))
        assert message.get("message_thread_id") == thread


class Discord:
    def __init__(self, stack):
        self.fake = FakeDiscord().start()
        stack.callback(self.fake.stop)
        self.direct = self.fake.direct(DISCORD_ANA)

    def settings(self, daemon):
        return test_discord.settings(daemon, self.fake)

    def threaded(self):
        return DISCORD_CHANNEL

    def plain(self):
        return self.direct

    def texts(self, target):
        return self.fake.texts(target)

    def closed(self):
        return "999999999999999999"  # There is no such channel

    def refuse(self, times):
        self.fake.fault("POST */threads", "status", status=403, body={"code": 50013, "message": "Missing Permissions"}, times=times)

    def no_right_to_make_threads(self):
        """Of a message it may be."""
        self.refuse(1)
        return DISCORD_CHANNEL, "thread"

    def a_thread_that_nobody_saw_made(self):
        self.refuse(1)
        self.fake.fault("POST */messages/*/threads", "drop_after")
        return DISCORD_CHANNEL, "thread"

    def no_right_to_any_thread(self):
        """And so not to one of a message: that is taken back."""
        self.refuse(2)
        return DISCORD_CHANNEL, OWN

    def a_forum(self):
        return FORUM, "thread"

    def tidy(self):
        """No first message without a thread."""
        return all(number in self.fake.channels for (_, number), message in self.fake.messages.items()
                   if message["content"].startswith("\U0001F4CC") and message["channel_id"] == DISCORD_CHANNEL)

    def made(self, target):
        return sum(channel.get("parent_id") == target for channel in self.fake.channels.values())

    def places(self):
        return [(self.fake.channels[m["channel_id"]].get("parent_id") or m["channel_id"],
                 m["channel_id"] if self.fake.channels[m["channel_id"]]["type"] == 11 else None)
                for m in self.fake.messages.values() if LAST in m["content"] and m["author"]["id"] == DISCORD_BOT]

    def say(self, target, thread, text):
        self.fake.say(DISCORD_ANA, thread or target, text)

    def heard(self, target, thread, text):
        self.fake.until(lambda: any(text in have and "You said" in have for have in self.fake.texts(thread or target)))


class Slack:
    def __init__(self, stack):
        self.fake = FakeSlack().start()
        stack.callback(self.fake.stop)
        self.direct = self.fake.direct(SLACK_ANA)

    def settings(self, daemon):
        return test_slack.settings(daemon, self.fake)

    def threaded(self):
        return SLACK_CHANNEL

    def plain(self):
        return self.direct

    def texts(self, target):
        return self.fake.texts(target)

    def closed(self):
        return ARCHIVED

    def a_first_message_that_nobody_saw_sent(self):
        self.fake.fault("POST */chat.postMessage", "drop_after")
        return SLACK_CHANNEL, "thread"

    def a_first_message_that_is_refused(self):
        self.fake.fault("POST */chat.postMessage", "status", status=200, body={"ok": False, "error": "restricted_action"})
        return SLACK_CHANNEL, OWN

    def not_a_member(self):
        return OUTSIDE, OWN

    def made(self, target):
        return sum(c == target and m["text"].startswith(":thread:") for (c, _), m in self.fake.messages.items())

    def places(self):
        return [(c, m.get("thread_ts")) for (c, _), m in self.fake.messages.items()
                if m.get("user") == SLACK_BOT and LAST in m.get("text", "")]

    def say(self, target, thread, text):
        self.fake.say(SLACK_ANA, target, text, thread=thread)

    def heard(self, target, thread, text):
        self.fake.until(lambda: any(text in have and "You said" in have for have in self.fake.texts(target, thread)))


@pytest.fixture(scope="module")
def stages():
    """A function: world -> (argosd, the world of the platform, its name), made at its first call."""
    made = {}
    with contextlib.ExitStack() as stack:
        def stage(kind):
            if kind not in made:
                folder = pathlib.Path(tempfile.mkdtemp(prefix="argos-"))
                stack.callback(shutil.rmtree, folder, ignore_errors=True)
                world, daemon = kind(stack), Argosd(folder)
                stack.callback(daemon.close)
                daemon.start(env=world.settings(daemon))
                daemon.wait_log("event=connected")
                made[kind] = daemon, world, kind.__name__.lower()
            return made[kind]
        yield stage
        for daemon, _, _ in made.values():
            assert daemon.stop() == 0, daemon.text()


@pytest.fixture(params=[Telegram, Discord, Slack], ids=lambda world: world.__name__.lower())
def stage(request, stages):
    return stages(request.param)


def move(stage, target):
    """Hand a new session over; returns the terminal, the session, and what the command has said with its exit code."""
    daemon, _, platform = stage
    name = "p" + uuid.uuid4().hex[:8]
    chat = Chat(daemon, f"local.{name}", name)
    run = chat.say(f"we plan a bridge to {target}")
    chat.hear()
    session = chat.run(run)["session_id"]
    code, text = Handoff(daemon, session, f"{platform}:{target}").wait()
    return chat, session, code, text


def goes_on(stage, target, before, moved):
    """It stands there, and the next message of a person there goes on with it; returns the thread, None = none."""
    _, world, platform = stage
    chat, session, code, text = moved
    assert code == 0 and f"goes on at {platform}" in text, text
    [(place, thread)] = wait_until(lambda: set(world.places()) - before)
    assert place == target
    world.say(target, thread, "where were we?")
    world.heard(target, thread, "where were we?")
    texts = wait_until(lambda: len(found := said(chat, session)) > 5 and found)
    assert texts[0].startswith("we plan a bridge") and texts[2].startswith(LAST) and "where were we?" in texts[4]
    return thread


@pytest.mark.parametrize("kind", ["threaded", "plain"])
def test_the_next_message_there_goes_on_with_it(stage, kind):
    _, world, platform = stage
    target, before = getattr(world, kind)(), set(world.places())
    moved = move(stage, target)
    thread = goes_on(stage, target, before, moved)
    assert (thread is not None) == (kind == "threaded" or platform == "slack")  # There a thread can be anywhere
    moved[0].peer.close()


def stays(chat, session, text):
    run = chat.say("still here?")
    while "still here?" not in chat.hear().get("text", ""):
        pass
    assert chat.run(run)["session_id"] == session, text


CASES = [(platform, name) for platform in (Telegram, Discord, Slack) for name, value in vars(platform).items()
         if callable(value) and (name.startswith(("a_", "no_", "not_")) or name == "private_topics")]


@pytest.mark.parametrize("world, name", [pytest.param(world, name, id=f"{world.__name__.lower()}-{name}") for world, name in CASES])
def test_a_part_of_it_fails(stages, world, name):
    """A thread all the same, or the chat itself with the reason; never two threads. Where nobody could go on it stays."""
    stage = stages(world)
    target, what = getattr(stage[1], name)()
    before, threads = set(stage[1].places()), stage[1].made(target)
    moved = move(stage, target)
    chat, session, code, text = moved
    if what in ("thread", "home"):
        assert (goes_on(stage, target, before, moved) is not None) == (what == "thread")
    else:
        assert code == 1 and what in text, text
        stays(chat, session, text)
    assert stage[1].made(target) - threads <= 1
    wait_until(getattr(stage[1], "tidy", lambda: True))
    chat.peer.close()


def test_a_chat_that_takes_nothing_leaves_it_where_it_was(stage):
    _, world, _ = stage
    chat, session, code, text = move(stage, world.closed())
    wait_until(lambda: row(chat, session)["state"] == "failed")  # Perhaps with the answer that was refused
    assert row(chat, session)["error"], text
    assert code == 0 or "stays" in text or "handoff" in text, text
    stays(chat, session, text)
    chat.peer.close()


def test_a_background_task_is_told_where_it_was_asked_for(stage):
    """/background on the platform itself: the start, then the one result."""
    _, world, _ = stage
    chat = world.plain()
    world.say(chat, None, "/background find the heron")
    world.heard(chat, None, "Background task complete")
    texts = [text for text in world.texts(chat) if "Background task" in text]
    assert ["started" in text for text in texts] == [True, False], texts
