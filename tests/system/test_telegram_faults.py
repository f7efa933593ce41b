"""The Telegram adapter under the faults that users of others have reported: the numbers are those of docs/adapter-faults.md."""
import re
import time

import pytest

from test_cli import argos
from test_telegram import ANA, GROUP, SERVICE, Person, begin, one, person, ready, settings, telegram, whole  # noqa: F401

from fake_telegram import new_token  # noqa: E402
from fake_telegram_marks import Refused  # noqa: E402

MARK = "♻️ (this may be a repetition) "


def calls(telegram, method):
    return [request for request in telegram.requests if request[2] == method]


#  A. Duplicates

def test_07_an_answer_that_is_lost_is_said_again_with_a_mark(telegram, person):
    telegram.faults.add("sendMessage", "drop_after", times=1)
    assert person.receipt(person.deliver(ANA, "one"))["state"] == "sent"
    assert telegram.texts(ANA) == ["one", MARK + "one"]


def test_07_what_never_arrived_is_marked_too_but_there_once(telegram, person):
    telegram.faults.add("sendMessage", "drop_before", times=1)
    assert person.receipt(person.deliver(ANA, "one"))["state"] == "sent"
    assert telegram.texts(ANA) == [MARK + "one"]


@pytest.mark.platform("when_unknown: report")
def test_07_or_it_is_reported_as_unknown(telegram, person):
    telegram.faults.add("sendMessage", "drop_after", times=1)
    receipt = person.receipt(person.deliver(ANA, "one"))
    assert receipt["state"] == "unknown" and receipt["error"]
    telegram.wait(lambda: len(telegram.texts(ANA)) == 2)
    assert telegram.texts(ANA)[0] == "one" and "may be missing" in telegram.texts(ANA)[1]


@pytest.mark.platform("when_unknown: report")
def test_07_a_report_that_is_lost_as_well_is_in_the_ledger(telegram, person, ready):
    telegram.faults.add("sendMessage", "drop_before", times=2)
    assert person.receipt(person.deliver(ANA, "one"))["state"] == "unknown"
    assert person.receipt(person.deliver(ANA, "two"))["state"] == "sent"  # Behind the report
    assert telegram.texts(ANA) == ["two"]
    listed = argos(ready.home, "deliveries", "list", "unknown").stdout
    assert "one" in listed and "may be missing" in listed


@pytest.mark.platform("when_unknown: report", f'chats: {{"{ANA}": {{when_unknown: drop}}}}')
def test_07_or_as_it_is_said_for_that_chat(telegram, person):
    telegram.faults.add("sendMessage", "drop_after", times=1)
    assert person.receipt(person.deliver(ANA, "one"))["state"] == "unknown"
    assert person.receipt(person.deliver(ANA, "two"))["state"] == "sent"
    assert telegram.texts(ANA) == ["one", "two"]


@pytest.mark.platform("when_unknown: drop")
def test_07_or_it_is_let_go(telegram, person):
    telegram.faults.add("sendMessage", "drop_after", times=1)
    assert person.receipt(person.deliver(ANA, "one"))["state"] == "unknown"
    assert person.receipt(person.deliver(ANA, "two"))["state"] == "sent"
    assert telegram.texts(ANA) == ["one", "two"]


def test_07_what_has_not_left_is_sent_silently(daemon, telegram):
    begin(daemon, telegram)
    person = Person(daemon, SERVICE)
    port = telegram.port
    telegram.__exit__()
    waiting = person.deliver(ANA, "one")
    daemon.wait_log("not sent yet")
    telegram.port = port
    telegram.__enter__()
    assert person.receipt(waiting)["state"] == "sent"
    assert telegram.texts(ANA) == ["one"]
    person.peer.close()
    assert daemon.stop() == 0


def test_08_pieces_that_were_sent_are_not_sent_again(telegram, person):
    telegram.faults.add("sendMessage", "429:1", times=1, where=lambda params: params["text"].startswith("b"))
    receipt = person.receipt(person.deliver(ANA, "a" * 3000 + "\n\n" + "b" * 3000))
    assert [len(text) for text in telegram.texts(ANA)] == [3000, 3000] and len(receipt["platform_ids"]) == 2


def test_05_after_a_death_the_answer_becomes_the_message_that_showed_it(daemon, telegram):
    begin(daemon, telegram)
    telegram.say(ANA, "!slow 60")
    telegram.wait(lambda: telegram.sent(ANA, "edit"))
    daemon.kill()
    daemon.start(env={"TELEGRAM_BOT_TOKEN": telegram.bot.token})
    telegram.wait(lambda: any(len(text) > 100 and "\u258c" not in text for text in telegram.texts(ANA)))
    assert len(telegram.texts(ANA)) == 1
    assert daemon.stop() == 0


