"""Courtesy of owners: a device that wants no new work gets none and keeps what runs; it can only refuse."""

from __future__ import annotations

import pytest

from starloom.core.answer.why import explain
from starloom.core.state import inputs as i
from tests.builders import Driver, plan, task


def says(driver: Driver, name: str, **facts: str) -> None:
    driver.do(i.ConditionReceived(id=driver.ident(), by=f"device:d-{name}", device=f"d-{name}", facts=facts, session=1))


def test_a_device_that_wants_no_work_gets_none_and_why_says_it() -> None:
    driver = Driver("laptop")
    says(driver, "laptop", courtesy="no", courtesy_why="in_use")
    driver.submit(plan(task("a")))
    assert driver.states() == {"a": "ready"}
    why = explain(driver.shard, "c1", "a").sentence
    assert "laptop takes no new work, because somebody sits at it" in why
    says(driver, "laptop", courtesy="yes", courtesy_why="")
    assert driver.states() == {"a": "leased"}


def test_work_that_runs_is_not_ended_by_courtesy() -> None:
    driver = Driver("laptop", "desk")
    driver.submit(plan(task("a", device="laptop"), task("b", "x=a", device="laptop")))
    (first,) = driver.take()
    says(driver, "laptop", courtesy="no", courtesy_why="quiet_hours")
    assert driver.cancels == []
    assert driver.states() == {"a": "leased", "b": "waiting"}
    driver.result(first)
    assert driver.states() == {"a": "succeeded", "b": "ready"}


def test_less_is_asked_last_and_a_rule_takes_the_place_of_the_habit() -> None:
    driver = Driver("one", "two")
    says(driver, "one", courtesy="less", courtesy_why="in_use")
    driver.submit(plan(task("a")))
    assert driver.take()[0].device == "d-two"
    says(driver, "one", courtesy="yes", courtesy_why="", owner_present="true")
    driver.submit(plan(task("a")), name="c2")
    assert driver.take()[0].device == "d-one", "the owner said that work may come while they sit there"


@pytest.mark.parametrize("facts", [{"courtesy": "please"}, {"courtesy": "less", "courtesy_why": "<b>ann</b>"}])
def test_an_unknown_word_draws_no_work_and_is_not_repeated(facts: dict[str, str]) -> None:
    driver = Driver("one", "two")
    says(driver, "one", **facts)
    driver.submit(plan(task("a"), task("b")))
    whys = [driver.shard.constellations["c1"].attempt(name, 1).why for name in ("a", "b")]
    assert not any("ann" in why for why in whys)


def test_the_courtesy_of_an_earlier_session_holds_nobody_back() -> None:
    driver = Driver("one")
    says(driver, "one", courtesy="no", courtesy_why="in_use")
    driver.connect("one")
    driver.submit(plan(task("a")))
    assert driver.take()[0].device == "d-one"


def test_why_names_the_end_of_quiet_hours_and_repeats_no_other_text() -> None:
    driver = Driver("laptop")
    says(driver, "laptop", courtesy="no", courtesy_why="quiet_hours", courtesy_until="07:00")
    driver.submit(plan(task("a")))
    assert "its quiet hours last until 07:00 by its clock" in explain(driver.shard, "c1", "a").sentence
    says(driver, "laptop", courtesy_until="until ann calls")
    sentence = explain(driver.shard, "c1", "a").sentence
    assert ("its quiet hours have begun" in sentence, "ann" in sentence) == (True, False)
