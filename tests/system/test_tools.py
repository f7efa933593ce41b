"""Tools of the agent, through the rehearsal provider's `!tool name {json}`: offers of other programs, who may have what run, and what ours do.

Where the acceptance text is shown, by number:

    C.9 154-172     tests/unit/test_approval.c with tests/unit/approval/cases.txt (floor, sudo, patterns, evasions)
    C.9 173, 174    tests/unit/test_approval.c (key and sentence of a denial), tests/system/test_approvals.py
    C.9 175         tests/unit/test_approval.c (unattended, modes)
    C.9 176-179     tests/actor/test_agent_question.c, tests/system/test_approvals.py
    C.9 180, 181    tests/unit/test_terminal_args.c
    C.9 182-184, 186  tests/actor/test_terminal.c, tests/unit/test_output.c (183: no rewriting, adr/0022)
    C.9 185         tests/actor/test_terminal.c (allow-list of the environment)
    C26             test_the_shell_goes_on_where_it_was_and_files_are_found_from_there, test_a_shell_outlives_its_agent_but_not_its_session,
                    tests/unit/test_terminal_args.c
    E.12 1-3, 6     tests/unit/test_reads.c; below: test_a_task_is_told..., test_some_files_are_neither...
    E.12 4, 5       tests/unit/test_patch.c, tests/fuzz/fuzz_patch.c; below: test_files_are_read_written_changed_and_found
    E.12 7          tests/unit/test_approval.c (paths); below: test_some_files_are_neither..., test_each_session_works_in...
    E.12 8          tests/unit/test_web.c (todos); below: test_todos_other_chats_and_earlier_sessions
    E.12 9          tests/unit/test_memo.c; below: test_notes_are_of_one_person; test_cache.py: test_what_is_noted_stands_in_...
    E.12 10         below: test_todos_other_chats_and_earlier_sessions
    E.12 11         tests/system/test_questions.py, tests/unit/test_question.c, tests/actor/test_agent_question.c
    E.12 12         tests/system/test_delegate.py; where the children work: tests/system/test_home.py
    E.12 13, 15     there are no tools for cron and skills
    E.12 14         tests/unit/test_target.c (targets); below: test_todos_other_chats_and_earlier_sessions
    E.12 16         tests/unit/test_toolset.c; below: test_an_offer_belongs_to_its_peer...
    E12 (pages)     tests/unit/test_web.c; below: test_pages_are_read_but_none_of_the_own_network
"""
import http.server
import json
import subprocess
import sys
import threading
import uuid

import pytest

from conftest import BUILD, ROOT, wait_until

sys.path.insert(0, str(ROOT / "clients" / "python"))
import argos  # noqa: E402

