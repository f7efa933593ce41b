"""Questions of a turn as a chat answers them. The agent is played by the test: what ours does with an answer is not what this is about."""
import pytest

from conftest import wait_until
from script_agent import ScriptAgent
from test_commands import Talk

COLOURS = [{"id": "o1", "label": "Red"}, {"id": "o2", "label": "Green"}]


@pytest.fixture(scope="module")
def stage(shared_argosd):
    chat, agent = Talk(shared_argosd), ScriptAgent(shared_argosd)
    yield chat, agent
    agent.close()
    chat.peer.close()


@pytest.fixture
def both(stage):
    chat, agent = stage
    return chat.begin(), agent


def asked(chat, agent, *questions, text="do it", **more):
    """A turn that waits for answers: (the turn, the ids of the questions). The prompts have been heard."""
    run_id = chat.say(text)
    turn = agent.lease(run_id)
    return turn, [agent.ask(turn, **{**more, **question}) and chat.hear() for question in questions or [{}]]


def question(prompt):
    return prompt["options"][0]["id"].split(":")[0]


def answered(chat, agent, turn):
    """The turn comes back with the answer beside it: (turn again, answer meta, answer)."""
    again = agent.lease(turn[0]["id"])
    _, meta, body = agent.side("question.answer")
    return again, meta, body


def record(chat, turn, id_):
    return chat.record("question", f"{turn[2]['session_id']}/{id_}")


@pytest.mark.parametrize("text, choice, said", [
    ("/approve", "once", "✅ Command approved."), ("/approve session", "session", "for this session"), ("/approve always", "always", "for good"),
    ("/deny", "deny", "❌ Command denied"), ("yes", "once", "✅ Command approved."), ("No.", "deny", "❌ Command denied"),
])
@pytest.mark.conversation("an approval")
def test_an_approval_is_answered_by_command_and_by_word_as_wide_as_asked(both, text, choice, said):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent)
    assert said in chat.ask(text)["text"]
    again, meta, body = answered(chat, agent, turn)
    assert (body["question_id"], body["choice"], body["by"]) == (question(prompt), choice, chat.user)
    value = record(chat, turn, question(prompt))
    assert (value["state"], value["choice"], value["by"]) == ("answered", choice, chat.user)
    agent.finish(again, "done then", [meta])
    assert chat.hear()["text"] == "done then"


@pytest.mark.conversation("a button")
def test_a_button_answers_its_own_question_once(both):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent)
    button = prompt["options"][3]["id"]
    assert "❌ Command denied" in chat.ask(button)["text"]
    assert "Somebody was faster" in chat.ask(prompt["options"][0]["id"])["text"]  # Pressed too late
    again, meta, body = answered(chat, agent, turn)
    assert body["choice"] == "deny"
    agent.finish(again, "not done", [meta])
    assert chat.hear()["text"] == "not done"
    assert "Nothing is waiting" in chat.ask("/approve")["text"]
    assert "not open any more" in chat.ask("q_0123456789ab:once")["text"]


def test_the_reason_of_a_denial_reaches_the_turn(both):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent)
    assert "❌" in chat.ask("/deny not on a friday")["text"]
    again, meta, body = answered(chat, agent, turn)
    assert (body["choice"], body["text"]) == ("deny", "not on a friday")
    agent.finish(again, "left alone", [meta])
    chat.hear()


@pytest.mark.parametrize("text, choice, words", [("2", "o2", None), ("red", "o1", None), ("rather blue", None, "rather blue")])
@pytest.mark.conversation("a clarify")
def test_a_clarify_takes_a_number_a_label_or_what_is_said(both, text, choice, words):
    chat, agent = both
    turn, _ = asked(chat, agent, {"kind": "clarify", "options": COLOURS, "text": "Which?"})
    chat.say(text)
    again, meta, body = answered(chat, agent, turn)
    assert (body.get("choice"), body.get("text")) == (choice, words)
    agent.finish(again, f"it is {text}", [meta])
    assert chat.hear()["text"] == f"it is {text}"
    assert chat.lane() == []  # The text was no turn of its own


@pytest.mark.conversation("a question for somebody else")
def test_only_who_is_named_may_answer_and_others_speak_on(both):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent, {"kind": "clarify", "options": [], "text": "Which?", "allowed": ["somebody"]})
    assert "options" not in prompt
    second = chat.say("I am somebody else")  # An ordinary message, behind the turn that waits
    wait_until(lambda: chat.run(second))
    assert record(chat, turn, prompt_id(chat, turn))["state"] == "open"
    chat.user, mine = "somebody", chat.user
    chat.say("the left one")
    again, meta, body = answered(chat, agent, turn)
    assert (body["text"], body["by"]) == ("the left one", "somebody")
    chat.user = mine
    agent.finish(again, "the left one it is", [meta])
    assert chat.hear()["text"] == "the left one it is"
    agent.finish(agent.lease(second), "hello somebody else")
    chat.hear()


