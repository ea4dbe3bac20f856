"""A second attempt beside one that takes long: when, on whose budget, and what each end of either does."""

from __future__ import annotations

import pytest

from starloom.core.run.timeouts import passed
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_protocol.records.entities import Retry
from starloom_protocol.vocabulary import AttemptEnd, Code, Outcome
from tests.builders import NONE, Driver, plan, task
from tests.core.watched import WatchedDriver


def slow(tool: str = "t.pure", **fields: object) -> tuple[WatchedDriver, SendDispatch]:
    """Six tasks of two seconds each and one that has run for a minute, on the first of two devices."""
    driver = WatchedDriver("one", "two", slots=8)
    driver.submit(plan(*(task(f"t{n}", tool=tool, **fields) for n in range(7))))
    dispatches = driver.take()
    for dispatch in dispatches:
        driver.started(dispatch)
    driver.now_ms += 2_000
    for dispatch in dispatches[1:]:
        driver.result(dispatch, 1)
    driver.now_ms += 58_000
    return driver, dispatches[0]


def hedge(driver: Driver) -> SendDispatch:
    for timer in [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]:
        driver.fire(timer)
    (made,) = driver.take()
    return made


def test_what_takes_long_beside_its_like_gets_a_second_try_on_another_device() -> None:
    driver, first = slow()
    second = hedge(driver)
    assert (second.at.task, second.at.attempt) == (first.at.task, 2)
    assert second.device != first.device
    run = driver.shard.constellations["c1"]
    record = run.tasks[first.at.task]
    assert (record.attempt, record.hedge, record.started) == (1, 2, 2)
    assert driver.shard.fleet.used[second.device] == 1
    assert not [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]
    driver.folded_equals_state()
    driver.restart()
    assert driver.shard.fleet.used[second.device] == 1


def test_the_hedge_that_is_first_counts_and_the_other_is_told_to_stop() -> None:
    driver, first = slow()
    second = hedge(driver)
    driver.started(second)
    driver.result(second, 42)
    run = driver.shard.constellations["c1"]
    assert run.head.state == "succeeded"
    assert f"{first.at.task} (a second attempt was faster)" in run.tables["answer"][""].sentence
    record = run.tasks[first.at.task]
    assert (record.attempt, record.device) == (2, second.device)
    assert [(item.device, item.at.attempt) for item in driver.cancels] == [(first.device, 1)]
    assert run.attempts[f"{first.at.task}/1"].end is AttemptEnd.REVOKED
    driver.result(first, 7)
    assert run.attempts[f"{first.at.task}/2"].value == "42"
    assert set(driver.shard.fleet.used.values()) == {0}


def test_the_first_attempt_that_is_first_counts_and_the_hedge_is_told_to_stop() -> None:
    driver, first = slow()
    second = hedge(driver)
    driver.result(first, 7)
    run = driver.shard.constellations["c1"]
    record = run.tasks[first.at.task]
    assert (record.attempt, run.attempts[f"{first.at.task}/2"].end) == (1, AttemptEnd.REVOKED)
    assert [(item.device, item.at.attempt) for item in driver.cancels] == [(second.device, 2)]
    assert "Recovered" not in run.tables["answer"][""].sentence
    driver.result(second, 42)
    assert run.attempts[f"{first.at.task}/1"].value == "7"
    # Numbers rise over both: a new round goes on above the hedge.
    driver.control("retry_from", first.at.task)
    assert driver.take()[0].at.attempt == 3


@pytest.mark.parametrize("how", ["error", "interrupted", "lost", "revoked"])
def test_when_the_first_attempt_ends_badly_the_hedge_goes_on_in_its_place(how: str) -> None:
    driver, first = slow()
    second = hedge(driver)
    driver.started(second)
    if how == "error":
        driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    elif how == "interrupted":
        driver.result(first, outcome=Outcome.INTERRUPTED)
    elif how == "lost":
        driver.expire(first.at)
        driver.fire(next(timer for timer in driver.timers if timer.kind == "absence"))
    else:
        driver.do(i.DeviceControlled(id="x", by="person:ann", device=first.device, action="revoke"))
    record = driver.shard.constellations["c1"].tasks[first.at.task]
    assert (record.state, record.attempt, record.device) == ("running", 2, second.device)
    assert not driver.dispatched
    driver.result(second, 1)
    assert driver.shard.constellations["c1"].head.state == "succeeded"


def test_a_hedge_that_ends_badly_leaves_the_first_attempt_alone() -> None:
    driver, first = slow()
    second = hedge(driver)
    driver.result(second, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE)
    record = driver.shard.constellations["c1"].tasks[first.at.task]
    assert (record.state, record.attempt) == ("running", 1)
    assert driver.shard.fleet.used[second.device] == 0
    driver.result(first, 1)
    assert driver.shard.constellations["c1"].head.state == "succeeded"


def test_a_cancelled_task_is_cancelled_only_when_both_have_confirmed() -> None:
    for order in (0, 1):
        driver, first = slow()
        both = [first, hedge(driver)]
        driver.control("cancel", first.at.task)
        assert {(item.device, item.at.attempt) for item in driver.cancels} == {
            (item.device, item.at.attempt) for item in both
        }
        driver.receipt(both[order])
        assert driver.states()[first.at.task] == "cancelling"
        driver.receipt(both[1 - order])
        assert driver.states()[first.at.task] == "cancelled"
        assert set(driver.shard.fleet.used.values()) == {0}


def test_a_hedge_of_a_revoked_device_is_over() -> None:
    driver, first = slow()
    second = hedge(driver)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device=second.device, action="revoke"))
    record = driver.shard.constellations["c1"].tasks[first.at.task]
    assert (record.state, record.attempt) == ("running", 1)


@pytest.mark.parametrize(
    ("tool", "fields"), [("t.never", {"retry": Retry(max_attempts=3)}), ("t.pure", {"device": "one"})]
)
def test_what_may_not_be_repeated_or_fits_nowhere_else_is_never_hedged(tool: str, fields: dict[str, object]) -> None:
    driver, _first = slow(tool, **fields)
    for timer in [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]:
        driver.fire(timer)
    assert not driver.dispatched


def test_a_slot_that_somebody_waits_for_is_no_hedges() -> None:
    driver, _first = slow()
    driver.submit(plan(*(task(f"w{n}") for n in range(20))), name="c2")
    driver.take()
    assert driver.shard.queued
    assert not [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]


def test_a_constellation_has_a_budget_of_hedges() -> None:
    driver = WatchedDriver("one", "two", slots=8)
    driver.submit(plan(*(task(f"t{n}") for n in range(10))))
    dispatches = driver.take()
    for dispatch in dispatches:
        driver.started(dispatch)
    driver.now_ms += 1_000
    for dispatch in dispatches[3:]:
        driver.result(dispatch, 1)
    driver.now_ms += 60_000
    for timer in [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]:
        driver.fire(timer)
    assert len(driver.take()) == 1
