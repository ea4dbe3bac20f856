"""With the leases that everybody has: a pure task of a device that is gone is placed again within 25 s, and not before
its old process can write no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom_protocol.records.entities import Attempt
from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.chaos.work import plan
from tests.waiting import until

pytestmark = [pytest.mark.chaos, pytest.mark.proof(shown_by="tests/chaos/test_agents.py")]
SETTINGS = {"STARLOOM_TIME_SCALE": "1"}
AGAIN_S_MOST = 25.0
LOOK_MOST_S = 40.0


@contextmanager
def swallowed(stack: Stack) -> Iterator[None]:
    stack.fault(FaultProxy.black_hole)
    try:
        yield
    finally:
        stack.fault(FaultProxy.reset)
        stack.fault(FaultProxy.heal)


@contextmanager
def killed(stack: Stack) -> Iterator[None]:
    stack.kill_agent("east")
    yield


GONE: dict[str, Callable[[Stack], AbstractContextManager[None]]] = {
    "its agent is stopped": lambda stack: stack.agent_frozen("east"),
    "its line swallows everything": swallowed,
    "its agent is killed": killed,
}


@pytest.mark.parametrize("how", GONE)
def test_a_pure_task_is_placed_again_in_time_and_has_one_writer(
    stack: Stack, settled: Settled, record_property: Callable[[str, object], None], how: str
) -> None:
    name = f"absent-{how.replace(' ', '-')}"
    task = f"{name}/moved"
    stack.stop_agent("south")
    either = {"any": [{"name": "east"}, {"name": "south"}]}
    tasks = [stack.place.task(name, "moved", repeatability="pure", kind="writing") | {"device": either}]
    request = stack.submit(plan(name, tasks))
    until(lambda: any(line.what == "write" for line in stack.place.lines(task)), "the program writes")
    stack.start_agent("south")
    stack.until_online("south")
    with GONE[how](stack):
        began = time.monotonic()
        until(lambda: len(stack.place.begun(task)) == 2, "another device has begun", LOOK_MOST_S)
        took_s = time.monotonic() - began
        stack.place.open(task)
        assert stack.until_final(request) == "succeeded"
    record_property("placed_again_s", round(took_s, 1))
    print(f"\n{how}: placed again after {took_s:.1f} s")
    assert took_s <= AGAIN_S_MOST
    lines = stack.place.lines(task)
    second = next(at for at, line in enumerate(lines) if (line.what, line.attempt) == ("begin", 2))
    assert any(line.what == "write" for line in lines[:second])
    assert [line for line in lines[second:] if line.attempt == 1] == [], "the old process wrote beside the new one"
    ends = [item.end for _, item in sorted(request.view.each("attempt", Attempt).items())]
    assert ends[-1] == "ok"
    assert ends[0] in ("lost", "interrupted")
    if how == "its agent is killed":
        stack.start_agent("east")
    stack.until_online("east")
    settled()
