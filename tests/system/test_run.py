"""`argos run`: one question, one answer, an exit code; and what `argos` says of itself (completion, version)."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BUILD, wait_until
from test_cli import argos


def run(home, *arguments, text=None):
    return subprocess.run([str(BUILD / "argos"), "--home", str(home), "run", *arguments], input=text, capture_output=True, text=True,
                          timeout=60, check=False)


def test_an_answer_is_all_of_stdout_and_goes_nowhere_else(argosd):
    result = run(argosd.home, "hello", text="")
    assert (result.returncode, result.stdout, result.stderr) == (0, "You said: hello\n", "")
    assert run(argosd.home, "a\x1b[31m \u009b31m\u00a0b", text="").stdout == "You said: a[31m 31m\u00a0b\n"  # A terminal would obey
    result = run(argosd.home, "--json", "two words", text="")
    answered = json.loads(result.stdout)
    assert answered["state"] == "completed" and answered["output"] == "You said: two words"
    shown = json.loads(argos(argosd.home, "runs", "show", answered["run_id"], "--json").stdout)
    assert shown["state"] == "completed"
    rows = json.loads(argos(argosd.home, "services", "--json").stdout)["services"]
    assert [row["name"] for row in rows if row["name"].startswith("deliver.local")] == ["deliver.local.run"], "one for all of them"
    assert all(not row.get("ready") for row in rows if row["name"] == "deliver.local.run")


def test_stdin_is_the_question_or_a_part_of_it(argosd):
    assert run(argosd.home, text="from a pipe\n").stdout == "You said: from a pipe\n"
    assert run(argosd.home, "-", text="again\n").stdout == "You said: again\n"
    assert run(argosd.home, "look at", "-", text="line 1\nline 2\n").stdout == "You said: look at\nline 1\nline 2\n"
    assert run(argosd.home, "--", "--not-an-option", text="").stdout == "You said: --not-an-option\n"


def test_several_at_a_time_get_their_own_answers(argosd):
    running = [subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "run", f"number {i}"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True) for i in range(5)]
    for i, process in enumerate(running):
        assert process.communicate(timeout=60)[0] == f"You said: number {i}\n" and process.returncode == 0


def test_a_command_is_answered_too(argosd):
    result = run(argosd.home, "/help", text="")
    assert result.returncode == 0 and "/new" in result.stdout


@pytest.mark.parametrize("line, text", [(["--loud", "x"], ""), ([], "  \n"), (["x" * 300000], ""), (["-"], "a\0b")])
def test_a_wrong_line_is_refused_before_anything_is_sent(home, line, text):
    if len(line) == 1 and len(line[0]) > 131000:
        line, text = ["-"], line[0]  # Longer than a word of a command line may be
    result = run(home, *line, text=text)
    assert result.returncode == 2 and result.stdout == "" and "run" in result.stderr


def test_without_a_daemon_it_says_so(home):
    assert run(home, "x", text="").returncode == 69


def test_a_turn_that_fails_is_told_by_the_exit_code(argosd):
    result = run(argosd.home, "!fail 400", text="")
    assert result.returncode == 1 and result.stdout == "" and "argos: failed: " in result.stderr
    answered = json.loads(run(argosd.home, "!fail 403", "--json", text="").stdout)
    assert answered["state"] == "failed" and answered["error"]


def test_what_asks_a_person_is_stopped_and_told(argosd):
    result = run(argosd.home, '!tool clarify {"question":"which one?"}', text="")
    assert result.returncode == 77 and result.stdout == "" and "which one?" in result.stderr


def test_a_signal_stops_the_run(argosd):
    process = subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "run", '!tool terminal {"command":"sleep 60"}'],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def begun():
        rows = json.loads(argos(argosd.home, "runs", "--json").stdout)["runs"]
        return rows and rows[0]["state"] == "running" and rows[0].get("session_id")

    wait_until(begun)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "" and process.returncode == 130
    wait_until(lambda: json.loads(argos(argosd.home, "runs", "--json").stdout)["runs"][0]["state"] == "cancelled")


#  ---------------------------------------------------------------------------------------------------------------------


def words_of(line):
    """What bash offers for a line whose last word is being typed."""
    typed = line.split(" ")
    script = (f"source <({BUILD}/argos completion bash); COMP_WORDS=({' '.join(repr(word) for word in typed)}); "
              f"COMP_CWORD={len(typed) - 1}; _argos; echo \"${{COMPREPLY[@]}}\"")
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=True).stdout.split()


def test_bash_completes_commands_their_words_and_options(home):
    helped = argos(home, "help").stdout
    commands = set(re.findall(r"^argos ([a-z][a-z-]*)", helped, re.M))
    assert commands <= set(words_of("argos ")), "each command of the help"
    assert set(words_of("argos se")) >= {"send", "sessions", "services", "setup"}
    assert words_of("argos peers dr") == ["drain"] and words_of("argos peers r") == ["resume"]
    assert words_of("argos runs ") == ["list", "show", "events", "stop", "--home", "--json"]
    assert words_of("argos doctor --f") == ["--fix"] and words_of("argos handoff --w") == ["--wait"]
    assert words_of("argos completion z") == ["zsh"]
    assert words_of("argos nothing x") == []
    assert words_of("argos --json peers dr") == ["drain"] and words_of("argos --home /x --json peers dr") == ["drain"]
    assert "doctor" in words_of("argos --home=/x do") and words_of("argos --home x") == []  # A folder, which bash completes


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_that_its_shell_takes(home, shell):
    result = argos(home, "completion", shell)
    assert result.returncode == 0 and "doctor" in result.stdout and "drain" in result.stdout and result.stderr == ""
    program = shutil.which(shell)
    if program:
        script = home / "script"
        script.write_text(result.stdout)
        assert subprocess.run([program, "-n", str(script)], capture_output=True, timeout=30, check=False).returncode == 0


def test_each_command_says_what_it_does_with_an_example(home):
    helped = argos(home, "help").stdout
    commands = dict.fromkeys(re.findall(r"^argos ([a-z][a-z-]*)", helped, re.M))
    assert len(commands) > 25
    for command in commands:
        result = argos(home, command, "--help")
        assert result.returncode == 0 and result.stderr == "" and "\nFor example:\n  " in result.stdout, command
        assert result.stdout.split("\n")[0] in helped
    assert argos(home, "help", "runs").stdout == argos(home, "runs", "--help").stdout
    assert argos(home, "help", "nothing").returncode == 2
    assert not list(home.iterdir())


def test_another_shell_is_named_as_unknown(home):
    assert argos(home, "completion", "tcsh").returncode == 2 and argos(home, "completion").returncode == 2


def test_the_version_is_one_line_or_one_object(home):
    said = argos(home, "version").stdout
    assert re.fullmatch(r"argos \d+\.\d+\.\d+\n", said) and argos(home, "--version").stdout == said
    assert json.loads(argos(home, "version", "--json").stdout) == {"version": said.split()[1]}
    assert os.access(BUILD / "argos", os.X_OK)
