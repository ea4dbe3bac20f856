"""Taking back an edit leads to the plan before, taking that back to the plan after; what moved on is refused."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.core.answer import story
from starloom.core.plan.batches.inverse import NotUndoable, undoing
from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import (
    AddDependency,
    AddItems,
    AddTask,
    EditOperation,
    Reassign,
    RemoveDependency,
    RemoveTask,
    SetPolicy,
    UpdateTask,
)
from starloom_protocol.records.entities import ForEach, Policy, Record, Selector, decode_entity
from starloom_protocol.stream.feed import fold
from starloom_protocol.vocabulary import Code
from tests.builders import Driver, edge, plan, task

FIRST = (task("a"), task("b"), task("c"), task("d", "x=a"), edge("a>b"), edge("b>c"))


def plan_at(driver: Driver, version: int) -> dict[str, Record]:
    events = [event for event in driver.events if event.stream == "c1"]
    upto = next(at for at, event in enumerate(events) if f"version/{version}" in event.puts)
    return {key: decode_entity(key, raw) for key, raw in fold({}, events[: upto + 1]).items()}


def undo(driver: Driver, version: int) -> Answer:
    operations = undoing(plan_at(driver, version - 1), plan_at(driver, version), version)
    return driver.edit(*operations, base=version)


def shape(state: Mapping[str, Record]) -> dict[str, Record]:
    """The plan without the numbers of the versions that wrote it."""
    return {
        key: msgspec.structs.replace(record, changed_in=0)
        for key, record in state.items()
        if key.startswith(("spec/", "dep/"))
    }


def waiting() -> Driver:
    driver = Driver("one")
    driver.submit(plan(task("gate", tool="t.never"), *FIRST, *(edge(f"gate>{name}") for name in "abcd")))
    return driver


EDITS: dict[str, list[EditOperation]] = {
    "add": [AddTask(spec=task("e", "y=b")), AddDependency(dependency=edge("e>c"))],
    "remove": [RemoveTask(id="c")],
    "rewire": [RemoveDependency(id="a>b:success"), AddDependency(dependency=edge("a>c"))],
    "update": [UpdateTask(id="b", changes={"args": msgspec.Raw(b'"{\\"n\\":1}"')})],
    "reassign": [Reassign(id="b", device=Selector(name="one"))],
    "input": [UpdateTask(id="d", changes={"inputs": msgspec.Raw(b'[{"name":"x","source":"b"}]')})],
    "policy": [SetPolicy(policy=Policy(partial=True))],
    "times": [UpdateTask(id="b", changes={"for_each": msgspec.Raw(b'{"devices":{},"times":1}')})],
}


@pytest.mark.parametrize("name", EDITS)
def test_undo_leads_back_and_undo_of_the_undo_forward(name: str) -> None:
    driver = waiting()
    assert not driver.edit(*EDITS[name]).faults
    assert undo(driver, 2).value == {"version": 3}
    assert shape(plan_at(driver, 3)) == shape(plan_at(driver, 1))
    assert driver.shard.constellations["c1"].head.policy == Policy()
    assert undo(driver, 3).value == {"version": 4}
    assert shape(plan_at(driver, 4)) == shape(plan_at(driver, 2))
    driver.folded_equals_state()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(EDITS)), min_size=1, max_size=4, unique=True))
def test_any_edits_undone_in_reverse_lead_back_to_the_first_plan(names: list[str]) -> None:
    driver = waiting()
    made = [name for name in names if not driver.edit(*EDITS[name]).faults]
    versions = list(range(2, 2 + len(made)))
    for version in reversed(versions):
        # Each takes back what the log says it did, judged on what stands now: later ones are undone already.
        operations = undoing(plan_at(driver, version - 1), plan_at(driver, version), version)
        assert not driver.edit(*operations).faults
    newest = driver.shard.constellations["c1"].head.version
    assert shape(plan_at(driver, newest)) == shape(plan_at(driver, 1))
    driver.folded_equals_state()


def test_what_has_started_or_changed_since_is_refused_with_the_reason() -> None:
    driver = waiting()
    driver.edit(*EDITS["update"])
    driver.edit(Reassign(id="b", device=Selector(name="one")))
    refused = undo(driver, 2)
    assert [item.code for item in refused.faults] == [Code.EDIT_CONFLICT]
    assert "b was changed in version 3" in refused.faults[0].reason
    gate = driver.take()[0]
    driver.result(gate)
    driver.result(next(item for item in driver.take() if item.at.task == "a"))
    started = undo(driver, 3)
    assert [item.code for item in started.faults] == [Code.TASK_STARTED]


def test_the_plan_itself_and_what_a_list_made_are_not_taken_back() -> None:
    driver = Driver("one")
    driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/l"))))
    driver.result(driver.take()[0], {"l": [1]}, facts={"/l": "[1]"})
    with pytest.raises(NotUndoable, match="version 1 is the plan itself"):
        undoing({}, plan_at(driver, 1), 1)
    with pytest.raises(NotUndoable, match="item of a list"):
        undoing(plan_at(driver, 1), plan_at(driver, 2), 2)


def test_an_edit_that_was_taken_back_dropped_nothing_in_the_answer() -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("a"), task("hold", "x=a")))
    assert not driver.edit(RemoveTask(id="hold")).faults
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert "1 task dropped: hold." in sentence
    assert not undo(driver, 2).faults
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert "dropped" not in sentence


def test_items_that_an_edit_added_are_taken_back_until_one_has_begun() -> None:
    driver = Driver("one", slots=1)
    driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/l")), task("end", "rows=g")))
    driver.result(driver.take()[0], {"l": [1, 2]})
    assert driver.edit(AddItems(items="[3,4]", to="g")).value == {"version": 3}
    assert not undo(driver, 3).faults
    assert list(driver.shard.constellations["c1"].children["g"]) == ["g.0", "g.1"]
    assert driver.edit(AddItems(items="[5]", to="g")).value == {"version": 5}
    assert driver.run() == "succeeded"
    assert [item.code for item in undo(driver, 5).faults][:1] == [Code.ILLEGAL_CONTROL]
    assert driver.states()["g.4"] == "succeeded"
