"""The hub killed while a plan waits for its approval, and right after the answer."""

from __future__ import annotations

import pytest

from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.chaos.work import plan
from tests.waiting import until

pytestmark = pytest.mark.chaos


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