#  B. Lost messages

def test_16_what_was_said_while_nobody_was_there_is_heard(daemon, telegram):
    telegram.say(ANA, "early")
    begin(daemon, telegram)
    whole(telegram, ANA, "You said: early")
    assert daemon.stop() == 0


def test_18_an_update_that_nobody_understands_holds_nothing_up(ready, telegram):
    for body in ({}, {"message_id": "x"}, {"message_id": 7, "chat": {"id": "no"}}, {"message_id": 8, "chat": {"id": ANA, "type": "private"}, "text": 9},
                 {"message_id": 9, "chat": {"id": ANA, "type": "private"}, "from": 5, "text": "odd", "entities": [{"offset": -5, "length": 1 << 40,
                                                                                                                   "type": "mention"}]},
                 {"message_id": 10, "chat": {"id": 1 << 62}, "photo": "no", "reply_to_message": []}):
        telegram.update("message", body)
    telegram.update("callback_query", {"id": "q", "data": 5})
    telegram.update("poll_answer", {"x": 1})
    telegram.say(ANA, "good")
    whole(telegram, ANA, "You said: good")


def test_19_another_bot_begins_at_its_own_place(daemon, telegram):
    begin(daemon, telegram)
    telegram.say(ANA, "one")
    whole(telegram, ANA, "You said: one")
    assert daemon.stop() == 0
    old = telegram.bot
    telegram.bots.clear()
    token = new_token()
    telegram.bots[token] = new = type(old)(token, "new_bot")
    new.next_update = 5  # Lower than all before
    telegram.say(ANA, "two")
    daemon.start(env=settings(daemon, telegram))
    whole(telegram, ANA, "You said: two")
    assert daemon.stop() == 0


def test_20_a_file_waits_like_a_text(telegram, person, ready):
    data = b"%PDF" + b"x" * 5000
    file = telegram.keep_file(data, "a.pdf", "application/pdf")
    telegram.say(ANA, caption="keep", document={"file_id": file, "file_name": "a.pdf", "file_size": len(data)})
    blob = re.search(r"sha256:[0-9a-f]{64}", whole(telegram, ANA, "keep")["text"]).group()
    telegram.faults.add("sendDocument", "429:1", times=1)
    telegram.faults.add("sendDocument", "502", times=1)
    receipt = person.receipt(person.deliver(ANA, "c", op="media", attachments=[{"blob": blob, "kind": "document", "name": "a.pdf"}]))
    message = telegram.chats[ANA].messages[int(receipt["platform_ids"][0])]
    assert telegram.files[message["document"]["file_id"]][0] == data and message["caption"] == MARK + "c"


def test_21_a_file_that_breaks_off_is_fetched_again(ready, telegram):
    file = telegram.keep_file(b"y" * 100000, "b.bin", "")
    telegram.faults.add("file", "partial", times=1)
    telegram.say(ANA, caption="whole", document={"file_id": file, "file_name": "b.bin", "file_size": 100000})
    assert "sha256:" in whole(telegram, ANA, "whole")["text"]


def test_28_a_topic_that_swallows_is_noticed(telegram, person):
    telegram.private(6001, forum=True)
    chat = telegram.chats[6001]
    chat.topics[44] = "gone"
    store = telegram.store
    telegram.store = lambda where, message, thread: store(where, message, None)  # As in that report: accepted, and shown nowhere
    receipt = person.receipt(person.deliver(6001, "x", thread_id="44"))
    telegram.store = store
    assert (receipt["state"], receipt["error"]) == ("refused", "the topic is gone")


#  C. Flood control

def test_29_the_time_that_is_asked_for_is_kept(telegram, person):
    telegram.faults.add("sendMessage", "429:2", times=1)
    assert person.receipt(person.deliver(ANA, "one"))["state"] == "sent"
    first, second = calls(telegram, "sendMessage")
    assert 2.0 <= second[0] - first[0] < 20 and telegram.texts(ANA) == ["one"]  # The same text, without a mark


