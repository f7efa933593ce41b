"""What jobs write, and what becomes of the folder that keeps it: large, removed, damaged, not there."""
import contextlib
import os
import pathlib
import signal
import sqlite3
import struct

from conftest import wait_until
from test_jobs import Jobs, jobs  # noqa: F401 (a fixture)


def test_binary_and_large_output(jobs):
    job = jobs.ask("job.start", {"command": "printf 'a\\377\\000b'; head -c 30000000 /dev/zero | tr '\\0' z; echo end"})["job"]["id"]
    jobs.ask("job.wait", {"id": job})
    row = jobs.row(job)
    assert row["status"] == "done" and row["output_bytes"] == 30000008 and row["output_dropped"] == 30000008 - 8388608
    assert jobs.ask("job.output", {"id": job, "from": 0, "limit": 10})["text"] == "a\ufffdbzzzzzz"
    end = jobs.ask("job.output", {"id": job, "from": 25000000})
    assert end["text"].startswith("zzz") and end["from"] == 25000000 and end["next"] == 25131072
    assert jobs.ask("job.output", {"id": job, "from": 100000})["from"] > 20000000  # What is not kept is left out
    assert jobs.ask("job.output", {"id": job})["text"].endswith("zzzend\n")


def test_it_removes_its_files(jobs, shared_argosd):
    """Its folder, its log, its exit record before it is written: the result is there all the same."""
    home = shared_argosd.tools_home / "jobs"
    job = jobs.ask("job.start", {"command": f"echo before; rm -rf {home}; echo after; exit 4"})["job"]["id"]
    answer = jobs.ask("job.wait", {"id": job})
    assert answer["job"]["exit_code"] == 4 and jobs.ask("job.output", {"id": job})["text"] == "before\nafter\n"


def test_jobs_folder_that_is_not_writable(argosd):
    jobs = Jobs(argosd)
    home = argosd.tools_home / "jobs"
    home.write_text("not a folder")
    answer = jobs.ask("job.start", {"command": "true"})
    assert answer["job"]["status"] == "failed" and answer["job"]["not_started"]
    home.unlink()
    assert jobs.ask("job.start", {"command": "true"})["job"]["status"] == "running"
    jobs.close()


def test_damaged_files_and_ends_while_nobody_looks(argosd):
    """Exit records that are empty or text, a log of another boot or of a reused pid, no log at all: each has one answer."""
    jobs = Jobs(argosd)
    home = argosd.tools_home / "jobs"
    names = ["empty", "text", "reboot", "reused", "never", "power", "good"]
    (home.parent / "ran").touch()
    ids = {name: jobs.ask("job.start", {"command": f"echo {name} >> {home.parent}/ran; exec sleep 300"})["job"]["id"] for name in names}
    wait_until(lambda: len((home.parent / "ran").read_text().split()) == len(names))
    logs = {name: (home / job / "log").read_bytes() for name, job in ids.items()}
    keepers = {name: struct.unpack("=Q", log[40:48])[0] for name, log in logs.items()}
    jobs.close()
    argosd.kill()
    other = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "300")
    for name in names[:-1]:
        shell = int(pathlib.Path(f"/proc/{keepers[name]}/task/{keepers[name]}/children").read_text())
        os.kill(keepers[name], signal.SIGKILL)
        wait_until(lambda: not alive(shell) and not alive(keepers[name]))
    (home / ids["empty"] / "exit").write_text("")
    (home / ids["text"] / "exit").write_text("what?\n\0")
    pid = struct.pack("=Q", other)
    (home / ids["reboot"] / "log").write_bytes(logs["reboot"][:40] + pid + logs["reboot"][48:56] + b"another boot".ljust(40, b"\0"))
    (home / ids["reused"] / "log").write_bytes(logs["reused"][:40] + pid + logs["reused"][48:])
    for name in ("never", "power"):
        (home / ids[name] / "log").unlink()
    with contextlib.closing(sqlite3.connect(argosd.home / "argos.db")) as db, db:
        db.execute("UPDATE records SET value = json_set(value, '$.boot', 'another boot') WHERE space = 'job.task' AND key = ?", (ids["power"],))
    os.kill(keepers["good"], signal.SIGTERM)  # Not asked for by us
    wait_until(lambda: (home / ids["good"] / "exit").exists())
    argosd.start()
    jobs = Jobs(argosd)
    rows = {name: jobs.row(job) for name, job in ids.items()}
    assert [rows[name]["exit_code"] for name in ("empty", "text")] == [1, 1]
    assert rows["reboot"]["died"] and rows["reused"]["died"] and rows["reused"]["exit_code"] == -1
    assert rows["good"]["exit_code"] == 143 and "killed" not in rows["good"]
    assert rows["power"]["died"]  # It may have begun before the power was gone: nothing says so, and it is not tried again
    #  There is no sign that it was started, so it is, once more here because the sign was taken away
    assert rows["never"]["status"] == "running"
    assert alive(other)  # Who has got the number of a job is left alone
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    jobs.ask("job.kill", {"id": ids["never"]})
    jobs.close()


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
