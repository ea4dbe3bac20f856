"""`any_of`: the shape of other calls, and the faults that are found before anything runs."""

from __future__ import annotations

from typing import Any

from starloom_protocol.plan.checks.check import check_edit, check_plan
from starloom_protocol.plan.types.schemas import shape_of
from starloom_protocol.plan.types.signatures import Arguments, Signature
from starloom_protocol.records.edits import UpdateTask
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Repeatability

TOOLS = dict.fromkeys(("csv.read", "db.read", "web.get", "data.sum"), Repeatability.PURE)


def gives(**fields: str) -> Signature:
    made = {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}
    return Signature(gives=shape_of(canonical(made | {"additionalProperties": False})))


SIGNATURES = {
    "csv.read": gives(rows="array", path="string"),
    "db.read": gives(rows="array"),
    "web.get": gives(text="string"),
    "data.sum": Signature(names=Arguments(names=frozenset({"rows"}), needed=frozenset())),
}


def checked(**fields: Any) -> Any:
    read = {"id": "read", "tool": "csv.read", "args": {"path": "a"}, **fields}
    total = {"id": "sum", "tool": "data.sum", "inputs": {"rows": {"from": "read", "output": "/rows"}}}
    return check_plan(
        {"starloom": 1, "tasks": [read, total]},
        known_devices=["desk"],
        known_tools=TOOLS,
        known_signatures=SIGNATURES,
    )


def faults(**fields: Any) -> list[tuple[str, str]]:
    return [(item.place, item.reason) for item in checked(**fields).faults]


def test_calls_that_give_what_is_read_are_taken_with_their_device() -> None:
    found = checked(any_of=[{"tool": "db.read", "args": {"table": "t"}, "device": {"name": "desk"}}])
    assert found.faults == []
    (call,) = found.plan.specs[0].any_of
    assert (call.tool, call.args, call.device.name) == ("db.read", '{"table":"t"}', "desk")
    assert found.plan.hash != checked().plan.hash


def test_a_call_that_does_not_give_what_a_reader_points_into_is_refused() -> None:
    assert faults(any_of=[{"tool": "web.get"}]) == [
        ("tasks[1].inputs.rows.output", "`web.get` gives no `/rows`"),
    ]


def test_checks_hold_for_each_call() -> None:
    check = {"output": "/path", "op": "not_empty"}
    (found,) = faults(checks=[check], any_of=[{"tool": "db.read"}])
    assert found == ("tasks[0].any_of[0].output", "`db.read` gives no `/path`")


def test_an_unknown_tool_or_device_is_found_where_it_stands() -> None:
    found = faults(any_of=[{"tool": "db.raed", "device": {"name": "dsek"}}])
    assert [place for place, _ in found] == ["tasks[0].any_of[0].tool", "tasks[0].any_of[0].device.name"]


def test_the_same_call_twice_and_more_than_four_are_refused() -> None:
    again = {"tool": "csv.read", "args": {"path": "a"}}
    assert "has this call already" in faults(any_of=[again])[0][1]
    assert faults(any_of=[{"tool": "db.read", "args": {"n": n}} for n in range(5)])[0][0] == "tasks[0].any_of"


def test_what_belongs_to_one_call_does_not_go_with_several() -> None:
    other = [{"tool": "db.read"}]
    for name, value in (
        ("repeatability", "never"),
        ("undo", {"tool": "db.read"}),
        ("verify", {"tool": "db.read", "expect": [{"output": "/rows", "op": "exists"}]}),
        ("for_each", {"times": 2}),
        ("repeat", {"max": 2, "every_s": 1}),
    ):
        assert any(f"`{name}`" in reason for _, reason in faults(any_of=other, **{name: value})), name
    found = check_plan({"starloom": 1, "tasks": [{"id": "a", "person": "Go on?", "any_of": other}]})
    assert [item.place for item in found.faults] == ["tasks[0].any_of"]


def test_no_secret_is_given_to_another_call() -> None:
    (found,) = faults(any_of=[{"tool": "db.read", "args": {"key": {"secret": "token"}}}])
    assert found[0] == "tasks[0].any_of[0].args"


def test_an_edit_may_add_other_calls() -> None:
    found, operations = check_edit(
        [{"update_task": {"id": "read", "any_of": [{"tool": "db.read"}]}}], known_tools=TOOLS, task_ids=["read"]
    )
    assert found == []
    (changed,) = operations
    assert isinstance(changed, UpdateTask)
    assert changed.changes.keys() == {"any_of"}
