"""What a chat gets of what the model has said, with a model that says what it is told to."""
import pytest

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
    ("!say (empty)", "⚠️ The model has answered with nothing"), ("!say", "⚠️ Finished without a response."),
    ('!say {"error":{"message":"upstream"}}', "⚠️ The provider has sent an error page"), ("!say <html>502</html>", "error page")])
def test_an_answer_that_is_none_is_explained(talk, said, told):
    assert told in talk.ask_turn(said)


def test_a_task_that_has_nothing_to_say_says_so(talk):
    assert "🔄" in talk.ask("/background !say [SILENT]")["text"]
    assert "(No response generated)" in talk.hear()["text"]


def test_a_failure_comes_with_what_can_be_done(talk):
    answer = talk.ask_turn("!fail 402")
    assert "failed" in answer and answer.endswith("The account of the provider has to be topped up.")