def prompt_id(chat, turn):
    records = chat.read("record.list", {"space": "question", "prefix": turn[2]["session_id"] + "/"})["records"]
    return records[0]["value"]["id"]


def test_of_two_who_answer_at_once_one_is_told_that_he_was_late(both):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent)
    id_ = question(prompt)
    chat.peer.send(*inbound(chat, f"{id_}:once", "first"))
    chat.peer.send(*inbound(chat, f"{id_}:deny", "second"))
    said = sorted(chat.hear()["text"] for _ in range(2))
    assert said[0].startswith("Somebody was faster") and said[1][0] in "✅❌"
    again, meta, body = answered(chat, agent, turn)
    assert record(chat, turn, id_)["choice"] == body["choice"]
    agent.finish(again, "once only", [meta])
    assert chat.hear()["text"] == "once only"


def inbound(chat, text, user):
    """From another lane of the platform, so that the gateway decides on both at the same time."""
    source = {"platform": "test", "account": "main", "chat_id": chat.chat, "chat_type": "dm", "user_id": user}
    header = {"type": "message.inbound", "id": f"main:{chat.chat}:{user}", "to": "service:gateway", "key": f"main:{chat.chat}:{user}", "durable": True}
    return header, {"source": source, "text": text, "message_id": user}


@pytest.mark.parametrize("text", ["/stop", "/new"])
@pytest.mark.conversation("what stops closes questions")
def test_what_stops_the_session_closes_its_questions_in_the_same_commit(both, text):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent)
    notice = chat.ask(text)["text"]
    if "`approve`" in notice:
        notice = chat.ask("cancel")["text"]  # The turn has asked before: the word is for /new
        assert "cancelled" in notice
        assert record(chat, turn, question(prompt))["state"] == "open"
        chat.ask("/new")
        notice = chat.ask("yes")["text"]
    assert notice[0] in "⚡✨"
    assert record(chat, turn, question(prompt))["state"] == "cancelled"
    again = agent.lease(turn[0]["id"])
    stop = agent.side("session.end" if text == "/new" else "turn.stop")
    assert "not open any more" in chat.ask(f"{question(prompt)}:once")["text"]
    agent.finish(again, "", [stop[1]], state="cancelled")


def test_all_that_waits_is_approved_together(both):
    chat, agent = both
    run_id = chat.say("do both")
    turn = agent.lease(run_id)
    agent.ask(turn)
    first = chat.hear()
    assert "✅" in chat.ask("/approve all")["text"]
    again, meta, body = answered(chat, agent, turn)
    assert body["question_id"] == question(first)
    agent.finish(again, "both", [meta])
    chat.hear()


def test_status_says_what_is_waited_for_and_a_restart_keeps_the_question(both):
    chat, agent = both
    turn, (prompt,) = asked(chat, agent)
    assert "waits for an answer of yours" in chat.ask("/status")["text"]
    assert "✅" in chat.ask("/approve")["text"]
    again, meta, _ = answered(chat, agent, turn)
    agent.finish(again, "done", [meta])
    chat.hear()


@pytest.mark.conversation("a task asks for approval")
def test_a_background_task_asks_in_its_chat_and_is_answered_there(both):
    chat, agent = both
    chat.say("/background clean up")
    assert "🔄" in chat.hear()["text"]
    turn = agent.lease()
    agent.ask(turn)
    first = chat.hear()
    assert "Nothing is waiting" in elsewhere(chat, "/approve")  # Another chat sees nothing of it
    assert "not open any more" in elsewhere(chat, first["options"][0]["id"])
    assert "✅" in chat.ask("/approve")["text"]
    again, meta, body = answered(chat, agent, turn)
    assert body["question_id"] == question(first) and turn[2]["session_id"].startswith("bg_")
    agent.finish(again, "cleaned", [meta])
    chat.hear()


@pytest.mark.conversation("a task asks and a text answers")
def test_a_background_task_asks_in_its_chat_and_a_text_answers_it(both):
    chat, agent = both
    chat.say("/background choose")
    assert "🔄" in chat.hear()["text"]
    turn = agent.lease()
    agent.ask(turn, kind="clarify", options=COLOURS, text="Which?")
    prompt = chat.hear()
    talk = chat.say("rather blue")  # It offers no such thing: said to the session
    agent.finish(agent.lease(talk), "blue it is")
    assert chat.hear()["text"] == "blue it is"
    task = turn[2]["session_id"]
    assert task in chat.ask("green")["text"]
    again, meta, body = answered(chat, agent, turn)
    assert (body["question_id"], body["choice"], body["by"]) == (question(prompt), "o2", chat.user)
    assert record(chat, turn, question(prompt))["state"] == "answered" and chat.lane() == []
    agent.finish(again, "chosen", [meta])
    chat.hear()
    assert agent.lease(chat.say("green"))[2]["text"] == "green"  # The task is over: a text is a text


def elsewhere(chat, text):
    mine, user = chat.chat, chat.user
    chat.begin()
    said = chat.ask(text)["text"]
    chat.chat, chat.user = mine, user
    return said
