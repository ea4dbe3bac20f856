"""T281: an assistant decides nothing about the work of somebody else: it adds to that, and may stop it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.state import inputs as i
from starloom_protocol.plan import check_edit
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import MAYBE, Driver, edge, plan, task
from tests.core.clockwork import LOOK, Clockwork
from tests.core.people.test_forks import finished, fork

ASSISTANT = "assistant:helper"
CHANGES: dict[str, dict[str, Any]] = {
    "removed": {"remove_task": {"id": "c"}},
    "changed": {"update_task": {"id": "b", "args": {"value": 2}}},
    "moved": {"reassign": {"id": "b", "device": {"name": "two"}}},
    "let go": {"remove_dependency": {"id": "a>b:success"}},
    "held back": {"add_dependency": {"from": "a", "to": "c"}},
}


def _running(by: str) -> Driver:
    driver = Driver("one", "two")
    tasks = (task(name, tool="t.pure", device="one") for name in "abc")
    driver.submit(plan(*tasks, edge("a>b"), edge("b>c")), by=by)
    return driver


def _edited(driver: Driver, change: dict[str, Any]) -> list[Code]:
    faults, operations = check_edit([change])
    assert not faults
    return [one.code for one in driver.edit(*operations, approves=False, by=ASSISTANT, reason="not needed").faults]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_t281_the_plan_of_a_person_is_not_changed(change: dict[str, Any]) -> None:
    assert _edited(_running("person:ann"), change) == [Code.FORBIDDEN]
    assert _edited(_running(ASSISTANT), change) == []


def test_t281_a_look_behind_it_is_added() -> None:
    driver = _running("person:ann")
    assert _edited(driver, {"add_task": {"id": "d", "tool": "t.pure"}}) == []


def _in_doubt(by: str) -> Driver:
    driver = Driver("one")
    driver.submit(plan(task("pay", tool="t.never"), task("next"), edge("pay>next")), by=by)
    for question in [*driver.shard.constellations["c1"].open_questions]:
        driver.answer_question(question, "allow")
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    return driver


@pytest.mark.parametrize("action", ["mark", "skip", "release", "resume", "pause", "hold", "retry", "retry_from"])
def test_t281_no_control_of_it_decides(action: str) -> None:
    driver = _in_doubt("person:ann")
    name = None if action in ("pause", "resume") else "pay"
    refused = driver.control(action, name, by=ASSISTANT, approves=False)
    draft = driver.do(i.DraftOpened(by=ASSISTANT, constellation="c1", id=driver.ident(), tasks=["pay"], ttl_s=60))
    assert [one.code for one in (*refused.faults, *draft.faults)] == [Code.FORBIDDEN] * 2
    assert refused.faults[0].reason.startswith("ann asked for this, and an assistant may not ")
    assert "a person" in refused.faults[0].hint
    assert not driver.control("cancel", by=ASSISTANT, approves=False).faults


def test_t281_it_does_not_fork_it() -> None:
    driver = finished(task("a"), task("b"), edge("a>b"))
    (refused,) = fork(driver, task="b", by=ASSISTANT, approves=False).faults
    assert (refused.code, "c2" in driver.shard.constellations) == (Code.FORBIDDEN, False)
    assert refused.reason == "ann asked for this, and an assistant may not fork it"


def test_t281_it_steers_its_own_work() -> None:
    driver = _running(ASSISTANT)
    answers = [driver.control(*each, by=ASSISTANT, approves=False) for each in (("hold", "b"), ("pause",))]
    assert [one.faults for one in answers] == [[], []]


@pytest.mark.parametrize("action", ["pause", "resume", "run", "remove", "change"])
def test_t281_a_schedule_of_a_person_is_left_alone(action: str) -> None:
    clock = Clockwork()
    before = clock.save()
    if action == "change":
        refused = clock.do(
            i.ScheduleSaved(
                approves=False,
                by=ASSISTANT,
                change=True,
                id=clock.ident(),
                keep_plan=True,
                plan=LOOK,
                schedule=replace(clock.drawn(), name="another"),
            )
        )
    else:
        refused = clock.order(action, by=ASSISTANT, owner="p-helper", approves=False)
    assert [one.code for one in refused.faults] == [Code.FORBIDDEN]
    assert refused.faults[0].reason == f"ann asked for this, and an assistant may not {action} it"
    assert (clock.schedule(), clock.firings()) == (before, [])


def test_t281_nobody_but_a_person_says_that_work_has_happened() -> None:
    driver = _in_doubt(ASSISTANT)
    refused = driver.control("mark", "pay", by=ASSISTANT, approves=False, state="succeeded")
    assert [one.code for one in refused.faults] == [Code.FORBIDDEN]


def test_t281_it_does_not_stop_all() -> None:
    driver = _running("person:ann")
    refused = driver.do(i.StopAllRequested(by=ASSISTANT, id=driver.ident(), reason=""))
    assert [one.code for one in refused.faults] == [Code.FORBIDDEN]
    assert driver.state() == "active"
