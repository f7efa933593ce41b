"""The command line client as a person or a script meets it."""
import json
import os
import signal
import stat
import subprocess
import time

import pytest

from conftest import BUILD, Argosd, wait_until
from edge import free_port
from test_provider_wire import KEY, answer, provider  # noqa: F401: a fixture


def argos(home, *arguments, **env):
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return subprocess.run([str(BUILD / "argos"), "--home", str(home), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, env={**clean, **env})


@pytest.mark.parametrize("command, words", [("runs", "no runs"), ("dead", "no message")])
def test_list_is_what_is_meant_without_a_verb(argosd, command, words):
    result = argos(argosd.home, command)
    assert result.returncode == 0 and words in result.stdout
    assert result.stdout == argos(argosd.home, command, "list").stdout


@pytest.mark.parametrize("line, name", [
    (["runs", "--limit", "3"], "--limit"), (["dead", "list", "-x"], "-x"), (["status", "--full"], "--full"),
    (["--verbose"], "--verbose"), (["chat", "--chatt", "a"], "--chatt"), (["chat", "--chat"], "--chat"),
    (["provider", "--test"], "--test"), (["provider", "tset"], "provider")])
def test_a_wrong_option_is_named(home, line, name):
    result = argos(home, *line)
    assert result.returncode == 2 and name in result.stderr and result.stdout == ""
    result = argos(home, *line, "--json")
    error = json.loads(result.stdout)["error"]
    assert result.returncode == 2 and error["code"] == "usage" and name in error["message"]
    assert result.stderr == ""


def test_errors_are_json_when_asked_for(argosd, home):
    result = argos(home / "nowhere", "status", "--json")
    assert result.returncode == 69 and json.loads(result.stdout)["error"]["code"] == "down"
    result = argos(argosd.home, "runs", "show", "run_" + "0" * 32, "--json")
    error = json.loads(result.stdout)["error"]
    assert result.returncode == 1 and error["code"] == "not_found" and "run_000" in error["message"]


def test_a_provider_that_is_not_there_is_said_at_once(home):
    address = f"http://user:pass@127.0.0.1:{free_port()}/v1"
    (home / "argos.yaml").write_text(f"provider:\n  kind: openai\n  base_url: {address}\n  model: m\n  key: env:WIRE_KEY\n")
    before = time.monotonic()
    result = argos(home, "provider", "test", WIRE_KEY=KEY)
    assert time.monotonic() - before < 20
    assert result.returncode == 1
    assert "unreachable" in result.stdout and address.replace("user:pass@", "") in result.stdout
    assert "timeout" not in result.stdout and "pass@" not in result.stdout and KEY not in result.stdout


def test_a_wrong_path_is_asked_once_and_named(home, provider):  # noqa: F811
    (home / "argos.yaml").write_text(provider.settings(path="/v7"))
    provider.answers = [(404, "text/plain", b"no such page")] * 4
    result = argos(home, "provider", "test", "--json", WIRE_KEY=KEY)
    answered = json.loads(result.stdout)
    assert result.returncode == 1 and answered["ok"] is False
    assert "/v7/chat/completions" in answered["error"] and "404" in answered["error"]
    assert len(provider.requests) == 1


def test_a_provider_that_answers_passes_without_a_daemon(home, provider):  # noqa: F811
    (home / "argos.yaml").write_text(provider.settings())
    provider.answers = [(200, "text/event-stream", answer("ready"))]
    result = argos(home, "provider", "test", WIRE_KEY=KEY)
    assert result.returncode == 0 and "answer    ready" in result.stdout and "wire-model" in result.stdout


def test_a_key_that_only_the_daemon_has_is_used_there(daemon, provider):  # noqa: F811
    (daemon.home / "argos.yaml").write_text(provider.settings())
    assert "WIRE_KEY" in argos(daemon.home, "provider", "test").stdout
    daemon.start(env={"WIRE_KEY": KEY})
    provider.answers = [(200, "text/event-stream", answer("ready"))]
    assert argos(daemon.home, "provider", "test").returncode == 0
    assert daemon.stop() == 0


def test_the_rehearsal_provider_is_asked_through_the_daemon(argosd):
    result = argos(argosd.home, "provider", "test")
    assert result.returncode == 0 and "rehearsal" in result.stdout


def test_the_log_is_read_while_the_daemon_runs_and_afterwards(argosd):
    lines = argos(argosd.home, "logs").stdout.splitlines()
    assert any("event=ready" in line for line in lines) and all(line.startswith("ts=") for line in lines)

    def same():
        """Both ways show the same last line, unless one has come in between."""
        last = argos(argosd.home, "logs").stdout.splitlines()[-1]
        document = json.loads(argos(argosd.home, "logs", "--json", "-n", "2").stdout)
        assert len(document["lines"]) == 2
        return document["lines"][-1]["event"] == last.split("event=")[1].split()[0].strip('"')

    wait_until(same)
    follower = subprocess.Popen([str(BUILD / "argos"), "--home", str(argosd.home), "logs", "-f", "-n", "1"],
                                stdout=subprocess.PIPE, text=True)
    assert follower.stdout.readline().startswith("ts=")
    argosd.signal(signal.SIGHUP)
    while "event=settings" not in follower.stdout.readline():
        pass
    (argosd.home / "argosd.log").rename(argosd.home / "argosd.log.1")
    (argosd.home / "argosd.log").write_text("ts=2026-01-01T00:00:00.000Z level=info actor=a event=b\nof another program\n")
    while "event=b" not in follower.stdout.readline():
        pass
    assert follower.stdout.readline() == "of another program\n"
    follower.send_signal(signal.SIGINT)
    assert follower.wait(30) == 0
    assert argosd.stop() == 0
    assert "event=ready" in argos(argosd.home, "logs").stdout
    assert argos(argosd.home, "logs", "--level", "error").stdout == "of another program\n"


@pytest.mark.parametrize("line", [["-n", "0"], ["-n"], ["--level", "loud"], ["-x"], ["-n", "10001"]])
def test_a_wrong_line_of_logs_is_refused(home, line):
    assert argos(home, "logs", *line).returncode == 2
    assert "argosd.log" in argos(home, "logs").stderr and argos(home, "logs").returncode == 1


def set_up_home(home, *words, text="", **env):
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return subprocess.run([str(BUILD / "argos"), "--home", str(home), "setup", *words], input=text, capture_output=True, text=True,
                          timeout=60, env={**clean, **env})


def test_a_first_configuration_without_a_question(home, provider):  # noqa: F811
    daemon = Argosd(home / "new")
    home = daemon.home_of("agent")
    provider.answers = [(200, "text/event-stream", answer("ready")), (200, "text/event-stream", answer("from the model"))]
    words = ["--non-interactive", "--provider", "openai", "--base-url", f"http://127.0.0.1:{provider.server.server_port}/v1", "--model", "wire-model"]
    result = set_up_home(home, *words, "--key-file", "-", "--json", text=KEY + "\n")
    assert result.returncode == 0 and json.loads(result.stdout) == {
        "home": str(home), "provider": "openai", "model": "wire-model", "checked": True, "restart": False}
    secret = home / "secrets" / "provider"
    assert secret.read_text() == KEY and stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert KEY not in (home / "local.yaml").read_text() and "#provider:" in (home / "argos.yaml").read_text()
    assert argos(home, "doctor").returncode == 0
    try:
        daemon.start()
        assert argos(daemon.home, "run", "hello").stdout == "from the model\n"
        assert daemon.stop() == 0
    finally:
        daemon.close()


def test_what_does_not_answer_is_not_written_down(home, provider):  # noqa: F811
    provider.answers = [(401, "application/json", b'{"error":{"message":"no such key"}}')]
    result = set_up_home(home / "new", "--non-interactive", "--provider", "openai", "--base-url", f"http://127.0.0.1:{provider.server.server_port}/v1",
                   OPENAI_API_KEY=KEY)
    assert result.returncode == 1 and "nothing was written" in result.stderr and KEY not in result.stderr
    assert not (home / "new").exists()
    result = set_up_home(home / "new", "--non-interactive", "--provider", "anthropic")
    assert result.returncode == 1 and "ANTHROPIC_API_KEY" in result.stderr and not (home / "new").exists()
    assert set_up_home(home, "--provider", "nobody").returncode == 2 and set_up_home(home, "--model").returncode == 2


def test_setup_asks_and_takes_what_is_usual(home):
    result = set_up_home(home, text="opneai\n\nteams\nnone\n")
    assert result.returncode == 0 and "rehearsal" in result.stdout
    assert "there is no provider opneai" in result.stderr and "there is no platform teams" in result.stderr
    assert "rehearsal" in argos(home, "config", "get", "provider.kind").stdout
