"""`argos doctor`: each planted fault is found and named with its cure; --fix cures the curable ones and touches nothing else."""
import fcntl
import json
import os
import resource
import socket
import stat
import subprocess
import time

import pytest

from conftest import BUILD, PLACEMENT
from test_cli import closed_port

LONG_AGO = time.time() - 7200
KEYED = "provider: {{kind: openai, base_url: \"http://127.0.0.1:{port}/v1\", model: m, key: \"{key}\"}}\n"


def doctor(home, *arguments, **more):
    clean = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    result = subprocess.run([str(BUILD / "argos"), "--home", str(home), "doctor", "--json", *arguments],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=clean, check=False, **more)
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert result.returncode == (0 if report["ok"] else 1)
    assert report["ok"] == (report["faults"] == 0)
    for finding in report["findings"]:
        assert finding["level"] in ("ok", "warning", "fault", "cured") and finding["text"]
        assert ("cure" in finding) == (finding["level"] in ("warning", "fault")), finding
    return report


def complaints(report):
    return {(one["check"], one["text"]) for one in report["findings"] if one["level"] in ("warning", "fault")}


@pytest.fixture
def healthy(home):
    """A home as argosd makes it, with what must stay as it is."""
    (home / "run").mkdir(mode=0o700)
    (home / "keys").mkdir(mode=0o700)
    (home / "backups").mkdir(mode=0o700)
    for name, text in (("api-key", "0" * 64), ("run/operator.token", "1" * 43), ("run/argosd.lock", "1\n"),
                       ("argos.yaml", "http: {port: 0}\n"), ("notes.txt", "mine\n"), ("young.new", "just being written\n")):
        (home / name).write_text(text)
        (home / name).chmod(0o644 if name in ("notes.txt", "young.new") else 0o600)
    (home / "argos.db").write_bytes(b"SQLite format 3\0" + bytes(84))
    (home / "argos.db").chmod(0o600)
    return home


def left(path, text="half"):
    path.write_text(text)
    os.utime(path, (LONG_AGO, LONG_AGO))


def settings(text):
    return lambda home: (home / "argos.yaml").write_text("http: {port: 0}\n" + text)


def stale_socket(home):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(home / "run" / "broker.sock"))


def record(home):
    (home / "keys" / "bot.pub").write_text("{")
    (home / "keys" / "bot.pub").chmod(0o600)


def bundle(home):
    (home / "keys" / "bot.key").write_text("no key")
    (home / "keys" / "bot.key").chmod(0o600)


#  What is planted, the check that finds it, what it says, whether --fix cures it
FAULTS = {
    "the home is open": (lambda home: home.chmod(0o755), "permissions", "755", True),
    "the run folder is open": (lambda home: (home / "run").chmod(0o777), "permissions", "run has", True),
    "the API key can be read": (lambda home: (home / "api-key").chmod(0o644), "permissions", "api-key", True),
    "the token of the operator can be read": (lambda home: (home / "run/operator.token").chmod(0o640), "permissions", "operator", True),
    "the database can be read": (lambda home: (home / "argos.db").chmod(0o604), "permissions", "argos.db", True),
    "a key can be read": (lambda home: [bundle(home), (home / "keys/bot.key").chmod(0o644)], "permissions", "bot.key", True),
    "the settings can't be read": (lambda home: (home / "argos.yaml").chmod(0o200), "permissions", "argos.yaml", True),
    "the run folder is missing": (lambda home: [p.unlink() for p in (home / "run").iterdir()] + [(home / "run").rmdir()],
                                  "home", "there is no folder", True),
    "a socket was left": (stale_socket, "daemon", "broker.sock", True),
    "a key was half written": (lambda home: left(home / "api-key.new"), "leftovers", "api-key.new", True),
    "a backup was half made": (lambda home: left(home / "backups" / "argos-1.db.part"), "leftovers", ".part", True),
    "the settings are no YAML": (settings("log: [\n"), "settings", "argos.yaml", False),
    "a value is wrong": (settings("log: {level: loud}\n"), "settings", "log.level", False),
    "a key is unknown": (settings("agnet: {max_turns: 1}\n"), "settings", "agnet", False),
    "the key of the provider is missing": (settings(KEYED.format(port=1, key="env:NO_SUCH_VARIABLE")), "provider", "NO_SUCH", False),
    "the provider can't be reached": (lambda home: settings(KEYED.format(port=closed_port(), key="file:api-key"))(home),
                                      "provider", "127.0.0.1", False),
    "the token of a platform is missing": (settings("platforms: {telegram: {token: \"file:keys/telegram\"}}\n"),
                                           "secrets", "platforms.telegram.token", False),
    "an adapter is missing": (settings("adapters: {line: {command: [/nowhere/line-adapter]}}\n"), "adapters", "/nowhere", False),
    "the database is something else": (lambda home: (home / "argos.db").write_text("not a database at all"), "database",
                                       "argos.db", False),
    "the clock is behind": (lambda home: os.utime(home / "argos.db", (time.time() + 86400,) * 2), "clock", "future", False),
    "the API key is empty": (lambda home: (home / "api-key").write_text("\n"), "keys", "api-key", False),
    "a record of a key is damaged": (record, "keys", "bot.pub", False),
    "a bundle of a key is damaged": (bundle, "keys", "bot.key", False),
}