OFFER = {"name": "shout", "description": "Say it loud.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}


class Chat:
    """A chat of two with the agent; the next answer to each text."""

    def __init__(self, peer, chat="7"):
        self.peer, self.chat = peer, chat

    def say(self, text, user="u"):
        message_id = uuid.uuid4().hex
        source = {"platform": "line", "account": "main", "chat_id": self.chat, "chat_type": "dm", "user_id": user}
        self.peer.send("service:gateway", "message.inbound", {"source": source, "text": text, "message_id": message_id},
                       id=f"line.main:{self.chat}:{message_id}", key=f"line.main:{self.chat}")
        event = self.peer.next(30)
        assert event is not None and event.kind == "lease" and event.type == "deliver.request"
        event.lease.done([argos.part("receipt.put", "store", {"state": "sent"})])
        return event.body["text"]

    def tool(self, name, user="u", **arguments):
        """What a call results in. A second one stands beside it: a JSON with `error` alone would be taken for an error page of the provider."""
        lines = self.say(f"!tool {name} {json.dumps(arguments)}\n!tool attachment {{}}", user).split("\n")
        beside = [line for line in lines if "`blob` is missing" in line]
        lines.remove(beside[0])
        lines = [line for line in lines if line and not line.startswith("⚠️ Not changed")]  # See test_an_edit_that_failed_...
        return "\n".join(lines)


@pytest.fixture
def chat(argosd):
    with argos.Peer("line.main", argosd.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        yield Chat(peer)


@pytest.fixture
def tool(argosd):
    """clients/python/echo_tool.py, offered."""
    process = subprocess.Popen(["/usr/bin/python3", str(ROOT / "clients" / "python" / "echo_tool.py"), "--endpoint", argosd.endpoint],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "offered\n"
    yield process
    process.terminate()
    process.communicate(timeout=10)


def refusal(peer, body):
    with pytest.raises(argos.Refused) as refused:
        peer.request("service:tools", "tool.offer", body)
    return refused.value.code


def test_a_program_offers_a_tool_and_the_model_has_it_at_once(chat, tool, argosd):
    assert "hello (1)" in chat.tool("echo", text="hello")
    assert "again (2)" in chat.tool("echo", text="again")
    assert "no tool of that name" in chat.tool("nothing_like_that")


def test_an_offer_belongs_to_its_peer_and_ends_when_it_says_so(chat, argosd):
    with argos.Peer("a-tool", argosd.endpoint) as one, argos.Peer("b-tool", argosd.endpoint) as other:
        def on_request(request):
            one.reply(request, "tool.result", {"output": request.body["arguments"]["text"].upper(), "status": "ok"})

        one.serve("tool.shout", on_request=on_request)
        assert one.request("service:tools", "tool.offer", OFFER) == {"changed": True}
        assert one.request("service:tools", "tool.offer", OFFER) == {"changed": False}
        assert refusal(other, OFFER) == "conflict" and refusal(other, {"name": "shout", "withdraw": True}) == "conflict"
        assert refusal(one, {**OFFER, "name": "terminal"}) == "conflict" and refusal(one, {**OFFER, "name": "clarify"}) == "conflict"
        assert refusal(one, {"name": "x"}) == "invalid"
        assert one.request("service:tools", "tool.offer", {"name": "shout", "withdraw": True}) == {"changed": True}
        assert "no tool of that name" in chat.tool("shout", text="x")
        assert other.request("service:tools", "tool.offer", OFFER) == {"changed": True}


def test_who_is_no_admin_gets_no_tool_of_admins(daemon, home):
    (home / "argos.yaml").write_text("gateway: {allow_all_users: true}\nplatforms: {line: {allow_admin_from: [boss]}}\n")
    daemon.start()
    with argos.Peer("line.main", daemon.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        chat = Chat(peer)
        assert "it ran" in chat.tool("terminal", "boss", command="echo it ran")
        assert "BLOCKED: Only an admin" in chat.tool("terminal", command="echo it ran")
        assert "BLOCKED" not in chat.say("!tool attachment {}\n!tool attachment {}")


def of(text):
    """The result of a tool that answers in JSON."""
    return json.loads(text)


def test_files_are_read_written_changed_and_found(chat, tools_home):
    path = tools_home / "work" / "a.txt"
    wrote = of(chat.tool("write_file", path=str(path), content="one\ntwo\nthree\n"))
    assert wrote["bytes_written"] == 14 and wrote["dirs_created"] is True
    read = of(chat.tool("read_file", path=str(path), offset="2", limit=1))
    assert read["content"] == "2|two\n" and read["total_lines"] == 3 and read["truncated"] is True and "offset=3" in read["hint"]
    changed = of(chat.tool("patch", mode="replace", path=str(path), old_string="two\n", new_string="zwei\n"))
    assert changed["success"] and changed["strategy"] == "exact" and "-two\n+zwei\n" in changed["diff"]
    assert path.read_text() == "one\nzwei\nthree\n"
    assert of(chat.tool("patch", mode="replace", path=str(path), old_string="two\n", new_string="zwei\n"))["already_applied"]
    found = of(chat.tool("search_files", pattern=r"z\w+i", path=str(tools_home / "work"), context=1))
    assert found["matches"] == [{"path": str(path), "line": 2, "content": "zwei", "before": ["one"], "after": ["three"]}]
    assert of(chat.tool("search_files", pattern="*.txt", target="files", path=str(tools_home / "work")))["files"] == [str(path)]
    # Several files at once, or none of them
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-zwei\n+due\n*** Add File: {path.parent}/b.txt\n+new\n*** End Patch\n"
    both = of(chat.tool("patch", mode="patch", patch=patch))
    assert both["files_modified"] == [str(path)] and both["files_created"] == [f"{path.parent}/b.txt"]
    bad = of(chat.tool("patch", mode="patch", patch=f"*** Delete File: {path.parent}/b.txt\n*** Update File: {path}\n@@\n-zwei\n+x\n"))
    assert "not found" in bad["error"] and bad["hint"] == "Nothing was written." and (path.parent / "b.txt").read_text() == "new\n"
    # Ends of lines, mode and links are kept
    path.write_bytes(b"one\r\ntwo\r\n")
    path.chmod(0o750)
    (path.parent / "link").symlink_to(path)
    assert of(chat.tool("patch", mode="replace", path=str(path.parent / "link"), old_string="one\ntwo\n", new_string="uno\ntwo\n"))["success"]
    assert path.read_bytes() == b"uno\r\ntwo\r\n" and path.stat().st_mode & 0o777 == 0o750 and (path.parent / "link").is_symlink()


def test_a_task_is_told_what_it_has_read_and_what_changed_since(chat, tools_home):
    path = tools_home / "a.txt"
    path.write_text("text\n")
    read = f'!tool read_file {{"path":"{path}"}}'
    assert of(chat.say(read))["content"] == "1|text\n"
    assert of(chat.say(read))["status"] == "unchanged"
    assert "BLOCKED" in of(chat.tool("read_file", path=str(path)))["error"]
    assert of(chat.say(read))["content"] == "1|text\n"  # Another tool was called in between
    path.write_text("other text\n")
    assert "had changed" in of(chat.tool("write_file", path=str(path), content="mine\n"))["warning"]
    assert "warning" not in of(chat.tool("write_file", path=str(path), content="mine again\n"))
    stub = "Unchanged since you read it: its content stands above. Read another range, or go on."
    assert "error" in of(chat.tool("write_file", path=str(path), content=stub)) and path.read_text() == "mine again\n"
    for _ in range(2):
        assert "hint" not in of(chat.tool("patch", mode="replace", path=str(path), old_string="zzz", new_string="x"))
    assert "write_file" in of(chat.tool("patch", mode="replace", path=str(path), old_string="zzz", new_string="x"))["hint"]


@pytest.mark.parametrize("together", [True, False])
def test_calls_run_side_by_side_when_their_tool_says_so(chat, argosd, together):
    """B55: of two calls the second is there before the first is answered, or not until then; results stand in the order of the calls."""
    offered, over, seen = threading.Event(), threading.Event(), []

    def program():
        held = []

        def reply(one, request):
            seen.append("end " + request.body["arguments"]["text"])
            one.reply(request, "tool.result", {"output": request.body["arguments"]["text"].upper(), "status": "ok"})

        with argos.Peer("b-tool", argosd.endpoint) as one:
            def on_request(request):
                seen.append("begin " + request.body["arguments"]["text"])
                held.append(request)
                while held and (len(held) == 2 or not together or seen[-1].startswith("end")):
                    reply(one, held.pop())

            one.serve("tool.shout", on_request=on_request, slots=4)
            one.request("service:tools", "tool.offer", {**OFFER, "parallel": together})
            offered.set()
            while not over.is_set():
                one.next(0.05)
            one.request("service:tools", "tool.offer", {"name": "shout", "withdraw": True})

    thread = threading.Thread(target=program)
    thread.start()
    try:
        assert offered.wait(30)
        text = chat.say('!tool shout {"text":"one"}\n!tool shout {"text":"two"}')
    finally:
        over.set()
        thread.join()
    assert text.index("ONE") < text.index("TWO")
    assert seen == (["begin one", "begin two", "end two", "end one"] if together else ["begin one", "end one", "begin two", "end two"])


def test_an_edit_that_failed_stands_below_the_answer(chat, tools_home):
    """B60: whatever the model claims, people read which files were not changed."""
    path = tools_home / "work.txt"
    path.write_text("one\n")
    bad = "!tool patch " + json.dumps({"mode": "replace", "path": str(path), "old_string": "none such", "new_string": "x"})
    good = "!tool patch " + json.dumps({"mode": "replace", "path": str(path), "old_string": "one", "new_string": "two"})
    text = chat.say(f"{bad}\n!tool todo {{}}")
    assert text.split("\n\n")[-1].startswith(f"⚠️ Not changed: {path} (")
    assert "Not changed" not in chat.say(f"{bad}\n{good}") and path.read_text() == "two\n"
    assert "Not changed" not in chat.say("!tool todo {}\n!tool todo {}")


def test_some_files_are_neither_read_nor_written(chat, tools_home):
    (tools_home / "link").symlink_to("/proc/self/environ")
    (tools_home / "etc").symlink_to("/etc")
    for path in ("/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/1/maps", str(tools_home / "link"), "~/.ssh/id_rsa", "/etc/shadow",
                 str(tools_home / "api-key"), str(tools_home / "argos.db")):
        assert "not read" in of(chat.tool("read_file", path=path))["error"], path
    for path in ("/etc/passwd", "~/.bashrc", "~/.ssh/authorized_keys", str(tools_home / "argos.yaml"), str(tools_home / "etc" / "x"), "/usr/bin/x"):
        error = of(chat.tool("write_file", path=path, content="x"))["error"]
        assert "denied" in error or "no tool writes" in error or "of Argos" in error, path
    assert "1|" in of(chat.tool("read_file", path="/proc/cpuinfo"))["content"]
    (tools_home / "picture").write_bytes(b"\0\1\2" * 100)
    assert "no text" in of(chat.tool("read_file", path=str(tools_home / "picture")))["error"]
    (tools_home / "notes.txt").write_text("x")
    assert of(chat.tool("read_file", path=str(tools_home / "note.txt")))["similar_files"] == ["notes.txt"]
    assert "folder" in of(chat.tool("read_file", path=str(tools_home)))["error"]
    (tools_home / "large").write_text("x" * 1900 + "\n" + ("y" * 1900 + "\n") * 100)
    assert "smaller range" in of(chat.tool("read_file", path=str(tools_home / "large")))["error"]


def test_each_session_works_in_a_folder_of_its_own(daemon, home):
    (home / "argos.yaml").write_text(f"gateway: {{allow_all_users: true}}\ntools: {{root: {home}/roots, files: {{write_root: {home}/roots}}}}\n")
    daemon.start()
    with argos.Peer("line.main", daemon.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        chat = Chat(peer)
        path = of(chat.tool("write_file", path="a/b.txt", content="x"))["path"]
        assert path.startswith(f"{home}/roots/") and path.endswith("/a/b.txt")
        assert "x" in of(chat.tool("read_file", path="a/b.txt"))["content"]
        assert "outside" in of(chat.tool("write_file", path=f"{home}/roots/../x", content="x"))["error"]
        other = Chat(peer, "8")
        assert "no file" in of(other.tool("read_file", path="a/b.txt"))["error"]


def test_the_shell_goes_on_where_it_was_and_files_are_found_from_there(chat, tools_home):
    (tools_home / "work").mkdir()
    assert '"exit_code":0' in chat.tool("terminal", command=f"cd {tools_home}/work; export WORD='two words'")
    assert f"{tools_home}/work\\ntwo words" in chat.tool("terminal", command='pwd; echo "$WORD"')
    assert of(chat.tool("write_file", path="here.txt", content="x"))["path"] == f"{tools_home}/work/here.txt"
    assert f"{tools_home}\\n" in chat.tool("terminal", command="pwd", workdir=str(tools_home))
    assert '"exit_code_meaning":"no match"' in chat.tool("terminal", command="grep zzz /dev/null")
    assert "background=true" in chat.tool("terminal", command="nohup sleep 100")
    assert chat.tool("terminal", command="env").count("API_KEY") == 0


def test_a_shell_outlives_its_agent_but_not_its_session(chat, argosd, tools_home):
    """A.8 31, 67: a soft release closes nothing of the task, its end closes the shell."""
    own, shells = Chat(chat.peer, "shell"), tools_home / "shells"
    before = set(shells.iterdir()) if shells.exists() else set()
    own.tool("terminal", command=f"cd {tools_home}; export WORD=kept")
    files = set(shells.iterdir()) - before
    assert files
    agents = [str(BUILD / "argos"), "--home", str(argosd.home), "agents"]

    def newest():
        listed = json.loads(subprocess.run([*agents, "list", "--json"], capture_output=True, check=True, timeout=20).stdout)
        return next((agent["session"] for cache in listed["caches"] for agent in cache["agents"][:1] if not agent["running"]), None)

    subprocess.run([*agents, "evict", wait_until(newest)], capture_output=True, check=True, timeout=20)
    assert f"{tools_home}\\nkept" in own.tool("terminal", command='pwd; echo "$WORD"')
    own.say("/new")
    assert all(file.exists() for file in files)
    own.say("approve")
    wait_until(lambda: not any(file.exists() for file in files))


def test_the_floor_is_asked_by_the_tool_itself(chat, argosd):
    """Whoever calls, the agent or another peer of the core: a tool of ours never runs what the floor forbids."""
    text = chat.tool("terminal", command="r''m -rf ${IFS}/")
    assert "BLOCKED" in text or "blocked" in text


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/away"):
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/page" if self.path == "/away" else self.path)
            self.end_headers()
            return
        body = b"\0\1\2" * 99 if self.path == "/binary" else b"<title>A page</title><h1>Hello</h1>" + b"<p>text</p>" * (9999 if self.path == "/long" else 1)
        self.send_response(404 if self.path == "/gone" else 200)
        self.send_header("Content-Type", "application/octet-stream" if self.path == "/binary" else "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_pages_are_read_but_none_of_the_own_network(daemon, home):
    (home / "argos.yaml").write_text("gateway: {allow_all_users: true}\ntools: {web: {private_hosts: [127.0.0.1]}}\n")
    daemon.start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    with argos.Peer("line.main", daemon.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        chat = Chat(peer)

        def get(*urls):
            return of(chat.tool("web_extract", urls=list(urls)))["results"]

        page, gone, binary = get(f"{base}/page", f"{base}/gone", f"{base}/binary")
        assert page == {"url": f"{base}/page", "title": "A page", "content": "# Hello\n\ntext"}
        assert "404" in gone["error"] and "no text" in binary["error"]
        long, = get(f"{base}/long")
        assert long["truncated"] and len(long["content"]) == 20000 and long["total_characters"] > 50000
        assert "# Hello" in of(chat.tool("read_file", path=long["full_content"], limit=1))["content"]
        # The same server by a name that is not on the list; where a page leads; names that mean this machine
        for url in (f"http://localhost:{server.server_port}/page", f"{base}/away", f"http://0.0.0.0:{server.server_port}/", "http://[::1]/",
                    f"http://2130706434:{server.server_port}/", "http://169.254.169.254/latest/meta-data/"):
            assert "private network" in get(url)[0]["error"], url
        assert "without an end" in get(f"{base}/away/for/ever")[0]["error"]
        assert "only http" in get("ftp://example.org/")[0]["error"] and "no address" in get("file:///etc/passwd")[0]["error"] and "secret" in get("http://u:p@example.org/")[0]["error"]
        assert "one to 5" in of(chat.tool("web_extract", urls=[]))["error"]
        fetched = of(chat.tool("web_fetch", url=f"{base}/page"))
        assert fetched["results"][0]["title"] == "A page" and "no orders" in fetched["note"]
    server.shutdown()


def test_todos_other_chats_and_earlier_sessions(chat):
    todos = [{"id": "1", "content": "look", "status": "pending"}]
    first = of(chat.tool("todo", todos=todos))
    assert "summary" in first, first
    assert first["summary"]["pending"] == 1
    assert of(chat.tool("todo"))["todos"] == todos
    assert of(chat.tool("todo", todos=[{**todos[0], "status": "completed"}], merge=True))["summary"]["completed"] == 1
    chat.say("the word is xylophone")
    chat.say("/new")
    found = of(chat.tool("session_search", query="xylophone"))
    assert found["results"] or "hint" in found
    assert "sessions" in of(chat.tool("session_search"))
    targets = of(chat.tool("send_message", action="list"))
    assert "channels" in targets
    assert "needed" in of(chat.tool("send_message", target="origin"))["error"]


def test_notes_are_of_one_person(chat):
    def note(user, **arguments):
        return of(chat.tool("memory", user=user, **arguments))

    both = [{"action": "add", "target": "memory", "content": text} for text in ("likes oak", "likes elm")]
    assert [note("ann", **one)["success"] for one in both] == [True, True]
    assert note("bob", **both[0])["entries"] == ["likes oak"]
    assert len(note("ann", action="replace", target="memory", old_text="likes", content="x")["matches"]) == 2
    assert note("ann", action="remove", target="memory", old_text="elm")["entries"] == ["likes oak"]
    assert note("ann", **both[0])["message"] == "That is noted already."


def test_what_is_too_long_stands_in_a_file(chat):
    text = chat.tool("terminal", command="seq 1 20000")
    path = json.loads(text)["full_output"]
    assert "9999\n10000\n" in open(path, encoding="utf-8").read() and "9999\\n10000" not in text
    assert "20000" in of(chat.tool("read_file", path=path, offset=20000))["content"]


def test_a_turn_that_plans_changes_nothing(chat, tools_home):
    (tools_home / "a.txt").write_text("text")
    both = f'/plan !tool read_file {{"path":"{tools_home}/a.txt"}}\n!tool write_file {{"path":"{tools_home}/b.txt","content":"x"}}'
    text = chat.say(both)
    assert "1|text" in text and "BLOCKED: This turn may read" in text and not (tools_home / "b.txt").exists()
