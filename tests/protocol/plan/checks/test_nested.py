"""Plans within plans: expanded in place, inner names first, never from outside into one; each fault with its place."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.edits import AddDependency, AddTask
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "tool": "t.pure", **fields}


def nested(name: str, *tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    dependencies = fields.pop("dependencies", [])
    return {"id": name, "plan": {"tasks": list(tasks), "dependencies": dependencies}, **fields}


def document(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "Test", "tasks": list(tasks), **fields}


def faults(doc: dict[str, Any], **known: Any) -> list[Fault]:
    return check_plan(doc, **known).faults


def test_a_nested_plan_is_a_group_with_its_tasks_under_its_name() -> None:
    doc = document(
        tool("a"),
        nested("outer", tool("x"), tool("y", inputs={"v": {"from": "x"}, "w": {"from": "a"}}), optional=True),
        tool("b", inputs={"rows": {"from": "outer"}}),
        dependencies=[{"from": "a", "to": "outer"}],
    )
    plan = check_plan(doc).plan
    assert plan is not None
    specs = {spec.id: spec for spec in plan.specs}
    assert list(specs) == ["a", "outer", "outer.x", "outer.y", "b"]
    assert (specs["outer"].nested, specs["outer"].optional, specs["outer.x"].group) == (True, True, "outer")
    assert [item.source for item in specs["outer.y"].inputs] == ["outer.x", "a"]
    control = [(gate.source, gate.target) for gate in plan.dependencies if gate.input is None]
    assert control == [("a", "outer"), ("a", "outer.x"), ("a", "outer.y")]


def test_the_nearest_name_is_meant() -> None:
    doc = document(
        tool("x"),
        nested("outer", tool("x"), nested("deeper", tool("y", inputs={"v": {"from": "x"}}))),
        nested("other", tool("z", inputs={"v": {"from": "x"}})),
    )
    plan = check_plan(doc).plan
    assert plan is not None
    sources = {spec.id: [item.source for item in spec.inputs] for spec in plan.specs if spec.inputs}
    assert sources == {"outer.deeper.y": ["outer.x"], "other.z": ["x"]}


def test_families_and_gates_inside() -> None:
    doc = document(
        tool("l"),
        nested(
            "outer",
            tool("g", for_each={"from": "l", "output": "/l"}),
            tool("h", for_each={"same": "g"}),
            tool("end"),
            dependencies=[{"from": "h", "to": "end", "when": "finish"}],
        ),
    )
    plan = check_plan(doc).plan
    assert plan is not None
    specs = {spec.id: spec for spec in plan.specs}
    assert (specs["outer.g"].family, specs["outer.h"].family) == ("outer.g", "outer.g")
    assert [(gate.source, gate.target) for gate in plan.dependencies] == [("outer.h", "outer.end")]


def test_parameters_and_only_if_reach_inside() -> None:
    inner = nested("outer", tool("x", args={"n": {"param": "n"}}), tool("y", only_if={"param": "more"}))
    for more, names in ((True, ["outer", "outer.x", "outer.y"]), (False, ["outer", "outer.x"])):
        plan = check_plan(document(inner), params={"n": 3, "more": more}).plan
        assert plan is not None
        assert [spec.id for spec in plan.specs] == names
        assert plan.specs[1].args == '{"n":3}'
    left_out = document(tool("a"), nested("outer", tool("x"), only_if=False))
    plan = check_plan(left_out).plan
    assert plan is not None
    assert [spec.id for spec in plan.specs] == ["a"]


@pytest.mark.parametrize(
    ("task", "code", "place"),
    [
        (nested("o", tool("x"), tool("x")), Code.DUPLICATE_ID, "tasks[1].plan.tasks[1].id"),
        (
            nested("o", tool("x", inputs={"v": {"from": "no"}})),
            Code.UNKNOWN_TASK,
            "tasks[1].plan.tasks[0].inputs.v.from",
        ),
        (nested("o", tool("x"), device={"name": "d"}), Code.PLAN_INVALID, "tasks[1].device"),
        (nested("o", tool("x"), for_each={"from": "a"}), Code.PLAN_INVALID, "tasks[1].for_each"),
        (nested("o"), Code.PLAN_INVALID, "tasks[1].plan.tasks"),
        ({"id": "o", "plan": 7}, Code.PLAN_INVALID, "tasks[1].plan"),
        ({"id": "o", "plan": {"tasks": [tool("x")], "rules": []}}, Code.UNKNOWN_FIELD, "tasks[1].plan.rules"),
        ({"id": "o", "plan": {"tasks": [tool("x")], "tasksz": []}}, Code.UNKNOWN_FIELD, "tasks[1].plan.tasksz"),
        (
            {"id": "o", "plan": {"tasks": [tool("x")], "dependencies": 1}},
            Code.PLAN_INVALID,
            "tasks[1].plan.dependencies",
        ),
        (
            nested("o", tool("x"), dependencies=[{"from": "x", "to": "a"}]),
            Code.PLAN_INVALID,
            "tasks[1].plan.dependencies[0].to",
        ),
        (
            nested("o", tool("x"), tool("y"), dependencies=[{"from": "x", "to": "y", "when": 1}]),
            Code.PLAN_INVALID,
            "tasks[1].plan.dependencies[0].when",
        ),
        (
            nested("o", nested("p", nested("q", nested("r", nested("s", tool("x")))))),
            Code.PLAN_TOO_BIG,
            "tasks[1].plan.tasks[0].plan.tasks[0].plan.tasks[0].plan.tasks[0].plan",
        ),
    ],
)
def test_faults_have_their_place(task: dict[str, Any], code: Code, place: str) -> None:
    (fault,) = faults(document(tool("a"), task))
    assert (fault.code, fault.place) == (code, place), fault
    assert fault.hint


@pytest.mark.parametrize(
    ("doc", "place"),
    [
        (document(nested("o", tool("x")), tool("b", inputs={"v": {"from": "o.x"}})), "tasks[1].inputs.v.from"),
        (document(nested("o", tool("x")), tool("b", for_each={"from": "o.x"})), "tasks[1].for_each.from"),
        (
            document(nested("o", tool("x")), tool("b"), dependencies=[{"from": "o.x", "to": "b"}]),
            "dependencies[0].from",
        ),
        (document(nested("o", tool("x")), tool("b"), dependencies=[{"from": "b", "to": "o.x"}]), "dependencies[0].to"),
        (
            document(nested("o", tool("x")), nested("p", tool("y", inputs={"v": {"from": "o.x"}}))),
            "tasks[1].plan.tasks[0].inputs.v.from",
        ),
        (document(nested("o", tool("x")), result=[{"title": "X", "from": "o.x"}]), "result[0].from"),
    ],
)
def test_nothing_reaches_from_outside_into_one(doc: dict[str, Any], place: str) -> None:
    (fault,) = faults(doc)
    assert (fault.code, fault.place, fault.hint) == (Code.UNKNOWN_TASK, place, "Name `o`.")


def test_a_cycle_through_a_plan_as_a_whole_is_found() -> None:
    doc = document(nested("o", tool("x", inputs={"v": {"from": "b"}})), tool("b", inputs={"v": {"from": "o"}}))
    (fault,) = faults(doc)
    assert fault.code is Code.PLAN_CYCLE


def test_too_many_tasks_are_counted_with_those_inside() -> None:
    many = [tool(f"t{number}") for number in range(6_000)]
    found = faults(document(nested("o", *many), nested("p", *many)))
    assert [fault.code for fault in found] == [Code.PLAN_TOO_BIG]


def test_an_edit_adds_a_plan_as_its_parts() -> None:
    body = nested("o", tool("x"), tool("y", inputs={"v": {"from": "x"}}), dependencies=[{"from": "a", "to": "y"}])
    found, operations = check_edit([{"add_task": body}], task_ids=["a"])
    assert found == []
    assert [item.spec.id for item in operations if isinstance(item, AddTask)] == ["o", "o.x", "o.y"]
    gates = [item.dependency for item in operations if isinstance(item, AddDependency)]
    assert [(gate.source, gate.target) for gate in gates] == [("a", "o.y")]
    (fault,) = check_edit([{"add_task": nested("o", tool("x", tool=7))}])[0]
    assert fault.place == "operations[0].add_task.plan.tasks[0].tool"


def test_a_gate_that_is_written_inside_too_is_one() -> None:
    inner = nested("o", tool("x"), tool("y"), dependencies=[{"from": "a", "to": "x"}])
    plan = check_plan(document(tool("a"), inner, dependencies=[{"from": "a", "to": "o"}])).plan
    assert plan is not None
    assert sorted(gate.target for gate in plan.dependencies) == ["o", "o.x", "o.y"]


def test_a_part_with_faults_still_names_what_it_names() -> None:
    inner = nested("o", tool("x"), tool("y", tool=7, inputs={"v": {"from": "x"}, "w": 3, "z": {"from": 1}}))
    assert {fault.code for fault in faults(document(inner))} == {Code.PLAN_INVALID}
    left_out = document(tool("a"), nested("o", tool("x"), {"id": 7, "tool": "t", "only_if": False}))
    assert check_plan(left_out).plan is not None
