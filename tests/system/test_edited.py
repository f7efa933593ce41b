"""The new text of a message that was said before, and reactions: what the gateway makes of them."""
import pytest

from edits import Events, Gate
from test_gateway import Chat


class Editor(Chat):
    def say(self, text, number, user="u", **more):
        """Under an id of its own, so that the run is made of it as for a real platform."""
        header = {"type": "message.inbound", "id": f"main:{self.chat}:{number}", "to": "service:gateway", "key": f"main:{self.chat}", "durable": True}
        body = {"source": {"platform": "test", "account": "main", "chat_id": self.chat, "chat_type": "dm", "user_id": user}, "text": text,
                "message_id": str(number), **more}
        assert self.peer.ask(header, body)[0]["type"] == "accepted"

    def edit(self, text, number, mark="", **more):
        self.say(text, f"{number}~{mark or text}".replace(" ", "-"), edits=f"main:{self.chat}:{number}", **more)


@pytest.fixture
def stage(daemon, home):
    (home / "argos.yaml").write_text("display:\n  busy_ack_enabled: false\nplatforms:\n  test:\n    allowed_users: [u]\n")
    daemon.start(env={"HERMES_GATEWAY_BUSY_ACK_ENABLED": "false"})
    chat, gate = Editor(daemon), Gate(daemon.tools_home)
    with Events(daemon) as events:
        yield chat, gate, events
    chat.peer.close()


def test_a_message_that_waits_is_answered_as_it_is_now(stage):
    chat, gate, events = stage
    chat.say(gate.words, 1)
    chat.say("old words", 2)
    chat.say("in between", 3)
    chat.edit("new words", 2)
    told = events.next()
    assert told["event"] == "message:edited" and told["message"] == "new words" and told["message_id"].startswith("2") and told["run_id"]
    chat.edit("new words", 2, mark="again")  # The same text: that turn keeps its place
    assert "run_id" not in events.next()
    gate.open()
    answers = [chat.hear()["text"] for _ in range(3)]
    assert answers[1:] == ["You said: in between", "You said: new words"]
    assert chat.run(told["run_id"])["state"] == "completed"
    chat.say("end", 4)
    assert chat.hear()["text"] == "You said: end"


def test_of_several_edits_the_last_one_is_answered_once(stage):
    chat, gate, events = stage
    chat.say(gate.words, 1)
    gate.stands()
    chat.say("first", 2)
    runs = []
    for text in ("second", "third", "first", "fourth"):
        chat.edit(text, 2, mark=str(len(runs)))
        runs.append(events.next()["run_id"])
    chat.edit("fourth", 2, mark="preview")
    assert "run_id" not in events.next()
    gate.open()
    assert "opened" in chat.hear()["text"]
    assert chat.hear()["text"] == "You said: fourth"
    chat.edit("fifth", 2)
    assert "run_id" not in events.next()
    chat.say("end", 3)
    assert chat.hear()["text"] == "You said: end"
    assert [chat.run(run)["state"] for run in runs] == ["cancelled"] * 3 + ["completed"]


def test_what_has_begun_or_is_over_stays_as_it_is(stage):
    chat, gate, events = stage
    chat.say("one", 1)
    assert chat.hear()["text"] == "You said: one"
    chat.edit("two", 1)
    assert "run_id" not in events.next()
    chat.say(gate.words, 2)
    gate.stands()
    chat.say("three", 3)
    chat.edit("three", 3, mark="preview")
    assert "run_id" not in events.next()  # The same text: it keeps its place
    chat.edit("other", 2)
    assert "run_id" not in events.next()
    gate.open()
    assert "opened" in chat.hear()["text"]
    assert chat.hear()["text"] == "You said: three"


def test_reactions_are_told_and_answered_by_nobody(stage):
    chat, _, events = stage
    chat.say("hello", 1)
    chat.hear()
    for on in (True, False):
        chat.say("", f"1~{on}", message_id="77", reaction={"emoji": "👍", "on": on})
        told = events.next()
        assert (told["event"], told["emoji"], told["message_id"]) == ("message:reaction", "👍", "77")
        assert told["state"] == ("added" if on else "removed") and told["user_id"] == "u" and told["chat_id"] == "42"
    chat.say("end", 2)
    assert chat.hear()["text"] == "You said: end"


def test_strangers_change_nothing_and_get_no_code(stage):
    chat, _, events = stage
    chat.edit("stranger", 1, user="x")
    chat.say("", "1~r", user="x", reaction={"emoji": "👍", "on": True})
    chat.edit("mine", 1)
    assert events.next()["user_id"] == "u"
    chat.say("end", 2)
    assert chat.hear()["text"] == "You said: end"
