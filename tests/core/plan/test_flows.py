"""An edit of a running plan is held to what tools take and give, in the plan as the edit leaves it."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state.orders import Answer
from starloom_protocol.plan import check_edit
from starloom_protocol.records.entities import ForEach, ToolOffer
from starloom_protocol.values import canonical
from tests.builders import Driver, edge, plan, task

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def offer(name: str, gives: dict[str, Any] | None = None, **takes: Any) -> ToolOffer:
    closed = {"type": "object", "additionalProperties": False}
    args = canonical({**closed, "properties": takes})
    return ToolOffer(name=name, args=args, returns="" if gives is None else canonical({**closed, "properties": gives}))


TOOLS = [
    offer("t.pure", {"rows": {"type": "array", "items": {"type": "object"}}, "count": WHOLE}, x=TEXT),
    offer("t.other", {"text": TEXT}),
    offer("t.any"),
]


def running() -> Driver:
    driver = Driver()
    driver.add_device("one", slots=1, tools=TOOLS)
    reader = task("read", "n=list/count", tool="t.any")
    group = task("each", tool="t.any", for_each=ForEach(source="late", output="/rows"))
    driver.submit(plan(task("list"), reader, task("late"), edge("read>late"), group))
    return driver


def edited(driver: Driver, *operations: dict[str, Any]) -> Answer:
    faults, lowered = check_edit(list(operations))
    assert faults == []
    return driver.edit(*lowered, base=1, reason="so")


def places(answer: Answer) -> list[tuple[str, str]]:
    return [(str(fault.code), fault.place) for fault in answer.faults]


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        (
            {"add_task": {"id": "new", "tool": "t.any", "inputs": {"a": {"from": "list", "output": "/row"}}}},
            ("unknown_output", "operations[0].add_task.inputs.a.output"),
        ),
        (
            {"add_task": {"id": "new", "tool": "t.pure", "inputs": {"x": {"from": "list", "output": "/count"}}}},
            ("wrong_type", "operations[0].add_task.inputs.x"),
        ),
        (
            {"update_task": {"id": "late", "args": {"x": 7}}},
            ("wrong_type", "operations[0].update_task.args.x"),
        ),
        (
            {"update_task": {"id": "late", "tool": "t.other"}},
            ("unknown_output", "operations[0].update_task.tool"),
        ),
        (
            {"add_dependency": {"from": "list", "to": "late", "when": {"output": "/no", "op": "exists"}}},
            ("unknown_output", "operations[0].add_dependency.when.output"),
        ),
    ],
)
def test_an_edit_of_what_cannot_be_is_refused_whole(operation: dict[str, Any], fault: tuple[str, str]) -> None:
    driver = running()
    fine = {"add_task": {"id": "fine", "tool": "t.any"}}
    assert places(edited(driver, operation, fine)) == [fault]
    assert driver.shard.constellations["c1"].head.version == 1
    assert "fine" not in driver.shard.constellations["c1"].specs


def test_a_tool_whose_readers_find_what_they_read_may_change() -> None:
    driver = running()
    assert edited(driver, {"update_task": {"id": "late", "tool": "t.any"}}).faults == []


def test_a_condition_on_another_tool_is_looked_at_too() -> None:
    driver = running()
    gate = {"add_dependency": {"from": "late", "to": "end", "when": {"output": "/count", "op": "exists"}}}
    assert edited(driver, {"add_task": {"id": "end", "tool": "t.any"}}, gate).faults == []
    answer = edited(driver, {"update_task": {"id": "late", "tool": "t.other"}})
    assert places(answer) == [("unknown_output", "operations[0].update_task.tool")] * 2
    assert {fault.reason.partition(":")[0] for fault in answer.faults} == {"each.for_each.output", "end.when.output"}


def test_what_no_device_offers_may_give_anything() -> None:
    driver = running()
    added = {"id": "new", "tool": "t.gone"}
    reader = {"id": "next", "tool": "t.any", "inputs": {"a": {"from": "new", "output": "/whatever"}}}
    assert edited(driver, {"add_task": added}, {"add_task": reader}).faults == []
