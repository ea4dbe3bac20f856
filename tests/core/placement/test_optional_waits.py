"""An optional task that no device can begin ends as skipped once its time is over, so that its constellation ends."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from starloom.core.answer.why import explain
from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom_protocol.records.entities import Check, ForEach, Selector, VerifyCall
from starloom_protocol.vocabulary import Attention, Op, Outcome, Reason, Repeatability, TaskState
from tests.builders import MAYBE, TOOLS, Driver, edge, plan, task

LACKING = "t.lacking"


def waited(driver: Driver, name: str) -> ArmTimer:
    return next(timer for timer in driver.timers if timer.kind == "waits_long" and timer.entity == name)


def drain(driver: Driver) -> None:
    drained = i.DeviceControlled(action="drain", by="person:ann", device="d-one", id=driver.ident())
    assert not driver.do(drained).faults


def finish(driver: Driver) -> None:
    for dispatch in driver.take():
        driver.result(dispatch, 1)
    driver.run()


def submitted(*parts: object) -> tuple[Driver, Constellation]:
    driver = Driver("one")
    return driver, driver.submit(plan(*parts))  # type: ignore[arg-type]


def test_an_optional_task_without_a_device_is_skipped_and_the_rest_counts() -> None:
    driver, made = submitted(task("work"), task("tell", tool=LACKING, optional=True), edge("work>tell"))
    finish(driver)
    assert Attention.NO_CAPABLE_DEVICE in made.head.attention
    driver.fire(waited(driver, "tell"))
    record = made.tasks["tell"]
    assert (record.state, record.reason) == (TaskState.SKIPPED, Reason.NO_CAPABLE_DEVICE)
    assert (made.head.state, made.head.attention) == ("succeeded", [])
    sentence = made.tables["answer"][""].sentence
    assert sentence == "test is done: 1 task on one. Skipped because no device could do it: tell."
    assert explain(driver.shard, "c1", "tell").sentence == (
        "tell was skipped: it is optional, and no device could do it."
    )


def test_an_optional_task_whose_device_cannot_do_it_is_skipped_at_once() -> None:
    tell = task("tell", tool=LACKING, device="one", optional=True)
    driver, made = submitted(task("work"), tell, task("next", optional=True), edge("work>tell"), edge("tell>next"))
    finish(driver)
    record = made.tasks["tell"]
    assert (record.state, record.reason) == (TaskState.SKIPPED, Reason.NO_CAPABLE_DEVICE)
    assert (made.tasks["next"].state, made.head.state, made.head.attention) == (TaskState.SKIPPED, "succeeded", [])
    assert [event.note for event in driver.events if event.kind == "task_skipped" and event.about == "tell"] == [
        "one does not offer t.lacking, and it is optional"
    ]
    assert explain(driver.shard, "c1", "tell").sentence == (
        "tell was skipped: it is optional, and one does not offer t.lacking."
    )
    assert not driver.control("retry", "tell").faults
    assert made.tasks["tell"].state is TaskState.READY, "a person has asked for it"


@pytest.mark.parametrize("case", ["away", "absent", "other", "grant", "needed"])
def test_an_optional_task_that_may_still_be_done_waits(case: str) -> None:
    device = Selector(any=[Selector(name="one"), Selector(os="linux")]) if case == "other" else Selector(name="one")
    device = Selector(name="nobody") if case == "absent" else device
    tell = task("tell", tool="t.granted" if case == "grant" else LACKING, device=device, optional=True)
    driver = Driver()
    driver.add_device("one", tools=[*TOOLS, replace(TOOLS[0], grant="x:y", name="t.granted")])
    if case == "away":
        request = i.DeviceDisconnected(by="device:d-one", device="d-one", id=driver.ident(), reason="cut", session=1)
        driver.do(request)
    run = driver.submit(plan(task("work"), tell, *([edge("tell>work")] if case == "needed" else [])))
    assert run.tasks["tell"].state is TaskState.READY
    assert run.head.attention


def test_work_after_it_goes_on_where_it_needs_no_result_of_it() -> None:
    driver, made = submitted(
        task("tell", tool=LACKING, optional=True), task("next", optional=True), edge("tell>next"), task("work")
    )
    finish(driver)
    driver.fire(waited(driver, "tell"))
    assert made.tasks["next"].state is TaskState.SKIPPED
    assert made.head.state == "succeeded"


def test_a_task_that_work_needs_asks_for_a_person() -> None:
    driver, made = submitted(task("first", tool=LACKING, optional=True), task("then"), edge("first>then"))
    driver.fire(waited(driver, "first"))
    assert made.tasks["first"].state is TaskState.READY
    assert Attention.WAITS_LONG in made.head.attention


def test_a_task_that_must_be_done_asks_for_a_person() -> None:
    driver, made = submitted(task("work", tool=LACKING))
    driver.fire(waited(driver, "work"))
    assert made.tasks["work"].state is TaskState.READY
    assert Attention.WAITS_LONG in made.head.attention


def test_a_person_brings_it_back_and_it_waits_without_end() -> None:
    driver, made = submitted(task("work"), task("tell", tool=LACKING, optional=True))
    finish(driver)
    driver.fire(waited(driver, "tell"))
    assert not driver.control("retry", "tell").faults
    again = next(timer for timer in reversed(driver.timers) if timer.kind == "waits_long" and timer.entity == "tell")
    driver.fire(again)
    assert made.tasks["tell"].state is TaskState.READY
    assert Attention.WAITS_LONG in made.head.attention


def test_a_look_at_work_in_doubt_waits_for_its_device() -> None:
    call = VerifyCall(expect=[Check(op=Op.EQ, output="/there", value="true")], tool="t.pure")
    send = task("send", repeatability=Repeatability.VERIFIABLE, tool="t.never", verify=call)
    driver = Driver("one")
    run = driver.submit(plan(send))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    drain(driver)
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail="the agent was killed")
    look = next(name for name, spec in run.specs.items() if spec.verifies)
    assert run.tasks[look].state is TaskState.READY
    driver.fire(waited(driver, look))
    assert run.tasks[look].state is TaskState.READY
    assert Attention.WAITS_LONG in run.head.attention


def test_a_task_that_was_begun_is_not_skipped_as_never_begun() -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("extra", optional=True)))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    drain(driver)
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail="the agent was killed")
    record = run.tasks["extra"]
    assert (record.state, record.attempt) == (TaskState.READY, 1)
    driver.fire(next(timer for timer in reversed(driver.timers) if timer.kind == "waits_long"))
    assert run.tasks["extra"].state is TaskState.READY
    assert Attention.WAITS_LONG in run.head.attention


def test_a_busy_device_is_waited_for() -> None:
    driver = Driver("one", slots=1)
    run = driver.submit(plan(task("work"), task("extra", optional=True)))
    assert len(driver.take()) == 1
    waiting = next(name for name, record in run.tasks.items() if record.state is TaskState.READY)
    driver.fire(waited(driver, waiting))
    assert run.tasks[waiting].state is TaskState.READY


def test_a_member_of_a_group_is_not_skipped_alone() -> None:
    driver = Driver("one")
    each = ForEach(devices=Selector())
    run = driver.submit(plan(task("look", for_each=each, optional=True)))
    finish(driver)
    assert run.head.state == "succeeded"
