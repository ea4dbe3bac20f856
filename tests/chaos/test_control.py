"""Requests as people steer them: a plan that waits for a yes, a cancel, a small request beside a large one.

A cancel reaches every process on the device, says so only then, and touches nothing else.
"""

from __future__ import annotations

import psutil
import pytest

from starloom_protocol.records.entities import Attempt, TaskRecord, decode_entity
from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import Place, plan
from tests.waiting import until

pytestmark = pytest.mark.chaos

LARGE = 30
"""The tasks of a plan that holds every slot of a device."""


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


def test_a_killed_hub_still_asks_and_an_answer_that_was_taken_counts_once(stack: Stack, settled: Settled) -> None:
    name = "approval-killed"
    made = plan(name, [stack.place.task(name, "strike", device="north")])
    held = stack.client.create("/constellations", {"plan": made, "hold": True})
    request = stack.remember(str(held["id"]), name)
    asked = f"{request.id}:approve-plan"
    stack.kill_hub()
    stack.until_up()
    assert asked in [item["id"] for item in stack.client.get("/approvals")["items"]]
    assert not stack.place.begun(f"{name}/strike")
    stack.client.post(f"/approvals/{asked}/approve", {"reason": "go"})
    stack.kill_hub()
    stack.until_up()
    again = stack.client.post(f"/approvals/{asked}/approve")
    assert again["answer"] == "allow"
    until(lambda: stack.place.begun(f"{name}/strike"), "what was approved begins")
    stack.place.open(f"{name}/strike")
    assert stack.until_final(request) == "succeeded"
    assert len(stack.place.begun(f"{name}/strike")) == 1
    (told,) = [item for item in stack.client.get("/approvals", state="answered")["items"] if item["id"] == asked]
    assert (told["answer"], told["reason"]) == ("allow", "go")
    settled()


def begun_of_both(place: Place) -> list[str]:
    """Return the programs of the large and the small request that have begun, in order."""
    return [line.name for line in place.begun() if line.name.startswith("fair-")]


def test_a_small_request_goes_before_the_rest_of_a_large_one(stack: Stack, settled: Settled) -> None:
    place = stack.place
    large = [place.task("fair-large", f"t{n}", device="north") for n in range(LARGE)]
    first = stack.submit(plan("fair-large", large))
    stack.until_task(first, "t0", "running")
    slots = next(item for item in stack.client.get("/devices")["items"] if item["name"] == "north")["slots"]
    until(lambda: len(begun_of_both(place)) == slots, "every slot is taken")
    begun = begun_of_both(place)
    assert slots < LARGE

    second = stack.submit(plan("fair-small", [place.task("fair-small", f"t{n}", device="north") for n in range(2)]))
    why = stack.client.get(f"/constellations/{second.id}/why", task_id="t0")
    assert why["reason"] == "busy"
    assert "It is next, after work of fair-large." in why["sentence"]
    place.open("fair-small/t0", "fair-small/t1", min(begun))
    assert stack.until_final(second) == "succeeded"
    assert [name for name in begun_of_both(place) if name not in begun][:2] == ["fair-small/t0", "fair-small/t1"]
    place.open(*(f"fair-large/t{n}" for n in range(LARGE)))
    assert stack.until_final(first) == "succeeded"
    settled()
