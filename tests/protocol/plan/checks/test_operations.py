"""Edits as written -> the core's operations, each fault with its place."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from starloom_protocol.plan import check_edit
from starloom_protocol.records import edits
from starloom_protocol.records.entities import ForEach, Policy, Selector, TaskSpec
from starloom_protocol.vocabulary import Approval, Gate, Op, Repeatability
from tests.cost import Calls


def made(*operations: Any, **known: Any) -> list[edits.EditOperation]:
    faults, lowered = check_edit(list(operations), **known)
    assert faults == []
    return lowered


def test_every_operation() -> None:
    lowered = made(
        {"add_task": {"id": "n", "tool": "t", "inputs": {"x": {"from": "a"}}}},
        {"remove_task": {"id": "fetch.3"}},
        {"update_task": {"id": "a", "args": {"x": 1}, "optional": True, "device": {"name": "l"}}},
        {"reassign": {"id": "a", "device": {"name": "laptop"}}},
        {"add_dependency": {"from": "a", "to": "n", "when": {"output": "/x", "op": "gt", "value": 1}}},
        {"remove_dependency": {"id": "a>b:success"}},
        {"remove_dependency": {"from": "a", "to": "b", "when": "finish"}},
        {"remove_dependency": {"from": "a", "to": "b", "input": "rows"}},
        {"remove_dependency": {"from": "a", "to": "b", "when": {"output": "/x", "op": "empty"}}},
        {"update_dependency": {"id": "a>b:success", "when": "failure"}},
        {"expand": {"id": "g"}},
        {"drop_items": {"of": "g", "keys": [1, "d-1"]}},
        {"set_policy": {"approval": "always", "partial": True}},
        {"supersede": {"task": "a", "by": "n"}},
        {"supersede": {"task": "a", "by": None}},
        {"add_items": {"to": "g", "items": [{"rate": 1}, {"param": "no parameter"}]}},
    )
    assert [type(item).__name__ for item in lowered[:5]] == [
        "AddTask", "RemoveTask", "UpdateTask", "Reassign", "AddDependency",
    ]  # fmt: skip
    update = lowered[2]
    assert isinstance(update, edits.UpdateTask)
    assert {name: bytes(raw) for name, raw in update.changes.items()} == {
        "args": b'"{\\"x\\":1}"',
        "device": b'{"name":"l"}',
        "optional": b"true",
        # New arguments say anew which secrets they name.
        "secrets": b"[]",
    }
    assert lowered[3] == edits.Reassign(device=Selector(name="laptop"), id="a")
    added = lowered[4]
    assert isinstance(added, edits.AddDependency)
    assert added.dependency.condition is not None
    assert added.dependency.condition.op is Op.GT
    assert [item.id for item in lowered[5:9] if isinstance(item, edits.RemoveDependency)] == [
        "a>b:success", "a>b:finish", "a>b:rows", "a>b:output:/x",
    ]  # fmt: skip
    changed = lowered[9]
    assert isinstance(changed, edits.UpdateDependency)
    assert (changed.dependency.source, changed.dependency.target, changed.dependency.gate) == ("a", "b", Gate.FAILURE)
    assert lowered[11] == edits.DropItems(keys='[1,"d-1"]', of="g")
    assert lowered[12] == edits.SetPolicy(policy=Policy(approval=Approval.ALWAYS, partial=True))
    assert lowered[15] == edits.AddItems(items='[{"rate":1},{"param":"no parameter"}]', to="g")
    assert lowered[13:15] == [edits.Supersede(by="n", task="a"), edits.Supersede(by=None, task="a")]


@pytest.mark.parametrize(
    ("operation", "place"),
    [
        ("text", "operations[0]"),
        ({"remove_task": {"id": "a"}, "expand": {"id": "a"}}, "operations[0]"),
        ({"remve_task": {"id": "a"}}, "operations[0].remve_task"),
        ({"undo": {"version": 2}}, "operations[0].undo"),
        ({"add_task": 3}, "operations[0].add_task"),
        ({"remove_task": {}}, "operations[0].remove_task.id"),
        ({"remove_task": {"id": "A B"}}, "operations[0].remove_task.id"),
        ({"update_task": {"id": "a"}}, "operations[0].update_task"),
        ({"update_task": 1}, "operations[0].update_task"),
        ({"update_task": {"id": "a", "goal": "x"}}, "operations[0].update_task.goal"),
        ({"reassign": {"id": "a"}}, "operations[0].reassign.device"),
        ({"add_dependency": {"from": "a"}}, "operations[0].add_dependency.to"),
        ({"remove_dependency": {"from": "a"}}, "operations[0].remove_dependency"),
        ({"remove_dependency": {"id": "a-b"}}, "operations[0].remove_dependency.id"),
        ({"remove_dependency": 1}, "operations[0].remove_dependency"),
        ({"update_dependency": {"id": "a>b", "when": "success"}}, "operations[0].update_dependency.id"),
        ({"update_dependency": {"id": "a>b:x"}}, "operations[0].update_dependency.when"),
        ({"expand": {}}, "operations[0].expand.id"),
        ({"drop_items": {"of": "g", "keys": {"output": "/x"}}}, "operations[0].drop_items.keys"),
        ({"drop_items": {"of": "g", "keys": [True]}}, "operations[0].drop_items.keys"),
        ({"add_items": {"to": "g", "items": []}}, "operations[0].add_items.items"),
        ({"add_items": {"to": "g", "items": {"output": "/x"}}}, "operations[0].add_items.items"),
        ({"drop_items": {"of": "g"}}, "operations[0].drop_items.keys"),
        ({"set_policy": {"approval": "maybe"}}, "operations[0].set_policy.approval"),
        ({"supersede": {"task": "a"}}, "operations[0].supersede.by"),
    ],
)
def test_faulty_operations(operation: Any, place: str) -> None:
    faults, lowered = check_edit([operation])
    assert lowered == []
    assert [fault.place for fault in faults] == [place]
    assert faults[0].hint


def test_an_edit_of_a_group_keeps_its_list_and_items() -> None:
    group = TaskSpec(id="g", changed_in=1, tool="t", for_each=ForEach(source="a", output="/files"))
    one, changed = TaskSpec(id="g", changed_in=1, tool="t"), {"id": "g", "args": {"f": {"each": ""}, "px": 1}}
    [edit] = made({"update_task": changed}, known_tasks={"g": group})
    assert isinstance(edit, edits.UpdateTask)
    assert sorted(edit.changes) == ["args", "secrets"]
    for known, patch in [({"g": one}, {}), ({}, {}), ({"g": group}, {"for_each": None})]:
        faults, _ = check_edit([{"update_task": {**changed, **patch}}], known_tasks=known)
        assert [fault.place for fault in faults] == ["operations[0].update_task.args.f"]


def test_references_where_the_plan_is_known() -> None:
    batch = [
        {"add_task": {"id": "n", "tool": "t", "inputs": {"x": {"from": "gone"}}}},
        {"add_dependency": {"from": "a", "to": "n"}},
        {"remove_dependency": {"id": "a>zz:success"}},
        {"drop_items": {"of": "yy", "keys": [1]}},
        {"set_policy": {}},
    ]
    faults, _ = check_edit(batch, task_ids=["a"])
    assert [fault.place for fault in faults] == [
        "operations[0].add_task.inputs.x.from",
        "operations[2].remove_dependency.id",
        "operations[3].drop_items.of",
    ]


def test_an_added_task_may_be_left_out() -> None:
    assert made({"add_task": {"id": "n", "tool": "t", "only_if": False}}, {"expand": {"id": "g"}}) == [
        edits.Expand(id="g")
    ]


@pytest.mark.parametrize("operations", [None, {}, [], [{"expand": {"id": "x" * 1_100_000}}]])
def test_what_is_no_batch(operations: Any) -> None:
    faults, lowered = check_edit(operations)
    assert faults
    assert lowered == []


def test_too_many_operations() -> None:
    faults, _ = check_edit([{"expand": {"id": "a"}}] * 10_001)
    assert [fault.code for fault in faults] == ["plan_too_big"]


PLAIN: list[tuple[Any, Any]] = [
    ({"add_task": {"id": "n", "tool": "t"}}, {"add_task": {"id": "n", "tool": "t", "optional": False}}),
    ({"add_task": {"tool": "t", "id": "n"}}, {"add_task": {"tool": "t", "id": "n", "optional": False}}),
    ({"add_task": {"id": "N!", "tool": "t"}}, {"add_task": {"id": "N!", "tool": "t", "optional": False}}),
    ({"add_task": {"id": "n", "tool": 7}}, {"add_task": {"id": "n", "tool": 7, "optional": False}}),
    ({"add_task": {"id": "n", "tool": "other"}}, {"add_task": {"id": "n", "tool": "other", "optional": False}}),
    ({"add_task": {"id": "n", "tool": "T!"}}, {"add_task": {"id": "n", "tool": "T!", "optional": False}}),
    (
        {"add_task": {"id": "n", "tool": "device.drain"}},
        {"add_task": {"id": "n", "tool": "device.drain", "optional": False}},
    ),
    (
        {"add_task": {"id": "n", "plan": {"tasks": [{"id": "a", "tool": "device.drain"}]}}},
        {"add_task": {"id": "n", "plan": {"tasks": [{"id": "a", "tool": "device.drain", "optional": False}]}}},
    ),
    ({"add_dependency": {"from": "a", "to": "n"}}, {"add_dependency": {"from": "a", "to": "n", "when": "success"}}),
    ({"add_dependency": {"from": "A!", "to": "n"}}, {"add_dependency": {"from": "A!", "to": "n", "when": "success"}}),
    ({"add_dependency": {"from": "a", "to": 1}}, {"add_dependency": {"from": "a", "to": 1, "when": "success"}}),
    ({"add_dependency": {"from": "g.3", "to": "n"}}, {"add_dependency": {"from": "g.3", "to": "n", "when": "success"}}),
]
"""Operations in their shortest form, each beside one that says a default."""


@pytest.mark.parametrize("known", [None, {"t": Repeatability.PURE}], ids=["any tool", "one tool"])
@pytest.mark.parametrize(("short", "long"), PLAIN, ids=[str(short) for short, _ in PLAIN])
def test_an_operation_means_the_same_in_its_shortest_form(short: Any, long: Any, known: Any) -> None:
    assert check_edit([short], known_tools=known) == check_edit([long], known_tools=known)


def test_an_operation_in_its_shortest_form_is_read_without_pydantic() -> None:
    with Calls(pydantic.__path__[0]) as calls:
        made({"add_task": {"id": "n", "tool": "t"}}, {"add_dependency": {"from": "a", "to": "n"}})
    assert calls.made == 0
