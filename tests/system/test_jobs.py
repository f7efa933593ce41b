"""Background jobs: started from a chat, they outlive argosd, and their end comes back into the chat that started them, once.

Which test stands for which line of the specification, beside those of test_jobs_files.py, tests/unit/test_job.c, test_job_text.c, test_jobs_tool.c and test_job_watch.c:

    D.9   5 no session               test_wrong_calls (the unit test_launch has the tool without one)
          6, 7, 8, 9, 11, 14 tool    test_another_chat_sees_nothing
          10 kill by the tool        test_a_deliberate_kill_is_not_told
          12, 13 wrong calls         test_wrong_calls
          15-23 intent               test_retrieval_offers_the_tools_of_jobs, tests/unit/test_intent.c
          24, 25 launch              test_a_marker_makes_a_job, test_jobs_folder_that_is_not_writable
          26-28 exit, time, death    test_damaged_files_and_ends_while_nobody_looks, test_limits
          36-38 monitor              test_unknown_session_is_kept_and_listed, test_ends_wait_for_the_turn_and_are_told_together,
                                     test_a_session_that_is_gone_is_told_nothing
          39 once                    test_a_durable_start_is_done_once, test_jobloop.py
          40-58 /background          test_background.py, test_commands.py
    C.9   4, 12, 16, 45, 49, 50      test_wrong_calls
          5, 8, 17-19, 48, 82        test_process_actions
          6, 66, 67 ends             test_it_comes_back_into_the_chat
          7, 11 grandchild           test_a_grandchild_that_holds_the_output
          30 environment             test_environment
          33, 34 after the spawn     test_job_program.py: test_dies_with_its_keeper
          36-44, 71-74, 108, 109     test_it_outlives_argosd, test_damaged_files_and_ends_while_nobody_looks: records take the place of the checkpoint
          46, 47 kill                test_a_deliberate_kill_is_not_told, test_damaged_files_and_ends_while_nobody_looks
          56-58 several ends         test_ends_wait_for_the_turn_and_are_told_together
          59-61 the order of a kill  test_job_program.py: test_tree_in_several_groups_leaves_no_survivor, test_ignores_term
          79-81 read                 test_who_waits_is_not_told
          121-128 notices            test_notice_modes, test_silence_and_its_notice
    31, 32 and 43 are about sandboxes, which there are none of here.
"""
import json
import pathlib
import re
import signal
import uuid

import pytest

from conftest import wait_until
from test_busy import hold
from test_gateway import Chat, Peer
from test_provider_wire import KEY, answer, provider, turn  # noqa: F401: a fixture
from test_provider_wire import start as start_wire


@pytest.fixture
def chat(shared_argosd):
    name = uuid.uuid4().hex[:8]
    chat = Chat(shared_argosd, name=f"test.{name}", chat=name)
    yield chat
    chat.peer.close()


class Jobs:
    """Asks the jobs actor, as the operator."""

    def __init__(self, daemon):
        self.peer = Peer(daemon.endpoint, "jobs-test", daemon.operator)

    def ask(self, kind, body=None):
        header, _, body = self.peer.ask({"type": kind, "to": "service:job", "ttl_ms": 20000}, body or {})
        return body if header["type"] == "job.result" else {"type": header["type"], **body}

    def list(self):
        return self.ask("job.list")["jobs"]

    def row(self, job):
        return self.ask("job.output", {"id": job})["job"]

    def close(self):
        self.peer.close()


@pytest.fixture
def jobs(shared_argosd):
    jobs = Jobs(shared_argosd)
    yield jobs
    jobs.close()


def tool(chat, name, **arguments):
    """The result of a call of a tool in the chat, as the model reads it."""
    run_id = chat.say("!tool %s %s" % (name, json.dumps(arguments)))
    chat.answer(run_id)
    return tool_row(chat, run_id)


