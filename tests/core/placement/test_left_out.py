"""The first sentence of an answer names the devices that a group over devices did not ask, with the reason."""

from __future__ import annotations

import msgspec
import pytest

from starloom.core.state.apply import load
from starloom_protocol.records.entities import ForEach, Selector, ToolOffer
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code, DeviceLink, Need, Outcome, Repeatability
from tests.builders import NONE, Driver, plan, task

NOT_GRANTED = [
    ToolOffer(name="t.pure", repeatability=Repeatability.PURE, grant="python:run", unavailable="python:run is missing")
]
EACH = ForEach(devices=Selector(tools=["t.pure"]), need=Need.BEST_EFFORT)


def answered(driver: Driver, each: ForEach = EACH) -> str:
    """Submit a plan over the fleet, let all that was asked succeed, and return the answer's first sentence."""
    driver.submit(plan(task("look", for_each=each)))
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch, {"device": dispatch.device})
    driver.folded_equals_state()
    return str(driver.shard.constellations["c1"].tables["answer"][""].sentence).partition(". ")[0].removesuffix(".")


def change(driver: Driver, name: str, **fields: object) -> None:
    device = driver.shard.fleet.devices[f"d-{name}"]
    load(driver.shard, FLEET, 0, {f"device/{device.id}": msgspec.structs.replace(device, **fields)})


def test_a_device_without_the_grant_is_named_with_the_grant() -> None:
    driver = Driver("lap")
    driver.add_device("vm", tools=NOT_GRANTED)
    assert answered(driver).endswith(" on lap; not asked: vm (has not granted python:run)")


def test_a_device_that_was_off_is_named_with_its_moment() -> None:
    driver = Driver("lap", "nas")
    change(driver, "nas", link=DeviceLink.OFFLINE, link_since_ms=driver.now_ms)
    assert answered(driver).endswith(" on lap; not asked: nas (off since 00:16 UTC)")


def test_demonstration_devices_that_real_ones_replace_are_named() -> None:
    driver = Driver("lap")
    driver.add_device("demo-phone", demo=True)
    driver.add_device("demo-server", demo=True)
    assert answered(driver).endswith(" on lap; not asked: demo-phone and demo-server (demonstration only)")


def test_a_demonstration_device_that_is_named_beside_a_real_one_is_asked() -> None:
    driver = Driver("lap")
    driver.add_device("demo-phone", demo=True)
    named = ForEach(devices=Selector(any=[Selector(name="lap"), Selector(name="demo-phone")]))
    driver.submit(plan(task("look", for_each=named)))
    assert {dispatch.device for dispatch in driver.take()} == {"d-lap", "d-demo-phone"}


def test_a_demonstration_device_that_did_another_task_is_not_called_unasked() -> None:
    driver = Driver("lap")
    driver.add_device("demo-phone", demo=True)
    driver.add_device("demo-server", demo=True)
    driver.submit(plan(task("look", for_each=EACH), task("note", device=Selector(name="demo-phone"))))
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch, {"device": dispatch.device})
    said = str(driver.shard.constellations["c1"].tables["answer"][""].sentence)
    assert "not asked: demo-server (demonstration only)" in said


@pytest.mark.parametrize("reason", ["demo", "no such tool", "revoked", "another os"])
def test_a_device_that_was_not_meant_is_not_named(reason: str) -> None:
    driver = Driver("lap") if reason != "demo" else Driver()
    driver.add_device("demo-phone", demo=True) if reason == "demo" else driver.add_device("tab", tools=[])
    if reason == "revoked":
        driver.add_device("old")
        change(driver, "old", revoked=True)
    if reason == "another os":
        driver.add_device("mac")
        change(driver, "mac", os="macos")
    each = msgspec.structs.replace(EACH, devices=Selector(os="linux", tools=["t.pure"]))
    assert "not asked" not in answered(driver, each)


def test_a_device_that_joined_later_is_not_named() -> None:
    driver = Driver("lap")
    driver.submit(plan(task("look", for_each=EACH)))
    driver.add_device("new")
    change(driver, "new", joined_ms=driver.now_ms + 1)
    driver.result(driver.take()[0], 1)
    assert "not asked" not in driver.shard.constellations["c1"].tables["answer"][""].sentence


def test_a_device_that_came_back_too_late_is_named() -> None:
    driver = Driver("lap", "nas")
    change(driver, "nas", link=DeviceLink.OFFLINE, link_since_ms=driver.now_ms)
    driver.submit(plan(task("look", for_each=EACH)))
    change(driver, "nas", link=DeviceLink.ONLINE, link_since_ms=driver.now_ms + 5)
    driver.result(driver.take()[0], 1)
    sentence = driver.shard.constellations["c1"].tables["answer"][""].sentence
    assert "; not asked: nas (off when this began)." in sentence


def test_a_look_that_failed_is_in_the_first_sentence_of_success() -> None:
    driver = Driver("lap", "nas")
    driver.submit(plan(task("look", for_each=EACH)))
    for dispatch in driver.take():
        if dispatch.device == "d-nas":
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE, detail="no disk")
        else:
            driver.result(dispatch, 1)
    run = driver.shard.constellations["c1"]
    assert run.head.state == "succeeded"
    assert run.tables["answer"][""].sentence.partition(". ")[0].endswith(" on lap; failed: look on nas")
