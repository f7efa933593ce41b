"""argos db: a backup of a database that is written to, and its return; looks at snapshots; the lock tells who may."""
import contextlib
import json
import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import urllib.request

import pytest

from conftest import BUILD, wait_until
from test_cli import argos


def ok(home, *line):
    result = argos(home, "db", *line, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    return [json.loads(text) for text in result.stdout.splitlines()]


def titles(home):
    return [row["title"] for row in ok(home, "query", "SELECT title FROM sessions WHERE title IS NOT NULL ORDER BY title")]


def talk(argosd, session, title):
    """One turn in a session, to its end; then the session has a title."""
    body = json.dumps({"input": "hello", "session_id": session}).encode()
    headers = {"Authorization": "Bearer " + argosd.key, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(argosd.url + "/v1/runs", body, headers), timeout=20) as reply:
        run = json.load(reply)["run_id"]
    assert argos(argosd.home, "runs", "events", run).returncode == 0
    result = argos(argosd.home, "sessions", "rename", session, title)
    assert result.returncode == 0, result.stderr


def test_a_backup_comes_back(argosd):
    talk(argosd, "one", "first")
    made = ok(argosd.home, "backup")[0]
    assert os.path.getsize(made["backup"]) == made["bytes"]
    with sqlite3.connect(f"file:{made['backup']}?mode=ro", uri=True) as copy:  # It stands alone
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert copy.execute("SELECT title FROM sessions").fetchall() == [("first",)]
    talk(argosd, "two", "second")
    assert titles(argosd.home) == ["first", "second"]
    busy = argos(argosd.home, "db", "restore", made["backup"])
    assert busy.returncode == 1 and "stop it" in busy.stderr
    store = json.loads(argos(argosd.home, "status", "--json").stdout)["store"]
    argosd.stop()
    done = ok(argosd.home, "restore", made["backup"])[0]
    with sqlite3.connect(done["aside"]) as old:
        assert len(old.execute("SELECT title FROM sessions").fetchall()) == 2
    assert titles(argosd.home) == ["first"]
    argosd.start()
    assert titles(argosd.home) == ["first"]
    assert json.loads(argos(argosd.home, "status", "--json").stdout)["store"] != store
    talk(argosd, "three", "third")
    argosd.stop()
    (argosd.home / "argos.db").unlink()  # Nothing is there to be set aside
    assert ok(argosd.home, "restore", made["backup"]) == [{"restored": made["backup"], "aside": None}]
    assert titles(argosd.home) == ["first"]


def test_what_is_damaged_is_not_restored(argosd):
    talk(argosd, "one", "kept")
    path = ok(argosd.home, "backup")[0]["backup"]
    argosd.stop()
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(40960))
    result = argos(argosd.home, "db", "restore", path)
    assert result.returncode == 1 and "malformed" in result.stderr or "damaged" in result.stderr
    found = argos(argosd.home, "db", "check", "--file", path)
    assert found.returncode == 1
    other = argosd.home / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    assert "not a database of argos" in argos(argosd.home, "db", "restore", str(other)).stderr
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA application_id = 1095911247")
        db.execute("PRAGMA user_version = 99999")
    assert "newer than this program" in argos(argosd.home, "db", "restore", str(other)).stderr
    assert titles(argosd.home) == ["kept"]
    assert not list(argosd.home.glob("argos.db.before-*"))


def test_what_can_be_read_is_salvaged(argosd):
    talk(argosd, "one", "first")
    refused = argos(argosd.home, "db", "salvage")
    assert refused.returncode == 1 and "stop it" in refused.stderr
    argosd.stop()
    path = argosd.home / "argos.db"
    with sqlite3.connect(path) as db:
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sessions'").fetchone()[0]
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    with open(path, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"Z" * 4096)
    before = path.read_bytes()
    done = ok(argosd.home, "salvage")[0]
    assert path.read_bytes() == before
    tables = {table["table"]: table for table in done["tables"]}
    assert tables["sessions"]["made"] == 1 and tables["sessions"]["copied"] == 0
    assert tables["messages"]["copied"] > 1 and tables["messages"]["lost"] == 0
    plain = argos(argosd.home, "db", "salvage", str(argosd.home / "again.db"), "--file", str(path))
    assert "1 made anew from their messages" in plain.stdout and "argos db restore" in plain.stdout
    ok(argosd.home, "restore", done["salvaged"])
    argosd.start()
    assert ok(argosd.home, "query", "SELECT id FROM sessions") == [{"id": "one"}]
    assert argos(argosd.home, "sessions", "rename", "one", "named again").returncode == 0
    talk(argosd, "two", "and one more")


