"""Messages lost, repeated, swapped, changed and late on an agent's line under load, and a line that is deaf or mute."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom_protocol.records.lab import FaultKind
from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.tiers import first_in_test
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

CROWD, LANES = 40, 4
PACE_S = 0.02
BAD_S = 4.0
HIT_LEAST = 10
TRIES = 100
"""The line is bad for as long as it takes: each of its cuts may lose a try, and none may lose the work."""


class Load:
    """Work of the device behind the line: two programs that may run once, one behind the other, and a crowd."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.stack = stack
        self.names = [f"{name}/strike", f"{name}/after"]
        stack.fault(lambda proxy: proxy.delay(PACE_S, PACE_S))
        tasks = [stack.place.task(name, task, device="east") for task in ("strike", "after")]
        self.request = stack.submit(plan(name, tasks, chain=True))
        until(lambda: stack.place.begun(self.names[0]), "the program has begun")
        self.crowd = stack.submit(echoes(f"{name}-crowd", CROWD, side_by_side=LANES, device="east", tries=TRIES))

    def is_under_way(self) -> None:
        assert self.stack.succeeded(self.crowd) < CROWD * LANES, "the fault would be none if all were done before it"

    def finish(self, *more: Accepted) -> None:
        self.stack.place.open(*self.names)
        for one in (self.request, self.crowd, *more):
            assert self.stack.until_final(one, 90 * SLOWER) == "succeeded", self.stack.describe(one)
        for name in self.names:
            assert len(self.stack.place.begun(name)) == 1, name
            assert len(self.stack.place.ended(name)) == 1, name


@pytest.mark.parametrize(
    "kind", first_in_test([FaultKind.DROP, FaultKind.DUPLICATE, FaultKind.REORDER, FaultKind.CORRUPT])
)
def test_a_line_that_mangles_messages_costs_time_and_nothing_else(
    stack: Stack, settled: Settled, kind: FaultKind
) -> None:
    load = Load(stack, f"line-{kind}")
    assert stack.proxy is not None
    before = stack.proxy.proxy.mangled
    with Submitter(stack, f"line-{kind}-more") as submitter:
        load.is_under_way()
        stack.fault(lambda proxy: proxy.mangle(kind))
        stack.place.open(load.names[0])  # its end, and the beginning of the other, go over the bad line
        until(lambda: stack.proxy is not None and stack.proxy.proxy.mangled - before >= HIT_LEAST, "messages are hit")
        submitter.more(2)
        stack.fault(FaultProxy.heal)
    load.finish(*submitter.accepted)
    settled()


WAYS: dict[str, Callable[[FaultProxy], None]] = {
    "mute": lambda proxy: proxy.black_hole(down=False),
    "deaf": lambda proxy: proxy.black_hole(up=False),
}


@pytest.mark.parametrize("way", first_in_test(WAYS))
def test_a_line_that_swallows_one_way_only(stack: Stack, settled: Settled, way: str) -> None:
    load = Load(stack, f"line-{way}")
    strike = load.names[0]
    with Submitter(stack, f"line-{way}-more") as submitter:
        load.is_under_way()
        stack.fault(WAYS[way])
        began = time.monotonic()
        stack.place.open(strike)
        until(lambda: stack.place.ended(strike), "the program ends all the same")
        submitter.more(2)
        time.sleep(max(0.0, BAD_S - (time.monotonic() - began)))  # two leases: the silence itself is the fault
        assert not stack.place.begun(load.names[1]), "it was begun by a line that passes nothing on"
        load.is_under_way()
        stack.fault(FaultProxy.heal)
    load.finish(*submitter.accepted)
    settled()
