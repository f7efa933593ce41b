"""Quick commands of the shell (quick_commands, type exec) as a chat uses them."""
import pytest

from test_commands import Talk


@pytest.fixture
def talk(daemon, tmp_path):
    mark = tmp_path / "mark"
    daemon.home.joinpath("argos.yaml").write_text(f"""quick_commands:
  disk: {{type: exec, command: "echo free space", description: what is left}}
  mark: {{type: exec, command: "echo x >> {mark}"}}
  wipe: {{type: exec, command: "rm -rf /"}}
  df: {{type: alias, target: /disk}}
  halt: {{type: exec, command: "exit 3"}}
""")
    daemon.start()
    chat = Talk(daemon).begin()
    yield chat
    chat.peer.close()


@pytest.mark.conversation("a quick command")
def test_what_the_settings_name_runs_and_is_told(talk, tmp_path):
    assert talk.ask("/disk")["text"] == "free space\n"
    assert talk.ask("/df")["text"] == "free space\n"
    assert "ended with 3" in talk.ask("/halt")["text"]
    assert "✅ Done." in talk.ask("/mark")["text"]
    assert (tmp_path / "mark").read_text() == "x\n"
    assert talk.route()["route"] is None  # No turn, no session


def test_what_needs_an_approval_and_what_is_typed_behind_it_never_reach_the_shell(talk, tmp_path):
    assert "does not run" in talk.ask("/wipe")["text"]
    assert "takes no words" in talk.ask("/mark; echo y")["text"] + talk.ask("/mark && echo y")["text"]
    assert not (tmp_path / "mark").exists()


def test_it_runs_beside_a_turn(talk):
    run_id = talk.busy()
    assert talk.ask("/disk")["text"] == "free space\n"
    talk.stop(run_id)
