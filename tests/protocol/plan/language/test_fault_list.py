"""What a fault says besides its place: the word that was meant, the form that is needed."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from starloom_protocol.plan.checks.check import check_plan
from starloom_protocol.plan.language.fault_list import fields_at, number_instead
from tests.protocol.plan.checks.test_check import faults, plan, tool


class _Leaf(BaseModel):
    name: str


class _Root(BaseModel):
    text: str | None
    leaf: str | _Leaf | None
    named: dict[str, Annotated[_Leaf, Field()]] | None
    listed: list[_Leaf | None]


def test_a_near_word_is_named() -> None:
    found = faults(plan(tool("list"), tool("b", inputs={"x": {"from": "lst"}}), polcy={}))
    hints = {fault.place: fault.hint for fault in found}
    assert hints == {"polcy": "Did you mean `policy`?", "tasks[1].inputs.x.from": "Did you mean `list`?"}
    assert all("[" not in fault.reason or "function-" not in fault.reason for fault in found)


def test_a_map_that_is_missing_is_shown() -> None:
    wrong = {"device": "laptop", "for_each": ["a"], "inputs": {"x": "list", "y": {"form": "list"}}}
    hints = {fault.place: fault.hint for fault in faults(plan(tool("list"), tool("b", **wrong)))}
    assert hints["tasks[1].device"] == "Write `{name: laptop}`."
    assert hints["tasks[1].for_each"].startswith(
        "Name the task whose result is the list: `{from: ID, output: POINTER}`"
    )
    assert (
        hints["tasks[1].inputs.x"] == "It has: from, finding, fresh_s, else, output, optional, flatten, all, off, who."
    )
    assert hints["tasks[1].inputs.y.form"] == "Did you mean `from`?"


def test_a_list_of_sources_names_the_ways_to_read_several() -> None:
    (fault,) = faults(plan(tool("list"), tool("b", inputs={"files": [{"from": "list"}]})))
    assert fault.place == "tasks[1].inputs.files"
    assert "`all: true, flatten: true`" in fault.hint
    assert "`data.merge`" in fault.hint


def test_the_words_of_other_systems_are_answered_with_the_form_of_a_plan() -> None:
    said = {
        **dict.fromkeys(("depends_on", "after", "needs"), "dependencies: [{from: FIRST, to: THIS}]"),
        **dict.fromkeys(("host", "on"), "device: {name: NAME}"),
        "command": "tool: shell.run",
        "loop": "for_each: {devices: SELECTOR}",
        "retries": "retry: {max_attempts: N}",
        "if": "when: {output: /pointer",
        "timeout": "start_to_close_s",
        "with": "args: {NAME: VALUE}",
    }
    found = faults(plan(tool("list"), tool("b", **dict.fromkeys(said, "list")), steps=[], description="x"))
    hints = {fault.place: fault.hint for fault in found}
    assert {name for name, form in said.items() if form not in hints[f"tasks[1].{name}"]} == set()
    assert hints["steps"] == "The list is called `tasks`."
    assert hints["description"] == "The plan has a `name`."


def test_a_plan_without_its_format_is_told_the_line() -> None:
    (fault,) = check_plan({"tasks": [{"id": "a", "tool": "list"}]}).faults
    assert (fault.place, fault.hint) == ("starloom", "Add `starloom: 1`.")


def test_the_names_a_place_knows_are_found_through_whatever_stands_around_the_model() -> None:
    for loc in (("leaf",), ("named", "any"), ("named",), ("listed", 3), ("listed",)):
        assert fields_at(_Root, loc) == ["name"], loc
    assert fields_at(_Root, ()) == ["text", "leaf", "named", "listed"]
    assert fields_at(_Root, ("text",)) == fields_at(_Root, ("nowhere",)) == []


def test_a_point_of_review_that_is_not_there_is_named() -> None:
    found = faults(plan(tool("list"), tool("b"), policy={"review_at": ["b", "lst"]}))
    assert [(fault.place, fault.hint) for fault in found] == [("policy.review_at[1]", "Did you mean `list`?")]


@pytest.mark.parametrize("word", ["all", "any", "*", "Every"])
def test_a_word_for_every_device_is_told_its_form(word: str) -> None:
    tasks = [
        {"id": "a", "tool": "t", "for_each": {"devices": word}},
        {"id": "b", "tool": "t", "device": word},
    ]
    faults = check_plan({"starloom": 1, "tasks": tasks}).faults
    assert [fault.place for fault in faults] == ["tasks[0].for_each.devices", "tasks[1].device"]
    assert all("`{}` is every device that can" in fault.hint for fault in faults)


def test_faults_stand_in_the_order_of_the_tasks() -> None:
    wrong = [tool("a", timeouts={"start_to_close_s": "5m"}), tool("b", inputs={"x": {"from": "no"}}), tool("c", no=1)]
    places = [fault.place for fault in faults(plan(*wrong, tool("d", inputs={"x": {"from": "no"}})))]
    assert [place.partition(".")[0] for place in places] == [f"tasks[{at}]" for at in range(4)]


def test_a_number_with_a_unit_is_shown_as_it_is_written() -> None:
    (fault,) = faults(plan(tool("a", timeouts={"start_to_close_s": "5m"})))
    assert fault.hint == "Write the number alone: `start_to_close_s: 300`."
    assert number_instead("min_bytes", "5MB") == "Write the number alone: `min_bytes: 5000000`."
    assert number_instead("min_bytes", "much") == "Write a number of bytes without quotes: `min_bytes: 10`."
    assert number_instead("limit", "7") == "Write a number without quotes: `limit: 7`."
