"""Sessions out and in again: export and import, and what a Hermes agent has kept, of three ages of its file."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import hermes_db
from conftest import BUILD, open_when_read, wait_until
from test_cli import argos
from test_conversations import Room
from test_db import ok as db_ok, talk


def lines(home, *line):
    result = argos(home, *line, "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    return [json.loads(text) for text in result.stdout.splitlines()]


def brought_in(home, path, *more):
    return lines(home, "import", "hermes", str(path), *more)[0]


def shown(home, name):
    return lines(home, "sessions", "show", name)[0]


def loaded(home, name):
    return [line["message"] for line in lines(home, "sessions", "export", name)[1:]]


@pytest.mark.parametrize("schema", [14, 23, 30])
def test_what_hermes_has_kept(argosd, tmp_path, schema):
    home, path = argosd.home, hermes_db.make(tmp_path, schema)
    before = path.read_bytes()
    dry = brought_in(home, path, "--dry-run")
    assert lines(home, "sessions", "list", "--all") == [{"sessions": []}]
    report = brought_in(home, path)
    assert {**dry, "present": 0} == report
    assert report["sessions"] == 8 and report["messages"] == 10 and report["routes"] == 2
    why = {(line["what"], line["id"]): line["why"] for line in report["skipped"]}
    assert "id" in why["session", ""] and "longer" in why["message", "tip #8"] and "role" in why["message", "tip #7"]
    assert "not there" in why["route", "lost"] and "JSON" in why["route", "broken"] and "where" in why["route", "nowhere"]
    assert "tool calls" in why["message", "tip #6"]
    assert report["skipped_count"] == len(report["skipped"]) == 7

    root = shown(home, "root")
    assert root["session"]["title"] == "Plan" and root["session"]["end_reason"] == "compression" and root["session"]["continued"]
    assert root["session"]["started_at"] == int(hermes_db.T0 * 1000) and root["session"]["message_count"] == 4
    assert root["session"]["tool_call_count"] == 1 and root["session"]["input_tokens"] == 100 and root["session"]["cost_usd"] == 0.25
    assert root["session"]["preview"] == "hello" and root["session"]["owner"] == "telegram:main:42"
    assert root["lineage"]["tip"] == "tip"
    usage = root["usage"]
    assert [line["task"] for line in usage] == ([""] if schema == 14 else ["", "title"]) and usage[0]["provider"] == "openrouter"
    assert sum(line["input_tokens"] for line in usage) == 100
    kinds = {name: shown(home, name)["session"] for name in ["tip", "twig", "helper", "group", "ring-a", "ring-b"]}
    assert {name: row["kind"] for name, row in kinds.items()} == {
        "tip": "compression", "twig": "branch", "helper": "delegate", "group": "root", "ring-a": "root", "ring-b": "branch"}
    assert kinds["tip"]["title"] == "Plan #2" and kinds["helper"]["platform"] == "subagent"
    assert kinds["group"]["title_source"] == ("auto" if schema == 30 else "user")
    assert kinds["twig"].get("archived", False) == (schema >= 23)
    bears = shown(home, "Wei\u00dfe B\u00e4ren")["session"]
    assert bears["platform"] == "my_platform_" and bears["started_at"] == 0

    messages = loaded(home, "root")
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1]["tool_calls"][0]["id"] == "c1" and messages[2]["tool_call_id"] == "c1"
    assert messages[3]["reasoning"] == "because" and messages[3]["at"] < messages[0]["at"]
    messages = loaded(home, "tip")
    assert messages[0]["content"] == "look\n[image_url]" and messages[0]["parts"][1]["type"] == "image_url"
    assert "tool_calls" not in messages[1] and len(messages[2]["content"]) == 262144
    assert loaded(home, "group")[0]["content"] == "a\ufffd\ufffd\ufffd\ufffdb"
    twig = loaded(home, "twig")
    assert [(m["active"], m["compacted"]) for m in twig] == ([(True, False)] * 2 if schema == 14 else [(False, False), (False, True)])
    routes = db_ok(home, "query", "SELECT key, session_id FROM routes ORDER BY key")
    assert routes == [{"key": "agent:main:telegram:dm:42", "session_id": "tip"},
                      {"key": "agent:main:telegram:group:-7:3", "session_id": "group"}]

    # The same again changes nothing, here and there
    state = lines(home, "sessions", "export", "--all")
    again = brought_in(home, path)
    assert again["sessions"] == again["messages"] == again["routes"] == 0 and again["present"] == 10
    assert lines(home, "sessions", "export", "--all") == state
    assert path.read_bytes() == before and not list(tmp_path.glob("state.db-*"))
    assert not list((home / "run").glob("import.*"))


@pytest.mark.parametrize("settings, group, thread", [
    ("{}", "-7:42", "-8:3"), ("{group_sessions_per_user: false}", "-7", "-8:3"), ("{thread_sessions_per_user: true}", "-7:42", "-8:3:42")])
def test_a_chat_goes_on_where_it_was(daemon, tmp_path, settings, group, thread):
    """Whoever shares a session here: an imported route is the one that the next message of the chat takes."""
    daemon.home.joinpath("argos.yaml").write_text(f"gateway: {settings}\n")
    daemon.start()
    path = hermes_db.make(tmp_path, 30)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM gateway_routing")
        for session, origin in [("group", hermes_db.origin("-7", "group")), ("twig", hermes_db.origin("-8", "group", thread_id="3"))]:
            entry = {"session_id": session, "origin": {**origin, "platform": "test"}}
            hermes_db.insert(db, "gateway_routing", session_key=session, entry_json=json.dumps(entry))
    db.close()
    assert brought_in(daemon.home, path)["routes"] == 2
    routes = db_ok(daemon.home, "query", "SELECT key, session_id FROM routes ORDER BY key")
    assert routes == [{"key": f"agent:main:test:group:{group}", "session_id": "group"},
                      {"key": f"agent:main:test:group:{thread}", "session_id": "twig"}]
    room = Room(daemon)
    for chat, thread_id, session in [("-7", None, "group"), ("-8", "3", "twig")]:
        run = room.say("go on", user="42", chat=chat, thread=thread_id)
        room.answer(run)
        assert room.session(run) == session
    room.peer.close()


def test_odd_rows_come_as_far_as_they_can(argosd, tmp_path):
    home, path = argosd.home, hermes_db.make(tmp_path, 30)
    db = sqlite3.connect(path, isolation_level=None)
    hermes_db.session(db, "odd", started_at=-5.5, ended_at=1e300, input_tokens=1 << 62, output_tokens=-7, title="z" * 5000)
    for name in ["twin", "other twin", "third twin"]:
        hermes_db.session(db, name, title="y" * 100)
    for content in ["\0json:\"words\"", "\0json:{\"type\":\"text\",\"text\":\"one part\"}", "\0json:7", b"\xffbin", 1.5]:
        hermes_db.message(db, "odd", "user", content)
    hermes_db.message(db, "odd", "assistant", "x", tool_calls="[1, 2]")
    hermes_db.message(db, "nobody's", "user", "lost")
    hermes_db.insert(db, "session_model_usage", session_id="odd", model="m", api_call_count=1 << 62, input_tokens=1 << 62)
    for number in range(65):
        hermes_db.insert(db, "session_model_usage", session_id="twin", model=f"m{number}", api_call_count=1)
    db.close()
    #  The table of routes is newer than the file: what it lacks is there
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "sessions.json").write_text(json.dumps({
        "lost": {"session_id": "odd", "origin": hermes_db.origin("1")}, "more": {"session_id": "odd", "origin": hermes_db.origin("77")}}))
    dry = brought_in(home, path, "--dry-run")
    report = brought_in(home, path)
    assert report == {**dry, "present": 0} and report["sessions"] == 12 and report["messages"] == 16 and report["routes"] == 3
    why = {(line["what"], line["id"]): line["why"] for line in report["skipped"]}
    assert "1 of them" in why["messages", "nobody's"] and "64" in why["usage", "twin"]
    odd = shown(home, "odd")
    assert odd["session"]["title"] == "z" * 100 and odd["session"]["input_tokens"] == odd["usage"][0]["calls"] == 1 << 53
    assert odd["session"]["started_at"] == int((hermes_db.T0 + 1) * 1000) and "ended_at" not in odd["session"]
    assert [message["content"] for message in loaded(home, "odd")] == ["words", "one part", "7", "\ufffdbin", "1.5", "x"]
    titles = [shown(home, name)["session"]["title"] for name in ["other twin", "third twin", "twin"]]
    assert titles == ["y" * 100, "y" * 97 + " #2", "y" * 97 + " #3"]
    again = brought_in(home, path)
    assert again["sessions"] == again["messages"] == again["routes"] == 0 and again["present"] == 15


@pytest.mark.parametrize("schema", [23, 30])
def test_a_session_is_as_old_as_its_newest_message(argosd, tmp_path, schema):
    """Its row says nothing or nonsense of when it was last in use, or began: pruning leaves what is in use, and lists have the order of use."""
    home, path, now, day = argosd.home, hermes_db.make(tmp_path, schema), time.time(), 86400
    db = sqlite3.connect(path, isolation_level=None)
    for name, row, at in [("fresh", {}, [now - 190 * day, now - day, "tomorrow", 0, float("inf")]),
                          ("odd", {"started_at": "long ago", "last_activity_at": "now"}, [now - 2 * day, now - 150 * day]),
                          ("ended", {"started_at": now - 300 * day, "ended_at": now - 100 * day}, []),
                          ("ahead", {"started_at": now - 3 * day}, [now - 120 * day]), ("old", {}, [now - 95 * day])]:
        hermes_db.session(db, name, title=name, **{"started_at": now - 200 * day, "input_tokens": 7, **row})
        for number, time_of in enumerate(at):
            hermes_db.message(db, name, "user", f"number {number}", timestamp=time_of)
    hermes_db.insert(db, "session_model_usage", session_id="fresh", model="m1", api_call_count=1)
    if schema == 30:  # One that says it is believed
        hermes_db.session(db, "told", started_at=now - 200 * day, last_activity_at=now - 4 * day)
        hermes_db.message(db, "told", "user", "older", timestamp=now - 150 * day)
    db.close()
    brought_in(home, path)

    def ago(name, member):
        return round((now - shown(home, name)["session"][member] / 1000) / day)

    assert [ago(name, "last_activity_at") for name in ["fresh", "odd", "ended", "ahead", "old"]] == [1, 2, 100, 3, 95]
    assert [ago(name, "started_at") for name in ["fresh", "odd", "ended"]] == [200, 150, 300]
    used = {name: shown(home, name)["usage"][0] for name in ["fresh", "odd", "ended"]}
    assert {name: (round((now - row["first_at"] / 1000) / day), round((now - row["last_at"] / 1000) / day)) for name, row in used.items()} == {
        "fresh": (200, 1), "odd": (150, 2), "ended": (300, 100)}
    ours = ["fresh", "odd", "ahead", *(["told"] if schema == 30 else []), "old", "ended"]
    assert [row["id"] for row in lines(home, "sessions", "list")[0]["sessions"] if row["id"] in ours] == ours
    lines(home, "sessions", "prune", "90")
    assert [row["id"] for row in lines(home, "sessions", "list")[0]["sessions"] if row["id"] in ours] == ours[:-2]


def test_a_file_in_use_is_refused_and_a_log_is_read(argosd, tmp_path):
    path = hermes_db.make(tmp_path, 23)
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    hermes_db.session(live, "late")
    result = argos(argosd.home, "import", "hermes", str(path), "--dry-run")
    assert result.returncode == 1 and "in use by process" in result.stderr
    crashed = tmp_path / "crashed"  # As a gateway leaves it that was killed
    crashed.mkdir()
    for name in ["state.db", "state.db-wal"]:
        shutil.copy(tmp_path / name, crashed / name)
    live.close()
    assert brought_in(argosd.home, crashed / "state.db", "--dry-run")["sessions"] == 9
    assert sorted(file.name for file in crashed.iterdir()) == ["state.db", "state.db-wal"]
    for other, words in [(tmp_path / "none.db", "No such file"), (tmp_path / "sessions.txt", "")]:
        if not words:
            other.write_text("no database at all, but some text that is long enough to be looked at" * 20)
        result = argos(argosd.home, "import", "hermes", str(other))
        assert result.returncode == 1 and words in result.stderr
    full = subprocess.run([BUILD / "argosd", "import", "hermes", crashed / "state.db", "--to", "/dev/full", "--home", argosd.home],
                          capture_output=True, text=True, timeout=60)  # What a full disk is for the lines on their way
    assert full.returncode == 1 and "No space" in full.stderr
    for line in [[], ["hermes"], ["other", "x"], ["hermes", "a", "b"]]:
        assert argos(argosd.home, "import", *line).returncode == 2


def test_a_link_leads_to_what_is_beside_the_file(argosd, tmp_path):
    """Its log, its routes, and whoever has it open."""
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    path = hermes_db.make(there, 14)  # Routes in a file
    (elsewhere / "far.db").symlink_to(there / "crashed.db")
    (elsewhere / "near.db").symlink_to("far.db")
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    hermes_db.session(live, "late")
    (elsewhere / "live.db").symlink_to(path)
    result = argos(argosd.home, "import", "hermes", str(elsewhere / "live.db"), "--dry-run")
    assert result.returncode == 1 and "in use by process" in result.stderr
    for end in ["", "-wal"]:
        shutil.copy(f"{path}{end}", there / f"crashed.db{end}")
    live.close()
    straight = brought_in(argosd.home, there / "crashed.db", "--dry-run")
    assert straight["sessions"] == 9 and straight["routes"] == 2
    assert brought_in(argosd.home, elsewhere / "near.db", "--dry-run") == straight
    # A home of Hermes whose database is on another disk has the other files itself
    shutil.move(there / "sessions", elsewhere / "sessions")
    assert brought_in(argosd.home, elsewhere / "near.db", "--dry-run") == straight
    (elsewhere / "gone.db").symlink_to(there / "none.db")
    result = argos(argosd.home, "import", "hermes", str(elsewhere / "gone.db"))
    assert result.returncode == 1 and "No such file" in result.stderr


@pytest.mark.parametrize("dry", [False, True])
def test_an_import_can_be_interrupted(argosd, tmp_path, dry):
    """It waits for the routes, which come through a pipe: its copy of the database is there, and what it has read has no name."""
    path = hermes_db.make(tmp_path, 14)
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    hermes_db.session(live, "late")
    crashed, run = tmp_path / "crashed", argosd.home / "run"
    (crashed / "sessions").mkdir(parents=True)
    for name in ["state.db", "state.db-wal"]:
        shutil.copy(tmp_path / name, crashed / name)
    live.close()
    os.mkfifo(crashed / "sessions" / "sessions.json")
    if dry:
        argosd.stop()
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]:
        command = [BUILD / "argos", "--home", argosd.home, "import", "hermes", crashed / "state.db"]
        process = subprocess.Popen([*command, *["--dry-run"] * dry], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        writer = open_when_read(crashed / "sessions" / "sessions.json")
        try:
            names = [file.name for file in run.glob("import.*")]
            assert names and all(".db" in name for name in names), names
            process.send_signal(number)
            process.communicate(timeout=20)
        finally:
            os.close(writer)
            process.kill()
            process.wait(20)
        assert process.returncode == (-number if dry or number == signal.SIGKILL else 128 + number)
        if dry and number == signal.SIGKILL:  # Nobody was left to do it
            assert argos(argosd.home, "import", "hermes", str(tmp_path / "none.db"), "--dry-run").returncode == 1
        wait_until(lambda: not list(run.glob("import.*")))


def test_out_and_in_again(argosd, tmp_path):
    home = argosd.home
    talk(argosd, "one", "first")
    talk(argosd, "two", "second")
    assert argos(home, "sessions", "branch", "one").returncode == 0
    out = argos(home, "sessions", "export", "--all").stdout
    state = [json.loads(line) for line in out.splitlines()]
    assert sum("session" in line for line in state) == 3
    file = tmp_path / "sessions.jsonl"
    file.write_text(out)
    for name in [line["session"]["id"] for line in state if "session" in line]:
        assert argos(home, "sessions", "delete", name).returncode == 0
    first = lines(home, "sessions", "import", str(file))[0]
    assert first["sessions"] == 3 and first["messages"] == 6 and first["skipped"] == []

    def sorted_by_session(all_lines):
        sessions, current = {}, None
        for line in all_lines:
            if "session" in line:
                current = sessions.setdefault(line["session"]["id"], [])
            current.append(line)
        return sessions

    again = lines(home, "sessions", "export", "--all")
    assert sorted_by_session(again) == sorted_by_session(state)
    assert lines(home, "sessions", "import", str(file))[0]["present"] == 3
    # The title is somebody else's: it gets a number
    file.write_text(argos(home, "sessions", "export", "one").stdout.replace('"id":"one"', '"id":"uno"'))
    assert lines(home, "sessions", "import", str(file))[0]["sessions"] == 1
    assert shown(home, "uno")["session"]["title"] == "first #3"
    file.write_text("nonsense\n")
    assert argos(home, "sessions", "import", str(file)).returncode == 1
    unreadable = argos(home, "sessions", "import", str(tmp_path))
    assert unreadable.returncode == 1 and "directory" in unreadable.stderr


def test_a_session_that_is_refused_in_the_middle_leaves_nothing(argosd, tmp_path):
    """Its first pieces are taken back and not counted; the others come in, and it does when it is right."""
    def of(name, count, **odd):
        said = [{"message": {"role": "user", "content": f"{name} {number}"}} for number in range(count)]
        for number, message in odd.items():
            said[int(number[1:])]["message"].update(message)
        return [{"session": {"id": name, "started_at": 1}}, *said]

    def counted():
        return db_ok(argosd.home, "query", "SELECT id, message_count AS n, (SELECT count (*) FROM messages WHERE session_id = sessions.id) AS rows"
                     " FROM sessions ORDER BY id")

    file = tmp_path / "sessions.jsonl"
    file.write_text("\n".join(map(json.dumps, of("bad", 450, _430={"role": "robot"}) + of("good", 3))) + "\n")
    report = lines(argosd.home, "sessions", "import", str(file))[0]
    assert report["sessions"] == 1 and report["messages"] == 3 and report["skipped_count"] == 1
    [left_out] = report["skipped"]
    assert (left_out["what"], left_out["id"]) == ("session", "bad") and "role" in left_out["why"]
    assert counted() == [{"id": "good", "n": 3, "rows": 3}]
    file.write_text("\n".join(map(json.dumps, of("bad", 450) + of("good", 3))) + "\n")
    report = lines(argosd.home, "sessions", "import", str(file))[0]
    assert report["sessions"] == 1 and report["messages"] == 450 and report["present"] == 1 and report["skipped"] == []
    assert counted() == [{"id": "bad", "n": 450, "rows": 450}, {"id": "good", "n": 3, "rows": 3}]


def test_characters_that_do_not_exist_come_in_as_in_any_write(argosd, tmp_path):
    file = tmp_path / "sessions.jsonl"
    file.write_bytes(b'{"session":{"id":"odd","started_at":1,"title":"a\xff"}}\n'
                     b'{"message":{"role":"user","content":"nul \\u0000."}}\n{"message":{"role":"user","content":"bytes \xc3( \x00."}}\n'
                     b'{"message":{"role":"user","content":"half \\ud83d."}}\n{"message":{"role":"user","content":"\\ud83d\\ude00 \xf0\x9f\x98\x80"}}\n'
                     b'{"session":{"id":"plain","started_at":1}}\n')
    report = lines(argosd.home, "sessions", "import", str(file))[0]
    assert report["sessions"] == 2 and report["messages"] == 4 and report["skipped"] == []
    assert shown(argosd.home, "odd")["session"]["title"] == "a\ufffd"
    assert [message["content"] for message in loaded(argosd.home, "odd")] == [
        "nul \ufffd.", "bytes \ufffd( \ufffd.", "half \ufffd.", "\U0001f600 \U0001f600"]
