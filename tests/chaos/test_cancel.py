"""Cancel reaches every process on the device, says so only then, and touches nothing else."""

from __future__ import annotations

import psutil
import pytest

from starloom_protocol.records.entities import Attempt, TaskRecord, decode_entity
from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import plan
from tests.waiting import until

pytestmark = pytest.mark.chaos


def states(request: Accepted, task: str) -> list[str]:
    """Return the states that a task went through, as the client saw them."""
    found: list[str] = []
    for _, event in sorted(request.seen.items()):
        raw = event.puts.get(f"task/{task}")
        record = decode_entity(f"task/{task}", bytes(raw)) if raw is not None else None
        if isinstance(record, TaskRecord) and (not found or found[-1] != record.state):
            found.append(str(record.state))
    return found


def test_cancel_ends_a_stubborn_group_before_it_says_so(stack: Stack, settled: Settled) -> None:
    stubborn, other = "cancel-stubborn/deaf", "cancel-other/calm"
    request = stack.submit(
        plan("cancel-stubborn", [stack.place.task("cancel-stubborn", "deaf", device="north", kind="stubborn")])
    )
    second = stack.submit(plan("cancel-other", [stack.place.task("cancel-other", "calm", device="north")]))
    until(lambda: stack.place.begun(stubborn) and stack.place.begun(other), "both programs have begun")
    stack.until_task(request, "deaf", "running")
    pids = [*stack.place.children(stubborn), *(line.pid for line in stack.place.begun(stubborn))]
    assert len(pids) == 3
    stack.control(request, "cancel", reason="to see it end")
    # It ignores TERM for the two seconds until KILL, so the first look must find it alive and `cancelling`.
    assert str(stack.look(request).tasks["deaf"].state) == "cancelling"
    assert all(psutil.pid_exists(pid) for pid in pids)
    until(lambda: stack.look(request).final, "the receipt has come")
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
    assert str(request.view.state) == "cancelled"
    assert states(request, "deaf")[-3:] == ["running", "cancelling", "cancelled"]
    ended = request.view.record("attempt/deaf/1", Attempt)
    assert ended is not None
    assert (ended.end, ended.effect) == ("revoked", "maybe")
    assert str(stack.look(second).tasks["calm"].state) == "running"
    stack.place.open(other)
    assert stack.until_final(second) == "succeeded"
    assert len(stack.place.begun(other)) == 1
    settled()


def test_cancel_of_work_on_a_dead_agent_waits_for_what_the_device_knows(stack: Stack, settled: Settled) -> None:
    name = "cancel-dead"
    request = stack.submit(plan(name, [stack.place.task(name, "strike", device="south")]))
    until(lambda: stack.place.begun(f"{name}/strike"), "the program has begun")
    stack.until_task(request, "strike", "running")
    stack.kill_agent("south")
    stack.control(request, "cancel")
    assert str(stack.look(request).tasks["strike"].state) == "cancelling"
    stack.start_agent("south")
    # The device says what it knows: begun, ended by the kill, effect unknown. Its process is gone: that is the proof.
    assert stack.until_final(request) == "cancelled"
    attempt = request.view.record("attempt/strike/1", Attempt)
    assert attempt is not None
    assert attempt.effect == "maybe"
    assert len(stack.place.begun(f"{name}/strike")) == 1
    settled()
