"""What is said of the parts of a plan together tells where each of them stands."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code


def _tool(name: str) -> dict[str, Any]:
    return {"id": name, "tool": "lab.echo"}


def _faults(tasks: list[Any], dependencies: list[Any]) -> list[Fault]:
    return check_plan({"starloom": 1, "tasks": tasks, "dependencies": dependencies}).faults


def test_what_is_written_twice_tells_of_the_first() -> None:
    gates: list[dict[str, Any]] = [{}, {"when": "failure"}, {"when": {"output": "/x", "op": "not_empty"}}]
    other = {"when": {"output": "/y", "op": "not_empty"}}
    ends = [{"from": "a", "to": "b", **gate} for gate in (*gates, other, *gates)]
    found = _faults([_tool("a"), {**_tool("b"), "need": 3}, _tool("b"), _tool("a")], ends)
    assert [(fault.place, fault.reason) for fault in found if fault.code is Code.DUPLICATE_ID] == [
        ("tasks[2].id", "`b` is the id of tasks[1] already"),
        ("tasks[3].id", "`a` is the id of tasks[0] already"),
        ("dependencies[4]", "`a>b:success` stands at dependencies[0] already"),
        ("dependencies[5]", "`a>b:failure` stands at dependencies[1] already"),
        ("dependencies[6]", "`a>b:output:/x` stands at dependencies[2] already"),
    ]


def test_each_cycle_has_its_place() -> None:
    edges = [{"from": "a", "to": "b"}, {"from": "c", "to": "d"}, {"from": "b", "to": "a"}, {"from": "d", "to": "c"}]
    found = _faults([_tool(name) for name in "abcd"], edges)
    assert [(fault.code, fault.place) for fault in found] == [
        (Code.PLAN_CYCLE, "dependencies[0]"),
        (Code.PLAN_CYCLE, "dependencies[1]"),
    ]


@pytest.mark.parametrize(
    ("a", "b", "edges", "place"),
    [
        ({"colour": "red"}, {}, [{}, {}], "dependencies[1]"),
        ({"colour": "red"}, {"need": 3}, [{}, {}], "dependencies[0]"),
        ({}, {}, [{"when": "sucess"}, {}], "dependencies[0].from"),
        ({"need": 3, "inputs": {"v": {"from": "b"}}}, {}, [{}], "tasks[0].inputs.v.from"),
        ({"need": 3, "for_each": {"from": "b", "output": "/l"}}, {}, [{}], "tasks[0].for_each.from"),
    ],
)
def test_a_fault_hides_no_cycle(a: dict[str, Any], b: dict[str, Any], edges: list[Any], place: str) -> None:
    ends = [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]
    gates = [{**end, **edge} for end, edge in zip(ends, edges, strict=False)]
    found = _faults([{**_tool("a"), **a}, {**_tool("b"), **b}], gates)
    assert len(found) == sum(map(bool, (a, b, *edges))) + 1
    (cycle,) = (fault for fault in found if fault.code is Code.PLAN_CYCLE)
    assert cycle.place == place
    assert cycle.reason in ("these tasks wait for each other: a > b > a", "these tasks wait for each other: b > a > b")


def test_a_second_task_of_a_name_says_what_it_names() -> None:
    found = _faults([_tool("a"), {**_tool("a"), "inputs": {"v": {"from": "nobody"}}}], [])
    assert {(fault.code, fault.place) for fault in found} == {
        (Code.DUPLICATE_ID, "tasks[1].id"),
        (Code.UNKNOWN_TASK, "tasks[1].inputs.v.from"),
    }