def test_30_while_one_chat_waits_the_others_go_on_and_nothing_is_lost(daemon, telegram):
    other = telegram.private(6002, "Ben")
    begin(daemon, telegram)
    person = Person(daemon, SERVICE)
    telegram.faults.add("sendMessage", "429:6", times=1, where=lambda params: params["chat_id"] == ANA)
    begun = time.monotonic()
    penalty = person.deliver(ANA, "late")
    telegram.wait(lambda: calls(telegram, "sendMessage"))
    assert person.receipt(person.deliver(other, "at once"))["state"] == "sent"
    assert [request[3]["chat_id"] for request in calls(telegram, "sendMessage")][:2] == [ANA, other]
    daemon.kill()  # Also when it dies while it waits
    person.peer.close()
    daemon.start(env={"TELEGRAM_BOT_TOKEN": telegram.bot.token})
    person = Person(daemon, SERVICE)
    assert person.receipt(penalty)["state"] == "sent" and telegram.texts(ANA) == ["late"]
    assert time.monotonic() - begun >= 6
    person.peer.close()
    assert daemon.stop() == 0


def test_33_a_last_edit_that_fails_becomes_a_message_with_all_of_it(ready, telegram):
    telegram.say(ANA, "!slow 50")
    telegram.wait(lambda: telegram.sent(ANA, "edit"))
    shown = telegram.sent(ANA)[0]["message_id"]
    del telegram.chats[ANA].messages[shown]  # Somebody has taken it away
    answer = telegram.wait(lambda: next((text for text in telegram.texts(ANA) if "\u258c" not in text), None))
    assert "token1 " in answer and answer.endswith("token50")
    assert len(telegram.texts(ANA)) == 1


def test_34_edits_fold_into_a_few(ready, telegram):
    telegram.say(ANA, "!slow 60")
    telegram.wait(lambda: any("token60" in text and "\u258c" not in text for text in telegram.texts(ANA)))
    span = calls(telegram, "editMessageText")[-1][0] - calls(telegram, "sendMessage")[0][0]  # 3 s, on a slow machine more
    assert len(telegram.texts(ANA)) == 1 and 2 <= len(telegram.sent(ANA, "edit")) <= span / 1.5 + 2  # An edit each 1.5 s, and the last one


def test_34_in_a_private_chat_drafts_are_previews(daemon, telegram):
    """They go by themselves: nothing is edited, and nothing can stay beside the answer."""
    telegram.previews = True
    begin(daemon, telegram)
    telegram.say(ANA, "!slow 30")
    telegram.wait(lambda: any("token30" in text for text in telegram.texts(ANA)))
    assert len(telegram.texts(ANA)) == 1 and not telegram.sent(ANA, "edit") and any("token" in text for text in telegram.drafts.values())
    assert daemon.stop() == 0


#  D. Connections

def test_41_a_restart_does_not_fight_with_itself(daemon, telegram):
    for _ in range(3):
        begin(daemon, telegram)
        telegram.wait(lambda: telegram.bot.poll)
        telegram.say(ANA, "hello")
        telegram.wait(lambda: telegram.texts(ANA))
        telegram.chats[ANA].messages.clear()
        assert daemon.stop() == 0 and "event=conflict" not in daemon.text()


def test_41_a_webhook_of_another_program_is_taken_off(daemon, telegram):
    telegram.bot.webhook = "https://example.org/other"
    begin(daemon, telegram)
    telegram.say(ANA, "hello")
    whole(telegram, ANA, "You said: hello")
    assert not telegram.bot.webhook and daemon.stop() == 0


def test_46_polls_that_fail_are_tried_again(ready, telegram):
    for action in ("502", "drop_after", "slow"):
        telegram.faults.add("getUpdates", action, times=1)
    telegram.say(ANA, "hello")
    whole(telegram, ANA, "You said: hello")
    assert len(telegram.texts(ANA)) == 1


def test_46_a_send_that_hangs_holds_up_nothing(daemon, telegram):
    begin(daemon, telegram)
    person = Person(daemon, SERVICE)
    telegram.faults.add("sendMessage", "hang:40", times=1)
    other = telegram.private(6003, "Cid")
    person.deliver(ANA, "one")
    assert person.receipt(person.deliver(other, "two"))["state"] == "sent"
    person.peer.close()
    assert daemon.stop() == 0  # At once, not after the patience with the call


def test_47_tries_have_an_end(telegram, person):
    telegram.faults.add("sendMessage", "drop_after")
    receipt = person.receipt(person.deliver(ANA, "one"))
    assert receipt["state"] == "unknown"
    assert telegram.texts(ANA) == ["one", *[MARK + "one"] * 3]


#  E. Threads

def test_48_a_topic_that_is_not_found(telegram, person):
    forum = telegram.group(GROUP, forum=True)
    receipt = person.receipt(person.deliver(forum, "text", thread_id="99"))
    assert receipt["state"] == "sent" and telegram.texts(forum) == ["(for topic 99, which is gone)\ntext"]
    assert person.receipt(person.deliver(ANA, "text", thread_id="99"))["error"] == "the topic is gone"


