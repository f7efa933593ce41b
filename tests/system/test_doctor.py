"""`argos doctor`: each fault of tests/doctor/faults.json is found and named with its cure; --fix cures the curable ones, and all else stays as
it is, byte by byte.

A row there: what is planted (a shell's line in the home), what runs beside (a program, from its first line on) or under which limit it looks;
the check that finds it and what it says. `cured` are the paths that --fix changes; without it there is no cure here. Faults that are `alone`
hide others, or are hidden by them.
"""
import contextlib
import json
import os
import stat
import subprocess

import pytest

from conftest import BUILD, ROOT

ROWS = json.loads((ROOT / "tests" / "doctor" / "faults.json").read_text())


def doctor(home, *arguments, under=":"):
    clean = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    result = subprocess.run(["sh", "-c", f'{under}; exec "$@"', "sh", str(BUILD / "argos"), "--home", str(home), "doctor", "--json", *arguments],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=clean, check=False)
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert result.returncode == (0 if report["ok"] else 1)
    assert report["ok"] == (report["faults"] == 0)
    for finding in report["findings"]:
        assert finding["level"] in ("ok", "warning", "fault", "cured") and finding["text"]
        assert ("cure" in finding) == (finding["level"] in ("warning", "fault")), finding
    return report


def complaints(report):
    return [one for one in report["findings"] if one["level"] in ("warning", "fault")]


def found(row, report):
    return [one for one in complaints(report) if one["check"] == row["check"] and row["says"] in one["text"]]


@pytest.fixture
def healthy(home):
    """A home as argosd makes it, with what must stay as it is."""
    for name in ("run", "keys", "backups"):
        (home / name).mkdir(mode=0o700)
    for name, text in (("api-key", "0" * 64), ("run/operator.token", "1" * 43), ("run/argosd.lock", "1\n"),
                       ("argos.yaml", "http: {port: 0}\n"), ("notes.txt", "mine\n"), ("young.new", "just being written\n")):
        (home / name).write_text(text)
        (home / name).chmod(0o644 if name in ("notes.txt", "young.new") else 0o600)
    (home / "argos.db").write_bytes(b"SQLite format 3\0" + bytes(84))
    (home / "argos.db").chmod(0o600)
    return home


@contextlib.contextmanager
def planted(home, *rows):
    with contextlib.ExitStack() as stack:
        for row in rows:
            subprocess.run(["sh", "-ec", row.get("plant", ":")], cwd=home, check=True)
            if "beside" in row:
                words = ["/usr/bin/python3", "-c", row["beside"] + "; print(flush=True); input()"]
                beside = stack.enter_context(subprocess.Popen(words, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
                stack.callback(beside.stdin.write, "\n")
                assert beside.stdout.readline() == "\n"
        yield


def picture(home):
    """What each path is: its mode, and of a file its bytes and when they were written."""
    shown = {}
    for path in [home, *home.rglob("*")]:
        info, plain = path.lstat(), path.is_file() and not path.is_symlink()
        shown[str(path.relative_to(home))] = (info.st_mode, path.read_bytes() if plain else None, info.st_mtime_ns if plain else None)
    return shown


def changed(before, after):
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def check_cures(before, after, paths):
    """Only these have changed, and none of them by a byte of what stays: its mode, or it is there or is not."""
    assert changed(before, after) <= set(paths)
    for path in set(paths) & before.keys() & after.keys() - {"run/argosd.lock"}:
        assert before[path][1:] == after[path][1:] and not stat.S_IMODE(after[path][0]) & 0o077, path


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["fault"])
def test_a_planted_fault_is_found_and_cured_if_it_can_be(healthy, row):
    under, curable = row.get("under", ":"), "cured" in row
    with planted(healthy, row):
        before = picture(healthy)
        report = doctor(healthy, under=under)
        assert found(row, report) and all(one["curable"] == curable for one in found(row, report)), report["findings"]
        assert not changed(before, picture(healthy)), "a look changes nothing"
        fixed = doctor(healthy, "--fix", under=under)
        check_cures(before, picture(healthy), row.get("cured", []))
        assert bool(fixed["cured"]) == curable and bool(found(row, doctor(healthy, under=under))) != curable
        if not curable:
            assert [(one["check"], one["level"]) for one in complaints(fixed)] == [(one["check"], one["level"]) for one in complaints(report)]


def test_many_at_once_are_told_apart(healthy):
    rows = [row for row in ROWS if not row.get("alone")]
    assert len(ROWS) >= 15 and len(rows) >= 15
    with planted(healthy, *rows):
        before, report = picture(healthy), doctor(healthy)
        assert all(found(row, report) for row in rows)
        doctor(healthy, "--fix")
        check_cures(before, picture(healthy), [path for row in rows for path in row.get("cured", [])])
        left = doctor(healthy)
        assert [row["fault"] for row in rows if found(row, left)] == [row["fault"] for row in rows if "cured" not in row]


def test_a_healthy_home_has_no_complaints(healthy):
    assert not complaints(doctor(healthy))


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
