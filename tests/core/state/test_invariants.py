"""Each invariant is shown to fail: a checker that never fails shows nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.state.apply import put
from starloom.core.state.invariants import Violated, check, check_touched
from starloom.core.state.model import Constellation, Shard
from starloom_protocol.records.entities import ForEach, Offer, dependency_id
from starloom_protocol.vocabulary import AttemptEnd, Gate, GateState, TaskState
from tests.builders import TOOLS, Driver, edge, plan, task


def sound() -> Shard:
    """`a` never-repeatable and running, `b` behind it, a group expanded."""
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b", "x=a"), task("l")))
    driver.started(driver.take()[0])
    check(driver.shard)
    return driver.shard


def constellation(shard: Shard) -> Constellation:
    return shard.constellations["c1"]


def change(shard: Shard, kind: str, key: str, **fields: Any) -> None:
    found = constellation(shard)
    put(shard, found, kind, key, replace(found.tables[kind][key], **fields))


def cycle(shard: Shard) -> None:
    link = edge("b>a", Gate.FINISH)
    put(shard, constellation(shard), "dep", dependency_id(link), link)


def shut_lease(shard: Shard) -> None:
    link = edge("b>a", Gate.FINISH)
    put(shard, constellation(shard), "dep", dependency_id(link), link)
    put(shard, constellation(shard), "dep", "a>b:x", None)


def two_open(shard: Shard) -> None:
    put(shard, constellation(shard), "attempt", "a/2", constellation(shard).attempts["a/1"])
    change(shard, "task", "a", attempt=2)


def above(shard: Shard) -> None:
    put(shard, constellation(shard), "attempt", "a/2", replace(constellation(shard).attempts["a/1"], end=AttemptEnd.OK))


def not_last(shard: Shard) -> None:
    put(shard, constellation(shard), "attempt", "a/2", replace(constellation(shard).attempts["a/1"], end=AttemptEnd.OK))
    change(shard, "task", "a", attempt=2)


def live_without_lease(shard: Shard) -> None:
    change(shard, "attempt", "a/1", end=AttemptEnd.OK)


def final_with_lease(shard: Shard) -> None:
    change(shard, "task", "a", state=TaskState.CANCELLED)


def gap(shard: Shard) -> None:
    change(shard, "head", "", version=3)


def no_spec(shard: Shard) -> None:
    put(shard, constellation(shard), "spec", "l", None)


def wrong_gate(shard: Shard) -> None:
    constellation(shard).gate["a>b:x"] = GateState.OPEN


def wrong_count(shard: Shard) -> None:
    constellation(shard).undecided["b"] += 1


def wrong_shut(shard: Shard) -> None:
    constellation(shard).shut["b"] = 1


def twice(shard: Shard) -> None:
    attempts = constellation(shard).attempts
    put(shard, constellation(shard), "attempt", "a/2", attempts["a/1"])
    change(shard, "attempt", "a/1", end=AttemptEnd.LOST)
    change(shard, "task", "a", attempt=2)


def unfinished(shard: Shard) -> None:
    constellation(shard).unfinished_top += 1


def nothing_moves(shard: Shard) -> None:
    for name in ("a", "l"):
        change(shard, "attempt", f"{name}/1", end=AttemptEnd.OK)
        change(shard, "task", name, state=TaskState.CANCELLED)
    put(shard, constellation(shard), "dep", "a>b:x", None)
    shard.touched.clear()


def miscounted_slots(shard: Shard) -> None:
    shard.fleet.used["d-one"] = 7


def too_many(shard: Shard) -> None:
    put(shard, shard.fleet, "offer", "d-one", Offer(digest="x", slots=1, tools=TOOLS))


BROKEN: list[tuple[str, Callable[[Shard], None]]] = [
    ("I1", cycle),
    ("I2", shut_lease),
    ("I3", two_open),
    ("I3", above),
    ("I3", not_last),
    ("I3", live_without_lease),
    ("I3", final_with_lease),
    ("I7", gap),
    ("I7", no_spec),
    ("I7", wrong_gate),
    ("I7", wrong_count),
    ("I7", wrong_shut),
    ("I9", twice),
    ("I10", unfinished),
    ("I11", nothing_moves),
    ("I12", miscounted_slots),
    ("I12", too_many),
]


@pytest.mark.parametrize(("number", "broken"), BROKEN, ids=[item[1].__name__ for item in BROKEN])
def test_a_broken_shard_is_noticed(number: str, broken: Callable[[Shard], None]) -> None:
    shard = sound()
    broken(shard)
    with pytest.raises(Violated, match=f"^{number}:"):
        check(shard)


def test_what_a_batch_touched_is_noticed_too() -> None:
    shard = sound()
    shard.journal.clear()
    change(shard, "task", "a", state=TaskState.CANCELLED)
    with pytest.raises(Violated, match=r"^I3:"):
        check_touched(shard)


def test_the_children_of_a_group_are_counted() -> None:
    driver = Driver("one")
    from_list = {"l": [1, 2]}
    driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/l"))))
    driver.result(driver.take()[0], from_list)
    driver.shard.constellations["c1"].tally["g"].unfinished = 1
    with pytest.raises(Violated, match="I10: g: children"):
        check(driver.shard)
