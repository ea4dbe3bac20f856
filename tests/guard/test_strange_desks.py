"""T218: somebody joins an idle device with many slots, to be given the file names and contents of others' devices."""

from __future__ import annotations

import pytest

from starloom.core.placement.selection import HOLD_MS
from starloom.core.run.hedge_opening import KIND
from starloom.core.run.timeouts import passed
from tests.builders import TOOLS, plan, task
from tests.core.placement.test_homes import sweep
from tests.core.watched import WatchedDriver

pytestmark = pytest.mark.short


def with_a_stranger(*, slots: int = 1) -> WatchedDriver:
    driver = WatchedDriver()
    driver.add_device("a-lurker", slots=64, let_in_by="person:lo")
    driver.add_device("desk", slots=slots, let_in_by="person:ann")
    driver.add_device("laptop", slots=slots, let_in_by="person:ann")
    driver.add_device("phone", tools=[TOOLS[1]], let_in_by="person:ann")
    return driver


def test_t218_an_idle_device_of_another_person_is_not_given_the_values() -> None:
    driver = with_a_stranger()
    parts = [task(f"t{number}", "x=a") for number in range(20)]
    driver.submit(plan(task("a", device="phone", tool="t.never"), *parts))
    driver.result(driver.take()[0], 1)
    found: list[str] = []
    while taken := driver.take():
        found += [item.device for item in taken]
        driver.now_ms += HOLD_MS // 100
        for item in taken:
            driver.result(item, 1)
    assert (len(found), set(found)) == (20, {"d-desk", "d-laptop"})


def test_t218_a_restart_of_the_hub_gives_nothing_away() -> None:
    driver = with_a_stranger()
    driver.submit(plan(task("one", device="desk"), task("two", device="laptop")), name="c2")
    driver.take()
    driver.submit(plan(task("a", device="phone", tool="t.never"), task("b", "x=a")))
    driver.result(driver.take()[0], 1)
    assert not driver.dispatched
    driver.restart()
    driver.now_ms += HOLD_MS // 2
    sweep(driver)
    assert not driver.dispatched


@pytest.mark.parametrize(("owner", "hedged"), [("person:lo", []), ("person:ann", ["d-other"])])
def test_t218_no_hedge_opens_on_the_device_of_another_person(owner: str, hedged: list[str]) -> None:
    driver = WatchedDriver()
    driver.add_device("desk", slots=8, let_in_by="person:ann")
    parts = [task(f"t{number}", "x=a") for number in range(7)]
    driver.submit(plan(task("a", device="desk"), *parts))
    driver.result(driver.take()[0], 1)
    taken = driver.take()
    driver.add_device("other", slots=8, let_in_by=owner)
    for dispatch in taken:
        driver.started(dispatch)
    driver.now_ms += 2_000
    for dispatch in taken[1:]:
        driver.result(dispatch, 1)
    driver.now_ms += 58_000
    for timer in [item for item in passed(driver.shard, driver.now_ms) if item.kind == KIND]:
        driver.fire(timer)
    assert [item.device for item in driver.take()] == hedged
