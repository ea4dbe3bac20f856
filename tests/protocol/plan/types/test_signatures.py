"""What a tool takes is read off what devices offer, and a plan that gives something else is told before it runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom_agent.work.registry import all_tools
from starloom_protocol.plan import Signature, check_edit, check_plan
from starloom_protocol.plan.types.signatures import Arguments, taken_by
from starloom_protocol.records.edits import UpdateTask
from starloom_protocol.records.entities import Input, TaskSpec
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code


def schema(*names: str, needed: tuple[str, ...] = (), **more: Any) -> str:
    properties = {name: {"type": "string"} for name in names}
    return canonical({"properties": properties, "required": list(needed), "additionalProperties": False, **more})


KNOWN = {"fs.stat": Signature(taken_by([schema("paths", "root", needed=("paths",))])), "mcp.any": Signature()}


def told(*tasks: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    found = check_plan({"starloom": 1, "name": "t", "tasks": list(tasks), **more}, known_signatures=KNOWN).faults
    return [(str(fault.code), fault.place, fault.hint) for fault in found]


def test_every_tool_of_the_agent_says_what_it_takes() -> None:
    for tool in all_tools():
        if not tool.schema:
            assert issubclass(tool.args, msgspec.Struct)
            takes = taken_by([canonical(msgspec.json.schema(tool.args))])
            fields = {field.encode_name: field.required for field in msgspec.structs.fields(tool.args)}
            assert takes == Arguments(frozenset(fields), frozenset(name for name in fields if fields[name])), tool.name


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "true",
        "7",
        '{"$ref":"#/elsewhere/X"}',
        '{"$ref":"#/$defs/X","$defs":[]}',
        '{"properties":[],"additionalProperties":false}',
        schema("a", needed=("a",), anyOf=[{}]),
        schema("a", patternProperties={"^x": {}}),
    ],
)
def test_a_schema_that_is_not_understood_allows_everything(text: str) -> None:
    assert taken_by([text]) == Arguments(None, frozenset())


def test_versions_of_a_tool_take_together_what_any_of_them_takes() -> None:
    old, new = schema("a", needed=("a",)), schema("a", "b", needed=("a", "b"))
    assert taken_by([old, new, old]) == Arguments(frozenset("ab"), frozenset("a"))
    assert taken_by([old, '{"properties":{"a":{}},"required":["a"]}']) == Arguments(None, frozenset("a"))
    assert taken_by([]) == Arguments()


def test_a_name_that_no_version_takes_is_told_with_the_one_that_was_meant() -> None:
    assert told({"id": "a", "tool": "fs.stat", "args": {"path": "x"}}) == [
        ("unknown_field", "tasks[0].args.path", "Did you mean `paths`?"),
        ("plan_invalid", "tasks[0].args.paths", "Add it, or an input."),
    ]
    other = {"id": "b", "tool": "fs.stat", "inputs": {"paths": {"from": "a"}, "colour": {"from": "a"}}}
    assert told({"id": "a", "tool": "mcp.any", "args": {"x": 1}}, other) == [
        ("unknown_field", "tasks[1].inputs.colour", "Known here: paths, root.")
    ]


def test_a_task_of_two_fields_needs_its_arguments_too() -> None:
    assert told({"id": "a", "tool": "fs.stat"}) == [("plan_invalid", "tasks[0].args.paths", "Add it, or an input.")]
    assert told({"id": "a", "tool": "mcp.any"}) == []


def test_an_input_gives_what_is_needed() -> None:
    first = {"id": "a", "tool": "mcp.any"}
    assert told(first, {"id": "b", "tool": "fs.stat", "inputs": {"paths": {"from": "a"}}}) == []


def test_the_calls_that_take_back_and_that_look_are_held_to_what_they_take_too() -> None:
    undo = {"tool": "fs.stat", "args": {"path": "x"}, "outputs": {"roots": "/root"}}
    verify = {"tool": "fs.stat", "args": {"root": "x"}, "expect": [{"output": "/missing", "op": "eq", "value": 0}]}
    assert told({"id": "a", "tool": "mcp.any", "undo": undo, "verify": verify}) == [
        ("unknown_field", "tasks[0].undo.args.path", "Did you mean `paths`?"),
        ("unknown_field", "tasks[0].undo.outputs.roots", "Did you mean `root`?"),
        ("plan_invalid", "tasks[0].undo.args.paths", "Add it, or an output."),
        ("plan_invalid", "tasks[0].verify.args.paths", "Add it."),
    ]
    undo = {"tool": "fs.stat", "outputs": {"paths": "/paths"}}
    assert told({"id": "a", "tool": "mcp.any", "undo": undo, "verify": {**verify, "args": {"paths": ["x"]}}}) == []
    _, operations = check_edit([{"update_task": {"id": "a", "undo": undo}}], known_signatures=KNOWN)
    faults, _ = check_edit([{"update_task": {"id": "a", "undo": {**undo, "args": {"x": 1}}}}], known_signatures=KNOWN)
    assert (len(operations), [fault.place for fault in faults]) == (1, ["operations[0].update_task.undo.args.x"])


def test_edits_and_rules_are_looked_at_alike() -> None:
    task = {"id": "b", "tool": "fs.stat", "args": {"path": "x", "paths": []}}
    faults, operations = check_edit([{"add_task": task}], known_signatures=KNOWN)
    assert ([fault.place for fault in faults], operations) == (["operations[0].add_task.args.path"], [])
    rule = {"name": "r", "when": {"task": "a", "event": "succeeded"}, "edit": [{"add_task": task}], "reason": "so"}
    assert [place for _, place, _ in told({"id": "a", "tool": "mcp.any"}, rules=[rule])] == [
        "rules[0].edit[0].add_task.args.path"
    ]


def test_a_part_of_a_task_is_not_held_to_what_the_whole_needs() -> None:
    faults, _ = check_edit([{"update_task": {"id": "a", "args": {"root": "x"}}}], known_signatures=KNOWN)
    assert faults == []


def changed(spec: TaskSpec, **fields: Any) -> list[tuple[str, str]]:
    """What is said of new fields of a task that a constellation has."""
    operation = {"update_task": {"id": spec.id, **fields}}
    faults, _ = check_edit([operation], known_signatures=KNOWN, known_tasks={spec.id: spec})
    return [(fault.place, fault.reason) for fault in faults]


def test_single_arguments_of_an_item_are_set_and_the_others_stay() -> None:
    child = TaskSpec(id="g.1", changed_in=1, group="g", key="1", tool="fs.stat", args='{"paths":[{"each":""}]}')

    def sent(spec: TaskSpec, **fields: Any) -> Any:
        operation = {"update_task": {"id": spec.id, **fields}}
        faults, made = check_edit([operation], known_signatures=KNOWN, known_tasks={spec.id: spec})
        assert faults == []
        (change,) = made
        assert isinstance(change, UpdateTask)
        return parse(msgspec.json.decode(change.changes["args"], type=str))

    assert sent(child, args={"paths": [{"each": ""}, "x"]}) == {"paths": [{"each": ""}, "x"]}
    assert sent(child, set={"root": "y"}) == {"paths": [{"each": ""}], "root": "y"}
    assert changed(child, set={"pathh": "x"}) == [
        ("operations[0].update_task.args.pathh", "`fs.stat` takes no `pathh`")
    ]
    plain = TaskSpec(id="a", changed_in=1, tool="fs.stat", args='{"paths":["x"]}')
    assert "this is no group" in changed(plain, set={"paths": [{"each": ""}]})[0][1]
    assert changed(plain, args={}, set={"paths": []})[0][0] == "operations[0].update_task.set"
    assert changed(plain, tool="fs.stat", set={"paths": []})[0][0] == "operations[0].update_task.set"
    gone = [{"update_task": {"id": "serch", "set": {"paths": []}}}]
    (fault,) = check_edit(gone, known_signatures=KNOWN, known_tasks={"search": plain})[0]
    told = (fault.code, fault.place, fault.reason, fault.hint)
    place = "operations[0].update_task.id"
    assert told == (Code.UNKNOWN_TASK, place, "the plan has no task `serch`", "Did you mean `search`?")


def test_new_arguments_of_a_task_are_held_to_its_tool() -> None:
    place = "operations[0].update_task.args."
    plain = TaskSpec(id="a", changed_in=1, tool="fs.stat", args='{"paths":["x"]}')
    assert changed(plain, args={"pathh": "x"}) == [
        (place + "pathh", "`fs.stat` takes no `pathh`"),
        (place + "paths", "`fs.stat` needs `paths`"),
    ]
    assert changed(plain, args={"paths": ["y"]}) == changed(plain, checks=[]) == []
    drawn = TaskSpec(id="a", changed_in=1, tool="fs.stat", inputs=[Input(name="paths", source="b")])
    assert changed(drawn, args={}) == []
    assert changed(drawn, inputs={}) == [(place + "paths", "`fs.stat` needs `paths`")]
    assert changed(plain, tool="mcp.any", args={"z": 1}) == []
