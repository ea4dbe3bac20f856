"""The hub killed in the middle of a run, and a worker while it has a planning job."""

from __future__ import annotations

import time

import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom.store.redis import keys
from starloom_protocol.records.entities import Attempt, Job
from tests.chaos.conftest import Settled
from tests.chaos.stack import LEASE_S, Stack
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

WORDS = "find holiday.jpg"


@pytest.mark.short
def test_a_hub_killed_mid_run_finishes_and_redoes_nothing(stack: Stack, settled: Settled) -> None:
    name = "hub-killed"
    first, during, after = f"{name}/first", f"{name}/during", f"{name}/after"
    tasks = [stack.place.task(name, task, device="north") for task in ("first", "during", "after")]
    request = stack.submit(plan(name, tasks, chain=True))
    stack.fault(lambda proxy: proxy.delay(0.03))
    crowd = stack.submit(echoes("hub-killed-crowd", 60, side_by_side=4, device="east"))
    stack.place.open(first, after)
    until(lambda: stack.place.begun(during), "the second program has begun")
    until(lambda: stack.succeeded(crowd) > 20, "the crowd is under way")
    assert stack.succeeded(crowd) < 4 * 60, "the fault would be none if all were done before it"
    stack.kill_hub()
    stack.fault(FaultProxy.heal)
    stack.place.open(during)
    until(lambda: stack.place.ended(during), "the program ends while there is no hub")
    stack.until_up()
    assert stack.until_final(request) == "succeeded"
    assert stack.until_final(crowd) == "succeeded"
    # Work that may not be repeated: each began once, the one that ran through the death of the hub included.
    assert [line.name for line in stack.place.begun() if line.name.startswith(name + "/")] == [first, during, after]
    attempts = crowd.view.each("attempt", Attempt)
    assert {item.end for item in attempts.values()} <= {"ok", "lost", "interrupted", "never_started"}
    settled()


@pytest.mark.proof(shown_by="tests/chaos/test_storm.py")
def test_every_accepted_request_survives_a_hub_that_is_killed_again_and_again(stack: Stack, settled: Settled) -> None:
    with Submitter(stack, "accepted") as submitter:
        for _ in range(2):
            submitter.more(8)
            stack.kill_hub()
            stack.until_up()
        submitter.more(4)
    assert submitter.count >= 20
    for request in submitter.accepted:
        assert stack.until_final(request) == "succeeded"
    # The same key gives the same constellation, whatever died between the two.
    assert len({request.id for request in submitter.accepted}) == submitter.count
    settled()


def test_a_hub_that_was_stopped_for_longer_than_its_leases_goes_on(stack: Stack, settled: Settled) -> None:
    name = "hub-stopped"
    request = stack.submit(
        plan(name, [stack.place.task(name, "strike", device="north"), stack.place.task(name, "then")], chain=True)
    )
    until(lambda: stack.place.begun(f"{name}/strike"), "the program has begun")
    with stack.hub_frozen():
        time.sleep(2 * LEASE_S)  # the silence itself is the fault
        stack.place.open(f"{name}/strike", f"{name}/then")
    assert stack.until_final(request) == "succeeded"
    assert len(stack.place.begun(f"{name}/strike")) == 1
    assert len(stack.place.begun(f"{name}/then")) == 1
    settled()


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
