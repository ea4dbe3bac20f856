"""T174: work of others reaches a reserved device by a model's step, by a result that names it, or by a second look."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.vocabulary import Code
from tests.builders import Driver
from tests.core.plan.goals.pursued import Pursued, call
from tests.core.plan.reuse import test_findings as findings
from tests.core.plan.test_named_devices import begun, decide


def reserve(driver: Driver, name: str) -> None:
    item = i.DeviceControlled(id=driver.ident(), by="person:ann", device=f"d-{name}", action="reserve")
    assert not driver.do(item).faults


@pytest.mark.parametrize("where", [None, {"tools": ["t.pure"]}, {"any": [{"name": "one"}, {"tools": ["t.pure"]}]}])
@pytest.mark.parametrize("said", ["two", "d-two"])
def test_t174_a_step_of_a_goal_that_names_no_device_stays_away(where: Any, said: str) -> None:
    driver = Pursued(goal={"device": where})
    reserve(driver, "two")
    driver.step(call(device=said))
    assert not driver.take()
    driver.step(call(device="one"))
    assert [work.device for work in driver.take()] == ["d-one"]


def test_t174_a_goal_that_names_the_device_goes_there() -> None:
    driver = Pursued(goal={"device": {"any": [{"name": "one"}, {"name": "two"}]}})
    reserve(driver, "two")
    driver.step(call(device="two"))
    assert [work.device for work in driver.take()] == ["d-two"]


@pytest.mark.parametrize("name", ["b", "d-b"])
@pytest.mark.parametrize("within", [{"tools": ["t.never"]}, {"any": [{"name": "a"}, {"tools": ["t.never"]}]}])
def test_t174_a_result_that_names_the_device_brings_no_work_there(name: str, within: Any) -> None:
    driver = begun(within=within)
    reserve(driver, "b")
    decide(driver, name)
    assert not driver.take()
    assert driver.shard.constellations["c1"].groups["full"].code is Code.DEVICE_OUTSIDE


def test_t174_a_result_within_named_devices_still_decides() -> None:
    driver = begun()
    reserve(driver, "b")
    decide(driver, "b")
    assert [work.device for work in driver.take()] == ["d-b"]


def test_t174_a_call_that_named_no_device_is_not_made_again_on_the_one_that_had_it() -> None:
    slow = {**findings.SLOW, "device": {"name": "two"}}
    looks = {**findings.LOOKS, "device": {"tools": ["t.pure"]}}
    driver = findings.begun(looks, slow, findings.fresh(60), dependencies=findings.AFTER_SLOW)
    work = findings.sent(driver)
    assert work["look"].device == "d-one"
    driver.result(work["look"], {"free": 1})
    reserve(driver, "one")
    driver.now_ms += 61_000
    driver.result(work["slow"], {})
    assert [one.device for one in driver.take()] != ["d-one"]