def test_49_a_closed_topic_is_said(telegram, person):
    forum = telegram.group(GROUP, forum=True)
    telegram.chats[forum].topics[5] = "five"
    telegram.chats[forum].closed.add(5)
    assert "TOPIC_CLOSED" in person.receipt(person.deliver(forum, "text", thread_id="5"))["error"]


def test_51_in_a_topic_of_a_private_chat_everything_has_an_anchor(ready, telegram):
    telegram.private(6004, forum=True)
    telegram.chats[6004].topics[12] = "mine"
    said = telegram.say(6004, "in it", thread=12)
    answer = whole(telegram, 6004, "You said: in it")
    assert answer["message_thread_id"] == 12 and answer["reply_to_message"]["message_id"] == said["message_id"]


def test_52_what_is_said_outside_of_topics_stays_outside(ready, telegram):
    telegram.private(6005, forum=True)
    telegram.chats[6005].topics[12] = "newest"
    telegram.say(6005, "in it", thread=12)
    telegram.say(6005, "main view")
    assert whole(telegram, 6005, "You said: in it")["message_thread_id"] == 12
    assert "message_thread_id" not in whole(telegram, 6005, "You said: main view")


def test_54_files_stay_in_their_topic(telegram, person, ready):
    forum = telegram.group(GROUP, forum=True)
    telegram.chats[forum].topics[5] = "five"
    file = telegram.keep_file(b"z" * 100, "z.bin", "")
    telegram.say(ANA, caption="keep", document={"file_id": file, "file_name": "z.bin", "file_size": 100})
    blob = re.search(r"sha256:[0-9a-f]{64}", whole(telegram, ANA, "keep")["text"]).group()
    receipt = person.receipt(person.deliver(forum, "", op="media", thread_id="5", attachments=[{"blob": blob, "kind": "document", "name": "z"}]))
    assert telegram.chats[forum].messages[int(receipt["platform_ids"][0])]["message_thread_id"] == 5


def test_63_the_part_that_is_quoted_is_what_is_answered(ready, telegram):
    telegram.say(ANA, "long story")
    answer = whole(telegram, ANA, "You said: long story")
    telegram.say(ANA, "what?", reply_to=answer["message_id"], quote={"text": "story", "position": 5})
    assert "story" in whole(telegram, ANA, "what?")["text"]


#  F. Formatting

def test_66_marks_that_are_refused_are_left_out(telegram, person):
    read = telegram.api.text

    def refuse(params, name, limit, what, empty="message text is empty"):
        if params.get("entities"):
            raise Refused(400, "Bad Request: can't parse entities: unknown")
        return read(params, name, limit, what, empty)

    telegram.api.text = refuse
    assert person.receipt(person.deliver(ANA, "**bold** <b> _x"))["state"] == "sent"
    assert telegram.texts(ANA) == ["bold <b> _x"]


#  G. Security

def test_72_a_button_of_a_stranger_is_not_heard(daemon, telegram):
    forum = telegram.group(GROUP)
    begin(daemon, telegram, "    allow_all_users: false\n    allowed_users: [5001]\n")
    person = Person(daemon, SERVICE)
    receipt = person.receipt(person.deliver(forum, "Run it?", op="prompt", options=[{"id": "once", "label": "Once"}]))
    telegram.press(forum, int(receipt["platform_ids"][0]), "once", user_id=6666)
    telegram.press(forum, int(receipt["platform_ids"][0]), "once", user_id=5001)
    telegram.wait(lambda: any("once" in text for text in telegram.texts(forum)))
    assert sum("once" in text for text in telegram.texts(forum)) == 1
    person.peer.close()
    assert daemon.stop() == 0


def test_76_bots_are_not_answered(ready, telegram):
    telegram.group(GROUP)
    robot = {"id": 6667, "is_bot": True, "first_name": "R", "username": "r_bot"}
    text = "@fake_bot hello"
    message = telegram.store(telegram.chats[GROUP], {"from": robot, "text": text, "entities": [{"type": "mention", "offset": 0, "length": 9}]}, None)
    telegram.update("message", message)
    telegram.say(GROUP, "@fake_bot human", entities=[{"type": "mention", "offset": 0, "length": 9}])
    whole(telegram, GROUP, "human")
    assert not any("hello" in text for text in telegram.texts(GROUP) if text != "@fake_bot hello")
