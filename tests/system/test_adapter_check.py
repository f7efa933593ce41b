"""`argos adapter-check`: the sample clients pass it, and each broken adapter is caught by its case and no other."""
import concurrent.futures
import json
import os
import subprocess

import pytest

from conftest import BUILD, ROOT
from test_clients import NODE, NODE_MISSING, PYTHON

CASES = ["hello", "deliver", "duplicate", "crash", "credit", "drain", "reconnect", "oversize", "slow", "bad"]
BROKEN = [*PYTHON, str(ROOT / "tests" / "system" / "clients" / "broken.py")]
WORKER = ["--service", "echo", "--type", "echo.job", "--body", '{"text":"x"}']
#  Ours looks for the broker in a home
CHAT = "home=$(mktemp -dp $CHATS) && mkdir $home/run && printf %s $ARGOS_ENDPOINT >$home/run/broker.endpoint && exec " + str(BUILD / "argos") + " --home $home chat"
SAMPLES = {
    "c adapter": ([str(BUILD / "echo_adapter")], []),
    "c worker": ([str(BUILD / "echo_worker")], WORKER),
    "node adapter": (["node", str(NODE / "echo_adapter.mjs")], []),
    "node worker": (["node", str(NODE / "echo_worker.mjs")], WORKER),
    "python adapter": ([*PYTHON, str(ROOT / "clients" / "python" / "echo_adapter.py")], []),
    "python worker": ([*PYTHON, str(ROOT / "clients" / "python" / "echo_worker.py")], WORKER),
    "broken none": ([*BROKEN, "none"], []),
    "argos chat": (["sh", "-c", f"'{CHAT}'"], ["--platform", "cli"]),
}
TIMEOUT_S = 120
TOGETHER = 9  # Checks that run at a time


def launch(command, options, **env):
    return subprocess.Popen([str(BUILD / "argos"), "--json", "adapter-check", *options, " ".join(command)],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **env})


def report(process):
    """The report, and the exit code."""
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return json.loads(output), process.returncode


def check(command, options, **env):
    return report(launch(command, options, **env))


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    """Reports to come. Many checks at once, as most of their time is waiting, but not all: an adapter has 10 s to start. The longest first."""
    chats = str(tmp_path_factory.mktemp("chats"))
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        started = {case: pool.submit(check, [*BROKEN, case], []) for case in CASES}
        started |= {name: pool.submit(check, *sample, CHATS=chats) for name, sample in SAMPLES.items()
                    if not (name.startswith("node") and NODE_MISSING)}
        yield started


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_passes(checks, name):
    if name not in checks:
        pytest.skip(NODE_MISSING)
    result, code = checks[name].result()
    wrong = [line for line in result["cases"] if line["verdict"] != "passed"]
    assert (wrong, code, result["passed"]) == ([], 0, len(CASES))


@pytest.mark.parametrize("case", CASES)
def test_a_broken_adapter_is_caught_by_its_case(checks, case):
    result, code = checks[case].result()
    failed = {line["case"]: line["reason"] for line in result["cases"] if line["verdict"] == "failed"}
    assert code == 1 and case in failed
    assert set(failed) == {case}, failed


def test_a_platform_may_come_late():
    result, code = check([*BROKEN, "late"], ["--only", "hello"])
    assert code == 0, result


def test_what_is_no_adapter_fails():
    for command, reason in (("true", "it has ended with exit code 0"), ("/nowhere/at/all", "it has ended with exit code 127")):
        process = launch([command], ["--only", "hello"])
        result, code = report(process)
        assert code == 1 and [line["reason"] for line in result["cases"]] == [reason]
    usage = subprocess.run([str(BUILD / "argos"), "adapter-check"], capture_output=True, text=True, check=False)
    assert usage.returncode == 2 and "needs a command" in usage.stderr
