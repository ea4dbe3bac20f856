"""A worker killed while it has a planning job."""

from __future__ import annotations

import pytest

from starloom.store.redis import keys
from starloom_protocol.records.entities import Job
from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

WORDS = "find holiday.jpg"


@pytest.mark.short
def test_a_worker_killed_with_a_job_is_replaced_and_the_job_is_done_once(stack: Stack, settled: Settled) -> None:
    with stack.supervisor_held():
        stack.kill_worker()
        request = stack.ask(WORDS)
        until(lambda: stack.jobs_queued() == 1, "the job's message is in the broker")
        # The hub is to see the claim only when the claimer is dead, so it is stopped until then.
        with stack.hub_frozen(), stack.redis_client() as redis, stack.worker_of_our_own() as kill:
            until(lambda: redis.xlen(keys.INBOX) > 0, "the worker has posted its claim")
            kill()
        stack.until_job(request, "claimed")
    assert stack.until_final(request, 60 * SLOWER) == "succeeded"
    jobs = request.view.each("job", Job)
    assert len(jobs) == 1
    job = next(iter(jobs.values()))
    assert job.claims == 2
    assert job.state == "done"
    planned = [event for event in request.seen.values() if "version/1" in event.puts]
    assert len(planned) == 1
    settled()


def test_requests_accepted_without_a_worker_are_planned_when_there_is_one(stack: Stack, settled: Settled) -> None:
    with stack.supervisor_held():
        stack.kill_worker()
        requests = [stack.ask(WORDS) for _ in range(2)]
        assert all(str(stack.look(request).state) == "planning" for request in requests)
    for request in requests:
        assert stack.until_final(request, 60 * SLOWER) == "succeeded"
        assert [job.claims for job in request.view.each("job", Job).values()] == [1]
    settled()
