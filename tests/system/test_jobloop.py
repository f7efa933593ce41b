"""A short run of what ./dev jobs does: argosd is killed while jobs are started, run and end."""
from jobloop import JobLoop


def test_each_job_runs_once_and_is_told_once(home):
    loop = JobLoop(home, jobs=24, kills=4, seed=7, load=0)
    try:
        loop.run()
        assert loop.check() == []
        assert loop.daemon.stop() == 0, loop.daemon.text()
    finally:
        loop.close()
