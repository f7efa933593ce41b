"""The chat at a terminal: a pseudo terminal, with a person's keys."""
import os
import pty
import re
import select
import signal
import stat
import subprocess
import time

import pytest

from conftest import BUILD, DEADLINE_S, wait_until


class Terminal:
    def __init__(self, home, kind="xterm", **more):
        try:
            self.master, slave = pty.openpty()
        except OSError:
            pytest.skip("this machine has no pseudo terminals")
        env = {**os.environ, "TERM": kind, "LC_ALL": "C.UTF-8", **more}
        #  A session of its own with the terminal as the controlling one, so that ^C is a signal
        self.process = subprocess.Popen(["setsid", "--ctty", "--wait", str(BUILD / "argos"), "--home", str(home), "chat"],
                                        stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)
        self.text, self.seen = "", 0

    def read(self, seconds):
        """Read once; False when nothing came or it is over."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def expect(self, words, deadline_s=DEADLINE_S):
        """Wait for words behind those expected before."""
        deadline = time.monotonic() + deadline_s
        while words not in self.text[self.seen:]:
            left = deadline - time.monotonic()
            assert left > 0 and self.read(left), f"no {words!r} in {self.text[self.seen:]!r}"
        self.seen = self.text.index(words, self.seen) + len(words)

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self):
        while self.read(DEADLINE_S):
            pass
        return self.process.wait(DEADLINE_S)

    def close(self):
        if self.process.poll() is None:
            os.close(self.master)  # Hangs up
            self.process.wait(DEADLINE_S)


@pytest.fixture
def chat(argosd):
    terminal = Terminal(argosd.home)
    terminal.argosd = argosd
    terminal.expect("> ")
    yield terminal
    terminal.close()


def last_line(text):
    """What the cursor's line holds: the shell's prompt would stand behind it."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace("\r\n", "\n").split("\n")[-1].split("\r")[-1]


def test_a_line_is_answered_and_ctrl_d_leaves_a_clean_line(chat):
    chat.type("gr\u00fc\u00dfe dich\r")
    chat.expect("You said: gr\u00fc\u00dfe dich")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.wait() == 0
    assert last_line(chat.text) == ""
    assert chat.text.rindex("\x1b[?2004l") > chat.text.rindex("\x1b[?2004h")
    path = chat.argosd.home / "chat_history"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_question_is_seen_and_answered(chat):
    chat.type('!tool clarify {"question":"Which one?","choices":["red","blue"]}\r')
    chat.expect("Which one?")
    chat.expect("- blue")
    chat.expect("> ")
    chat.type("blue\r")
    chat.expect("blue")  # Echo of the keys
    chat.expect("blue")
    chat.expect("> ")
    chat.type("and on\r")
    chat.expect("You said: and on")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.wait() == 0


def test_a_question_without_choices_is_answered_by_the_next_line(chat):
    chat.type('!tool clarify {"question":"Which colour?"}\r')
    chat.expect("Which colour?")
    chat.expect("> ")
    chat.type("mauve\r")
    chat.expect("mauve")  # Echo of the keys
    chat.expect("mauve")
    chat.expect("> ")
    chat.type("and on\r")
    chat.expect("You said: and on")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.wait() == 0


def test_a_paste_of_lines_is_one_message(chat):
    chat.type("see \x1b[200~first\rsecond\r\nthird\r\x1b[201~")
    chat.expect("You said: see first")
    chat.expect("third")
    chat.expect("> ")
    chat.type("\x1b[200~one line\r\x1b[201~ and more\r")
    chat.expect("You said: one line and more")
    chat.expect("> ")
    chat.type("/quit\r")
    assert chat.wait() == 0
    assert chat.text.count("You said") == 2


def test_keys_of_the_editor_still_work(chat):
    chat.type("ac\x1b[Db\r")  # Cursor to the left, then b
    chat.expect("You said: abc")
    chat.expect("> ")
    chat.type("\x1b[A\r")  # The line before
    chat.expect("You said: abc")
    chat.expect("> ")
    chat.type("/quit\r")
    assert chat.wait() == 0


def test_what_ctrl_c_throws_away_is_not_waited_for(argosd, tmp_path):
    """Keys that were there when the chat woke up, and are gone when it reads: it goes on."""
    mark = tmp_path / "away"
    chat = Terminal(argosd.home, LD_PRELOAD=str(BUILD / "tests" / "libargos_tty_shim.so"), ARGOS_TTY_SHIM=str(mark),
                    ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    chat.expect("> ")
    mark.touch()
    chat.type("h")
    wait_until(lambda: not mark.exists())
    chat.type("\x03")
    chat.expect("[Ctrl-D or /quit ends the chat]")
    chat.expect("> ")
    chat.type("still here\r")
    chat.expect("You said: still here")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.wait() == 0


def test_the_tabulator_completes_commands_and_nothing_else(chat):
    chat.type("/backgro\t")
    chat.expect("und ")
    chat.type("\x15backgro\t.\r")  # ^U takes back what was typed
    chat.expect("You said: backgro\t.")
    chat.expect("> ")
    chat.type("/quit\r")
    assert chat.wait() == 0


def test_a_dumb_terminal_gets_plain_lines(argosd):
    """Text, prompts and ends of lines: an editor may show what is written as it is."""
    terminal = Terminal(argosd.home, "dumb")
    terminal.expect("> ")
    terminal.type("# hello **there**\r")
    terminal.expect("You said: # hello **there**")
    terminal.expect("> ")
    terminal.type("\x04")
    assert terminal.wait() == 0 and "\x1b" not in terminal.text
    terminal.close()


def test_help_names_the_ways_out(chat):
    chat.type("/help\r")
    for words in ("/quit", "Ctrl-D", "Ctrl-C"):
        chat.expect(words)
    chat.expect("> ")
    chat.type("/quit\r")
    assert chat.wait() == 0


def test_a_daemon_that_is_gone_is_said_and_left(chat):
    chat.argosd.kill()
    chat.type("are you there?\r")
    chat.expect("[connection lost, waiting for argosd]")
    chat.type("\x03")
    chat.expect("Ctrl-C again leaves")
    chat.type("\x03")
    assert chat.wait() == 1
    assert chat.text.count("connection lost") == 1
    assert last_line(chat.text) == ""


def test_a_daemon_that_comes_back_answers(chat):
    chat.argosd.kill()
    chat.type("hello again\r")
    chat.expect("[connection lost, waiting for argosd]")
    chat.type("line one\nline two\n")  # Without a prompt there are no marks around a paste
    chat.argosd.start()
    chat.expect("[connected again]", 60)
    chat.expect("You said: hello again")
    chat.expect("You said: line one")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.wait() == 0
    assert chat.text.count("You said") == 2


def test_a_silent_loss_is_said(chat):
    chat.argosd.kill()
    chat.expect("[connection lost, waiting for argosd]")
    chat.type("\x04")
    assert chat.wait() == 0
    assert chat.argosd.process.returncode == -signal.SIGKILL
