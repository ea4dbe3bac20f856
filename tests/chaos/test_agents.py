"""Agents killed, stopped and cut off in the middle of work."""

from __future__ import annotations

import psutil
import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom_protocol.records.entities import Attempt
from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import plan
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

EITHER = {"any": [{"name": "north"}, {"name": "south"}]}


def attempt(request: Accepted, task: str, number: int) -> Attempt:
    found = request.view.record(f"attempt/{task}/{number}", Attempt)
    assert found is not None, f"attempt {number} of {task} is not in the log"
    return found


def device_name(stack: Stack, device: str) -> str:
    return next(str(item["name"]) for item in stack.client.get("/devices")["items"] if item["id"] == device)


def alive(stack: Stack, name: str) -> list[int]:
    return [line.pid for line in stack.place.begun(name) if psutil.pid_exists(line.pid)]


@pytest.mark.short
def test_a_killed_agent_retries_what_may_be_repeated_and_finishes_it_once(stack: Stack, settled: Settled) -> None:
    name = "agent-killed"
    once = f"{name}/once"
    request = stack.submit(plan(name, [stack.place.task(name, "once", device="north", repeatability="idempotent")]))
    until(lambda: stack.place.begun(once), "the program has begun")
    stack.kill_agent("north")
    until(lambda: not alive(stack, once), "the program ends with its agent", 10 * SLOWER)
    stack.start_agent("north")
    until(lambda: len(stack.place.begun(once)) == 2, "the program has begun again")
    stack.place.open(once)
    assert stack.until_final(request) == "succeeded"
    assert [line.attempt for line in stack.place.begun(once)] == [1, 2]
    assert [line.attempt for line in stack.place.ended(once)] == [2]
    assert attempt(request, "once", 1).end in ("interrupted", "lost")
    assert attempt(request, "once", 2).end == "ok"
    settled()


def test_a_killed_agent_leaves_unrepeatable_work_unknown_until_a_person_marks_it(
    stack: Stack, settled: Settled
) -> None:
    name = "agent-killed-never"
    strike, after = f"{name}/strike", f"{name}/after"
    tasks = [stack.place.task(name, "strike", device="north"), stack.place.task(name, "after", device="north")]
    request = stack.submit(plan(name, tasks, chain=True))
    stack.place.open(after)
    until(lambda: stack.place.begun(strike), "the program has begun")
    stack.kill_agent("north")
    stack.start_agent("north")
    stack.until_task(request, "strike", "unknown")
    assert attempt(request, "strike", 1).effect == "maybe"
    head = request.view.head
    assert head is not None
    assert "task_unknown" in head.attention
    assert not stack.place.begun(after)
    settled()
    stack.control(request, "mark", "strike", state="succeeded", value={"looked": True}, reason="seen on the device")
    assert stack.until_final(request) == "succeeded"
    assert len(stack.place.begun(strike)) == 1
    assert len(stack.place.ended(after)) == 1
    settled()


def test_work_of_a_silent_agent_is_moved_and_its_runner_ends_it_by_the_fence(stack: Stack, settled: Settled) -> None:
    name = "agent-silent"
    moved = f"{name}/moved"
    request = stack.submit(plan(name, [stack.place.task(name, "moved", repeatability="pure") | {"device": EITHER}]))
    stack.until_task(request, "moved", "running")
    until(lambda: stack.place.begun(moved), "the program has begun")
    first = device_name(stack, attempt(request, "moved", 1).device)
    with stack.agent_frozen(first):
        # Nobody but the runner can end it: its agent is stopped and the hub cannot reach the device.
        until(lambda: len(stack.place.begun(moved)) == 2, "another device has begun")
        until(lambda: len(alive(stack, moved)) == 1, "the runner of the silent agent has ended", 15 * SLOWER)
        stack.place.open(moved)
        assert stack.until_final(request) == "succeeded"
        second = device_name(stack, attempt(request, "moved", 2).device)
        assert {first, second} == {"north", "south"}
    stack.until_online(first)
    assert [line.attempt for line in stack.place.ended(moved)] == [2]
    assert attempt(request, "moved", 1).end == "lost"
    settled()


def test_a_late_result_is_one_event_and_changes_nothing(stack: Stack, settled: Settled) -> None:
    name = "agent-late"
    slow = f"{name}/slow"
    request = stack.submit(plan(name, [stack.place.task(name, "slow", repeatability="pure") | {"device": EITHER}]))
    stack.until_task(request, "slow", "running")
    until(lambda: stack.place.begun(slow), "the program has begun")
    with stack.agent_frozen(device_name(stack, attempt(request, "slow", 1).device)):
        stack.place.open(slow)  # it ends by itself, and its agent cannot say so
        assert stack.until_final(request) == "succeeded"
        assert [line.attempt for line in stack.place.ended(slow)] == [1, 2]
        before = attempt(request, "slow", 2)
    until(lambda: stack.look(request) and attempt(request, "slow", 1).late, "the late result is an event")
    late = [event for event in request.seen.values() if "attempt/slow/1" in event.puts and b'"late"' in _puts(event)]
    assert len(late) == 1
    assert attempt(request, "slow", 1).end == "lost"
    assert attempt(request, "slow", 2) == before
    settled()


def _puts(event: object) -> bytes:
    puts = getattr(event, "puts", {})
    return b"".join(bytes(raw) for raw in puts.values() if raw is not None)


def test_unrepeatable_work_goes_on_behind_a_dead_link_and_is_not_given_away(stack: Stack, settled: Settled) -> None:
    name = "link-dead"
    strike = f"{name}/strike"
    request = stack.submit(plan(name, [stack.place.task(name, "strike", device="east")]))
    stack.until_task(request, "strike", "running")
    until(lambda: stack.place.begun(strike), "the program has begun")
    stack.fault(FaultProxy.black_hole)
    until(lambda: stack.look(request).tasks["strike"].absent_since_ms, "the hub says that the device is absent")
    stack.place.open(strike)
    until(lambda: stack.place.ended(strike), "the program ends all the same")
    assert stack.look(request).tasks["strike"].state == "running"
    stack.fault(FaultProxy.reset)
    stack.fault(FaultProxy.heal)
    assert stack.until_final(request) == "succeeded"
    assert len(stack.place.begun(strike)) == 1
    assert attempt(request, "strike", 1).end == "ok"
    settled()
