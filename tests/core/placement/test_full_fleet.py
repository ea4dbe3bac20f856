"""A fleet without a free slot: a further task waits there, and nothing about it grows with the fleet."""

from __future__ import annotations

from tests.builders import Driver, plan, task
from tests.cost import calls

SMALL, LARGE = 4, 64


def _waiting(devices: int) -> int:
    """Return the calls for a plan of one task whose devices are all busy."""
    driver = Driver(*(f"n{number}" for number in range(devices)), slots=1, whole=False)
    driver.submit(plan(*(task(f"t{number}") for number in range(devices + 1))), "c1")
    made = calls(lambda: driver.submit(plan(task("a")), "c2"))
    assert driver.shard.constellations["c2"].tasks["a"].state == "ready"
    assert not driver.shard.constellations["c2"].head.attention
    return made


def test_a_task_that_waits_costs_the_same_in_a_large_fleet() -> None:
    assert _waiting(LARGE) - _waiting(SMALL) < LARGE - SMALL, "each busy device is judged for it again"
