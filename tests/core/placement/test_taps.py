"""Waiting for a tap: a tab says which of its attempts wait for their person, and no other device says it for them."""

from __future__ import annotations

from starloom.core.answer.why import explain
from starloom.core.state import inputs as i
from starloom_protocol.text.presentation import presentation
from tests.builders import Driver, plan, task


def says(driver: Driver, name: str, tap: str) -> None:
    facts = {"tap": tap}
    driver.do(i.ConditionReceived(id=driver.ident(), by=f"device:d-{name}", device=f"d-{name}", facts=facts, session=1))


def running(*devices: str) -> Driver:
    driver = Driver(*devices)
    driver.submit(plan(task("take", device="handy"), task("look", device="handy")))
    for dispatch in driver.take():
        driver.started(dispatch)
    return driver


def shown(driver: Driver, name: str) -> str:
    record = driver.shard.constellations["c1"].tasks[name]
    return presentation(record.state, record.reason).word


def attention(driver: Driver) -> list[str]:
    return [str(item) for item in driver.shard.constellations["c1"].head.attention]


def test_an_attempt_that_waits_for_a_tap_says_so_until_it_came() -> None:
    driver = running("handy")
    says(driver, "handy", "c1/take/1")
    assert (shown(driver, "take"), shown(driver, "look")) == ("Waits for a tap", "Running")
    assert attention(driver) == ["waits_for_a_tap"]
    assert "take waits for a tap on handy" in explain(driver.shard, "c1", "take").sentence
    says(driver, "handy", "")
    assert shown(driver, "take") == "Running"
    assert attention(driver) == []


def test_the_end_of_an_attempt_ends_its_waiting() -> None:
    driver = Driver("handy")
    driver.submit(plan(task("take", device="handy")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    says(driver, "handy", "c1/take/1")
    driver.result(dispatch)
    assert driver.states() == {"take": "succeeded"}
    assert attention(driver) == []


def test_a_start_that_is_reported_late_finds_the_tap() -> None:
    driver = Driver("handy")
    driver.submit(plan(task("take", device="handy")))
    (dispatch,) = driver.take()
    says(driver, "handy", "c1/take/1")
    assert attention(driver) == []
    driver.started(dispatch)
    assert shown(driver, "take") == "Waits for a tap"
    assert attention(driver) == ["waits_for_a_tap"]


def test_another_device_or_an_earlier_attempt_says_nothing() -> None:
    driver = running("handy", "liar")
    says(driver, "liar", "c1/take/1 c1/look/1 c2/take/1")
    assert attention(driver) == []
    says(driver, "handy", "c1/take/0 c1/take/2 take <b>ann</b>")
    assert attention(driver) == []
    assert shown(driver, "take") == "Running"


def test_a_new_session_says_it_again_or_it_is_over() -> None:
    driver = running("handy")
    says(driver, "handy", "c1/take/1")
    driver.connect("handy")
    assert driver.shard.fleet.devices["d-handy"].condition == {}
    driver.do(
        i.ConditionReceived(id=driver.ident(), by="device:d-handy", device="d-handy", facts={"tap": ""}, session=2)
    )
    assert attention(driver) == []


def test_a_question_that_was_open_when_its_device_left_is_not_said_to_have_happened() -> None:
    driver = Driver("handy")
    driver.submit(plan(task("take", device="handy", tool="t.never"), task("look", device="handy", tool="t.never")))
    for dispatch in driver.take():
        driver.started(dispatch)
    says(driver, "handy", "c1/take/1")
    driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-handy", action="revoke"))
    driver.run()
    asked, begun = (explain(driver.shard, "c1", name).sentence for name in ("take", "look"))
    assert asked.startswith("take waited for a tap on handy when that was last heard of, and happened only if one came")
    assert begun.startswith("look was started on handy and may have happened")
