"""Many faults one after the other, drawn from a seed, under work of every repeatability."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import partial

import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.tiers import first_in_test
from tests.waiting import PATIENCE_S, SLOWER, until

pytestmark = pytest.mark.chaos

FAULTS = 8
SEEDS = range(1, 1 + int(os.environ.get("CHAOS_SEEDS", "2")))
PAUSE_MOST_S = 0.6
KINDS = ("pure", "idempotent", "never", "never")


class Storm:
    """Breaks one thing after another; every one is named, so that a failure can be read."""

    def __init__(self, stack: Stack, seed: int) -> None:
        self._stack = stack
        self._random = random.Random(seed)
        kinds = [self.agent, self.link, self.hub, self.redis, self.redis_cut, self.worker]
        # Each kind once in any order, and some of them again.
        self._faults: list[Callable[[], None]] = [*kinds, *self._random.choices(kinds, k=FAULTS - len(kinds))]
        self._random.shuffle(self._faults)
        self.told: list[str] = []

    def blow(self) -> None:
        """Break the next thing and give it a moment, which may be too short to mend."""
        fault = self._faults[len(self.told)]
        self.told.append(fault.__name__)
        fault()
        time.sleep(self._random.random() * PAUSE_MOST_S)

    def agent(self) -> None:
        name = self._random.choice(("north", "south"))
        self._stack.kill_agent(name)
        self._stack.start_agent(name)

    def link(self) -> None:
        self._stack.fault(self._random.choice((FaultProxy.reset, FaultProxy.black_hole)))
        time.sleep(self._random.random() * PAUSE_MOST_S)
        self._stack.fault(FaultProxy.reset)
        self._stack.fault(FaultProxy.heal)

    def hub(self) -> None:
        self._stack.kill_hub()

    def redis(self) -> None:
        self._stack.kill_redis()

    def redis_cut(self) -> None:
        with self._stack.supervisor_held():
            self._stack.kill_redis()
            self._stack.cut_redis_log(self._random.choice((0.0, 0.3, 0.7, 0.95)))

    def worker(self) -> None:
        self._stack.kill_worker()


def work(stack: Stack, name: str, number: int) -> Accepted:
    """Submit a plan of four programs side by side, one for each of KINDS, and one after them."""
    title = f"{name}-{number}"
    tasks = [stack.place.task(title, f"t{at}", repeatability=kind) for at, kind in enumerate(KINDS)]
    tasks.append(stack.place.task(title, "last", repeatability="idempotent"))
    made = plan(title, tasks)
    made["dependencies"] = [{"from": f"t{at}", "to": "last", "when": "finish"} for at in range(len(KINDS))]
    return stack.submit(made)


def settle_unknown(stack: Stack, request: Accepted) -> bool:
    """Do what a person would: mark work in `unknown` as failed. Return whether the constellation is final."""
    view = stack.look(request)
    for name, task in view.tasks.items():
        if task.state == "unknown":
            assert task.device is not None
            stack.control(request, "mark", name, state="failed", reason="looked: it was ended in the middle")
    return view.final


@pytest.mark.parametrize("seed", first_in_test(SEEDS))
def test_whatever_is_killed_nothing_is_lost_or_done_twice(stack: Stack, settled: Settled, seed: int) -> None:
    name = f"storm-{seed}"
    storm = Storm(stack, seed)
    crowd = stack.submit(echoes(f"{name}-crowd", 30, side_by_side=4))
    runs = [work(stack, name, number) for number in range(2)]
    with Submitter(stack, f"{name}-more") as submitter:
        for number in range(FAULTS):
            storm.blow()
            if number == FAULTS // 2:
                for run in runs:
                    stack.place.open(*(f"{run.name}/t{at}" for at in range(len(KINDS))), f"{run.name}/last")
        stack.until_up()
        submitter.more(3)
    stack.until_online("north", "south", "east")
    told = f"seed {seed}: {', '.join(storm.told)}"
    for run in runs:
        until(partial(settle_unknown, stack, run), f"{run.name} final after {told}", PATIENCE_S)
        last = run.view.tasks["last"]
        assert last.state == "succeeded", f"{stack.describe(run)} after {told}"
    for request in (crowd, *submitter.accepted):
        assert stack.until_final(request, 60 * SLOWER) == "succeeded", told
    settled()