def tool_row(chat, run_id):
    messages = chat.read("session.load", {"id": chat.run(run_id)["session_id"]})["messages"]
    return [m["content"] for m in messages if m["role"] == "tool"][-1]


def start(chat, command, **more):
    answer = tool(chat, "terminal", command=command, background=True, **more)
    return re.search(r"proc_([0-9a-f]{12})", answer).group(1), answer


def interrupt(jobs, job):
    """SIGINT for the `exec sleep 60` of a job, once it is that: a shell that is about to become it may lose the signal."""
    def asleep():
        keeper = pathlib.Path(f"/proc/{jobs.row(job).get('pid')}")
        try:
            [child] = (keeper / "task" / keeper.name / "children").read_text().split()
            return (keeper.parent / child / "cmdline").read_bytes().startswith(b"sleep")
        except (OSError, ValueError):
            return False
    wait_until(asleep)
    answer = jobs.ask("job.signal", {"id": job, "signal": int(signal.SIGINT)})
    assert answer.get("job"), answer


def test_it_comes_back_into_the_chat(chat, jobs):
    job, answer = start(chat, "echo from the job; exit 3")
    assert "do not wait for it and do not poll" in answer
    told = chat.hear()
    assert f"Background process proc_{job} exited (exit code 3)" in told["text"]
    assert "Command: echo from the job; exit 3" in told["text"] and "Output:\nfrom the job" in told["text"]
    wait_until(lambda: jobs.row(job)["followed_up"])
    assert (jobs.row(job)["status"], jobs.row(job)["exit_code"]) == ("failed", 3)


def test_it_outlives_argosd(argosd):
    chat = Chat(argosd)
    job, _ = start(chat, "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended", workdir=str(argosd.tools_home))
    chat.peer.close()
    argosd.kill()
    argosd.start()
    chat, jobs = Chat(argosd), Jobs(argosd)
    row = jobs.ask("job.output", {"id": job})
    assert row["job"]["status"] == "running" and row["text"] == "begun\n"
    (argosd.tools_home / "go").touch()
    told = chat.hear()
    assert f"proc_{job} completed normally (exit code 0)" in told["text"] and "begun\nended" in told["text"]
    chat.peer.close()
    jobs.close()


# The tools

def test_another_chat_sees_nothing(chat, jobs, argosd):
    """D.9-7, 9, 11: it reads like one that does not exist."""
    job, _ = start(chat, "echo secret; exec sleep 60")
    wait_until(lambda: jobs.ask("job.output", {"id": job})["text"] == "secret\n")
    assert job in tool(chat, "manage_bg_jobs", action="list")
    assert "secret" in tool(chat, "manage_bg_jobs", action="read", job_id=job)
    chat.chat += "-other"
    assert "No background jobs in this chat" in tool(chat, "manage_bg_jobs", action="jobs")
    for action in ("output", "kill"):
        answer = tool(chat, "manage_bg_jobs", action=action, job_id=job)
        assert f"There is no background job `{job}` in this chat" in answer and "secret" not in answer
    assert "not_found" in tool(chat, "process", action="poll", session_id=f"proc_{job}")
    assert jobs.row(job)["status"] == "running"
    jobs.ask("job.kill", {"id": job})


def test_a_deliberate_kill_is_not_told(chat, jobs):
    """D.9-1, 10; C.9-45, 46: killed with all its processes, and nobody is called."""
    job, _ = start(chat, "sleep 60 & exec sleep 60")
    wait_until(lambda: jobs.row(job).get("pid"))
    assert f"Killed background job `{job}`" in tool(chat, "manage_bg_jobs", action="stop", job_id=job)
    row = jobs.row(job)
    assert (row["status"], row["exit_code"], row["killed"], row["followed_up"]) == ("failed", -1, True, True)
    assert "nothing to kill" in tool(chat, "manage_bg_jobs", action="kill", job_id=job)
    assert '"already_exited"' in unquote(tool(chat, "process", action="kill", session_id=job))
    assert "not_found" in tool(chat, "process", action="kill", session_id="0123456789ab")
    assert "echo" in chat.ask("echo")["text"]  # The next thing that is heard


