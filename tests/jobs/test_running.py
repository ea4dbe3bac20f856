"""A worker's threads and one job: the job is carried out by one of them at a time, and no message is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from starloom.jobs.running import ClaimedJobs


class Counted(ClaimedJobs):
    """Jobs without a store, of which each run is counted and can be held."""

    def __init__(self) -> None:
        super().__init__("", "", "w")
        object.__setattr__(self, "runs", [])
        object.__setattr__(self, "begun", threading.Event())
        object.__setattr__(self, "go_on", threading.Event())

    async def _run(self, constellation: str, job: str, kind: Any, takes_s: float, tiers: Any) -> None:
        runs: list[str] = self.runs  # type: ignore[attr-defined]
        runs.append(job)
        self.begun.set()  # type: ignore[attr-defined]
        assert self.go_on.wait(30)  # type: ignore[attr-defined]
        if job == "breaks":
            raise RuntimeError("it broke")


nothing = object()
"""A kind of job that is not asked."""


def test_a_message_about_a_job_at_work_starts_it_no_second_time_beside_the_first() -> None:
    jobs: Any = Counted()
    first = threading.Thread(target=jobs.run, args=("c", "j", nothing))
    first.start()
    assert jobs.begun.wait(30)
    jobs.run("c", "j", nothing)
    jobs.run("c", "j", nothing)
    assert jobs.runs == ["j"], "no second thread carries it out"
    jobs.go_on.set()
    first.join(30)
    assert jobs.runs == ["j", "j"], "the messages that came meanwhile are seen once"


def test_a_job_that_broke_can_be_run_again() -> None:
    jobs: Any = Counted()
    jobs.go_on.set()
    for _ in range(2):
        with pytest.raises(RuntimeError):
            jobs.run("c", "breaks", nothing)
    assert jobs.runs == ["breaks", "breaks"]


def test_a_worker_starts_without_the_durable_history() -> None:
    """A worker without a model has no job, and a third of its start is what a job opens."""
    code = "import sys; import starloom.jobs.worker; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
