"""A task that ended without success counts as the one that did its work; the history keeps both."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.plan.inverse import undoing
from starloom.core.state import inputs as i
from starloom.core.state.effects import Answer
from starloom_protocol.edits import AddTask, EditOperation, Supersede, UpdateTask
from starloom_protocol.entities import Answer as Told
from starloom_protocol.entities import ForEach, Policy, Record, decode_entity
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import Driver, plan, task
from tests.core.watched import WatchedDriver


def edit(driver: Driver, *operations: EditOperation, by: str = "person:ann") -> Answer:
    version = driver.shard.constellations["c1"].head.version
    return driver.do(
        i.EditProposed(id=driver.ident(), by=by, constellation="c1", base_version=version, operations=list(operations))
    )


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
    found = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(found, Told)
    return found.sentence


def anew(*names: str) -> list[EditOperation]:
    """Add `NAME-2` for each, and let it stand for NAME."""
    added = [AddTask(spec=task(f"{name}-2")) for name in names]
    return [*added, *(Supersede(by=f"{name}-2", task=name) for name in names)]


def test_work_done_anew_ends_well_and_the_answer_says_who_did_it() -> None:
    driver = failed()
    assert not edit(driver, *anew("a", "b")).faults
    assert end(driver) == "succeeded"
    assert driver.states()["a"] == "failed", "the history keeps both"
    assert driver.shard.constellations["c1"].specs["a"].superseded_by == "a-2"
    assert "a failed; a-2 did its work." in said(driver)
    assert "First cause" not in said(driver)
    driver.folded_equals_state()


def test_what_nothing_superseded_still_fails() -> None:
    driver = failed()
    assert not edit(driver, *anew("a")).faults
    assert end(driver) == "failed", "b was skipped, and nothing did its work"


def test_a_successor_that_fails_does_not_help() -> None:
    driver = failed()
    edit(driver, *anew("a", "b"))
    fail(driver, "a-2")
    assert end(driver) == "failed"
    assert "First cause: a - " in said(driver)


def test_the_last_of_a_chain_counts() -> None:
    driver = failed(policy=Policy(partial=True))
    edit(driver, *anew("a", "b"))
    fail(driver, "a-2")
    assert not edit(driver, AddTask(spec=task("a-3")), Supersede(by="a-3", task="a-2")).faults
    assert end(driver) == "succeeded"


def test_a_group_is_superseded_whole() -> None:
    driver = failed(task("g", "x=a", for_each=ForEach(source="a", output="/l")))
    assert driver.states()["g"] == "skipped"
    assert not edit(driver, *anew("a", "b", "g")).faults
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
    (fault,) = edit(driver, operation).faults
    assert (fault.code, fault.place) == (code, f"operations[0].supersede.{place}")


def test_a_ring_of_successors_is_refused() -> None:
    driver = failed()
    assert not edit(driver, Supersede(by="b", task="a")).faults
    (fault,) = edit(driver, Supersede(by="a", task="b")).faults
    assert fault.code is Code.PLAN_CYCLE


@pytest.mark.parametrize("author", ["model:planner", "device:d-one", "rule:r"])
def test_only_a_person_says_that_work_was_done(author: str) -> None:
    driver = failed()
    (fault,) = edit(driver, Supersede(by="last", task="a"), by=author).faults
    assert fault.code is Code.FORBIDDEN


def test_an_edit_of_fields_supersedes_nothing() -> None:
    driver = failed()
    raw = {"superseded_by": msgspec.Raw(b'"a"')}
    (fault,) = edit(driver, UpdateTask(changes=raw, id="last")).faults
    assert fault.code is Code.UNKNOWN_FIELD


def test_undo_of_the_edit_takes_the_successor_back() -> None:
    driver = failed()
    before: dict[str, Record] = {key: decode_entity(key, raw) for key, raw in driver.folded["c1"].items()}
    edit(driver, Supersede(by="last", task="a"))
    after: dict[str, Record] = {key: decode_entity(key, raw) for key, raw in driver.folded["c1"].items()}
    back = undoing(before, after, 2)
    assert back == [Supersede(by=None, task="a")]
    assert not edit(driver, *back).faults
    assert driver.shard.constellations["c1"].specs["a"].superseded_by is None
    assert end(driver) == "failed"
