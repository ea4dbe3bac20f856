"""Whose turn a free slot is: no constellation starves, small ones are quick, and work that began is finished."""

from __future__ import annotations

import random
from collections import Counter, deque

import pytest

from starloom.core.state.queues import IN_A_ROW_MOST, SMALL_MOST
from starloom_protocol.records.entities import Policy, TaskSpec
from starloom_protocol.vocabulary import Priority
from tests.builders import Driver, plan, task
from tests.core.watched import WatchedDriver

LARGE = 4 * SMALL_MOST


def loose(count: int) -> list[TaskSpec]:
    return [task(f"t{n}") for n in range(count)]


def chain(length: int) -> list[TaskSpec]:
    return [task("t0"), *(task(f"t{n}", f"x=t{n - 1}") for n in range(1, length))]


def served(driver: Driver, grants: int) -> list[str]:
    """Let each slot end its task as soon as it has one; return whose task was granted, in order."""
    order: list[str] = []
    running = deque(driver.take())
    while running and len(order) < grants:
        dispatch = running.popleft()
        driver.result(dispatch, 1)
        granted = driver.take()
        order.extend(item.at.constellation for item in granted)
        running.extend(granted)
    return order


def test_a_small_request_is_next_beside_a_large_plan() -> None:
    driver = WatchedDriver("one", slots=4)
    driver.submit(plan(*loose(LARGE)), name="big")
    running = driver.take()
    driver.now_ms += 1000
    driver.submit(plan(*(task(f"u{n}", tool="t.idem") for n in range(3))), name="health")
    for dispatch in running[:3]:
        driver.result(dispatch, 1)
    assert [item.at.constellation for item in driver.take()] == ["health"] * 3


def test_the_ranks_of_two_plans_are_not_compared() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("only")), name="first")
    (running,) = driver.take()
    for name, length in (("older", 2), ("younger", 5)):
        driver.now_ms += 1000
        driver.submit(plan(*chain(length)), name=name)
    driver.result(running, 1)
    assert [item.at.constellation for item in driver.dispatched] == ["older"]
    assert served(driver, 2) == ["older", "younger"]


def test_chains_beyond_the_capacity_end_by_age() -> None:
    """Six slots are wanted of four: what can be finished is, and the oldest first."""
    driver = Driver("one", whole=False)
    running: deque[object] = deque()
    ended: list[str] = []
    for second in range(60):
        for half in range(2):
            driver.now_ms += 500
            driver.submit(plan(*chain(3)), name=f"k{2 * second + half:03d}")
        running.extend(driver.take())
        for _ in range(min(4, len(running))):
            driver.result(running.popleft(), 1)  # type: ignore[arg-type]
        running.extend(driver.take())
        final = {name for name, found in driver.shard.constellations.items() if found.head.state == "succeeded"}
        ended.extend(sorted(final - set(ended)))
    wanted = 60 * 4 // 3
    assert len(ended) >= wanted * 9 // 10, f"{len(ended)} of {wanted} chains ended"
    late = [name for at, name in enumerate(ended) if int(name[1:]) > at + wanted // 3]
    assert not late, f"younger chains went ahead: {late}"


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("seed", range(12))
def test_no_constellation_waits_beyond_its_turn(seed: int, slots: int) -> None:
    draw = random.Random(seed)
    driver = Driver(whole=False)
    driver.add_device("one", slots=slots)
    sizes = {f"c{n}": draw.choice((1, 3, SMALL_MOST, LARGE, 3 * LARGE)) for n in range(draw.randint(2, 9))}
    policy = [Policy(priority=draw.choice(list(Priority))) for _ in sizes]
    for (name, size), chosen in zip(sizes.items(), policy, strict=True):
        driver.now_ms += draw.randint(0, 5)
        tool = draw.choice(("t.pure", "t.idem"))
        driver.submit(plan(*(task(f"t{n}", tool=tool) for n in range(size)), policy=chosen), name=name)
    waited: Counter[str] = Counter()
    running = driver.take()
    arrived = together = len(sizes)
    while running:
        driver.result(running.pop(draw.randrange(len(running))), 1)
        if draw.random() < 0.2 and arrived < 40:
            arrived += 1
            driver.submit(plan(*loose(draw.randint(1, 3))), name=f"late{arrived}")
        granted = driver.take()
        running.extend(granted)
        ready = {name for name, found in driver.shard.constellations.items() if found.ready}
        together = max(together, len(ready))
        for item in granted:
            without = {name for name in ready if not driver.shard.constellations[name].held}
            waited = Counter({name: waited[name] + 1 for name in without if name != item.at.constellation})
            most = (IN_A_ROW_MOST + 1) * together
            assert all(count <= most for count in waited.values()), f"seed {seed}: {waited} of {most}"


def test_long_tasks_do_not_take_every_slot_from_short_ones() -> None:
    driver = Driver("one", whole=False)
    driver.submit(plan(*loose(LARGE)), name="long")
    dispatches = driver.take()
    driver.submit(plan(*loose(LARGE)), name="short")
    for dispatch in dispatches[:2]:
        driver.result(dispatch, 1)
    order = []
    running = [item for item in driver.take() if item.at.constellation == "short"]
    assert len(running) == 2
    for _ in range(8):
        driver.result(running.pop(0), 1)
        granted = driver.take()
        order += [item.at.constellation for item in granted]
        running += granted
    assert order == ["short"] * 8
    assert driver.shard.constellations["long"].held == 2


def test_priority_goes_first_and_low_work_still_goes_on() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(*loose(LARGE)), name="usual")
    driver.submit(plan(*loose(LARGE), policy=Policy(priority=Priority.LOW)), name="low")
    driver.submit(plan(*loose(LARGE), policy=Policy(priority=Priority.HIGH)), name="high")
    count = Counter(served(driver, 24))
    assert count["high"] >= 12
    assert count["low"] >= 3
    assert count["usual"] >= 3


def test_work_for_another_tool_has_its_turn_at_a_shared_device() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(*loose(LARGE)), name="one")
    driver.submit(plan(*(task(f"u{n}", tool="t.idem") for n in range(LARGE))), name="two")
    count = Counter(served(driver, 20))
    assert abs(count["one"] - count["two"]) <= 2


def test_a_cancelled_plan_leaves_its_turns_to_others() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(*loose(LARGE)), name="gone")
    driver.submit(plan(*loose(LARGE)), name="stays")
    driver.control("cancel", name="gone")
    assert set(served(driver, 9)) <= {"stays"}
