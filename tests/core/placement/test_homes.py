"""Values that were made on a person's device stay with that person's devices while one of these can take the task."""

from __future__ import annotations

from typing import Any

from starloom.core.answer.why import explain
from starloom.core.placement import finish
from starloom.core.placement.selection import HOLD_MS
from starloom.core.state.orders import SendDispatch
from starloom_protocol.records.entities import Attempt, TaskSpec
from tests.builders import TOOLS, Driver, plan, task
from tests.core.watched import WatchedDriver

OWNERS = {"a-ben": "person:ben", "b-ann": "person:ann#t1", "c-ann": "person:ann", "d-hub": ""}


def of_people(*names: str, slots: int = 1, **fields: Any) -> WatchedDriver:
    driver = WatchedDriver()
    for name in names or OWNERS:
        driver.add_device(name, slots=slots, let_in_by=OWNERS[name], **fields)
    return driver


def after(driver: WatchedDriver, source: str, *more: TaskSpec, device: Any = None) -> dict[str, SendDispatch]:
    """Let a task on one device make a value, and return the dispatches of what follows, by task."""
    driver.submit(plan(task("a", device=source), task("b", "x=a", device=device), *more))
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task.pop("a"), 1)
    return {**by_task, **{item.at.task: item for item in driver.take()}}


def attempt(driver: Driver, task: str = "b") -> Attempt:
    return driver.shard.constellations["c1"].attempts[f"{task}/1"]


def sweep(driver: WatchedDriver) -> None:
    for timer in finish.due_waits(driver.shard, driver.now_ms):
        driver.fire(timer)


def test_values_go_to_a_device_of_their_person_and_it_says_why() -> None:
    driver = of_people()
    assert after(driver, "c-ann")["b"].device == "d-c-ann"
    assert attempt(driver).why == "its inputs are there, and it is of ann, whose values it takes"
    other = of_people()
    assert after(other, "c-ann", task("busy", device="c-ann"))["b"].device == "d-b-ann"
    assert attempt(other).why.endswith(", and it is of ann, whose values it takes")


def test_another_person_comes_last_and_the_demo_before() -> None:
    assert after(of_people("a-ben", "b-ann", "d-hub"), "b-ann")["b"].device == "d-b-ann"
    found = of_people("a-ben", "d-hub")
    found.add_device("phone", tools=[TOOLS[1]], let_in_by="person:ann")
    found.submit(plan(task("a", device="phone", tool="t.never"), task("b", "x=a")))
    found.result(found.take()[0], 1)
    assert found.take()[0].device == "d-d-hub"
    assert attempt(found).why.endswith(", and no device of ann, whose values it takes, can do it")


def test_a_full_device_holds_its_work_for_a_bounded_time() -> None:
    driver = of_people("a-ben", "b-ann")
    driver.submit(plan(task("long", device="b-ann"), task("more", device="b-ann")), name="c2")
    (long,) = driver.take()
    driver.add_device("phone", tools=[TOOLS[1]], let_in_by="person:ann")
    driver.submit(plan(task("a", device="phone", tool="t.never"), task("b", "x=a"), task("other")))
    by_task = {item.at.task: item for item in driver.take()}
    assert by_task["other"].device == "d-a-ben"
    driver.result(by_task["other"], 1)
    driver.result(by_task["a"], 1)
    assert not driver.dispatched
    sentence = explain(driver.shard, "c1", "b").sentence
    assert "waits for a busy device of the person whose values it takes, until" in sentence
    assert sentence.endswith("then another may: a-ben.")
    driver.now_ms += HOLD_MS - 1
    sweep(driver)
    assert not driver.dispatched
    driver.now_ms += 1
    sweep(driver)
    (given,) = driver.take()
    assert given.device == "d-a-ben"
    assert attempt(driver).why.endswith(", and no device of ann, whose values it takes, was free")
    driver.result(long, 1)


def test_it_goes_to_its_person_as_soon_as_a_slot_is_free() -> None:
    driver = of_people("a-ben", "b-ann")
    driver.submit(plan(task("long", device="b-ann")), name="c2")
    (long,) = driver.take()
    driver.add_device("phone", tools=[TOOLS[1]], let_in_by="person:ann")
    driver.submit(plan(task("a", device="phone", tool="t.never"), task("b", "x=a")))
    driver.result(driver.take()[0], 1)
    assert not driver.dispatched
    driver.result(long, 1)
    assert driver.take()[0].device == "d-b-ann"


def test_an_absent_device_holds_nothing() -> None:
    driver = of_people("a-ben", "b-ann")
    driver.submit(plan(task("a", device="b-ann"), task("b", "x=a")))
    (first,) = driver.take()
    driver.result(first, 1)
    (second,) = driver.take()
    assert second.device == "d-b-ann"
    driver.expire(second.at)
    assert driver.take()[0].device == "d-a-ben"


def test_a_plan_that_names_a_device_is_followed() -> None:
    assert after(of_people(), "b-ann", device="a-ben")["b"].device == "d-a-ben"


def test_a_long_line_is_held_as_one_and_goes_on_as_one() -> None:
    driver = of_people("a-ben", "b-ann", slots=2)
    driver.submit(plan(task("long", device="b-ann"), task("more", device="b-ann")), name="c2")
    driver.take()
    driver.add_device("phone", tools=[TOOLS[1]], let_in_by="person:ann")
    parts = [task(f"t{number}", "x=a") for number in range(200)]
    driver.submit(plan(task("a", device="phone", tool="t.never"), *parts))
    driver.result(driver.take()[0], 1)
    assert not driver.dispatched
    driver.now_ms += HOLD_MS
    sweep(driver)
    done = 0
    while dispatches := driver.take():
        assert {item.device for item in dispatches} == {"d-a-ben"}
        for item in dispatches:
            driver.result(item, 1)
            done += 1
    assert done == 200


def test_a_fleet_of_one_person_is_placed_as_before() -> None:
    driver = of_people("b-ann", "c-ann")
    after(driver, "c-ann")
    assert attempt(driver).why == "its inputs are there"
