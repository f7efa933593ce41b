"""The daemon as a person or a service manager meets it: first start, exit codes, lock, files, signals."""
import os
import pathlib
import re
import signal
import stat
import subprocess
import tempfile

import pytest

from conftest import BUILD, Argosd


def run(*arguments, env=None):
    """Run argosd to its end."""
    return subprocess.run([str(BUILD / "argosd"), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=30, env=env)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_the_first_start_makes_a_home(home):
    daemon = Argosd(home / "deep" / "new")
    try:
        daemon.start()
        assert mode(daemon.home) == 0o700
        assert mode(daemon.home / "run") == 0o700
        assert mode(daemon.home / "api-key") == 0o600
        assert re.fullmatch(r"[0-9a-f]{64}", daemon.key)
        assert (daemon.home / "argos.yaml").read_text().lstrip().startswith("#")
        assert (daemon.home / "run" / "argosd.lock").read_text() == f"{daemon.process.pid}\n"
        assert mode(daemon.home / "run" / "broker.sock") & 0o077 == 0
        assert daemon.stop() == 0
    finally:
        daemon.close()


def test_a_home_that_others_could_read_is_closed(daemon):
    (daemon.home / "run").mkdir()
    for folder in (daemon.home, daemon.home / "run"):
        folder.chmod(0o755)
    daemon.start()
    assert mode(daemon.home) == 0o700 and mode(daemon.home / "run") == 0o700
    assert daemon.stop() == 0


def test_ready_is_said_once_and_names_home_and_endpoint(argosd):
    lines = [line for line in argosd.log if line and "ready" in line]
    assert len(lines) == 1
    assert f'home="{argosd.home}"' in lines[0] and argosd.endpoint in lines[0]
    assert re.match(r"ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info actor=argosd event=ready ", lines[0])


def test_a_second_start_keeps_key_and_settings(daemon):
    daemon.start()
    key = daemon.key
    (daemon.home / "argos.yaml").write_text("log: {level: debug}\n")
    assert daemon.stop() == 0
    daemon.start()
    assert daemon.key == key
    assert (daemon.home / "argos.yaml").read_text() == "log: {level: debug}\n"
    assert daemon.stop() == 0


def test_a_second_argosd_is_refused_with_the_pid_of_the_first(argosd):
    second = run("--home", str(argosd.home), "--port", "0")
    assert second.returncode == 1
    assert f"pid {argosd.process.pid}" in second.stderr
    assert "ready" not in second.stderr
    assert argosd.process.poll() is None


def test_a_killed_argosd_leaves_no_lock(daemon):
    daemon.start()
    assert daemon.kill() == -signal.SIGKILL
    daemon.start()
    assert daemon.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_on_sigterm_and_sigint(daemon, number):
    daemon.start()
    daemon.signal(number)
    assert daemon.wait() == 0


def test_it_ends_with_75_for_a_planned_restart(daemon):
    daemon.start()
    daemon.signal(signal.SIGUSR1)
    assert daemon.wait() == 75


def test_a_hang_up_changes_nothing(daemon):
    daemon.start()
    daemon.signal(signal.SIGHUP)
    daemon.wait_log("event=settings")
    assert daemon.stop() == 0


@pytest.mark.parametrize("text, line, key", [
    ("log:\n  level: info\nhttp:\n  port: many\n", 4, "http.port"),
    ("http:\n  port: 70000\n", 2, "http.port"),
    ("provider:\n  kind: parrot\n", 2, "provider.kind"),
])
def test_bad_settings_are_78_with_file_line_and_key(home, text, line, key):
    (home / "argos.yaml").write_text(text)
    result = run("--home", str(home))
    assert result.returncode == 78
    assert f"argos.yaml:{line}" in result.stderr and key in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_settings_that_are_no_yaml_are_78(home):
    (home / "argos.yaml").write_text("http: [1, 2\n")
    result = run("--home", str(home))
    assert result.returncode == 78
    assert "argos.yaml:" in result.stderr


def test_an_unknown_key_is_a_warning(daemon):
    (daemon.home / "argos.yaml").write_text("http:\n  prot: 1\n")
    daemon.start()
    line = daemon.wait_log("warning")
    assert "http.prot" in line and line.startswith("ts=")
    assert daemon.stop() == 0


def test_a_provider_without_a_key_is_a_warning(daemon):
    (daemon.home / "argos.yaml").write_text("provider: {kind: openai, model: m, key: 'env:NO_SUCH_KEY'}\n")
    daemon.start()
    line = daemon.wait_log("problem=")
    assert "level=warn" in line and "NO_SUCH_KEY" in line
    assert daemon.stop() == 0


@pytest.mark.parametrize("arguments", [
    ["--frobnicate"], ["--port"], ["--port", "x"], ["--port", "65536"], ["--port", "-1"], ["--home", ""], ["extra"],
    ["--home"],
])
def test_wrong_usage_is_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "usage" in result.stderr


def test_no_home_at_all_is_2():
    assert run(env={}).returncode == 2


def test_version_and_help():
    assert re.fullmatch(r"argosd \d+\.\d+\.\d+\n", run("--version").stdout)
    assert "--home" in run("--help").stdout


def test_the_home_comes_from_the_environment(home):
    (home / "argos.yaml").write_text("http: {port: none}\n")
    assert run(env={"ARGOS_HOME": str(home)}).returncode == 78
    assert (home / "api-key").exists()


def test_a_home_that_can_not_be_made_is_said():
    result = run("--home", "/proc/argos")
    assert result.returncode == 1
    assert "/proc/argos" in result.stderr


def test_a_long_home_has_its_socket_elsewhere(home):
    daemon = Argosd(home / ("x" * 60) / ("y" * 60))
    with tempfile.TemporaryDirectory(prefix="rt-") as runtime:
        try:
            daemon.start(env={"XDG_RUNTIME_DIR": runtime})
            path = pathlib.Path(daemon.endpoint.removeprefix("ipc://"))
            assert path.parent == pathlib.Path(runtime) / "argos"
            assert path.is_socket() and mode(path.parent) == 0o700
            assert daemon.stop() == 0
        finally:
            daemon.close()


def test_a_port_that_is_taken_is_said(argosd, home):
    other = Argosd(home / "other")
    try:
        other.launch("--port", str(argosd.port))
        assert other.wait() == 1
        assert "api" in other.text()
    finally:
        other.close()
