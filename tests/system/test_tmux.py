"""`argos chat` as a person has it, in tmux: streaming, colours, stops, questions, earlier sessions, handoff, resizes, pastes, and a daemon that
goes and comes."""
import json
import pathlib
import re
import shutil
import tempfile

import pytest

from conftest import BUILD, Argosd
from test_handoff import Place
from tmux import Screen


@pytest.fixture(scope="module")
def stage():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="argos-"))
    daemon = Argosd(folder).start()
    yield daemon
    assert daemon.stop() == 0, daemon.text()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def screen(stage, request):
    """A chat of its own for each test."""
    name = request.node.name.removeprefix("test_")[:40]
    screen = Screen(stage.home, "--chat", name)
    screen.name = name
    screen.prompt()
    yield screen
    screen.close()


def test_an_answer_streams_and_ctrl_c_stops_it(screen):
    screen.say("!slow 5000")
    screen.expect("token3 ")  # The rest is still to come
    screen.type("", "C-c")
    screen.expect("Stopped.")
    screen.prompt()
    assert "token5000" not in screen.text()
    screen.say("go on")
    screen.expect("You said: go on")
    screen.prompt()


def test_markdown_is_shown_in_colours_unless_no_color_is_set(screen, stage, tmp_path):
    (tmp_path / "paste").write_text("a\n# Head\n- **bold** and `code`\n```c\nint *x, *y;\n```\nend of 2 * 3 * 4\n")
    screen.paste(tmp_path / "paste")
    screen.expect("You said: a\nHead\n\u2022 bold and code\n```c\nint *x, *y;\n```\nend of 2 * 3 * 4")
    screen.prompt()
    drawn = screen.colours().split("You said: ")[1]
    assert "\x1b[1mbold" in drawn and "\x1b[36mcode" in drawn and "\x1b[1;4mHead" in drawn, drawn
    screen.type("", "C-d")
    assert screen.ended() == 0
    plain = Screen(stage.home, "--chat", screen.name, setting="NO_COLOR=1")
    plain.prompt()
    plain.paste(tmp_path / "paste")
    plain.expect("You said: a\n# Head\n- **bold** and `code`\n```c\nint *x, *y;\n```\nend of 2 * 3 * 4")
    plain.prompt()
    assert "\x1b" not in plain.colours()
    plain.close()


def test_a_line_says_what_is_done_and_goes(screen, tmp_path):
    flag = tmp_path / "flag"
    screen.say("!tool terminal " + json.dumps({"command": f"until test -e {flag}; do sleep 0.1; done; echo over"}))
    screen.wait(lambda text: re.search(r"^\S terminal \u00b7 \d+ s \u00b7 Ctrl-C stops$", text, re.M), "what is done")
    flag.write_text("")
    screen.expect("exit_code")
    screen.prompt()
    assert "Ctrl-C stops" not in screen.text()


def test_earlier_sessions_are_picked_by_number_and_completed_by_name(screen):
    screen.say("we plan a bridge")
    screen.expect("You said: we plan a bridge")
    screen.prompt()
    screen.say("/title Bridge over the river")
    screen.expect("is called")
    screen.prompt()
    screen.say("/branch Tunnel below it")
    screen.expect("This is a copy")
    screen.prompt()
    screen.say("/resume")
    screen.expect("[here a number alone goes on")
    screen.prompt()
    number = re.search(r"(\d+)\. Bridge over the river", screen.text()).group(1)
    screen.say(number)
    screen.expect("Going on with session")
    screen.expect("Bridge over the river")
    screen.prompt()
    screen.say(number)
    screen.expect(f"You said: {number}")
    screen.prompt()
    screen.type("/resume Tun", "Tab")
    screen.expect("> /resume Tunnel below it")
    screen.type("", "Enter")
    screen.expect("Going on with session")
    screen.expect("Tunnel below it")
    screen.prompt()
    screen.type("/approve a", "Tab")
    screen.expect("> /approve al")
    screen.type("", "Tab")
    screen.expect("/approve all")
    screen.expect("/approve always")
    screen.expect("> /approve al")


def test_lines_are_kept_at_once_and_for_all_chats(screen, stage):
    screen.say("the first of them")
    screen.expect("You said: the first of them")
    screen.prompt()
    beside = Screen(stage.home, "--chat", "beside")
    beside.prompt()
    beside.say("said beside")
    beside.expect("You said: said beside")
    later = Screen(stage.home, "--chat", "later")  # While both are here
    later.prompt()
    later.type("", "Up")
    later.line("> said beside")
    later.type("", "Up")
    later.line("> the first of them")
    later.close()
    beside.close()
    assert (stage.home / "chat_history").read_text().count("said\\040beside") == 1
    (stage.home / "chat_history").write_text("_HiStOrY_V2_\n" + "".join(f"line\\040{n}\n" for n in range(1500)))
    later = Screen(stage.home, "--chat", "later")
    later.prompt()
    later.type("", "Up")
    later.line("> line 1499")
    assert len((stage.home / "chat_history").read_text().splitlines()) == 1001
    later.close()


