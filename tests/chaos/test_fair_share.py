"""A large plan that holds every slot of a device does not keep a small request of the same person waiting."""

from __future__ import annotations

import pytest

from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.chaos.work import Place, plan
from tests.waiting import until

pytestmark = pytest.mark.chaos

SIZE = 30


def names(place: Place) -> list[str]:
    """Return the programs of this test that have begun, in order."""
    return [line.name for line in place.begun() if line.name.startswith("fair-")]


def test_a_small_request_goes_before_the_rest_of_a_large_one(stack: Stack, settled: Settled) -> None:
    place = stack.place
    large = [place.task("fair-large", f"t{n}", device="north") for n in range(SIZE)]
    first = stack.submit(plan("fair-large", large))
    until(lambda: stack.look(first).tasks["t0"].state == "running", "the large plan holds the device")
    slots = next(item for item in stack.client.get("/devices")["items"] if item["name"] == "north")["slots"]
    until(lambda: len(names(place)) == slots, "every slot is taken")
    begun = names(place)
    assert slots < SIZE

    second = stack.submit(plan("fair-small", [place.task("fair-small", f"t{n}", device="north") for n in range(2)]))
    why = stack.client.get(f"/constellations/{second.id}/why", task_id="t0")
    assert why["reason"] == "busy"
    assert "It is next, after work of fair-large." in why["sentence"]
    place.open("fair-small/t0", "fair-small/t1", min(begun))
    assert stack.until_final(second) == "succeeded"
    assert [name for name in names(place) if name not in begun][:2] == ["fair-small/t0", "fair-small/t1"]
    place.open(*(f"fair-large/t{n}" for n in range(SIZE)))
    assert stack.until_final(first) == "succeeded"
    settled()
