"""Whole plans: the sample lowers without a fault, and every fault comes with its place, at once."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom_protocol.plan import check_plan, plan_hash, read_document
from starloom_protocol.plan.checks.graph import Graph, Placed
from starloom_protocol.plan.language.fault_list import FaultList
from starloom_protocol.plan.language.models import TaskDoc
from starloom_protocol.plan.lowering.parts import Known
from starloom_protocol.plan.lowering.tasks import Lowering
from starloom_protocol.records.edits import EditOperation, LoweredPlan
from starloom_protocol.records.entities import Check, Condition, Fault, SentenceSpec, VerifyCall, dependency_id
from starloom_protocol.records.specs import SentenceValue
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Gate, Need, Op, Repeatability

PHOTO = read_document((Path(__file__).parents[4] / "recipes" / "photo-backup.yaml").read_text(encoding="utf-8"))["plan"]
VALUES: dict[str, Any] = {
    "source": {"name": "phone"},
    "target": {"name": "server"},
    "sheet_on": {"name": "desktop"},
    "folder": "Pictures",
    "names": "hash",
    "sheet": True,
}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "tool": "lab.echo", **fields}


def plan(*tasks: Any, **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "Test", "tasks": list(tasks), **fields}


def made(document: Any, **known: Any) -> LoweredPlan:
    check = check_plan(document, **known)
    assert check.faults == []
    assert check.plan is not None
    return check.plan


def faults(document: Any, **known: Any) -> list[Fault]:
    check = check_plan(document, **known)
    assert check.plan is None
    return check.faults


def places(document: Any, **known: Any) -> set[tuple[str, str]]:
    return {(str(fault.code), fault.place) for fault in faults(document, **known)}


def test_the_sample_lowers_without_a_fault() -> None:
    lowered = made(PHOTO, params=VALUES, recipe="photo-backup")
    assert len(lowered.specs) == 15
    families = {spec.id: spec.family for spec in lowered.specs if spec.family}
    assert families == dict.fromkeys(["send", "copy", "check", "thumb"], "send")
    gates = {dependency_id(item): item for item in lowered.dependencies}
    assert gates["space>ask-room:output:/enough"].gate is Gate.OUTPUT
    assert gates["check>copy:success".replace("check>copy", "check>thumb")].gate is Gate.SUCCESS
    assert gates["copy>check:files"].gate is Gate.DATA
    thumb = next(spec for spec in lowered.specs if spec.id == "thumb")
    assert thumb.device is not None
    assert [item.name for item in thumb.device.any] == ["server", "desktop"]
    assert [rule.name for rule in lowered.rules] == ["duplicates", "recheck"]
    assert lowered.rules[0].operations == '[{"keys":"{\\"output\\":\\"/duplicates\\"}","of":"send","op":"drop_items"}]'
    for rule in lowered.rules:
        assert msgspec.json.decode(rule.operations, type=list[EditOperation])
    assert lowered.recipe == "photo-backup"


def test_only_if_leaves_out_the_task_its_dependencies_and_results() -> None:
    lowered = made(PHOTO, params={**VALUES, "sheet": False, "sheet_on": None})
    names = {spec.id for spec in lowered.specs}
    assert len(names) == 13
    assert not names & {"thumb", "sheet"}
    assert all({item.source, item.target} <= names for item in lowered.dependencies)
    assert [item.source for item in lowered.results] == ["outcome", "proof", "left-out", "opened", "opened"]


def test_the_hash_is_that_of_the_plan() -> None:
    first, again = (made(PHOTO, params=VALUES) for _ in range(2))
    assert first.hash == again.hash == plan_hash(first)
    read = msgspec.json.decode(msgspec.json.encode(first), type=LoweredPlan)
    assert plan_hash(read) == first.hash
    content = msgspec.to_builtins(first)
    del content["hash"]
    assert hashlib.sha256(canonical(content).encode()).hexdigest() == first.hash
    assert made(PHOTO, params={**VALUES, "folder": "Other"}).hash != first.hash
    explicit = plan(tool("a", args={}, optional=False, retry={"on_check": False}, timeouts={"start_to_close_s": 600}))
    assert made(explicit).hash == made(plan(tool("a"))).hash


def test_many_faults_at_once_each_with_its_place() -> None:
    document = plan(
        tool("a", inputs={"rows": {"from": "bb", "otput": "/x"}}),
        tool("b", need=3),
        tool("b"),
        tool("Bad Id"),
        "text",
        {"id": "nothing"},
        tool("both", person="Sure?"),
        dependencies=[{"from": "b", "to": "zz"}, {"from": "b"}, {"from": "b", "to": "nope", "when": "sucess"}],
        result=[{"title": "x", "from": "gone"}, {"title": "y", "from": "b", "show": "film"}],
        polisy={},
    )
    assert places(document) == {
        ("unknown_field", "polisy"),
        ("unknown_field", "tasks[0].inputs.rows.otput"),
        ("unknown_task", "tasks[0].inputs.rows.from"),
        ("unknown_field", "tasks[1].need"),
        ("duplicate_id", "tasks[2].id"),
        ("plan_invalid", "tasks[3].id"),
        ("plan_invalid", "tasks[4]"),
        ("plan_invalid", "tasks[5]"),
        ("plan_invalid", "tasks[6]"),
        ("unknown_task", "dependencies[0].to"),
        ("plan_invalid", "dependencies[1].to"),
        ("unknown_task", "dependencies[2].to"),
        ("plan_invalid", "dependencies[2].when"),
        ("unknown_task", "result[0].from"),
        ("plan_invalid", "result[1].show"),
    }


def test_a_cycle_is_named_whatever_its_edges() -> None:
    document = plan(
        tool("a", inputs={"x": {"from": "c"}}),
        tool("b"),
        tool("c", for_each={"from": "b", "output": "/list"}),
        tool("d"),
        tool("self"),
        dependencies=[{"from": "a", "to": "b"}, {"from": "c", "to": "d"}, {"from": "self", "to": "self"}],
    )
    found = faults(document)
    assert [fault.code for fault in found] == [Code.PLAN_CYCLE, Code.PLAN_CYCLE]
    words = " ".join(fault.reason for fault in found)
    assert "a > b > c > a" in words or "b > c > a > b" in words or "c > a > b > c" in words
    assert "self > self" in words


def test_a_long_cycle_is_shown_short() -> None:
    count = 500
    edges = [{"from": f"t{n}", "to": f"t{(n + 1) % count}"} for n in range(count)]
    (fault,) = faults(plan(*(tool(f"t{n}") for n in range(count)), dependencies=edges))
    assert "more)" in fault.reason
    assert len(fault.reason) < 200


def test_families() -> None:
    lowered = made(
        plan(
            tool("list"),
            tool("c", for_each={"same": "b"}),
            tool("b", for_each={"same": "a"}),
            tool("a", for_each={"from": "list", "output": "/x", "need": {"at_least": 2}}),
            tool("all", for_each={"devices": {"os": "linux"}, "need": "any"}),
        )
    )
    assert [spec.family for spec in lowered.specs] == [None, "a", "a", "a", "all"]
    each = lowered.specs[3].for_each
    assert each is not None
    assert (each.need, each.need_count) == (Need.AT_LEAST, 2)


@pytest.mark.parametrize(
    ("each", "place"),
    [
        ({"same": "list"}, "for_each"),
        ({"same": "gone"}, "for_each.same"),
        ({"same": "g"}, "for_each"),
        ({"from": "gone"}, "for_each.from"),
        ({"from": "list", "devices": {}}, "for_each"),
        ({}, "for_each"),
        ({"devices": {}, "output": "/x"}, "for_each.output"),
        ({"devices": {}, "flatten": True}, "for_each.flatten"),
        ({"from": "list", "need": "most"}, "for_each.need"),
        ({"from": "list", "need": {"at_least": 0}}, "for_each.need"),
        ({"from": "list", "output": "x"}, "for_each.output"),
        ({"from": "list", "max_parallel": 0}, "for_each.max_parallel"),
    ],
)
def test_faulty_groups(each: dict[str, Any], place: str) -> None:
    found = faults(plan(tool("list"), tool("g", for_each=each)))
    assert {fault.place.removesuffix(".same") for fault in found} == {f"tasks[1].{place}".removesuffix(".same")}


def test_a_group_over_what_is_left_out_says_so() -> None:
    document = plan(tool("list", only_if=False), tool("g", for_each={"from": "list"}), tool("h"))
    (fault,) = faults(document)
    assert (fault.code, fault.place) == (Code.UNKNOWN_TASK, "tasks[1].for_each.from")
    assert "only_if" in fault.hint


@pytest.mark.parametrize(
    ("fields", "code", "place"),
    [
        ({"gives": {"a": "text"}}, Code.PLAN_INVALID, "gives"),
        ({"plan": {}, "tool": None}, Code.PLAN_INVALID, "plan.tasks"),
        ({"choices": [{"value": "x", "label": "X"}]}, Code.PLAN_INVALID, "choices"),
        ({"args": {"x": 1}, "inputs": {"x": {"from": "a"}}}, Code.PLAN_INVALID, "inputs.x"),
        ({"args": {"x": {"each": "/y"}}}, Code.PLAN_INVALID, "args.x"),
        ({"args": {"x": [{"each": "y"}]}, "for_each": {"from": "a"}}, Code.PLAN_INVALID, "args.x[0]"),
        ({"args": {"x": {"secret": 1}}}, Code.PLAN_INVALID, "args.x"),
        ({"args": {"x": "y" * 70_000}}, Code.PLAN_TOO_BIG, "args"),
        ({"checks": [{"output": "/x", "op": "eq"}]}, Code.PLAN_INVALID, "checks[0].value"),
        ({"checks": [{"output": "/x", "op": "in", "value": 1}]}, Code.PLAN_INVALID, "checks[0].value"),
        ({"checks": [{"output": "/x", "op": "empty", "value": 1}]}, Code.PLAN_INVALID, "checks[0].value"),
        ({"checks": [{"output": "/x", "op": "exists", "value": 1}]}, Code.PLAN_INVALID, "checks[0].value"),
        ({"checks": [{"exit_code": 0, "op": "eq"}]}, Code.PLAN_INVALID, "checks[0]"),
        ({"checks": [{"output": "/x"}]}, Code.PLAN_INVALID, "checks[0]"),
        ({"verify": {"tool": "fs.stat", "expect": []}}, Code.PLAN_INVALID, "verify.expect"),
        ({"verify": {"tool": "fs.stat", "expect": [{"output": "/x"}]}}, Code.PLAN_INVALID, "verify.expect[0]"),
        (
            {"verify": {"tool": "fs.stat", "expect": [{"exit_code": 0}]}, "repeatability": "never"},
            Code.PLAN_INVALID,
            "verify",
        ),
        (
            {"verify": {"tool": "t", "args": {"k": {"secret": "pw"}}, "expect": [{"exit_code": 0}]}},
            Code.PLAN_INVALID,
            "verify.args",
        ),
        (
            {"tool": None, "person": "?", "verify": {"tool": "t", "expect": [{"exit_code": 0}]}},
            Code.PLAN_INVALID,
            "verify",
        ),
        ({"on_absence": "vanish"}, Code.PLAN_INVALID, "on_absence.then"),
        ({"on_absence": {"then": "reassign"}, "repeatability": "never"}, Code.NOT_REPEATABLE, "on_absence.then"),
        ({"repeatability": "sometimes"}, Code.PLAN_INVALID, "repeatability"),
        ({"timeouts": {"start_to_close_s": True}}, Code.PLAN_INVALID, "timeouts.start_to_close_s"),
        ({"optional": "yes"}, Code.PLAN_INVALID, "optional"),
        ({"inputs": {"bad name": {"from": "a"}}}, Code.PLAN_INVALID, "inputs.bad name"),
        ({"device": {"nam": "x"}}, Code.UNKNOWN_FIELD, "device.nam"),
        ({"only_if": {"parm": "x"}}, Code.PLAN_INVALID, "only_if"),
        ({"args": {"x": {"param": "y"}}}, Code.UNKNOWN_PARAM, "args.x"),
    ],
)
def test_faulty_tasks(fields: dict[str, Any], code: Code, place: str) -> None:
    (fault,) = faults(plan(tool("a"), tool("b", **fields)))
    assert (fault.code, fault.place) == (code, f"tasks[1].{place}")
    assert fault.hint


def test_known_devices_and_tools() -> None:
    document = plan(
        tool("a", device={"name": "latop"}),
        tool("b", device={"any": [{"name": "laptop"}, {"id": "d-2"}], "tools": ["fs.fnd"]}),
        {"id": "c", "tool": "shell.run", "on_absence": {"then": "reassign"}},
    )
    tools = {"lab.echo": Repeatability.PURE, "fs.find": Repeatability.PURE, "shell.run": Repeatability.NEVER}
    assert places(document, known_devices=["laptop", "d-1"], known_tools=tools) == {
        ("unknown_device", "tasks[0].device.name"),
        ("unknown_device", "tasks[1].device.any[1].id"),
        ("unknown_tool", "tasks[1].device.tools[0]"),
        ("not_repeatable", "tasks[2].on_absence.then"),
    }
    made(plan(tool("a", device={"id": "d-9"})), known_devices=["laptop"])
    made(plan(tool("a", on_absence={"then": "reassign", "after_s": 60})), known_tools=tools)


def test_what_can_be_verified_is_verifiable_and_is_looked_at_by_what_only_looks() -> None:
    look = {"tool": "fs.stat", "args": {"paths": ["/out"]}, "expect": [{"output": "/missing", "op": "eq", "value": 0}]}
    (spec,) = made(plan(tool("a", verify=look))).specs
    assert spec.repeatability is Repeatability.VERIFIABLE
    assert spec.verify == VerifyCall(
        args='{"paths":["/out"]}', expect=[Check(op=Op.EQ, output="/missing", value="0")], tool="fs.stat"
    )
    known = {"t": Repeatability.NEVER, "fs.stat": Repeatability.NEVER}
    (fault,) = faults(plan({"id": "a", "tool": "t", "verify": look}), known_tools=known)
    assert (fault.code, fault.place) == (Code.NOT_REPEATABLE, "tasks[0].verify.tool")


def test_people_checks_and_files() -> None:
    lowered = made(
        plan(
            {"id": "ask", "person": "Sure?"},
            tool("b", checks=[{"exit_code": 0}, {"output": "/x", "op": "exists"}], on_absence="wait"),
            tool("c", files_out=[{"output": "/x", "to": "x.html"}], args={"k": {"secret": "pw"}}),
        )
    )
    ask, b, c = lowered.specs
    assert [(item.value, item.fails) for item in ask.choices] == [("done", False), ("cannot", True)]
    assert [(item.op, item.output, item.value) for item in b.checks] == [
        (Op.EQ, "/exit_code", "0"),
        (Op.EXISTS, "/x", None),
    ]
    assert b.on_absence.then == "wait"
    assert c.args == '{"k":{"secret":"pw"}}'
    assert places(plan({"id": "q", "person": "?", "device": {"os": "x"}})) == {("plan_invalid", "tasks[0].device")}
    twice = [{"value": "x", "label": "A"}, {"value": "x", "label": "B"}]
    assert places(plan({"id": "q", "person": "?", "choices": twice})) == {("plan_invalid", "tasks[0].choices")}


def test_duplicate_dependencies() -> None:
    edges = [{"from": "a", "to": "b"}, {"from": "a", "to": "b", "when": "success"}]
    assert places(plan(tool("a"), tool("b"), dependencies=edges)) == {("duplicate_id", "dependencies[1]")}


RULE: dict[str, Any] = {
    "name": "r",
    "when": {"task": "a", "event": "succeeded"},
    "edit": [{"remove_task": {"id": "b"}}],
    "reason": "no longer needed",
}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"when": {"task": "zz", "event": "failed"}}, "rules[0].when.task"),
        ({"when": {"task": "a", "event": "exploded"}}, "rules[0].when.event"),
        ({"when": {"task": "a", "event": "failed", "output": "/x"}}, "rules[0].when"),
        ({"when": {"task": "a", "event": "failed", "code": "oops"}}, "rules[0].when.code"),
        ({"edit": []}, "rules[0].edit"),
        ({"edit": [{"remove_task": {"id": "zz"}}]}, "rules[0].edit[0].remove_task.id"),
        ({"edit": [{"drop_items": {"of": "a", "keys": {"output": "x"}}}]}, "rules[0].edit[0].drop_items.keys"),
        ({"edit": [{"add_items": {"to": "a", "items": [1]}}]}, "rules[0].edit[0].add_items"),
        ({"edit": [{"add_task": {"id": "n", "tool": "t", "args": {"x": {"output": "y"}}}}]}, None),
    ],
)
def test_faulty_rules(change: dict[str, Any], place: str | None) -> None:
    found = faults(plan(tool("a"), tool("b"), rules=[{**RULE, **change}]))
    assert [fault.place for fault in found] == [place or "rules[0].edit[0].add_task.args.x"]


def test_rules() -> None:
    full = {
        **RULE,
        "name": "full",
        "when": {
            "task": "a",
            "event": "failed",
            "output": "/n",
            "op": "gt",
            "value": 2,
            "attempts": {"op": "gt", "value": 1},
            "code": "timed_out",
            "whole": True,
        },
    }
    dropped = {**RULE, "name": "dropped", "edit": [{"remove_task": {"id": "gone"}}]}
    silent = {**RULE, "name": "silent", "when": {"task": "gone", "event": "failed"}}
    tasks = (tool("a"), tool("b"), tool("gone", only_if=False))
    lowered = made(plan(*tasks, rules=[full, dropped, silent]))
    (rule,) = lowered.rules
    assert rule.condition is not None
    assert rule.attempts is not None
    assert (rule.condition.value, rule.attempts.value, rule.code, rule.whole) == ("2", "1", Code.TIMED_OUT, True)
    twice = plan(*tasks, rules=[RULE, copy.deepcopy(RULE), "text"])
    assert places(twice) == {("duplicate_id", "rules[1].name"), ("plan_invalid", "rules[2]")}


def test_a_rule_counts_what_has_failed() -> None:
    when = {"task": "a", "event": "failed", "failed": {"op": "gt", "value": 5}}
    (rule,) = made(plan(tool("a"), tool("b"), rules=[{**RULE, "when": when}])).rules
    assert rule.failed is not None
    assert (rule.failed.op, rule.failed.value) == (Op.GT, "5")
    for wrong in ({"event": "succeeded"}, {"whole": True}):
        refused = plan(tool("a"), tool("b"), rules=[{**RULE, "when": {**when, **wrong}}])
        assert places(refused) == {("plan_invalid", "rules[0].when.failed")}


def test_a_sentence_is_lowered_with_its_values_and_condition() -> None:
    sentence = {
        "text": "{n} on {where}.",
        "values": {"n": {"from": "a", "output": "/n"}, "where": {"from": "a", "show": "device"}},
        "when": {"from": "a", "output": "/n", "op": "gt", "value": 0},
    }
    (lowered,) = made(plan(tool("a"), sentence=[sentence])).sentences
    assert lowered.text == "{n} on {where}."
    assert lowered.values == {
        "n": SentenceValue(output="/n", source="a"),
        "where": SentenceValue(show="device", source="a"),
    }
    assert lowered.condition == Condition(op=Op.GT, output="/n", value="0")
    assert lowered.source == "a"
    # The hash that an approval is bound to covers it.
    other = {**sentence, "text": "{n} at {where}."}
    assert made(plan(tool("a"), sentence=[sentence])).hash != made(plan(tool("a"), sentence=[other])).hash


def test_a_sentence_of_a_task_that_is_left_out_is_left_out() -> None:
    sentence = {"text": "{n}", "values": {"n": {"from": "b", "output": "/n"}}}
    assert made(plan(tool("a"), tool("b", only_if=False), sentence=[sentence, {"text": "Done."}])).sentences == [
        SentenceSpec(text="Done.")
    ]


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ({"text": "{n}"}, "sentence[0]"),
        ({"text": "n", "values": {"n": {"from": "a"}}}, "sentence[0]"),
        ({"text": "{n"}, "sentence[0]"),
        ({"text": "{n} }", "values": {"n": {"from": "a"}}}, "sentence[0]"),
        ({"text": "a\nb"}, "sentence[0].text"),
        ({"text": "{n}", "values": {"n": {"from": "a", "show": "html"}}}, "sentence[0].values.n.show"),
        ({"text": "{n}", "values": {"n": {"from": "a", "noun": "a.b"}}}, "sentence[0].values.n.noun"),
        ({"text": "{n}", "values": {"n": {"from": "a", "noun": "a" * 61}}}, "sentence[0].values.n.noun"),
        ({"text": {"param": "said"}}, "sentence[0].text"),
        ({"text": "{n}", "values": {"n": {"from": "a", "show": "bytes", "noun": "byte"}}}, "sentence[0].values.n"),
        ({"text": "{n}", "values": {"n": {"from": "z"}}}, "sentence[0].values.n.from"),
        ({"text": "n", "when": {"from": "z", "output": "/n", "op": "exists"}}, "sentence[0].when.from"),
        ({"text": "n", "when": {"from": "a", "output": "n", "op": "exists"}}, "sentence[0].when.output"),
        ({"text": "x" * 201}, "sentence[0].text"),
    ],
)
def test_faulty_sentences(sentence: dict[str, Any], place: str) -> None:
    assert {where for _, where in places(plan(tool("a"), sentence=[sentence]))} == {place}


def test_a_plan_has_at_most_eight_sentences() -> None:
    assert {where for _, where in places(plan(tool("a"), sentence=[{"text": "n"}] * 9))} == {"sentence"}


def test_parameters() -> None:
    document = plan(
        tool("a", device={"param": "where"}, args={"n": {"param": "n"}}, for_each={"devices": {"param": "where"}}),
        tool("b", device={"any": [{"param": "where"}, {"param": "none"}]}, only_if={"param": "n"}),
        name={"param": "title"},
    )
    lowered = made(document, params={"where": "laptop", "n": 3, "none": None, "title": "T"})
    assert lowered.name == "T"
    assert lowered.specs[0].args == '{"n":3}'
    device = lowered.specs[1].device
    assert device is not None
    assert [item.name for item in device.any] == ["laptop"]
    lacking = places(document, params={"where": None, "n": 1, "none": None, "title": "T"})
    assert ("missing_param", "tasks[0].device") in lacking
    assert ("missing_param", "tasks[1].device.any") in lacking
    assert ("unknown_param", "name") in places(document, params={"where": "x", "n": 0, "none": None})


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {},
        {"starloom": 2, "tasks": [tool("a")]},
        {"starloom": 1, "tasks": []},
        {"starloom": 1, "tasks": {}},
        plan(tool("a", only_if=False)),
        plan(tool("a", args={"x": float("inf")})),
        plan(tool("a", args={"x": "\ud800"})),
        plan(tool("a", args={"x": "y" * 1_100_000})),
        plan(tool("a", args={"x": object()})),
    ],
)
def test_documents_that_are_no_plans(document: Any) -> None:
    assert faults(document)


def test_too_deep_and_too_many() -> None:
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    assert "deeper" in faults(plan(tool("a", args={"x": deep})))[0].reason
    many = faults(plan(*({"id": f"t{n}", "tool": "x"} for n in range(10_001))))
    assert {fault.code for fault in many} == {Code.PLAN_TOO_BIG}


def test_a_parameter_may_not_make_arguments_too_deep() -> None:
    deep: Any = 1
    for _ in range(32):
        deep = [deep]
    document = plan(tool("a", args={"x": {"param": "deep"}}))
    (fault,) = faults(document, params={"deep": deep})
    assert (fault.place, fault.code) == ("tasks[0].args", Code.PLAN_INVALID)


def test_an_output_outside_a_rule_is_a_plain_value() -> None:
    assert (
        made(plan(tool("a", args={"x": {"output": "report.html"}}))).specs[0].args == '{"x":{"output":"report.html"}}'
    )


def test_too_many_dependencies() -> None:
    names = [f"t{n}" for n in range(1002)]
    every = {f"i{n}": {"from": "t0"} for n in range(100)}
    tasks = [tool(name, inputs=every if name != "t0" else {}) for name in names]
    graph_faults = FaultList()
    placed = {}
    for at, raw in enumerate(tasks):
        doc = graph_faults.validate(TaskDoc, raw, f"tasks[{at}]")
        assert doc is not None
        placed[doc.id] = Placed(Lowering(graph_faults, Known()).task(doc, f"tasks[{at}]"), f"tasks[{at}]")
    Graph(placed, (), set(), graph_faults).link([])
    assert [fault.code for fault in graph_faults.all] == [Code.PLAN_TOO_BIG]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_mutated_plan_never_raises(data: st.DataObject) -> None:
    document = copy.deepcopy(PHOTO)
    node: Any = document
    while isinstance(node, (dict, list)) and node:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if data.draw(st.booleans()) or not isinstance(node[key], (dict, list)):
            node[key] = data.draw(
                st.none() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({"param": "x"}) | st.just({})
            )
            break
        node = node[key]
    check = check_plan(document, params=VALUES)
    assert (check.plan is None) == bool(check.faults)
    assert all(fault.reason and fault.hint for fault in check.faults)


_WORDS = st.one_of(
    st.sampled_from(["a", "b", "c", "lab.echo", "", "A", "a.b", "-a", "x" * 65, "a b", "\u00e9"]),
    st.none() | st.integers(0, 3) | st.lists(st.just("a"), max_size=1),
)


@given(name=_WORDS, called=_WORDS, known=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_task_in_few_words_is_read_as_one_in_many(name: Any, called: Any, known: bool) -> None:
    tools = {"lab.echo": Repeatability.PURE} if known else None
    short = check_plan(plan({"id": name, "tool": called}, tool("b")), known_tools=tools)
    whole = check_plan(plan({"id": name, "tool": called, "optional": False}, tool("b")), known_tools=tools)
    assert msgspec.json.encode(short) == msgspec.json.encode(whole)


@given(source=_WORDS, target=_WORDS)
@settings(max_examples=150, deadline=None)
def test_a_dependency_in_few_words_is_read_as_one_in_many(source: Any, target: Any) -> None:
    tasks = [tool("a"), tool("b"), tool("c")]
    short = check_plan(plan(*tasks, dependencies=[{"from": source, "to": target}]))
    whole = check_plan(plan(*tasks, dependencies=[{"from": source, "to": target, "all": False}]))
    assert msgspec.json.encode(short) == msgspec.json.encode(whole)


def test_a_device_is_found_by_its_name_with_an_accent_apart_from_its_letter() -> None:
    apart = "pe\u0301lican"
    (spec,) = made(plan(tool("a", device={"name": apart})), known_devices=["p\u00e9lican"]).specs
    assert spec.device is not None
    assert spec.device.name == "p\u00e9lican"