def unquote(text):
    return text.replace("\\", "")


@pytest.mark.parametrize("name, arguments, words", [
    ("manage_bg_jobs", {"action": "kill"}, "`job_id` is missing"),
    ("manage_bg_jobs", {"action": "output"}, "`job_id` is missing"),
    ("manage_bg_jobs", {"action": "frobnicate"}, "unknown action"),
    ("process", {"action": "poll"}, "`session_id` is missing"),
    ("process", {"action": "frobnicate"}, "unknown action"),
    ("process", {"action": "wait", "session_id": "0123456789ab"}, "not_found"),
    ("process", {"action": "log", "session_id": "0123456789ab"}, "not_found"),
    ("process", {"action": "close", "session_id": "0123456789ab"}, "not_found"),
    ("terminal", {"command": "", "background": True}, "missing"),
    ("terminal", {"command": "#!bg\n\n"}, "missing"),
    ("terminal", {"command": "true", "background": True, "watch_patterns": [7], "notify_on_complete": False}, "pattern"),
])
def test_wrong_calls(chat, name, arguments, words):
    """D.9-12, 13; C.9-4, 12, 16, 45, 49, 50"""
    assert words in tool(chat, name, **arguments)


def test_a_marker_makes_a_job(chat, jobs):
    """D5 and D12."""
    answer = tool(chat, "terminal", command="#!bg\necho from behind")
    job = re.search(r"`([0-9a-f]{12})`", answer).group(1)
    assert "do not wait for it" in answer
    told = chat.hear()["text"]
    assert f"[Background job {job} finished]" in told and "Command: echo from behind\nOutput:\nfrom behind" in told
    assert jobs.row(job)["command"] == "echo from behind"


def test_process_actions(chat, jobs):
    """C.9-5, 8, 17-19, 48, 82: a terminal that is written to."""
    answer = tool(chat, "terminal", command="stty -echo; echo up; cat", background=True, pty=True)
    job = re.search(r"proc_([0-9a-f]{12})", answer).group(1)
    wait_until(lambda: "up" in jobs.ask("job.output", {"id": job})["text"])
    assert '"status":"running"' in unquote(tool(chat, "process", action="poll", session_id=job[:6]))
    assert '"bytes_written":6' in unquote(tool(chat, "process", action="submit", session_id=job, data="hello"))
    wait_until(lambda: "hello" in jobs.ask("job.output", {"id": job})["text"])
    assert '"timeout"' in unquote(tool(chat, "process", action="wait", session_id=job, timeout=1))
    assert not jobs.row(job).get("seen")
    assert '"status":"ok"' in unquote(tool(chat, "process", action="close", session_id=job))
    assert "completed normally" in chat.hear()["text"]
    assert '"total_lines":2' in unquote(tool(chat, "process", action="log", session_id=job))


def test_who_waits_is_not_told(chat, jobs, shared_argosd):
    """C.9-79, 80, 81."""
    gate = shared_argosd.tools_home / "waits"
    job, _ = start(chat, f"until [ -e {gate} ]; do sleep 0.1; done; echo hello")
    run_id = chat.say("!tool process " + json.dumps({"action": "wait", "session_id": job, "timeout": 1000}))
    wait_until(lambda: chat.run(run_id) and chat.run(run_id).get("last_event") == "tool.started")
    gate.touch()
    chat.answer(run_id)
    answer = unquote(tool_row(chat, run_id))
    assert '"status":"exited"' in answer and '"exit_code":0' in answer and "hello" in answer
    assert "limited to 180 seconds" in answer
    assert jobs.row(job)["followed_up"] and "followup" not in jobs.row(job)
    assert "echo" in chat.ask("echo")["text"]


