"""Looking whether work that may have happened did: only once it is over, and only what a look says decides."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.why import explain
from starloom.core.run.verification import name_of
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_protocol.records.entities import Check, ToolOffer, VerifyCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Attention, Effect, Op, Outcome, Repeatability
from tests.builders import MAYBE, TOOLS, Driver, plan, task

CALL = VerifyCall(
    args='{"path":"/out"}', expect=[Check(op=Op.EQ, output="/there", value=canonical(True))], tool="t.pure"
)
SEND = task("send", repeatability=Repeatability.VERIFIABLE, tool="t.never", verify=CALL)


def interrupted(driver: Driver) -> SendDispatch:
    """Start the work and have its device say that it was cut off; return the dispatch."""
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail="the agent was killed")
    return dispatch


def doubtful(*more: Any) -> tuple[Driver, SendDispatch]:
    driver = Driver("one", "two")
    driver.submit(plan(SEND, *more))
    dispatch = interrupted(driver)
    return driver, dispatch


def test_a_look_is_a_task_of_its_own_on_the_device_that_did_the_work() -> None:
    driver, dispatch = doubtful()
    run = driver.shard.constellations["c1"]
    assert driver.states() == {"send": "unknown", "verify-send": "leased"}
    (look,) = driver.take()
    assert (look.device, look.tool, look.args) == (dispatch.device, "t.pure", '{"path":"/out"}')
    assert look.wants == ["/there"]
    assert (run.versions["2"].author, run.versions["2"].trigger) == ("engine", "verify")
    assert run.head.attention == [Attention.TASK_UNKNOWN]
    assert "verify-send looks on one whether it did" in explain(driver.shard, "c1", "send").sentence


def test_what_a_look_finds_done_is_done_and_checked_and_what_follows_runs() -> None:
    driver, _ = doubtful(task("after", "x=send/there"))
    driver.result(driver.take()[0], {"there": True})
    run = driver.shard.constellations["c1"]
    record = run.tasks["send"]
    assert (record.state, record.checked, record.started, record.marked) == ("succeeded", True, 1, '{"there":true}')
    assert "task_verified" in [event.kind for event in driver.events]
    assert run.head.attention == []
    assert driver.run() == "succeeded"
    assert driver.states()["after"] == "succeeded"
    driver.folded_equals_state()


def test_what_a_look_finds_undone_runs_again_and_each_doubt_has_its_own_look() -> None:
    driver, first = doubtful()
    driver.result(driver.take()[0], {"there": False})
    run = driver.shard.constellations["c1"]
    assert (run.attempts["send/1"].end, run.attempts["send/1"].effect) == ("interrupted", "none")
    second = interrupted(driver)
    assert (second.at.task, second.at.attempt) == ("send", first.at.attempt + 1)
    assert [dispatch.at.task for dispatch in driver.dispatched] == ["verify-send-2"]
    driver.result(driver.take()[0], {"there": True})
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_tries_are_bounded_although_nothing_happened() -> None:
    driver, _ = doubtful()
    for _ in range(2):
        driver.result(driver.take()[0], {"there": False})
        interrupted(driver)
    driver.result(driver.take()[0], {"there": False})
    record = driver.shard.constellations["c1"].tasks["send"]
    assert (record.state, record.code, record.started) == ("failed", "interrupted", 3)
    assert driver.take() == []


@pytest.mark.parametrize("value", [{"other": 1}, None])
def test_a_look_that_cannot_say_leaves_it_to_a_person(value: object) -> None:
    driver, _ = doubtful()
    if value is None:
        while dispatches := driver.take():
            driver.result(dispatches[0], outcome=Outcome.ERROR, detail="no such disk")
            for timer in [one for one in driver.timers if one.kind == "backoff"]:
                driver.fire(timer)
    else:
        driver.result(driver.take()[0], value)
    run = driver.shard.constellations["c1"]
    assert (run.tasks["send"].state, run.head.attention) == ("unknown", [Attention.TASK_UNKNOWN])
    assert "verify-send could not say whether it did" in explain(driver.shard, "c1", "send").sentence
    driver.control("mark", "send", state="succeeded")
    assert run.head.state == "succeeded"


def test_nobody_looks_while_the_work_may_still_run() -> None:
    driver = Driver("one")
    driver.submit(plan(SEND))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.do(i.DeviceControlled(id="r", by="person:ann", action="revoke", device=dispatch.device))
    assert driver.states() == {"send": "unknown"}
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    assert "verify-send" in driver.states()


def test_a_person_who_was_faster_than_the_look_has_decided() -> None:
    driver, _ = doubtful()
    driver.control("mark", "send", state="failed")
    driver.result(driver.take()[0], {"there": True})
    assert driver.states() == {"send": "failed", "verify-send": "succeeded"}
    assert driver.ignored["the task in doubt is decided already"] == 1


def test_a_tool_that_does_more_than_look_is_not_called() -> None:
    driver = Driver()
    never = ToolOffer(effects=[Effect.WRITE], name="t.pure", repeatability=Repeatability.NEVER)
    driver.add_device("one", tools=[never, TOOLS[1]])
    driver.submit(plan(SEND))
    interrupted(driver)
    assert driver.states() == {"send": "unknown"}
    assert driver.take() == []


def test_names_are_short_and_tell_attempts_apart() -> None:
    assert name_of("a.b", 1) == "verify-a-b"
    assert name_of("a", 3) == "verify-a-3"
    assert len(name_of("x" * 64, 1)) <= 64