def test_a_salvage_by_a_link_has_the_log_that_is_beside_the_file(argosd, tmp_path):
    talk(argosd, "one", "first")
    argosd.stop()
    db = sqlite3.connect(argosd.home / "argos.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("UPDATE sessions SET model = 'only in the log'")
    (tmp_path / "there").mkdir()
    for end in ["", "-wal"]:
        shutil.copy(argosd.home / f"argos.db{end}", tmp_path / "there" / f"damaged.db{end}")
    db.close()
    (tmp_path / "link.db").symlink_to("there/damaged.db")
    done = ok(argosd.home, "salvage", str(tmp_path / "new.db"), "--file", str(tmp_path / "link.db"))[0]
    with sqlite3.connect(done["salvaged"]) as new:
        assert new.execute("SELECT model FROM sessions").fetchall() == [("only in the log",)]
    new.close()


@pytest.mark.parametrize("running", [True, False])
def test_looks_change_nothing_and_leave_nothing(argosd, running):
    talk(argosd, "one", "seen")
    if not running:
        argosd.stop()
    for line in [["check"], ["check", "--deep"]]:
        assert ok(argosd.home, *line)[0]["ok"] is True
    assert ok(argosd.home, "query", "SELECT 1 AS a, 'x' AS b, NULL AS c, x'00ff' AS d, 0.5 AS e") == [
        {"a": 1, "b": "x", "c": None, "d": "00ff", "e": 0.5}]
    assert ok(argosd.home, "query", "SELECT 1 AS a, 2 AS a, 3 AS b") == [{"a": 1, "a:2": 2, "b": 3}]
    for sql in ["DELETE FROM sessions", "SELECT 1; DELETE FROM sessions", "nonsense", "ATTACH 'x' AS y", ""]:
        result = argos(argosd.home, "db", "query", sql)
        assert result.returncode == 1, sql
    plain = argos(argosd.home, "db", "query", "SELECT title, end_reason FROM sessions")
    assert plain.stdout.splitlines() == ["title\tend_reason", "seen\t"]
    assert ok(argosd.home, "compact")[0]["after"] > 0
    assert list((argosd.home / "backups").iterdir()) == []
    assert titles(argosd.home) == ["seen"]


def test_a_file_elsewhere_and_the_line(argosd, tmp_path):
    target = tmp_path / "copy.db"
    assert ok(argosd.home, "backup", str(target))[0]["backup"] == str(target)
    again = argos(argosd.home, "db", "backup", str(target))
    assert again.returncode == 1 and "is there already" in again.stderr
    assert ok(argosd.home, "check", "--file", str(target))[0]["ok"] is True
    assert ok(argosd.home, "query", "SELECT count (*) AS n FROM sessions", "--file", str(target)) == [{"n": 0}]
    for line in [[], ["frob"], ["query"], ["restore"], ["check", "--nothing"], ["check", "a"], ["backup", "a", "b"]]:
        assert argos(argosd.home, "db", *line).returncode == 2
    assert argos(argosd.home / "nowhere", "db", "check").returncode == 1


@pytest.mark.parametrize("running", [True, False])
def test_only_what_reads_takes_a_file_elsewhere(argosd, tmp_path, running):
    """--file works without the lock of the home, so it can't be had where the database of the home is changed or copied."""
    talk(argosd, "one", "kept")
    target = tmp_path / "copy.db"
    ok(argosd.home, "backup", str(target))
    talk(argosd, "two", "later")
    if not running:
        argosd.stop()
    files = {path.name: path.stat().st_ino for path in argosd.home.iterdir()}
    for line in [["restore", str(target)], ["compact"], ["backup", str(tmp_path / "other.db")], ["finish", str(target), "x"]]:
        for program in ["argos", "argosd"]:
            result = subprocess.run([BUILD / program, "db", *line, "--file", target, "--home", argosd.home], capture_output=True, text=True,
                                    timeout=60)
            assert result.returncode == 2 and "no --file" in result.stderr, result
    assert {path.name: path.stat().st_ino for path in argosd.home.iterdir()} == files
    assert list(tmp_path.iterdir()) == [target]
    assert titles(argosd.home) == ["kept", "later"]


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_read(home, path, expected):
    """Each verb that reads a file sees those sessions in it, and neither changes it nor leaves anything, there or in the home."""
    before = snapshot(path.parent)
    sql = "SELECT title FROM sessions ORDER BY title"
    assert [row["title"] for row in ok(home, "query", sql, "--file", str(path))] == expected
    for deep in [[], ["--deep"]]:
        assert ok(home, "check", *deep, "--file", str(path))[0] == {
            "ok": True, "findings": [], "schema": ok(home, "check", "--file", str(path))[0]["schema"], "bytes": path.stat().st_size}
    salvaged = ok(home, "salvage", "--file", str(path))[0]
    assert [row["title"] for row in ok(home, "query", sql, "--file", salvaged["salvaged"])] == expected
    os.unlink(salvaged["salvaged"])
    done = ok(home, "restore", str(path))[0]
    assert done["restored"] == str(path)
    os.unlink(done["aside"])  # Its name has the second, in which there may be another one
    assert titles(home) == expected
    assert snapshot(path.parent) == before
    assert list((home / "backups").iterdir()) == []


def test_a_file_is_read_with_its_log(argosd, tmp_path):
    """What was committed last is in the log when argosd was killed, or a program that writes to a backup: it is a part of the file."""
    talk(argosd, "one", "first")
    backup = ok(argosd.home, "backup", str(tmp_path / "backup.db"))[0]["backup"]
    talk(argosd, "two", "second")
    argosd.kill()
    crashed, cut, link = tmp_path / "crashed", tmp_path / "cut", tmp_path / "link"
    for folder in [crashed, cut, link]:
        folder.mkdir()
    for name in ["argos.db", "argos.db-wal"]:
        shutil.copy(argosd.home / name, crashed / name)
    assert (crashed / "argos.db-wal").stat().st_size > 0
    (link / "other.db").symlink_to(crashed / "argos.db")
    assert_read(argosd.home, crashed / "argos.db", ["first", "second"])
    assert_read(argosd.home, link / "other.db", ["first", "second"])

    with sqlite3.connect(backup, isolation_level=None) as writer:  # Its journal has what was there before
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN")
        writer.execute("UPDATE sessions SET title = 'never'")
        writer.execute("UPDATE messages SET content = hex(randomblob(20000))")
        for suffix in ["", "-journal"]:  # By another process: to close a file is to give back all locks on it
            subprocess.run(["cp", backup + suffix, cut / ("cut.db" + suffix)], check=True, timeout=60)
        for line in [["check"], ["check", "--deep"], ["query", "SELECT 1"], ["salvage", str(tmp_path / "none.db")]]:
            result = argos(argosd.home, "db", *line, "--file", backup)
            assert result.returncode == 1 and "in use by process" in result.stderr
        result = argos(argosd.home, "db", "restore", backup)
        assert result.returncode == 1 and "in use by process" in result.stderr
        writer.execute("ROLLBACK")
    writer.close()
    assert (cut / "cut.db-journal").read_bytes()[:8] == bytes.fromhex("d9d505f920a163d7")
    assert_read(argosd.home, cut / "cut.db", ["first"])

    result = argos(argosd.home / "nowhere", "db", "query", "SELECT 1", "--file", str(cut / "cut.db"))
    assert result.returncode == 1 and "a copy is needed" in result.stderr


#  Rows enough to be seen before the end, which does not come
ENDLESS = ("WITH RECURSIVE a (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 5000), b (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM b)"
           " SELECT x FROM a UNION ALL SELECT count (*) FROM b")


def ask_endlessly(home):
    """`argos db query` in a process group of its own, once it asks its copy."""
    process = subprocess.Popen([BUILD / "argos", "--home", home, "db", "query", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    assert process.stdout.readline() == b"x\n"
    assert any(path.name.startswith("look-") for path in (home / "backups").iterdir())
    return process


def end(process, number, send=os.kill):
    try:
        send(process.pid, number)
        process.communicate(timeout=20)
        return process.returncode
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


@pytest.mark.parametrize("running", [True, False])
def test_a_query_can_be_interrupted(argosd, running):
    """By what reaches `argos` alone, and by the ^C of a terminal, which reaches its argosd too. Neither leaves the copy, or the lock."""
    if not running:
        argosd.stop()
    for number, send in [(signal.SIGTERM, os.kill), (signal.SIGINT, os.kill), (signal.SIGINT, os.killpg), (signal.SIGHUP, os.kill)]:
        assert end(ask_endlessly(argosd.home), number, send) == (128 + number if running else -number)
        assert list((argosd.home / "backups").iterdir()) == []
    assert titles(argosd.home) == []
    if not running:
        argosd.start()


def test_a_query_that_was_killed(argosd):
    """The copy goes with the next who looks, or with argosd; when only `argos` was killed its argosd ends, and removes it."""
    copies = argosd.home / "backups"
    assert end(ask_endlessly(argosd.home), signal.SIGKILL) == -signal.SIGKILL
    wait_until(lambda: not list(copies.iterdir()))
    assert end(ask_endlessly(argosd.home), signal.SIGKILL, os.killpg) == -signal.SIGKILL
    wait_until(lambda: titles(argosd.home) == [] and not list(copies.iterdir()))
    argosd.stop()
    assert end(ask_endlessly(argosd.home), signal.SIGKILL) == -signal.SIGKILL
    assert len(list(copies.iterdir())) == 1
    assert titles(argosd.home) == [] and list(copies.iterdir()) == []
    assert end(ask_endlessly(argosd.home), signal.SIGKILL) == -signal.SIGKILL
    argosd.start()
    assert list(copies.iterdir()) == []


def test_only_what_was_left_is_removed(argosd):
    """By the pid in its name. A backup, what somebody else has put there and what a process works on stay."""
    gone = subprocess.Popen(["true"])
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)  # It has ended; who started it has not asked how
    copies, run = argosd.home / "backups", argosd.home / "run"
    copies.mkdir()

    def make():
        left = [copies / name.replace("PID", str(gone.pid)) for name in [
            "look-20260101-000000-PID.db", "look-20260101-000000-PID.db-wal", "look-20260101-000000-PID.db.part",
            "argos-20260101-000000-PID.db.part", "salvaged-20260101-000000-PID.db.part.work-journal"]]
        left += [run / f"import.{gone.pid}", run / f"import.{gone.pid}.db", run / f"import.{gone.pid}.db-wal"]
        stays = [copies / name for name in [
            f"argos-20260101-000000-{gone.pid}.db", f"salvaged-20260101-000000-{gone.pid}.db", f"look-20260101-000000-{os.getpid()}.db",
            f"argos-20260101-000000-{os.getpid()}.db.part", f"my-{gone.pid}.db.part", "look-at-this.db", "lookout"]]
        stays += [run / f"import.{os.getpid()}.db"]
        for path in [*left, *stays]:
            path.write_text("x")
        return left, stays

    def removed(line):
        left, stays = make()
        line()
        assert [path for path in left if path.exists()] == [] and all(path.exists() for path in stays)

    removed(lambda: ok(argosd.home, "check"))
    argosd.stop()
    removed(lambda: ok(argosd.home, "check"))
    removed(lambda: argos(argosd.home, "import", "hermes", "nowhere", "--dry-run"))
    fresh = argosd.home / "argos.db.restore"
    fresh.write_text("x")
    removed(argosd.start)
    assert not fresh.exists()
    gone.wait()


def test_progress_is_shown_on_a_terminal(argosd):
    leader, terminal = pty.openpty()
    with subprocess.Popen([BUILD / "argos", "--home", argosd.home, "db", "backup"], stdout=subprocess.DEVNULL,
                          stderr=terminal) as process:
        assert process.wait(60) == 0
    os.close(terminal)
    assert b"backup [########################] 100 %" in os.read(leader, 65536)
    os.close(leader)