def picture(home):
    return {str(path): (stat.S_IMODE(path.lstat().st_mode), path.read_bytes() if path.is_file() else None, path.lstat().st_mtime_ns
                        if path.is_file() else None) for path in [home, *home.rglob("*")]}


@pytest.mark.skipif(PLACEMENT != "one", reason="no daemon runs here: once is enough")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_cured_if_it_can_be(healthy, name):
    plant, check, words, curable = FAULTS[name]
    sound = picture(healthy)
    plant(healthy)
    planted = picture(healthy)
    report = doctor(healthy)
    found = [one for one in report["findings"] if one["check"] == check and words in one["text"] and "cure" in one]
    assert found and all(one["curable"] == curable for one in found), report["findings"]
    assert picture(healthy) == planted, "a look changes nothing"
    fixed = doctor(healthy, "--fix")
    after = picture(healthy)
    if curable:
        assert fixed["cured"] >= 1 and not [one for one in complaints(doctor(healthy)) if words in one[1] and one[0] == check]
        touched = {path for path in planted if after.get(path) != planted[path]}
        expected = {path for path in planted if planted[path] != sound.get(path)}
        assert touched <= expected | {str(healthy / "run" / "argosd.lock")}
    else:
        assert fixed["cured"] == 0 and after == planted
        assert complaints(fixed) == complaints(report)


def test_a_healthy_home_has_no_complaints(healthy):
    assert complaints(doctor(healthy)) == set()


def test_a_port_that_is_taken_is_found(healthy):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (healthy / "argos.yaml").write_text(f"http: {{port: {taken.getsockname()[1]}}}\n")
        assert {check for check, _ in complaints(doctor(healthy))} == {"ports"}


def test_too_few_descriptors_are_found(healthy):
    report = doctor(healthy, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
    assert {check for check, _ in complaints(report)} == {"descriptors"}


def test_an_argosd_that_hangs_is_found_and_left_alone(healthy):
    stale_socket(healthy)
    with open(healthy / "run" / "argosd.lock", "r+", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = picture(healthy)
        report = doctor(healthy, "--fix")
        assert picture(healthy) == before
    assert [check for check, text in complaints(report) if "pid 1 " in text] == ["daemon"]


def test_no_home_is_no_fault_and_is_not_made(home):
    report = doctor(home / "nowhere", "--fix")
    assert report["ok"] and report["warnings"] == 1 and not (home / "nowhere").exists()


def test_a_running_argosd_is_healthy(argosd):
    report = doctor(argosd.home)
    assert report["ok"], complaints(report)
    assert any(one["check"] == "daemon" and "argosd runs with pid" in one["text"] for one in report["findings"])
    assert doctor(argosd.home, "--fix")["ok"]


def test_people_get_lines_and_a_wrong_option_is_named(healthy):
    result = subprocess.run([str(BUILD / "argos"), "--home", str(healthy), "doctor"], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0 and "0 faults" in result.stdout
    result = subprocess.run([str(BUILD / "argos"), "--home", str(healthy), "doctor", "--cure"], capture_output=True, text=True,
                            timeout=60, check=False)
    assert result.returncode == 2 and "--cure" in result.stderr