def test_no_input(chat, jobs):
    job, _ = start(chat, "exec sleep 60")
    assert "not available" in tool(chat, "process", action="write", session_id=job, data="x")
    assert jobs.ask("job.write", {"id": job, "data": "x"})["code"] == "invalid"
    jobs.ask("job.kill", {"id": job})


def test_a_grandchild_that_holds_the_output(chat, jobs):
    """C.9-7, 11: the end of the shell counts."""
    job, _ = start(chat, "setsid sleep 300 & echo done; exit 0")
    assert "exit code 0" in chat.hear()["text"]
    row = jobs.row(job)
    assert row["status"] == "done" and row["left"] == 1


@pytest.mark.parametrize("marker, more", [("", {"background": True}), ("#!bg\n", {})])
def test_the_gate_is_that_of_the_foreground(chat, jobs, tmp_path, marker, more):
    """G-60: a dangerous command asks, and one below the floor never runs, in the background too."""
    run_id = chat.say("!tool terminal " + json.dumps({"command": f"{marker}rm -rf {tmp_path}/x", **more}))
    assert chat.hear()["op"] == "prompt"
    chat.say("/deny")
    chat.answer(run_id)
    session = chat.run(run_id)["session_id"]
    assert "denied" in tool_row(chat, run_id)
    assert "blocked" in tool(chat, "terminal", command=f"{marker}rm -rf /", **more)
    assert jobs.ask("job.list", {"session_id": session})["jobs"] == []


# What is told, and when

def test_ends_wait_for_the_turn_and_are_told_together(chat, jobs, shared_argosd):
    ids = [start(chat, "exec sleep 60")[0] for _ in range(3)]
    busy, gate = hold(chat, shared_argosd.tools_home)
    for job in ids:
        interrupt(jobs, job)
    wait_until(lambda: all(jobs.row(job)["status"] == "failed" for job in ids))
    assert not any(jobs.row(job)["followed_up"] for job in ids)  # Never while a turn runs
    gate.touch()
    heard = [chat.hear() for _ in range(3)]
    assert heard[0]["run_id"] == busy
    text = heard[1]["text"] + heard[2]["text"]
    assert all(text.count(f"proc_{job} ") == 1 for job in ids)
    assert "[2 background jobs have ended]" in heard[2]["text"]
    wait_until(lambda: all(jobs.row(job)["followed_up"] for job in ids))


def test_silence_and_its_notice(chat, jobs):
    """C.9-83, 126: no turn, but people are told."""
    job, answer = start(chat, "echo quiet", notify_on_complete=False)
    assert "notify_on_complete" in answer
    told = chat.hear()
    assert told["kind"] == "notice" and f"proc_{job} finished with exit code 0" in told["text"] and "quiet" in told["text"]
    assert jobs.row(job)["followed_up"]


@pytest.mark.parametrize("mode, codes", [("result", [0, 1]), ("error", [1]), ("off", []), ("false", [])])
def test_notice_modes(daemon, mode, codes):
    """C.9-122 to 126."""
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(f"display: {{background_process_notifications: {mode}}}\n")
    daemon.start()
    chat, jobs = Chat(daemon), Jobs(daemon)
    for code in (0, 1):
        job, _ = start(chat, f"exit {code}", notify_on_complete=False)
        wait_until(lambda: jobs.row(job)["followed_up"])
        if code in codes:
            assert f"finished with exit code {code}" in chat.hear()["text"]
    assert "echo" in chat.ask("echo")["text"]
    chat.peer.close()
    jobs.close()


def test_watch_patterns(chat, jobs):
    """C.9-96, 98, 114."""
    job, _ = start(chat, "echo all is well; echo ERROR: disk full; exec sleep 60", watch_patterns=["WARN", "ERROR"])
    told = chat.hear()["text"]
    assert f'proc_{job} matched watch pattern "ERROR"' in told and "Matched output:\nERROR: disk full]" in told
    assert "all is well" not in told
    jobs.ask("job.kill", {"id": job})


