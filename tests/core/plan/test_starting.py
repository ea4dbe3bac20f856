"""A plan that begins after its approval, or goes on after a pause: its ready tasks are looked at as new ones are."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.settings import ShardSettings
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.records.specs import OtherCall, Timeouts
from starloom_protocol.vocabulary import Attention, Reason, TaskState
from tests.builders import PURE, TOOLS, Driver, plan, task

ASKED = "approve-plan"
UNGRANTED = ToolOffer(name="t.fenced", repeatability=PURE, grant="files:read")


def _began(driver: Driver, made: Constellation, how: str) -> None:
    if how == "approved":
        assert not driver.answer_question(ASKED, "allow").faults
    else:
        assert not driver.control("resume").faults
    assert made.head.state == "active"


def _stood(driver: Driver, how: str, *parts: object) -> Constellation:
    """Submit a plan that waits for its approval, or is paused before its tasks are ready for a device."""
    if how == "approved":
        return driver.submit(plan(*parts), hold=True)  # type: ignore[arg-type]
    run = driver.submit(plan(*parts))  # type: ignore[arg-type]
    assert not driver.control("pause").faults
    return run


def _away(driver: Driver) -> None:
    drained = i.DeviceControlled(action="drain", by="person:ann", device="d-one", id=driver.ident())
    assert not driver.do(drained).faults


@pytest.mark.parametrize(
    ("tool", "attention"),
    [("t.fenced", Attention.MISSING_GRANT), ("t.lacking", Attention.NO_CAPABLE_DEVICE)],
)
def test_a_task_that_no_device_can_do_asks_once_it_is_approved(tool: str, attention: Attention) -> None:
    driver = Driver()
    driver.add_device("one", tools=[*TOOLS, UNGRANTED])
    run = _stood(driver, "approved", task("work", tool=tool))
    assert attention not in run.head.attention
    _began(driver, run, "approved")
    assert run.head.attention == [attention]
    driver.folded_equals_state()


def test_another_call_is_taken_once_it_is_approved() -> None:
    driver = Driver("one")
    other = OtherCall(args="{}", tool="t.pure")
    run = _stood(driver, "approved", task("work", tool="t.lacking", any_of=[other]))
    _began(driver, run, "approved")
    assert [sent.tool for sent in driver.take()] == ["t.pure"]


@pytest.mark.parametrize("how", ["approved", "resumed"])
def test_the_time_to_wait_for_a_device_begins_with_the_plan(how: str) -> None:
    driver = Driver("one")
    _away(driver)
    run = _stood(driver, how, task("tell", optional=True, timeouts=Timeouts(schedule_to_start_s=300)))
    before = [timer for timer in driver.timers if timer.kind == "waits_long"]
    driver.now_ms += 299_000
    _began(driver, run, how)
    for timer in before:
        driver.fire(timer)
    assert run.tasks["tell"].state is TaskState.READY, "it has waited for one second"
    (after,) = [timer for timer in driver.timers if timer.kind == "waits_long" and timer not in before]
    driver.fire(after)
    assert (run.tasks["tell"].state, run.tasks["tell"].reason) == (TaskState.SKIPPED, Reason.NO_CAPABLE_DEVICE)
    driver.folded_equals_state()


def test_a_hold_is_no_wait_for_a_device() -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("first"), task("tell", device="two")))
    assert not driver.control("hold", "tell").faults
    driver.now_ms += 60_000
    assert not driver.control("release", "tell").faults
    assert run.tasks["tell"].since_ms == driver.now_ms


def test_a_history_of_before_is_decided_as_it_was() -> None:
    old = settings_of(ShardSettings())
    del old["restarts_waits"]
    driver = Driver("one", settings=with_settings(old))
    run = _stood(driver, "approved", task("work", tool="t.lacking"))
    since_ms = run.tasks["work"].since_ms
    driver.now_ms += 1_000
    _began(driver, run, "approved")
    assert (run.tasks["work"].since_ms, run.head.attention) == (since_ms, [])
