"""An undo of which somebody makes something else (T203): by a name in the plan, or by work that is done again."""

from __future__ import annotations

import pytest

from starloom_protocol.records.entities import Answer, UndoCall
from starloom_protocol.vocabulary import Code
from tests.builders import Driver, edge, task
from tests.core.people.test_compensation import BACK, CHAIN, moved, undo

ALONE = UndoCall(tool="t.idem", args='{"how":"back"}')
"""An undo that takes nothing from the work, so that no edge of the plan leads to it."""
LONG = "x" * 58


def done(driver: Driver) -> list[str]:
    """Let the devices do what they are given, and return the tasks in that order."""
    found: list[str] = []
    while taken := driver.take():
        for dispatch in taken:
            found.append(dispatch.at.task)
            driver.now_ms += 1_000
            driver.result(dispatch, {"moved": dispatch.at.task})
    return found


def told(driver: Driver) -> str:
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Answer)
    return answer.sentence


@pytest.mark.parametrize(
    "names", [("a", "undo-a"), (f"{LONG}aa", f"{LONG}ab"), ("a", "undo-a", "undo-undo-a")], ids=["plan", "long", "more"]
)
def test_t203_a_name_in_the_plan_keeps_no_work_from_its_undo(names: tuple[str, ...]) -> None:
    driver = moved(*(task(name, undo=BACK, tool="t.never") for name in names))
    answer = undo(driver)
    assert not answer.faults
    assert sorted(answer.value["undoing"]) == sorted(names)
    assert len(done(driver)) == len(names)
    specs = driver.shard.constellations["c1"].specs.values()
    assert sorted(spec.undoes for spec in specs if spec.undoes is not None) == sorted(names)
    (again,) = undo(driver).faults
    assert again.reason == "all of its work that can be undone is undone already"
    driver.folded_equals_state()


@pytest.mark.parametrize("call", [BACK, ALONE], ids=["with_inputs", "alone"])
def test_t203_work_is_not_done_again_while_it_is_being_undone(call: UndoCall) -> None:
    chain = task("a", undo=call, tool="t.never"), task("b", undo=call, tool="t.never"), edge("a>b")
    driver = moved(*chain)
    undo(driver)
    (taking_back,) = driver.take()
    for name in ("a", "b"):
        (refused,) = driver.control("retry_from", name, confirm=["a", "b"]).faults
        assert refused.code is Code.DOWNSTREAM_STARTED
        assert "undo-" in refused.reason
    assert driver.take() == []
    driver.result(taking_back)
    assert done(driver) == ["undo-a"]


def test_t203_work_that_is_done_again_is_not_taken_back_unasked() -> None:
    driver = moved(*CHAIN)
    undo(driver)
    assert done(driver) == ["undo-b", "undo-a"]
    assert "taken back" in told(driver)
    assert not driver.control("retry_from", "a", confirm=["a", "b"]).faults
    assert done(driver) == ["a", "b", "look"]
    assert "taken back" not in told(driver).lower()
    assert undo(driver).value["undoing"] == ["b", "a"]
    assert done(driver) == ["undo-b-2", "undo-a-2"]
    assert "then taken back: b, a" in told(driver)
    driver.folded_equals_state()


def test_t203_an_undo_that_failed_is_tried_again_with_what_waits_for_it() -> None:
    driver = moved(*CHAIN)
    undo(driver)
    (first,) = driver.take()
    driver.control("cancel", "undo-b")
    driver.receipt(first)
    assert done(driver) == []
    assert driver.states()["undo-a"] == "skipped"
    assert not driver.control("retry", "undo-b").faults
    assert done(driver) == ["undo-b", "undo-a"]