def test_rounds_have_an_end(daemon):
    """A job that is started by the turn that hears of one: after max_rounds people are told instead."""
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("jobs: {max_rounds: 0}\n")
    daemon.start()
    chat, jobs = Chat(daemon), Jobs(daemon)
    job, _ = start(chat, "echo one round too many")
    told = chat.hear()
    assert told["kind"] == "notice" and "one round too many" in told["text"]
    row = jobs.row(job)
    assert row["followed_up"] and "followup" not in row
    chat.peer.close()
    jobs.close()


# Sessions that are not there

def test_unknown_session_is_kept_and_listed(jobs):
    answer = jobs.ask("job.start", {"command": "echo x", "session_id": "no-such-session"})
    assert answer["outcome"] == "started"
    job = answer["job"]["id"]
    wait_until(lambda: jobs.row(job)["followed_up"])
    row = next(row for row in jobs.list() if row["id"] == job)
    assert row["session_id"] == "no-such-session" and row["status"] == "done"


def test_the_session_of_before_is_told(chat, jobs):
    """Told while the chat is asked whether /new is meant: to the conversation that started the job, and that is still there."""
    job, _ = start(chat, "exec sleep 60")
    session = jobs.row(job)["session_id"]
    assert "`approve`" in chat.ask("/new")["text"]
    interrupt(jobs, job)
    told = chat.hear()
    assert f"proc_{job} exited (exit code 130, SIGINT)" in told["text"]
    assert chat.run(told["run_id"])["session_id"] == session, told


def test_the_chat_is_told_when_the_session_has_ended(chat, jobs):
    """/new has ended it and nothing goes on with it: people hear of the job, the new conversation does not."""
    job, _ = start(chat, "echo some words; exec sleep 60")
    chat.say("/new")
    chat.hear()
    assert "✨" in chat.ask("approve")["text"]
    interrupt(jobs, job)
    told = chat.hear()
    assert told["kind"] == "notice" and "run_id" not in told, told
    assert f"proc_{job}" in told["text"] and "exit code 130" in told["text"] and "some words" in told["text"]
    wait_until(lambda: jobs.row(job)["followed_up"])
    assert "followup" not in jobs.row(job)
    run_id = chat.say("echo")
    assert "echo" in chat.hear()["text"]  # Nothing came in between
    rows = chat.read("session.load", {"id": chat.run(run_id)["session_id"]})["messages"]
    assert [row["content"] for row in rows if row["role"] == "user"] == ["echo"]


def test_a_session_that_is_gone_is_told_nothing(chat, jobs):
    job, _ = start(chat, "exec sleep 60")
    chat.say("/new")
    chat.hear()
    delete = {"type": "session.delete", "to": "store", "durable": True}
    assert chat.peer.ask(delete, {"id": jobs.row(job)["session_id"]})[0]["type"] == "accepted"
    interrupt(jobs, job)
    wait_until(lambda: jobs.row(job)["followed_up"])
    assert "followup" not in jobs.row(job) and "echo" in chat.ask("echo")["text"]


# Bad input

@pytest.mark.parametrize("body, code", [({"command": ""}, "invalid"), ({"command": "  "}, "invalid"), 
                                        ({"command": "x" * 16385}, "invalid"), ({"command": "x", "max_runtime_s": 0}, "invalid")])
def test_bad_starts_are_refused(jobs, body, code):
    before = len(jobs.list())
    assert jobs.ask("job.start", body)["code"] == code
    assert len(jobs.list()) == before


def test_a_nul_becomes_a_character_that_no_command_has(jobs):
    """adr/0017"""
    job = jobs.ask("job.start", {"command": "tr\x00ue"})["job"]["id"]
    assert jobs.ask("job.wait", {"id": job})["job"]["exit_code"] == 127
    assert jobs.row(job)["command"] == "tr\ufffdue"


