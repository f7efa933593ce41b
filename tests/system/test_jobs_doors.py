"""The other ways to background jobs: the command line, the HTTP interface, /agents."""
import json

from conftest import wait_until
from httpapi import Api
from test_cli import argos
from test_jobs import chat, jobs, start  # noqa: F401 (fixtures)


def test_command_line(shared_argosd):
    def run(*words, code=0):
        result = argos(shared_argosd.home, *words)
        assert result.returncode == code, result
        return result.stdout

    job = run("jobs", "start", "--", "sh", "-c", "echo \"it's\"; sleep 0.2; echo over").strip()
    assert run("jobs", "output", "-f", job[:8]) == "it's\nover\n"
    listed = run("jobs", "list")
    assert job in listed and "done" in listed
    assert f"id             {job}" in run("jobs", "show", job[:6])
    assert "is over: done" in run("jobs", "kill", job)
    long = run("jobs", "start", "--", "exec sleep 60").strip()
    assert f"job {long}: killed" in run("jobs", "kill", long)
    assert json.loads(run("jobs", "show", long, "--json"))["job"]["killed"] is True
    for wrong in (["frobnicate"], ["show"], ["show", "../x"], ["start"], ["start", "true"], ["list", "x"]):
        run("jobs", *wrong, code=2)
    run("jobs", "show", "0123456789ab", code=1)


def test_http(shared_argosd):
    api = Api(shared_argosd)
    run = api.start('!tool terminal {"command":"echo by http; sleep 60","background":true}')
    api.finish(run)
    status, _, body = api.call("GET", "/v1/jobs")
    assert status == 200
    job = next(job for job in body["data"] if job.get("run_id") == run)
    assert job["object"] == "argos.job" and job["status"] == "running" and job["run_id"] == run and "owner" not in job
    wait_until(lambda: api.call("GET", f"/v1/jobs/{job['id']}")[2]["output"] == "by http\n")
    status, _, body = api.call("POST", f"/v1/jobs/{job['id']}/kill")
    assert status == 200 and body["outcome"] == "killed" and body["job"]["killed"] is True
    assert api.call("GET", "/v1/jobs/0123456789ab")[0] == 404 and api.call("POST", "/v1/jobs/x%20y/kill")[0] == 404


def test_http_hears_of_the_end(shared_argosd, jobs):
    api = Api(shared_argosd)
    run = api.start('!tool terminal {"command":"echo for the next request","background":true}')
    api.finish(run)
    job = next(job for job in api.call("GET", "/v1/jobs")[2]["data"] if job.get("run_id") == run)
    wait_until(lambda: jobs.row(job["id"])["followed_up"])
    told = api.get(jobs.row(job["id"])["followup"])
    assert told["status"] == "completed" and "for the next request" in told["output"]
    assert told["session_id"] == api.get(run)["session_id"]


def test_agents_command_shows_jobs(chat, jobs):
    job, _ = start(chat, "exec sleep 60")
    assert f"Background jobs:\n[{job}] running | " in chat.ask("/agents")["text"]
    jobs.ask("job.kill", {"id": job})
