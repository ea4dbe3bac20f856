"""Redis killed under a live hub and together with it, with its log kept and cut."""

from __future__ import annotations

import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from tests.chaos.conftest import Settled
from tests.chaos.sql_log import incarnation_of, read_log
from tests.chaos.stack import Accepted, Stack
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.tiers import first_in_test
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

CROWD, LANES = 60, 4
PACE_S = 0.03


class Run:
    """Work under way: one `never` program that has begun, another behind it, and a crowd of instant tasks."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.stack = stack
        self.strike, self.after = f"{name}/strike", f"{name}/after"
        tasks = [stack.place.task(name, "strike", device="north"), stack.place.task(name, "after", device="south")]
        self.request = stack.submit(plan(name, tasks, chain=True))
        # Echo takes no time; the delay of its link gives a fault something to fall into.
        stack.fault(lambda proxy: proxy.delay(PACE_S))
        self.crowd = stack.submit(echoes(f"{name}-crowd", CROWD, side_by_side=LANES, device="east"))
        until(lambda: stack.place.begun(self.strike), "the program has begun")
        until(lambda: stack.succeeded(self.crowd) > 15, "the crowd is under way")

    def goes_on(self) -> None:
        """See more of the crowd done, and that it is not at its end."""
        before = self.stack.succeeded(self.crowd)
        until(lambda: self.stack.succeeded(self.crowd) > before + LANES, "the crowd goes on")
        self.is_under_way()

    def is_under_way(self) -> None:
        """The fault would be none if all were done before it."""
        assert self.stack.succeeded(self.crowd) < CROWD * LANES

    def finish(self, *extra: Accepted) -> None:
        """Let it go on, and see that all of it succeeds and that nothing which may not be repeated began twice."""
        self.stack.place.open(self.strike, self.after)
        self.stack.fault(FaultProxy.heal)
        for request in (self.request, self.crowd, *extra):
            assert self.stack.until_final(request, 60 * SLOWER) == "succeeded", request.name
        for name in (self.strike, self.after):
            assert len(self.stack.place.begun(name)) == 1, name
            assert len(self.stack.place.ended(name)) == 1, name


@pytest.mark.short
def test_redis_killed_under_a_live_hub(stack: Stack, settled: Settled) -> None:
    before = incarnation_of(stack.database)
    run = Run(stack, "redis-killed")
    with Submitter(stack, "redis-killed-more") as submitter:
        submitter.more(4)
        run.is_under_way()
        stack.kill_redis()
        submitter.more(4)
    run.finish(*submitter.accepted)
    assert incarnation_of(stack.database) > before
    settled()


@pytest.mark.parametrize("keep", first_in_test([0.6, 0.0]))
def test_redis_killed_and_its_log_cut_under_a_live_hub(stack: Stack, settled: Settled, keep: float) -> None:
    before = incarnation_of(stack.database)
    run = Run(stack, f"redis-cut-{round(keep * 10)}")
    with Submitter(stack, f"redis-cut-{round(keep * 10)}-more") as submitter:
        submitter.more(4)
        run.is_under_way()
        with stack.supervisor_held():
            stack.kill_redis()
            assert stack.cut_redis_log(keep) > 0
        submitter.more(4)
    run.finish(*submitter.accepted)
    assert incarnation_of(stack.database) > before
    settled()


@pytest.mark.short
@pytest.mark.parametrize("keep", first_in_test([0.6, 0.0]))
def test_hub_and_redis_killed_and_the_log_cut(stack: Stack, settled: Settled, keep: float) -> None:
    before = incarnation_of(stack.database)
    run = Run(stack, f"both-killed-{round(keep * 10)}")
    with Submitter(stack, f"both-killed-{round(keep * 10)}-more") as submitter:
        submitter.more(4)
        run.is_under_way()
        with stack.supervisor_held():
            stack.kill_hub()
            stack.kill_redis()
            assert stack.cut_redis_log(keep) > 0
            stack.keep_what_is_durable()
        stack.until_up()
        submitter.more(4)
    run.finish(*submitter.accepted)
    assert incarnation_of(stack.database) > before
    settled()


def test_a_live_hub_restores_what_only_it_still_has(stack: Stack, settled: Settled) -> None:
    before = incarnation_of(stack.database)
    run = Run(stack, "only-hub")
    with stack.history_held():
        known = len(read_log(stack.database)[0])
        run.goes_on()
        assert len(read_log(stack.database)[0]) == known, "the history is held, so what was shown is in Redis alone"
        with stack.supervisor_held():
            stack.kill_redis()
            stack.cut_redis_log(0.0)
    # Nothing that a client has seen may go: the hub lives.
    run.finish()
    assert incarnation_of(stack.database) > before
    settled()


def test_what_neither_redis_nor_history_has_is_made_again_and_never_work_is_not(stack: Stack, settled: Settled) -> None:
    before = incarnation_of(stack.database)
    run = Run(stack, "tail-lost")
    with Submitter(stack, "tail-lost-more") as submitter:
        submitter.more(2)
        with stack.history_held():
            run.goes_on()
            lost = stack.succeeded(run.crowd)
            with stack.supervisor_held():
                stack.kill_hub()
                stack.kill_redis()
                stack.cut_redis_log(0.0)
                stack.keep_what_is_durable()
        stack.until_up()
        # A request that was accepted before the history had it would now be neither here nor there.
        submitter.more(2)
    assert run.crowd.seen
    assert lost > sum(event.kind == "task_succeeded" for event in run.crowd.seen.values())
    run.finish(*submitter.accepted)
    assert incarnation_of(stack.database) > before
    settled()
