"""The Telegram adapter against a Bot API that keeps its rules (tests/fakes/fake_telegram.py): conversations, topics, buttons, files."""
import pathlib
import sys

import pytest

from conftest import Argosd, own_settings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
from fake_telegram import FakeTelegram  # noqa: E402

ANA = 5001


@pytest.fixture
def telegram():
    with FakeTelegram() as fake:
        fake.private(ANA)
        yield fake


def settings(daemon, telegram, extra="", **tokens):
    (daemon.home / "argos.yaml").write_text(f"platforms:\n  telegram:\n    token: env:TELEGRAM_BOT_TOKEN\n    base_url: {telegram.url}\n{extra}")
    return {"TELEGRAM_BOT_TOKEN": telegram.bot.token, **tokens}


@pytest.fixture
def ready(daemon, telegram):
    """An argosd whose bot is there."""
    daemon.start(env=settings(daemon, telegram))
    daemon.wait_log("event=connected")
    yield daemon
    assert telegram.bot.token not in daemon.text()
    if daemon.process.poll() is None:
        assert daemon.stop() == 0, daemon.text()


def test_talk(ready, telegram):
    telegram.say(ANA, "hello")
    telegram.wait_text(ANA, "You said: hello")
    telegram.say(ANA, "and again")
    telegram.wait_text(ANA, "You said: and again")
    assert (ANA, "typing", None) in telegram.bot.actions
    assert {row["command"] for row in telegram.bot.commands} >= {"new", "status", "stop"}