def test_environment(jobs, shared_argosd):
    """C.9-30: what was asked for is there, what is a secret of the daemon's is not."""
    job = jobs.ask("job.start", {"command": "env", "env": {"MY_OWN": "kept", "TELEGRAM_BOT_TOKEN": "forced"}})["job"]["id"]
    jobs.ask("job.wait", {"id": job})
    lines = jobs.ask("job.output", {"id": job})["text"].splitlines()
    assert {"MY_OWN=kept", "PYTHONUNBUFFERED=1"} <= set(lines) and "TELEGRAM_BOT_TOKEN=" in "\n".join(lines)
    assert not any(line.startswith(("ARGOS_", "GATEWAY_", "HERMES_")) or "_API_KEY" in line for line in lines)


def test_limits(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("jobs: {max_tracked: 3, max_per_session: 2, runtime_s: 1}\n")
    daemon.start()
    jobs = Jobs(daemon)
    first = jobs.ask("job.start", {"command": "true", "session_id": "s"})["job"]["id"]
    jobs.ask("job.wait", {"id": first})
    wait_until(lambda: jobs.row(first)["followed_up"])
    for _ in range(2):
        assert jobs.ask("job.start", {"command": "exec sleep 60", "session_id": "s", "max_runtime_s": 60})["outcome"] == "started"
    assert "chat" in jobs.ask("job.start", {"command": "true", "session_id": "s"})["reason"]
    #  The one that is over makes room
    last = jobs.ask("job.start", {"command": "exec sleep 60", "max_runtime_s": 60})["job"]["id"]
    assert jobs.ask("job.output", {"id": first})["code"] == "not_found"
    assert jobs.ask("job.start", {"command": "true"})["code"] == "busy"
    jobs.ask("job.kill", {"id": last})
    late = jobs.ask("job.start", {"command": "exec sleep 60"})["job"]["id"]
    assert jobs.ask("job.wait", {"id": late})["job"]["timed_out"]
    for row in jobs.list():
        jobs.ask("job.kill", {"id": row["id"]})
    jobs.close()


def test_a_durable_start_is_done_once(jobs, shared_argosd):
    header = {"type": "job.start", "to": "service:job", "id": "start-1", "key": "k", "durable": True}
    body = {"command": f"echo x >> {shared_argosd.tools_home}/once", "session_id": "a-session-of-its-own"}
    for _ in range(2):
        assert jobs.peer.ask(header, body)[0]["type"] == "accepted"
    def mine():
        return jobs.ask("job.list", {"session_id": "a-session-of-its-own"})["jobs"]
    wait_until(lambda: mine() and mine()[0]["status"] == "done")
    assert len(mine()) == 1 and (shared_argosd.tools_home / "once").read_text() == "x\n"


# What the model is offered

def test_retrieval_offers_the_tools_of_jobs(daemon, provider):
    """D.9-15 to 23 on the wire: with tools.retrieval a request offers what its message may need."""
    settings = provider.settings() + "tools: {retrieval: on}\n"
    peer = start_wire(daemon, settings, WIRE_KEY=KEY)

    def offered(text):
        provider.answers = [(200, "text/event-stream", answer("fine"))]
        turn(peer, text)
        return {tool["function"]["name"] for tool in json.loads(provider.requests[-1][2]).get("tools", [])}

    assert {"manage_bg_jobs", "process"} <= offered("kill that job")
    assert "manage_bg_jobs" in offered("is the job done?")
    assert "manage_bg_jobs" not in offered("what is the weather on the internet")
    assert offered("thanks") == set()
    peer.close()


def test_other_spellings_of_tools(chat):
    assert "by another name" in tool(chat, "bash", command="echo by another name")
    assert "No background jobs" in tool(chat, "background_jobs", action="list")
