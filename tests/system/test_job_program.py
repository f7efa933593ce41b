"""argos-job alone: one process for one job, and what it leaves behind, whatever the command does."""
import ctypes
import os
import pathlib
import resource
import select
import signal
import struct
import subprocess
import time

import pytest

from conftest import BUILD

DEADLINE_S = 20
HEAD = 128  # Bytes before the data of a log
LIBC = ctypes.CDLL(None, use_errno=True)


class Job:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def start(self, command, runtime_ms=3600000, grace_ms=2000, output_max=1 << 20, input="none", workdir=None, **more):
        self.process = subprocess.Popen(
            [str(BUILD / "argos-job"), "--dir", str(self.folder), "--workdir", str(workdir or self.folder.parent),
             "--runtime-ms", str(runtime_ms), "--grace-ms", str(grace_ms), "--output-max", str(output_max),
             "--input", input, "--", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        return self

    def run(self, command, **more):
        self.start(command, **more)
        assert self.wait() == 0
        return self.end()

    def wait(self):
        return self.process.wait(DEADLINE_S)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.wait() == 0
        return self.end()

    def end(self):
        """The exit record."""
        code, *lines = (self.folder / "exit").read_text().splitlines()
        record = dict(line.split(" ", 1) if " " in line else (line, "") for line in lines)
        return {"code": int(code), **record}

    def log(self):
        """(total, lost, size, head, data as it is in the file)"""
        data = (self.folder / "log").read_bytes()
        assert data[:8] == b"ARGJOB2\n"
        return (*struct.unpack("=4Q", data[8:40]), data[HEAD:])

    def keeper(self):
        """(pid, start time, boot) of who writes the log"""
        pid, start, boot = struct.unpack("=2Q40s", (self.folder / "log").read_bytes()[40:96])
        return pid, start, boot.rstrip(b"\0").decode()

    def shell(self):
        """The one child of argos-job."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())

    def output(self):
        """The output, when nothing was dropped."""
        total, lost, size, _, data = self.log()
        assert total <= size and lost == 0
        return data[:total]

    def await_output(self, text):
        """Wait for output while it runs."""
        def found():
            return (self.folder / "log").exists() and text in (self.folder / "log").read_bytes()
        wait_until(found, f"no {text!r} in the output")


def wait_until(condition, sentence):
    end = time.monotonic() + DEADLINE_S
    poller = select.poll()
    while not condition():
        assert time.monotonic() < end, sentence
        poller.poll(5)


def is_alive(pid):
    """A process that is no zombie."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "job")
    yield made
    process = getattr(made, "process", None)
    if process and process.poll() is None:
        process.kill()
        process.wait()


def test_code_output_and_identity(job):
    end = job.run("echo hello; echo wrong >&2; exit 3")
    assert end["code"] == 3 and end["reason"] == "exited" and end["signal"] == "0" and end["left"] == "0"
    assert end["survivors"] == "" and abs(int(end["ended"]) / 1000 - time.time()) < DEADLINE_S
    assert job.output() == b"hello\nwrong\n"
    pid, start, boot = job.keeper()
    assert pid == job.process.pid and start > 0
    assert boot == pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert sorted(path.name for path in job.folder.iterdir()) == ["exit", "log"]


def test_identity_is_that_of_the_running_process(job):
    job.start("echo up; exec sleep 60")
    job.await_output(b"up")
    pid, start, _ = job.keeper()
    stats = [pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in (pid, job.shell())]
    assert int(stats[0][19]) == start and [int(stat[3]) for stat in stats] == [pid, pid]  # Both are of the session of argos-job
    assert os.getpgid(job.shell()) == job.shell()
    assert job.stop()["reason"] == "killed"


def test_ended_by_a_signal(job):
    end = job.run("kill -9 $$")
    assert end["code"] == 137 and end["signal"] == "9" and end["reason"] == "exited"


def test_tree_in_several_groups_leaves_no_survivor(job):
    """50 processes in three process groups and two sessions, of which a third ignores SIGTERM."""
    pids = job.folder.parent / "pids"
    leaf = f"echo $$ >> {pids}; while :; do sleep 60; done"
    job.start(f"""
        leaf='{leaf}'
        i=0
        while [ $i -lt 8 ]; do sh -c "$leaf" & i=$((i+1)); done
        setsid sh -c 'i=0; while [ $i -lt 8 ]; do sh -c "trap \\"\\" TERM; {leaf}" & i=$((i+1)); done; exit 0'
        /usr/bin/python3 -c 'import os, sys; os.setpgid(0, 0); os.execv("/bin/sh", ["sh", "-c", sys.argv[1]])' \
            'i=0; while [ $i -lt 8 ]; do sh -c "{leaf}" & i=$((i+1)); done; wait' &
        wait""", grace_ms=300)
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 24, "the tree did not grow")
    everybody = [int(pid) for pid in pids.read_text().split()]
    wait_until(lambda: len(descendants(job.process.pid)) >= 50, f"{len(descendants(job.process.pid))} processes")
    tree = descendants(job.process.pid)
    assert len({os.getpgid(pid) for pid in tree}) >= 3
    end = job.stop()
    assert end["reason"] == "killed" and end["survivors"] == ""
    assert not [pid for pid in [*everybody, *tree] if is_alive(pid)]


def descendants(pid):
    found = []
    for thread in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = [int(child) for child in (thread / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            found += [child, *descendants(child)]
    return [one for one in found if is_alive(one)]


def test_ignores_term(job):
    job.start("trap '' TERM; echo up; while :; do sleep 0.2; done", grace_ms=200)
    job.await_output(b"up")
    end = job.stop()
    assert end["code"] == 137 and end["reason"] == "killed" and end["survivors"] == ""


def test_stopped_process_hears_term(job):
    job.start("trap 'echo bye; exit 5' TERM; echo up; kill -STOP $$; while :; do sleep 0.1; done", grace_ms=10000)
    job.await_output(b"up")
    wait_until(lambda: pathlib.Path(f"/proc/{job.shell()}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it did not stop")
    end = job.stop()
    assert end["code"] == 5 and end["reason"] == "killed" and job.output() == b"up\nbye\n"


def test_daemons_end_with_the_shell(job):
    """What holds the output open does not keep the job from its end, and does not outlive it."""
    pids = job.folder.parent / "pids"
    end = job.run(f"setsid sh -c 'echo $$ > {pids}; exec sleep 300' & until [ -s {pids} ]; do sleep 0.01; done; exit 7")
    assert end["code"] == 7 and end["reason"] == "exited" and int(end["left"]) == 1
    assert not is_alive(int(pids.read_text()))


def test_longest_run(job):
    end = job.run("echo begun; exec sleep 300", runtime_ms=300)
    assert end["reason"] == "timed_out" and end["code"] == 143 and job.output() == b"begun\n"


def test_large_output_is_a_beginning_and_a_ring(job):
    end = job.run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done", output_max=65536)
    everything = b"".join(b"line %d\n" % i for i in range(20000))
    total, lost, size, head, data = job.log()
    assert end["code"] == 0 and (total, lost, size, head) == (len(everything), 0, 65536, 16384)
    assert len(data) == size and data[:head] == everything[:head]
    turn = (total - head) % (size - head)
    assert data[head + turn:] + data[head:head + turn] == everything[-(size - head):]


def test_flood_is_bounded(job):
    end = job.run("head -c 300000000 /dev/zero", output_max=100000)
    total, lost, _, _, data = job.log()
    assert end["code"] == 0 and total == 300000000 and lost == 0 and len(data) == 100000


def test_binary_output(job):
    job.run(r"printf '\000\377\001x'")
    assert job.output() == b"\x00\xff\x01x"


def test_runs_once(job):
    """However often, and at the same time, somebody tries."""
    mark = job.folder.parent / "mark"
    jobs = [Job(job.folder).start(f"echo x >> {mark}") for _ in range(12)]
    codes = sorted(one.wait() for one in jobs)
    assert codes == [0] + [17] * 11
    assert mark.read_text() == "x\n" and job.end()["code"] == 0
    assert Job(job.folder).start(f"echo x >> {mark}").wait() == 17
    assert mark.read_text() == "x\n"


def test_no_descriptor_is_inherited(job):
    read, write = os.pipe()
    job.run("ls /proc/self/fd; ls /proc/$PPID/fd | wc -l", pass_fds=(read, write))
    os.close(write)
    assert os.read(read, 1) == b""  # Nobody else has an end for writing
    os.close(read)
    assert job.output().split()[:4] == [b"0", b"1", b"2", b"3"]  # 3 is that of ls


def test_limits(job):
    job.run("ulimit -n; ulimit -c; umask", preexec_fn=lambda: os.umask(0o22))
    assert job.output() == b"1024\n0\n0022\n"


def test_removes_its_own_folder(job):
    end = job.run(f"echo before; rm -rf {job.folder}; echo after; exit 4")
    assert end["code"] == 4 and job.output() == b"before\nafter\n"


def test_empties_its_own_log(job):
    """What comes after is there, and who writes it is said again."""
    end = job.run(f"echo before; : > {job.folder}/log; echo after; exit 5")
    assert end["code"] == 5 and job.output().endswith(b"after\n") and job.keeper()[0] == job.process.pid


def test_makes_its_own_folder_unwritable(job):
    assert job.run(f"chmod 0500 {job.folder}; exit 6")["code"] == 6


def test_folder_that_is_not_there_or_not_writable(job):
    job.folder.rmdir()
    assert job.start("true").wait() == 2
    read_only = Job(pathlib.Path("/proc/self"))
    assert read_only.start("true").wait() in (1, 2, 13)


def test_full_disk(job):
    """Output that can't be written is counted; the job goes on, and its end is recorded."""
    end = job.run("head -c 100000 /dev/zero; exit 9", workdir="/",
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    total, lost, *_ = job.log()
    assert end["code"] == 9 and total == 8192 - HEAD and total + lost == 100000


def test_input_by_a_pipe(job):
    job.start("cat; echo over", input="pipe")
    wait_until(lambda: (job.folder / "input").exists(), "no fifo")
    with open(job.folder / "input", "wb") as fifo:
        fifo.write(b"hello\n")
    job.await_output(b"hello")
    assert job.process.poll() is None  # That a writer is gone is no end
    job.process.send_signal(signal.SIGUSR2)
    assert job.wait() == 0 and job.output() == b"hello\nover\n"


def test_input_by_a_terminal(job):
    """C.9-19: a command that echoes its whole input ends within 5 s of the end of it."""
    job.start("test -t 0 && stty size; stty -echo; echo up; cat; exit 0", input="pty")
    job.await_output(b"up")
    with open(job.folder / "input", "wb") as fifo:
        fifo.write(b"hello\n")
    job.await_output(b"hello")
    job.process.send_signal(signal.SIGUSR2)
    assert job.wait() == 0
    assert job.end()["code"] == 0 and job.output().split() == [b"30", b"120", b"up", b"hello"]


def test_signal_to_the_command(job):
    job.start("trap 'echo got; exit 8' USR1; echo up; while :; do sleep 0.1; done")
    job.await_output(b"up")
    assert LIBC.sigqueue(job.process.pid, signal.SIGUSR1, ctypes.c_void_p(signal.SIGUSR1)) == 0
    assert job.wait() == 0 and job.end()["code"] == 8 and job.output().endswith(b"\ngot\n")


def test_dies_with_its_keeper(job):
    """When argos-job is killed there is no exit record, and the command goes with it."""
    job.start("echo up; exec sleep 300")
    job.await_output(b"up")
    shell = job.shell()
    job.process.kill()
    job.wait()
    wait_until(lambda: not is_alive(shell), "the command lives on")
    assert not (job.folder / "exit").exists()


def test_folder_to_run_in_that_is_not_there(job):
    end = job.run("true", workdir="/nowhere/at/all")
    assert end["code"] == 1 and b"can't enter /nowhere/at/all" in job.output()


@pytest.mark.parametrize("wrong", [{"runtime_ms": 0}, {"grace_ms": "x"}, {"output_max": 100}, {"input": "keyboard"}, {"command": ""}])
def test_wrong_arguments(job, wrong):
    command = wrong.pop("command", "true")
    assert job.start(command, **wrong).wait() == 22
    assert not list(job.folder.iterdir())
