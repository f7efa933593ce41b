"""A real terminal for tests: tmux in its control mode, so that each change of the screen is an event.

Keys and pastes go through tmux, the screen is what it has drawn. No test polls: the screen is looked at again when the pane has said
something, and a deadline ends the wait.
"""
import os
import re
import select
import shutil
import subprocess
import time

import pytest

from conftest import BUILD, DEADLINE_S


class Screen:
    """A pane of 80 by 24 that runs `argos chat` (or another command); it stays when the command has ended.

    setting stands before the command, such as "NO_COLOR=1"; line is another command line instead, of a shell.
    """

    def __init__(self, home, *words, command="chat", setting="", line=None):
        if not shutil.which("tmux"):
            pytest.fail("tmux is missing: ./dev test installs it")
        socket = home / f"tmux-{os.urandom(4).hex()}"
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        env.pop("TMUX", None)
        env.pop("NO_COLOR", None)
        # The check for leaks stops the process by a signal; the SIGCONT of a tmux that ends takes it back, and it waits for ever
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.process = subprocess.Popen(["tmux", "-u", "-S", str(socket), "-f", "/dev/null", "-C"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
        self.rest = b""
        self.seen = 0  # Characters of the screen's text that were expected before
        self._block()
        self.ask("set-option -g window-size manual")
        line = line or setting + " " + " ".join(f"'{word}'" for word in (str(BUILD / "argos"), "--home", str(home), command, *words))
        self.ask(f'respawn-pane -k "{line}; echo [exit \\$?]; exec cat"')
        self.resize(80, 24)

    def _line(self, deadline):
        """The next line of tmux."""
        while b"\n" not in self.rest:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.process.stdout], [], [], left)[0], f"nothing comes; the screen:\n{self.text()}"
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, "tmux has ended"
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def _block(self):
        """The answer to one command."""
        deadline, lines = time.monotonic() + DEADLINE_S, None
        while True:
            line = self._line(deadline)
            if line.startswith("%begin "):
                lines = []
            elif line.startswith(("%end ", "%error ")) and lines is not None:
                assert line.startswith("%end "), lines
                return lines
            elif lines is not None:
                lines.append(line)

    def ask(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        return self._block()

    def text(self):
        """All that stands there, and what has gone out above; wrapped lines are whole."""
        return "\n".join(self.ask("capture-pane -p -J -S -")).rstrip()

    def colours(self):
        """The same with the sequences that tmux makes of what it has drawn."""
        return "\n".join(self.ask("capture-pane -p -e -J -S -")).rstrip()

    def wait(self, found, what):
        """Look again after each word of the pane until found(text)."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            text = self.text()
            if found(text):
                return text
            assert time.monotonic() < deadline, f"no {what!r} in:\n{text}"
            while not self._line(deadline).startswith(("%output", "%window", "%pane", "%layout")):
                pass

    def expect(self, words):
        """Words behind those that were expected before."""
        text = self.wait(lambda text: words in text[self.seen:], words)
        self.seen = text.index(words, self.seen) + len(words)

    def prompt(self):
        """The prompt stands at the bottom, with nothing behind it."""
        self.wait(lambda text: text[max(self.seen - 2, 0):].split("\n")[-1].strip() == ">", "> at the end")

    def line(self, words):
        """The line at the bottom is this."""
        self.wait(lambda text: text.split("\n")[-1].strip() == words, words)

    def type(self, text, *keys):
        if text:
            quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
            self.ask(f'send-keys -l -- "{quoted}"')
        for key in keys:
            self.ask(f"send-keys {key}")

    def say(self, text):
        self.type(text, "Enter")

    def paste(self, path):
        self.ask(f"load-buffer {path}")
        self.ask("paste-buffer -p")

    def resize(self, columns, rows):
        self.ask(f"resize-window -x {columns} -y {rows}")

    def ended(self):
        """The exit code of the command, once it has ended."""
        text = self.wait(lambda text: re.search(r"^\[exit \d+\]$", text, re.M), "the end")
        return int(re.search(r"^\[exit (\d+)\]$", text, re.M).group(1))

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.write(b"kill-server\n")
            self.process.stdin.close()
            self.process.wait(DEADLINE_S)
        self.process.stdout.close()
