"""What a chat gets of what the model has said, with a model that says what it is told to."""
import base64

import pytest

from conftest import wait_until
from script_agent import argos
from test_commands import Talk


@pytest.fixture
def talk(shared_argosd):
    chat = Talk(shared_argosd)
    yield chat.begin()
    chat.peer.close()


def test_words_are_delivered_and_silence_is_not(talk):
    run_id = talk.say("!say [SILENT]")
    talk.events(run_id)
    talk.event("run.completed")
    assert talk.run(run_id)["output"] == "[SILENT]"  # Kept, and not delivered
    assert talk.ask_turn("!say NO_REPLY, he said") == "NO_REPLY, he said"


@pytest.mark.parametrize("said, told", [
    ("!say (empty)", "⚠️ The model has answered with nothing"),
    ('!say {"error":{"message":"upstream"}}', "⚠️ The provider has sent an error page"), ("!say <html>502</html>", "error page")])
def test_an_answer_that_is_none_is_explained(talk, said, told):
    assert told in talk.ask_turn(said)


def test_a_task_that_has_nothing_to_say_says_so(talk):
    assert "🔄" in talk.ask("/background !say [SILENT]")["text"]
    assert "(No response generated)" in talk.hear()["text"]


def test_a_failure_comes_with_what_can_be_done(talk):
    answer = talk.ask_turn("!fail 402")
    assert "failed" in answer and answer.endswith("The account of the provider has to be topped up.")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "chart.png").write_bytes(b"\x89PNG" + bytes(300_000))
    (tmp_path / "notes").write_text("words")
    return tmp_path


def content(talk, attachment):
    body, data = {"blob": attachment["blob"]}, b""
    while True:
        piece = talk.read("blob.get", {**body, "offset": len(data)})
        data += base64.b64decode(piece["data"])
        if not piece["more"]:
            return data


def test_files_that_a_text_names_are_sent_behind_its_words(talk, folder):
    run_id = talk.say(f"!say Here is the chart.\nMEDIA:{folder}/chart.png\n[[as_document]] MEDIA:{folder}/notes")
    words, media = talk.hear(), talk.hear()
    assert (words["run_id"], words["text"]) == (run_id, "Here is the chart.")
    assert (media["op"], media["run_id"], media["chat_id"]) == ("media", run_id, talk.chat)
    first, second = media["attachments"]
    assert (first["kind"], first["name"], second["kind"], second["media_type"]) == ("document", "chart.png", "document", "application/octet-stream")
    assert content(talk, first) == (folder / "chart.png").read_bytes()
    assert "MEDIA:" in talk.run(run_id)["output"]  # What is stored is what was said


def test_what_waited_is_answered_like_all_else(talk, folder):
    busy = talk.say("!slow 20")
    wait_until(lambda: (talk.run(busy) or {}).get("state") == "running")
    run_id = talk.say(f"!say Behind it.\nMEDIA:{folder}/chart.png")
    assert talk.hear()["run_id"] == busy
    words, media = talk.hear(), talk.hear()
    assert (words["run_id"], words["text"]) == (run_id, "Behind it.")
    assert (media["run_id"], [row["kind"] for row in media["attachments"]]) == (run_id, ["image"])


def test_a_file_alone_is_an_answer(talk, folder):
    talk.say(f"!say MEDIA:{folder}/chart.png")
    assert [row["kind"] for row in talk.hear()["attachments"]] == ["image"]


def test_a_task_that_is_answered_by_a_file_says_whose_it_is(talk, folder):
    assert "🔄" in talk.ask(f"/background !say MEDIA:{folder}/chart.png")["text"]
    words, media = talk.hear(), talk.hear()
    assert words["text"].startswith("✅ Background task complete\nPrompt: ") and "MEDIA:" not in words["text"].split("\n\n", 1)[1]
    assert [row["kind"] for row in media["attachments"]] == ["image"]


def test_what_may_not_leave_or_is_not_there_is_said(talk, folder, shared_argosd):
    (folder / "link.txt").symlink_to("/etc/passwd")
    inside = shared_argosd.tools_home / "api-key"
    talk.say(f"!say MEDIA:{folder}/none.png\nMEDIA:{folder}/link.txt\nMEDIA:{inside}\nMEDIA:{folder}\nMEDIA:{folder}/notes")
    media, notice = talk.hear(), talk.hear()
    assert [row["name"] for row in media["attachments"]] == ["notes"]
    lines = notice["text"].splitlines()
    assert lines[0] == "⚠️ Not sent:" and len(lines) == 5
    for line, reason in zip(lines[1:], ("no such file", "belongs to the system", "belongs to the daemon", "is no file")):
        assert reason in line


def test_a_kill_in_the_middle_sends_the_files_once(daemon, folder):
    daemon.start()
    chat = Talk(daemon).begin()
    argos(daemon, "services", "pause", "tool.files")
    chat.say(f"!say MEDIA:{folder}/chart.png")
    wait_until(lambda: chat.read("lane.list", {"service": "tool.files", "key": chat.chat})["messages"])
    number = chat.chat
    chat.peer.close()
    daemon.kill()
    daemon.start()
    argos(daemon, "services", "resume", "tool.files")
    chat = Talk(daemon)
    chat.chat, chat.user = number, "u" + number
    assert chat.hear()["attachments"][0]["name"] == "chart.png"
    wait_until(lambda: not chat.read("lane.list", {"service": "tool.files", "key": number})["messages"])
    assert chat.ask_turn("!say and on") == "and on"
    chat.peer.close()
