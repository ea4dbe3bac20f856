"""A device that lies about its times: it states none, so it can only answer early or late, and gains little by that."""

from __future__ import annotations

import pytest

from starloom.core.placement import finish
from starloom.core.placement.pace import COUNT_MOST, LONGEST_MS, index_of
from tests.builders import Driver, plan, task


def taught(driver: Driver, calls: int, **takes_ms: int) -> None:
    for device, time_ms in takes_ms.items():
        for number in range(calls):
            driver.submit(plan(task("a", device=device)), name=f"{device}-{number}")
            (dispatch,) = driver.take()
            driver.now_ms += time_ms
            driver.result(dispatch, 1)


def test_a_time_that_a_device_reports_counts_for_nothing() -> None:
    """It reports the start just before the result, as if the work had taken no time."""
    driver = Driver("liar", "two")
    for number in range(4):
        driver.submit(plan(task("a", device="liar")), name=f"c{number}")
        (dispatch,) = driver.take()
        driver.now_ms += 30_000
        driver.started(dispatch)
        driver.result(dispatch, 1)
    assert index_of(driver.shard.fleet).expected("t.pure", 0, "d-liar") > 25_000


def test_a_device_that_answered_at_once_holds_no_more_than_its_slots() -> None:
    """All tasks count on it; when it keeps the first one, the others are gone within what they could have gained."""
    driver = Driver("liar", "two", "three", slots=1)
    taught(driver, 4, liar=0, two=1_000, three=1_000)
    driver.submit(plan(*(task(f"t{number}") for number in range(12))))
    assert [item.device for item in driver.take()] == ["d-liar"]
    driver.now_ms += 1_000
    for timer in finish.due_waits(driver.shard, driver.now_ms):
        driver.fire(timer)
    assert sorted(item.device for item in driver.take()) == ["d-three", "d-two"]


def test_tasks_that_wait_for_a_stalling_device_go_on_elsewhere() -> None:
    """It was quick for long, then takes work and keeps it: the others wait no longer than they could have gained."""
    driver = Driver("liar", "two", slots=1)
    taught(driver, 8, liar=0, two=10_000)
    driver.submit(plan(*(task(f"t{number}") for number in range(3))))
    begin_ms, first = driver.now_ms, driver.take()
    assert {item.device for item in first} == {"d-liar"}
    others: list[str] = []
    while not others:
        driver.now_ms += 1_000
        for timer in finish.due_waits(driver.shard, driver.now_ms):
            driver.fire(timer)
        others = [item.device for item in driver.take()]
    assert others == ["d-two"]
    assert driver.now_ms - begin_ms <= 10_000


@pytest.mark.parametrize("lie_ms", [0, 10 * LONGEST_MS])
def test_one_device_hardly_moves_what_is_expected_of_others(lie_ms: int) -> None:
    driver = Driver("liar", "two", "three", "four")
    taught(driver, 4, two=1_000, three=1_000)
    before = index_of(driver.shard.fleet).expected("t.pure", 0, "d-four")
    taught(driver, 4, liar=lie_ms)
    after = index_of(driver.shard.fleet).expected("t.pure", 0, "d-four")
    assert before * 0.9 < after < before * 1.1


def test_many_ends_leave_one_bounded_row() -> None:
    driver = Driver("liar")
    taught(driver, 80, liar=1)
    (row,) = driver.shard.fleet.paces.values()
    assert row.count <= COUNT_MOST
