"""A task that ended without success counts as the one that did its work; the history keeps both."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.plan.batches.inverse import undoing
from starloom_protocol.records.edits import AddTask, EditOperation, Supersede, UpdateTask
from starloom_protocol.records.entities import Answer as Told
from starloom_protocol.records.entities import Check, Choice, ForEach, Policy, Record, ResultSpec, decode_entity
from starloom_protocol.vocabulary import Code, Gate, Op, Outcome
from tests.builders import Driver, edge, plan, task
from tests.core.watched import WatchedDriver


def fail(driver: Driver, name: str) -> None:
    dispatch = next(item for item in driver.dispatched if item.at.task == name)
    driver.dispatched.remove(dispatch)
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)


def failed(*more: Any, **fields: Any) -> Driver:
    """`a` has failed, `b` was skipped for it, and `last` is still to come."""
    driver = WatchedDriver("one", slots=8)
    driver.submit(plan(task("a"), task("b", "x=a"), task("last", device="away"), *more, **fields))
    fail(driver, "a")
    assert (driver.states()["a"], driver.states()["b"]) == ("failed", "skipped")
    return driver


def end(driver: Driver) -> str:
    driver.add_device("away")
    driver.control("skip", "last")
    return driver.run()


def said(driver: Driver) -> str:
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Told)
    return answer.sentence


def anew(*names: str) -> list[EditOperation]:
    """Add `NAME-2` for each, and let it stand for NAME."""
    added = [AddTask(spec=task(f"{name}-2")) for name in names]
    return [*added, *(Supersede(by=f"{name}-2", task=name) for name in names)]


def test_work_done_anew_ends_well_and_the_answer_says_who_did_it() -> None:
    driver = failed()
    assert not driver.edit(*anew("a", "b")).faults
    assert end(driver) == "succeeded"
    assert driver.states()["a"] == "failed", "the history keeps both"
    assert driver.shard.constellations["c1"].specs["a"].superseded_by == "a-2"
    assert "a failed; a-2 did its work." in said(driver)
    assert "First cause" not in said(driver)
    driver.folded_equals_state()


def test_what_was_skipped_for_the_failure_is_opened_again_and_reads_from_the_successor() -> None:
    driver = failed(task("c", "y=b"), task("g", "x=a", for_each=ForEach(source="a", output="/l")))
    assert (driver.states()["c"], driver.states()["g"]) == ("skipped", "skipped")
    assert not driver.edit(*anew("a")).faults
    run = driver.shard.constellations["c1"]
    assert {name: driver.states()[name] for name in "bcg"} == {"b": "waiting", "c": "waiting", "g": "waiting"}
    assert run.tasks["b"].round == 2
    assert [item.source for item in run.specs["b"].inputs] == ["a-2"]
    (dispatch,) = driver.take()
    driver.result(dispatch, {"l": [1]})
    assert {item.at.task for item in driver.dispatched} == {"b", "g.0"}
    assert end(driver) == "succeeded"
    driver.folded_equals_state()


def test_what_the_failure_itself_called_for_stays_with_it() -> None:
    driver = failed(task("on-failure"), edge("a>on-failure", Gate.FAILURE))
    assert not driver.edit(Supersede(by="on-failure", task="a")).faults
    run = driver.shard.constellations["c1"]
    assert "a>on-failure:failure" in run.deps
    assert [item.source for item in run.specs["b"].inputs] == ["on-failure"]
    assert end(driver) == "succeeded"


def test_what_was_tried_before_is_not_opened_again_by_an_edit() -> None:
    driver = WatchedDriver("one", slots=8)
    driver.submit(plan(task("a"), task("b", "x=a", tool="t.never"), task("last", device="away")))
    driver.run()
    driver.control("retry_from", "a", confirm=["b"])
    fail(driver, "a")
    assert driver.states()["b"] == "skipped"
    assert not driver.edit(*anew("a")).faults
    assert driver.states()["b"] == "skipped"
    assert end(driver) == "failed"


def test_the_result_of_the_plan_is_the_successors() -> None:
    driver = failed(results=[ResultSpec(source="a", title="Sum")])
    driver.edit(*anew("a"))
    driver.run(value=7)
    end(driver)
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Told)
    assert [(item.task, item.value) for item in answer.items] == [("a-2", "7")]


@pytest.mark.parametrize("how", ["skip", "optional"])
def test_a_successor_that_did_nothing_is_no_success(how: str) -> None:
    driver = failed()
    fields: dict[str, Any] = {"optional": True} if how == "optional" else {"device": "away"}
    driver.edit(AddTask(spec=task("a-2", **fields)), Supersede(by="a-2", task="a"))
    if how == "skip":
        driver.control("skip", "a-2")
    else:
        fail(driver, "a-2")
    assert end(driver) == "failed"


def test_a_check_that_was_written_down_is_not_set_aside() -> None:
    check = Check(output="/rows", op=Op.GT, value="0")
    driver = failed(task("c", checks=[check]))
    fail(driver, "c")
    (fault,) = driver.edit(*anew("c")).faults
    assert (fault.code, fault.place) == (Code.PLAN_INVALID, "operations[1].supersede.by")
    again = AddTask(spec=task("c-2", checks=[check, Check(output="/more", op=Op.EXISTS)]))
    assert not driver.edit(again, Supersede(by="c-2", task="c")).faults


def test_nobody_answers_for_a_person() -> None:
    driver = failed(task("ask", person="owner", choices=[Choice(value="no", label="No", fails=True)]))
    driver.control("cancel", "ask")
    (fault,) = driver.edit(*anew("ask")).faults
    assert (fault.code, fault.place) == (Code.ILLEGAL_CONTROL, "operations[1].supersede.task")


def test_a_successor_that_waits_for_what_waits_for_it_is_a_cycle() -> None:
    driver = failed()
    (fault,) = driver.edit(AddTask(spec=task("a-2", "x=b")), Supersede(by="a-2", task="a")).faults
    assert fault.code is Code.PLAN_CYCLE


def test_a_successor_that_fails_does_not_help() -> None:
    driver = failed()
    driver.edit(*anew("a", "b"))
    fail(driver, "a-2")
    assert end(driver) == "failed"
    assert "First cause: a - " in said(driver)


def test_the_last_of_a_chain_counts() -> None:
    driver = failed(policy=Policy(partial=True))
    driver.edit(*anew("a", "b"))
    fail(driver, "a-2")
    assert not driver.edit(AddTask(spec=task("a-3")), Supersede(by="a-3", task="a-2")).faults
    assert end(driver) == "succeeded"


def test_a_group_is_superseded_whole() -> None:
    driver = failed(task("g", "x=a", for_each=ForEach(source="a", output="/l")))
    assert driver.states()["g"] == "skipped"
    assert not driver.edit(*anew("a", "b", "g")).faults
    assert end(driver) == "succeeded"


@pytest.mark.parametrize(
    ("operation", "code", "place"),
    [
        (Supersede(by="last", task="gone"), Code.UNKNOWN_TASK, "task"),
        (Supersede(by="gone", task="a"), Code.UNKNOWN_TASK, "by"),
        (Supersede(by="a", task="last"), Code.ILLEGAL_CONTROL, "task"),
        (Supersede(by="a", task="a"), Code.PLAN_CYCLE, "by"),
        (Supersede(by="p.x", task="a"), Code.BAD_REQUEST, "by"),
    ],
)
def test_what_cannot_be_superseded_is_refused(operation: Supersede, code: Code, place: str) -> None:
    driver = failed(task("p", tool=None, nested=True), task("p.x", group="p", device="away"))
    (fault,) = driver.edit(operation).faults
    assert (fault.code, fault.place) == (code, f"operations[0].supersede.{place}")


def test_a_ring_of_successors_is_refused() -> None:
    driver = failed()
    assert not driver.edit(*anew("b"), Supersede(by="b-2", task="a")).faults
    fail(driver, "b-2")
    (fault,) = driver.edit(Supersede(by="a", task="b-2")).faults
    assert fault.code is Code.PLAN_CYCLE


@pytest.mark.parametrize("author", ["model:planner", "device:d-one", "rule:r"])
def test_only_a_person_says_that_work_was_done(author: str) -> None:
    driver = failed()
    (fault,) = driver.edit(Supersede(by="last", task="a"), by=author).faults
    assert fault.code is Code.FORBIDDEN


def test_an_edit_of_fields_supersedes_nothing() -> None:
    driver = failed()
    raw = {"superseded_by": msgspec.Raw(b'"a"')}
    (fault,) = driver.edit(UpdateTask(changes=raw, id="last")).faults
    assert fault.code is Code.UNKNOWN_FIELD


def test_undo_of_the_edit_takes_the_successor_back() -> None:
    driver = failed()
    before: dict[str, Record] = {key: decode_entity(key, raw) for key, raw in driver.folded["c1"].items()}
    driver.edit(Supersede(by="last", task="a"))
    after: dict[str, Record] = {key: decode_entity(key, raw) for key, raw in driver.folded["c1"].items()}
    back = undoing(before, after, 2)
    assert back[-1] == Supersede(by=None, task="a")
    assert not driver.edit(*back).faults
    run = driver.shard.constellations["c1"]
    assert run.specs["a"].superseded_by is None
    assert [item.source for item in run.specs["b"].inputs] == ["a"]
    assert driver.states()["b"] == "skipped"
    assert end(driver) == "failed"
    driver.folded_equals_state()
