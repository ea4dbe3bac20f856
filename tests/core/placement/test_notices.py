"""Notices that name no device go where somebody can see them; one that is named stays where it is named."""

from __future__ import annotations

import pytest

from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import NO_NOTICES, NOTICES, Effect, Repeatability
from tests.builders import TOOLS, Driver, plan, task

NOTIFY = ToolOffer(name="notify", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE])
BLIND = {NOTICES: NO_NOTICES}


def fleet(**facts: dict[str, str]) -> Driver:
    driver = Driver()
    for name, told in facts.items():
        driver.add_device(name, slots=1, tools=[*TOOLS, NOTIFY], facts_told=told)
    return driver


@pytest.mark.parametrize("seen", ["a", "b", "c"])
def test_a_notice_goes_to_the_device_where_somebody_sees_it(seen: str) -> None:
    driver = fleet(**{name: {} if name == seen else BLIND for name in ("a", "b", "c")})
    driver.submit(plan(task("one", tool="notify"), task("two", tool="notify")))
    (first,) = driver.take()
    assert first.device == f"d-{seen}"
    driver.result(first, {})
    (second,) = driver.take()
    assert second.device == f"d-{seen}", "it waits for that device rather than go where nobody looks"


def test_a_notice_that_names_a_device_goes_there() -> None:
    driver = fleet(a=BLIND, b={})
    driver.submit(plan(task("one", tool="notify", device="a")))
    assert [sent.device for sent in driver.take()] == ["d-a"]


def test_where_nobody_could_see_it_one_device_says_so() -> None:
    driver = fleet(a=BLIND, b=BLIND)
    driver.submit(plan(task("one", tool="notify")))
    assert len(driver.take()) == 1


def test_other_work_goes_to_blind_devices_as_before() -> None:
    driver = fleet(a=BLIND, b={})
    driver.submit(plan(task("one"), task("two")))
    assert {sent.device for sent in driver.take()} == {"d-a", "d-b"}
