"""What is said of the parts of a plan together tells where each of them stands."""

from __future__ import annotations

from typing import Any

from starloom_protocol.entities import Fault
from starloom_protocol.plan import check_plan
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
