"""A device that is reserved: it gets work that names it, and no step of other work that could run anywhere."""

from __future__ import annotations

import random

import pytest

from starloom.core.answer.why import explain
from starloom.core.placement.feasible import judge_device
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Selector
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Reason
from tests.builders import Driver, plan, task

SEEDS = range(40)


def control(driver: Driver, action: str, value: str = "") -> None:
    item = i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-one", action=action, value=value)
    assert not driver.do(item).faults


def given(driver: Driver) -> set[str]:
    return {item.device for item in driver.take()}


def test_work_that_names_no_device_never_goes_to_a_reserved_one() -> None:
    driver = Driver("one", "two")
    control(driver, "reserve")
    driver.submit(plan(*(task(f"t{n}") for n in range(9))))
    assert given(driver) == {"d-two"}
    driver.folded_equals_state()


def test_a_step_over_results_stays_away_from_a_reserved_device_that_gave_one() -> None:
    driver = Driver("one", "two")
    control(driver, "reserve")
    driver.submit(plan(task("a", device="one"), task("b", device="two"), task("joined", "x=a", "y=b")))
    for item in driver.take():
        driver.result(item, 1)
    (joined,) = driver.take()
    assert (joined.at.task, joined.device) == ("joined", "d-two")


@pytest.mark.parametrize(
    "selector",
    [
        Selector(id="d-one"),
        Selector(name="new"),
        Selector(name="one"),
        Selector(any=[Selector(name="three"), Selector(any=[Selector(id="d-one")])]),
    ],
    ids=["id", "name", "former name", "part"],
)
def test_work_that_names_a_reserved_device_goes_there(selector: Selector) -> None:
    driver = Driver("one", "two")
    control(driver, "rename", value="new")
    control(driver, "reserve")
    driver.submit(plan(task("a", device=selector)))
    assert given(driver) == {"d-one"}


def test_a_step_that_only_a_reserved_device_can_do_waits_and_says_which_line_helps() -> None:
    driver = Driver("one")
    control(driver, "reserve")
    driver.submit(plan(task("a")))
    assert not driver.take()
    explanation = explain(driver.shard, "c1", "a")
    assert "one takes only work that names it" in explanation.sentence
    assert "starloom device share one" in explanation.actions
    control(driver, "share")
    assert given(driver) == {"d-one"}


def test_a_device_that_is_reserved_twice_is_told_of_once() -> None:
    driver = Driver("one")
    for action in ("reserve", "reserve", "share", "share"):
        control(driver, action)
    kinds = [event.kind for event in driver.events if event.about == "d-one"]
    assert kinds.count(EventKind.DEVICE_RESERVED) == kinds.count(EventKind.DEVICE_SHARED) == 1
    driver.folded_equals_state()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_selector_without_its_name_reaches_a_reserved_device(seed: int) -> None:
    driver = Driver("one", "two")
    control(driver, "reserve")
    fleet, chance = driver.shard.fleet, random.Random(seed)
    selector = _drawn(chance, 2)
    found = judge_device(fleet, fleet.devices["d-one"], "t.pure", selector)
    named = any(part.id == "d-one" or part.name == "one" for part in _parts(selector))
    assert not found.fits or named, (seed, selector)
    if found.reason is Reason.DEVICE_ASIDE:
        assert not named, (seed, selector)


def _drawn(chance: random.Random, depth: int) -> Selector:
    parts = [_drawn(chance, depth - 1) for _ in range(chance.randrange(3))] if depth else []
    return Selector(
        any=parts,
        id=chance.choice([None, None, None, "d-one", "d-two"]),
        name=chance.choice([None, None, None, "one", "two"]),
        tools=chance.choice([[], [], ["t.pure"]]),
    )


def _parts(selector: Selector) -> list[Selector]:
    return [selector, *(deep for part in selector.any for deep in _parts(part))]


def test_work_that_waits_already_stays_away_from_a_device_that_is_reserved_meanwhile() -> None:
    driver = Driver("one", "two", slots=1)
    driver.submit(plan(*(task(f"t{n}") for n in range(6))))
    on_one, on_two = sorted(driver.take(), key=lambda item: item.device)
    control(driver, "reserve")
    driver.result(on_one, 1)
    assert not driver.dispatched, "what it had goes on, and nothing new comes"
    driver.result(on_two, 1)
    assert given(driver) == {"d-two"}
    driver.folded_equals_state()
