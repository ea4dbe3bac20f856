"""A call that speaks of other work is exchanged before it runs (T245): an undo, or a look whether work was done."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from starloom_protocol.records.edits import EditOperation, Reassign, RemoveTask, UpdateTask
from starloom_protocol.records.entities import Answer, Selector
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import MAYBE, Driver, plan
from tests.core.people.test_compensation import CHAIN, moved, undo
from tests.core.run.test_verification import SEND


def other_call(task: str) -> UpdateTask:
    changes = {"args": '{"back":true}', "tool": "t.pure", "inputs": []}
    return UpdateTask(
        changes={name: msgspec.Raw(msgspec.json.encode(value)) for name, value in changes.items()}, id=task
    )


def other_device(task: str) -> Reassign:
    return Reassign(device=Selector(id="d-two"), id=task)


def sentence(driver: Driver) -> str:
    told = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(told, Answer)
    return told.sentence


def refused(driver: Driver, operation: EditOperation, by: str) -> None:
    approves = by == "person:ann"
    (fault,) = driver.edit(operation, approves=approves, by=by, reason="quicker", trigger="person").faults
    assert fault.code is Code.BAD_REQUEST
    assert "says how" in fault.reason


@pytest.mark.parametrize("by", ["person:ann", "person:lo", "assistant:ann"])
@pytest.mark.parametrize("change", [other_call, other_device])
def test_t245_work_does_not_count_as_taken_back_by_another_call(
    by: str, change: Callable[[str], EditOperation]
) -> None:
    driver = moved(*CHAIN)
    undo(driver)
    refused(driver, change("undo-a"), by)
    while taken := driver.take():
        assert {dispatch.tool for dispatch in taken} == {"t.idem"}
        for dispatch in taken:
            driver.result(dispatch)
    assert sentence(driver).startswith("test was done and then taken back: b, a.")
    driver.folded_equals_state()


@pytest.mark.parametrize("change", [other_call, other_device])
def test_t245_work_in_doubt_is_looked_at_by_its_own_call(change: Callable[[str], EditOperation]) -> None:
    driver = Driver("one", "two")
    driver.submit(plan(SEND))
    (send,) = driver.take()
    driver.control("pause")
    driver.result(send, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail="the agent was killed")
    assert driver.states()["verify-send"] in ("ready", "waiting")
    refused(driver, change("verify-send"), "person:lo")


def test_t245_an_undo_that_is_removed_takes_nothing_back() -> None:
    driver = moved(*CHAIN)
    undo(driver)
    assert not driver.edit(RemoveTask(id="undo-a"), approves=True, reason="keep a", trigger="person").faults
    driver.run()
    assert "taken back: b, a" not in sentence(driver)
