"""A session of the terminal goes on at the platforms themselves (their fakes): in a thread, without one, and where the platform says no.

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
from conftest import PLACEMENT, Argosd, wait_until
from fake_discord import ANA as DISCORD_ANA
from fake_discord import BOT as DISCORD_BOT
from fake_discord import CHANNEL as DISCORD_CHANNEL
from fake_discord import VOICE, FakeDiscord
from fake_slack import ANA as SLACK_ANA
from fake_slack import ARCHIVED, FakeSlack
from fake_slack import BOT as SLACK_BOT
from fake_slack import CHANNEL as SLACK_CHANNEL
from fake_telegram import FakeTelegram
from test_gateway import Chat
from test_handoff import LAST, Handoff, row, said

pytestmark = pytest.mark.skipif(PLACEMENT != "one", reason="where the actors run is no matter of the platforms")


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

    def closed(self):
        self.fake.chats[self.gone].blocked = True
        return self.gone

    def places(self):
        """Where an answer to a handoff stands: (chat, thread or None), in order."""
        return [(chat.id, message.get("message_thread_id")) for chat in self.fake.chats.values()
                for _, message in sorted(chat.messages.items()) if message["from"]["is_bot"] and LAST in message.get("text", "")]

    def say(self, target, thread, text):
        self.fake.say(target, f"@fake_bot {text}" if target < 0 else text, 5001, thread=thread,
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

    def closed(self):
        return "999999999999999999"  # There is no such channel

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

    def closed(self):
        return ARCHIVED

    def places(self):
        return [(c, m.get("thread_ts")) for (c, _), m in self.fake.messages.items()
                if m.get("user") == SLACK_BOT and LAST in m.get("text", "")]

    def say(self, target, thread, text):
        self.fake.say(SLACK_ANA, target, text, thread=thread)

    def heard(self, target, thread, text):
        self.fake.until(lambda: any(text in have and "You said" in have for have in self.fake.texts(target, thread)))


@pytest.fixture(scope="module", params=[Telegram, Discord, Slack], ids=lambda world: world.__name__.lower())
def stage(request):
    """(argosd, the world of the platform, its name)"""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="argos-"))
    with contextlib.ExitStack() as stack:
        world = request.param(stack)
        daemon = Argosd(folder)
        daemon.start(env=world.settings(daemon))
        daemon.wait_log("event=connected")
        yield daemon, world, request.param.__name__.lower()
        assert daemon.stop() == 0, daemon.text()
    shutil.rmtree(folder, ignore_errors=True)


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


@pytest.mark.parametrize("kind", ["threaded", "plain"])
def test_the_next_message_there_goes_on_with_it(stage, kind):
    _, world, platform = stage
    target = getattr(world, kind)()
    before = set(world.places())
    chat, session, code, text = move(stage, target)
    assert code == 0 and f"goes on at {platform}" in text, text
    [(place, thread)] = wait_until(lambda: set(world.places()) - before)
    assert place == target
    assert (thread is not None) == (kind == "threaded" or platform == "slack")  # There a thread can be anywhere
    world.say(target, thread, "where were we?")
    world.heard(target, thread, "where were we?")
    texts = wait_until(lambda: len(found := said(chat, session)) > 5 and found)
    assert texts[0].startswith("we plan a bridge") and texts[2].startswith(LAST) and "where were we?" in texts[4]
    chat.peer.close()


def test_a_chat_that_takes_nothing_leaves_it_where_it_was(stage):
    _, world, _ = stage
    chat, session, code, text = move(stage, world.closed())
    wait_until(lambda: row(chat, session)["state"] == "failed")  # Perhaps with the answer that was refused
    assert row(chat, session)["error"], text
    assert code == 0 or "stays" in text or "handoff" in text, text
    run = chat.say("still here?")
    while "still here?" not in chat.hear().get("text", ""):
        pass
    assert chat.run(run)["session_id"] == session, text
    chat.peer.close()