def test_platforms_and_chats_are_completed_behind_handoff(stage):
    place = Place(stage)
    place.say("hello")
    place.hear()
    screen = Screen(stage.home, "--chat", "handing")
    screen.prompt()
    screen.say("hello")  # By the way of what was asked for before: then both are known
    screen.expect("You said: hello")
    screen.prompt()
    screen.type("/handoff te", "Tab")
    screen.line("> /handoff test")
    screen.type(":", "Tab")
    screen.line("> /handoff test:42")
    screen.close()
    place.peer.close()


def test_ctrl_z_and_back(stage):
    screen = Screen(stage.home, line=f"env PS1='sh: ' HISTFILE= ARGOS_HOME={stage.home} bash --norc")
    screen.line("sh:")
    screen.say(f"{BUILD}/argos chat --chat stopped")
    screen.line(">")
    screen.type("half a")  # No space at the end: it cannot be seen, and Ctrl-Z throws away what was not read
    screen.line("> half a")
    screen.type("", "C-z")
    screen.line("sh:")
    screen.say("fg")
    screen.line("> half a")
    screen.type(" thought", "Enter")
    screen.expect("You said: half a thought")
    screen.line(">")
    screen.say("!slow 100")
    screen.expect("token3 ")
    screen.type("", "C-z")
    screen.line("sh:")
    screen.say("fg")
    screen.expect("token100")
    screen.line(">")
    screen.close()


def test_ctrl_c_and_ctrl_d_at_the_prompt(screen):
    screen.type("half a thought", "C-c")
    screen.expect("[Ctrl-D or /quit ends the chat]")
    screen.prompt()
    screen.say("whole")
    screen.expect("You said: whole")
    screen.prompt()
    assert "You said: half" not in screen.text()
    screen.type("", "C-d")
    assert screen.ended() == 0


def test_an_approval_is_asked_for_and_given(screen, tmp_path):
    victim = tmp_path / "x" / "file"
    victim.parent.mkdir()
    victim.write_text("here")
    screen.say("!tool terminal " + json.dumps({"command": f"rm -rf {victim.parent}"}))
    screen.expect("/approve always or /deny")
    screen.prompt()
    screen.say("a word in between")  # It waits behind the turn, and so does not take the prompt
    screen.prompt()
    assert victim.exists()
    screen.say("/approve")
    screen.expect("exit_code")  # The rehearsal says what the tool has said
    screen.expect("You said: a word in between")
    screen.prompt()
    assert not victim.exists()
    victim.parent.mkdir()
    screen.say("!tool terminal " + json.dumps({"command": f"rm -rf {victim.parent}"}))
    screen.expect("/approve always or /deny")
    screen.prompt()
    screen.say("no")
    screen.expect("denied")
    screen.prompt()
    assert victim.parent.exists()


def test_a_question_is_shown_again_to_who_comes_back(screen, stage):
    screen.say('!tool clarify {"question":"Which one of them?","choices":["red","blue"]}')
    screen.expect("- blue")
    screen.prompt()
    screen.type("", "C-d")
    assert screen.ended() == 0
    again = Screen(stage.home, "--chat", screen.name)
    again.expect("[this is still to be answered]")
    again.expect("Which one of them?")
    again.expect("- blue")
    again.prompt()
    again.say("blue")
    again.expect("user_response")
    again.prompt()
    again.close()
    fresh = Screen(stage.home, "--chat", screen.name)
    fresh.prompt()
    assert "still to be answered" not in fresh.text()
    fresh.close()


def test_a_narrower_window_keeps_the_prompt_and_the_text(screen):
    words = " ".join(f"w{n:02}" for n in range(40))
    screen.type(words)
    screen.resize(50, 12)
    screen.type("", "Enter")
    screen.expect("You said: w00")
    screen.prompt()
    screen.resize(120, 40)
    screen.say("wide again")
    screen.expect("You said: wide again")
    screen.prompt()
    told = screen.text().split("You said: ")[1]
    assert told.replace("\n", " ").split()[:40] == words.split()


def test_a_paste_of_200_lines_is_one_message(screen, tmp_path):
    lines = [f"line {n} of the paste" for n in range(1, 201)]
    (tmp_path / "paste").write_text("\n".join(lines) + "\n")
    screen.paste(tmp_path / "paste")
    screen.expect("You said: line 1 of the paste")
    screen.expect("line 200 of the paste")
    screen.prompt()
    text = screen.text()
    assert text.count("You said:") == 1
    assert [line.strip() for line in text.split("You said: ")[1].split("\n")[:200]] == lines


def test_a_handoff_ends_the_chat_and_names_the_way_back(screen, stage):
    place = Place(stage)
    screen.say("we plan a bridge")
    screen.expect("You said: we plan a bridge")
    screen.prompt()
    screen.say("/handoff test")
    place.thread(thread_id="t1")
    place.hear()
    screen.expect("goes on at test; `/resume ")
    assert screen.ended() == 0
    place.peer.close()


def test_a_daemon_that_starts_again_while_we_talk(screen, stage):
    screen.say("before")
    screen.expect("You said: before")
    screen.prompt()
    stage.kill()
    screen.say("said meanwhile")
    screen.expect("[connection lost, waiting for argosd]")
    stage.start()
    screen.expect("[connected again]")
    screen.expect("You said: said meanwhile")
    screen.prompt()
    screen.say("and after")
    screen.expect("You said: and after")
    screen.prompt()
    screen.type("", "C-d")
    assert screen.ended() == 0
