"""A pointer that cannot exist and a value of a wrong type are told before anything runs, each with its place."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import Signature, check_edit, check_plan, signature_of
from starloom_protocol.plan.language.fault_list import FaultList
from starloom_protocol.plan.types.flow import Flow
from starloom_protocol.records.fleet import ToolOffer
from starloom_protocol.values import canonical
from tests.builders import task

TEXT, WHOLE, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


def closed(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def rows(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": closed(**fields)}


FILE = closed(artifact=TEXT, bytes=WHOLE)
LISTED = closed(rows=rows(path=TEXT, bytes=WHOLE), count=WHOLE, equal=FLAG, file=FILE)
TAKEN = {
    "type": "object",
    "properties": {
        "paths": {"type": "array", "items": {"anyOf": [TEXT, {"type": "object", "required": ["path"]}]}},
        "limit": {"anyOf": [WHOLE, {"type": "null"}]},
        "how": {"enum": ["fast", "safe"]},
        "text": TEXT,
    },
    "additionalProperties": False,
}


def known(**tools: tuple[Any, Any]) -> dict[str, Signature]:
    return {
        f"x.{name}": signature_of([ToolOffer(args=canonical(args), name=f"x.{name}", returns=canonical(gives))])
        for name, (args, gives) in tools.items()
    }


KNOWN = known(list=({}, LISTED), take=(TAKEN, closed(done=FLAG)), any=({}, {}))
LIST = {"id": "list", "tool": "x.list"}


def told(*tasks: dict[str, Any], signatures: dict[str, Signature] = KNOWN, **more: Any) -> list[tuple[str, str, str]]:
    found = check_plan({"starloom": 1, "name": "t", "tasks": list(tasks), **more}, known_signatures=signatures).faults
    return [(str(fault.code), fault.place, fault.hint) for fault in found]


def take(**fields: Any) -> dict[str, Any]:
    return {"id": "take", "tool": "x.take", **fields}


def drawn(output: str, name: str = "paths", **fields: Any) -> dict[str, Any]:
    return take(inputs={name: {"from": "list", "output": output, **fields}})


def test_an_input_points_at_what_is_there_or_is_told_the_nearest() -> None:
    assert told(LIST, drawn("/rows")) == []
    assert told(LIST, drawn("/row")) == [("unknown_output", "tasks[1].inputs.paths.output", "Did you mean `rows`?")]
    assert told(LIST, drawn("/no/such"))[0][2] == "There is: count, equal, file, rows."
    assert told(LIST, drawn("/rows/0/pat"))[0][2] == "Did you mean `path`? (in `/rows/0`)"
    assert told(LIST, drawn("/rows/path"))[0][2] == "`/rows` is a list: name a position, such as `/rows/0`."
    assert told(LIST, drawn("/count/x"))[0][2] == "`/count` is a whole number; nothing is below it."


@pytest.mark.parametrize(
    ("task", "place"),
    [
        ({"checks": [{"output": "/same", "op": "eq", "value": True}]}, "tasks[0].checks[0].output"),
        ({"checks": [{"exit_code": 0}]}, "tasks[0].checks[0]"),
        ({"files_out": [{"output": "/fil", "to": "x"}]}, "tasks[0].files_out[0].output"),
        ({"undo": {"tool": "x.take", "outputs": {"paths": "/tickets"}}}, "tasks[0].undo.outputs.paths"),
        (
            {"verify": {"tool": "x.list", "expect": [{"output": "/coun", "op": "eq", "value": 0}]}},
            "tasks[0].verify.expect[0].output",
        ),
    ],
)
def test_every_place_of_a_task_is_judged(task: dict[str, Any], place: str) -> None:
    assert [found[:2] for found in told({**LIST, **task})] == [("unknown_output", place)]


def test_a_task_that_saves_files_gives_the_list_of_them() -> None:
    saves = {**LIST, "files_out": [{"output": "/file", "to": "x"}]}
    assert told(saves, take(inputs={"text": {"from": "list", "output": "/added/0/path"}})) == []
    assert told(saves, take(inputs={"text": {"from": "list", "output": "/added/0/pat"}})) != []
    own = {"undo": {"tool": "x.take", "outputs": {"paths": "/added"}}}
    assert told({**saves, **own}) == []
    assert told({**LIST, **own})[0][:2] == ("unknown_output", "tasks[0].undo.outputs.paths")


def test_gates_results_and_rules_are_judged() -> None:
    gate = {"from": "list", "to": "take", "when": {"output": "/enough", "op": "eq", "value": False}}
    assert told(LIST, take(), dependencies=[gate])[0][:2] == ("unknown_output", "dependencies[0].when.output")
    result = [{"title": "T", "from": "list", "output": "/rows"}, {"title": "T", "from": "list", "output": "/csv"}]
    assert told(LIST, result=result)[0][:2] == ("unknown_output", "result[1].output")
    when = {"task": "list", "event": "succeeded", "output": "/bad", "op": "exists"}
    drop = {"drop_items": {"of": "take", "keys": {"output": "/duplicates"}}}
    added = {"add_task": {"id": "more", "tool": "x.take", "args": {"text": {"output": "/texts"}, "limit": "many"}}}
    inner = {"add_task": {"id": "last", "tool": "x.take", "inputs": {"paths": {"from": "more", "output": "/files"}}}}
    rule = {"name": "r", "when": when, "edit": [drop, added, inner], "reason": "so"}
    group = take(for_each={"from": "list", "output": "/rows"})
    assert [found[:2] for found in told(LIST, group, rules=[rule])] == [
        ("unknown_output", "rules[0].when.output"),
        ("unknown_output", "rules[0].edit[0].drop_items.keys"),
        ("wrong_type", "rules[0].edit[1].add_task.args.limit"),
        ("unknown_output", "rules[0].edit[1].add_task.args.text"),
        ("unknown_output", "rules[0].edit[2].add_task.inputs.paths.output"),
    ]


def test_values_and_conditions_of_a_sentence_are_judged() -> None:
    values = {
        "n": {"from": "list", "output": "/total"},
        "size": {"from": "list", "output": "/equal", "show": "bytes"},
        "count": {"from": "list", "output": "/count", "show": "count"},
        "all": {"from": "take", "output": "/done"},
    }
    when = {"from": "take", "output": "/done", "op": "eq", "value": True}
    sentence = {"text": "{n} {size} {count} {all}", "values": values, "when": when}
    group = take(for_each={"from": "list", "output": "/rows"})
    assert [found[:2] for found in told(LIST, group, sentence=[sentence])] == [
        ("unknown_output", "sentence[0].values.n.output"),
        ("wrong_type", "sentence[0].values.size.output"),
        ("not_a_list", "sentence[0].values.count.output"),
        ("plan_invalid", "sentence[0].values.all.output"),
        ("plan_invalid", "sentence[0].when.output"),
    ]
    fits = {
        "n": {"from": "list", "output": "/rows", "show": "count"},
        "size": {"from": "list", "output": "/count", "show": "bytes"},
        "count": {"from": "take", "show": "count"},
        "all": {"from": "take", "show": "device"},
    }
    assert not told(LIST, group, sentence=[{"text": "{n} {size} {count} {all}", "values": fits}])


def test_what_a_rule_puts_in_is_of_the_type_that_is_due() -> None:
    when = {"task": "list", "event": "succeeded"}
    for output, fits in (("/count", False), ("/rows/0/path", True)):
        edit = [{"add_task": {"id": "more", "tool": "x.take", "args": {"text": {"output": output}}}}]
        rule = {"name": "r", "when": when, "edit": edit, "reason": "so"}
        # A pointer that finds nothing when it fires gives null, which the device judges.
        places = [found[1] for found in told(LIST, rules=[rule])]
        assert places == ([] if fits else ["rules[0].edit[0].add_task.args.text"])


def test_a_list_of_a_group_is_a_list_and_its_items_are_judged() -> None:
    group = {"id": "each", "tool": "x.take", "for_each": {"from": "list", "output": "/rows"}}
    assert told(LIST, {**group, "args": {"text": {"each": "/path"}}}) == []
    assert told(LIST, {**group, "args": {"text": {"each": "/name"}}}) == [
        ("unknown_output", "tasks[1].args.text", "There is: bytes, path.")
    ]
    assert told(LIST, {**group, "args": {"text": {"each": "/bytes"}}})[0][:2] == ("wrong_type", "tasks[1].args.text")
    assert told(LIST, {**group, "for_each": {"from": "list", "output": "/count"}})[0] == (
        "not_a_list",
        "tasks[1].for_each.output",
        "Point for_each at a list in the output.",
    )
    assert told(LIST, {**group, "for_each": {"from": "list"}})[0][2] == "There are lists at: `/rows`."
    follow = {"id": "more", "tool": "x.take", "for_each": {"same": "each"}}
    beside = {**follow, "inputs": {"text": {"from": "each", "output": "/done"}}}
    wrong = told(LIST, group, {**follow, "args": {"text": {"each": "/name"}}})[0]
    assert wrong[1] == "tasks[2].args.text"
    assert "its results are read by `inputs: {ARGUMENT: {from: each, output: /name}}`" in wrong[2]
    assert told(LIST, group, beside)[0][:2] == ("wrong_type", "tasks[2].inputs.text")
    end = {"id": "end", "tool": "x.take", "inputs": {"paths": {"from": "each", "output": "/done"}}}
    assert told(LIST, group, end)[0][:2] == ("wrong_type", "tasks[2].inputs.paths")


def test_lists_of_a_group_are_joined_and_devices_are_items() -> None:
    group = {**LIST, "for_each": {"devices": {"os": "linux"}}, "args": {"x": {"each": "/name"}}}
    assert told(group, drawn("/rows", flatten=True, all=True)) == []
    assert told(group, drawn("/count", flatten=True, all=True))[0][:2] == ("not_a_list", "tasks[1].inputs.paths.output")
    assert told({**group, "args": {"x": {"each": "/label"}}})[0][:2] == ("unknown_output", "tasks[0].args.x")
    nested = take(for_each={"from": "list", "output": "/rows", "flatten": True}, args={"text": {"each": "/path"}})
    assert told(group, nested) == []


def test_rows_of_devices_that_are_off_are_known() -> None:
    group = {**LIST, "for_each": {"devices": {"os": "linux"}, "when_off": "report"}}
    assert told(group, take(inputs={"limit": {"from": "list", "off": True}}))[0][:2] == (
        "wrong_type",
        "tasks[1].inputs.limit",
    )


def test_an_answer_of_a_person_has_a_value() -> None:
    ask = {"id": "ask", "person": "Go on?"}

    def gated(output: str) -> list[tuple[str, str, str]]:
        when = {"output": output, "op": "eq", "value": "done"}
        return told(ask, LIST, dependencies=[{"from": "ask", "to": "list", "when": when}])

    assert gated("/value") == []
    assert gated("/choice")[0][2] == "There is: by, text, value."


@pytest.mark.parametrize(
    ("args", "place"),
    [
        ({"paths": "x"}, "args.paths"),
        ({"paths": ["a", 7]}, "args.paths[1]"),
        ({"paths": [{"name": "a"}]}, "args.paths[0]"),
        ({"limit": "7"}, "args.limit"),
        ({"how": "quick"}, "args.how"),
        ({"text": ["x"]}, "args.text"),
    ],
)
def test_a_value_of_another_type_is_told(args: dict[str, Any], place: str) -> None:
    assert [found[:2] for found in told(take(args=args))] == [("wrong_type", f"tasks[0].{place}")]


def test_what_fits_or_is_not_known_is_allowed() -> None:
    fine = {"paths": ["a", {"path": "b", "x": 1}], "limit": 3.0, "how": "safe", "text": {"secret": "KEY"}}
    assert told(take(args=fine)) == []
    assert told({"id": "a", "tool": "x.any", "args": {"x": {}}}, {**drawn("/x/y"), "inputs": {}}) == []
    any_task = {"id": "list", "tool": "x.any"}
    assert told(any_task, drawn("/whatever/0", flatten=True)) == []
    assert told({"id": "list", "tool": "x.none"}, drawn("/whatever")) == []
    assert told(LIST, drawn("/count", "limit")) == []
    assert told(LIST, drawn("/rows/0/path", "text", optional=True)) == []


def test_versions_of_a_tool_allow_what_any_of_them_gives() -> None:
    offers = [
        ToolOffer(name="x.list", returns=canonical(closed(old=TEXT))),
        ToolOffer(name="x.list", returns=canonical(LISTED)),
    ]
    both = {**KNOWN, "x.list": signature_of(offers)}
    assert told(LIST, drawn("/old", "text"), signatures=both) == []
    assert told(LIST, drawn("/count", "limit"), signatures=both) == []
    assert told(LIST, drawn("/none"), signatures=both)[0][0] == "unknown_output"
    unknown = {**KNOWN, "x.list": signature_of([*offers, ToolOffer(name="x.list", returns="sha256:00")])}
    assert told(LIST, drawn("/none"), signatures=unknown) == []


def test_a_fault_of_a_pointer_hides_no_other() -> None:
    places = [place for _, place, _ in told(LIST, drawn("/no"), {"id": "take", "tool": "x.list"}, {"id": 7})]
    assert "tasks[1].inputs.paths.output" in places
    assert len(places) == 3


def test_an_edit_of_a_wrong_value_is_left_to_the_plan_it_changes() -> None:
    faults, operations = check_edit([{"update_task": {"id": "take", "args": {"limit": "x"}}}], known_signatures=KNOWN)
    assert (faults, len(operations)) == ([], 1)


class Unread(dict[str, Signature]):
    """Signatures of which none is to be read."""

    def get(self, tool: str, default: Any = None) -> Any:
        raise AssertionError(f"the signature of {tool} was read")


def test_a_call_without_arguments_asks_for_no_signature() -> None:
    faults = FaultList()
    Flow({}, Unread(), faults).task(task("a"), "tasks[0]")
    assert faults.all == []


def test_new_arguments_of_a_running_task_have_its_tool_s_types() -> None:
    running = task("take", tool="x.take")

    def edited(args: dict[str, Any]) -> list[tuple[str, str]]:
        operation = {"update_task": {"id": "take", "args": args}}
        faults, _ = check_edit([operation], known_signatures=KNOWN, known_tasks={"take": running})
        return [(str(fault.code), fault.place) for fault in faults]

    at = "operations[0].update_task.args."
    assert edited({"limit": "x"}) == [("wrong_type", at + "limit")]
    assert edited({"how": "quick", "paths": [7]}) == [("wrong_type", at + "how"), ("wrong_type", at + "paths[0]")]
    assert edited({"limit": 7, "how": "fast", "text": "a", "paths": ["a"]}) == []
    assert edited({"text": {"secret": "key"}}) == []
    assert [fault for fault in told(take(args={"limit": "x"})) if fault[0] == "wrong_type"], "as a plan is refused"
