"""Goals in the plan language: their envelope, their types, and every fault with its place and way out."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.types.gives import misfit_of
from starloom_protocol.records.entities import Goal
from starloom_protocol.vocabulary import Code, Repeatability

GOAL: dict[str, Any] = {
    "id": "why",
    "goal": "Find out why srv-b answers slowly.",
    "device": {"any": [{"name": "srv-a"}, {"name": "srv-b"}]},
    "gives": {"cause": "text", "evidence": ["text"], "confidence": "number"},
}


def check(*tasks: dict[str, Any], **known: Any) -> Any:
    return check_plan({"starloom": 1, "name": "Why", "tasks": list(tasks)}, **known)


def test_a_goal_is_a_group_with_its_envelope() -> None:
    may = {"tools": ["log.search", "fs.read"], "paths": ["logs"], "hosts": ["Intranet.Example"]}
    budget = {"steps": 12, "tokens": 40_000, "dollars": 0.3, "within_s": 300}
    until = [{"output": "/evidence", "op": "not_empty"}]
    (spec,) = check({**GOAL, "may": may, "budget": budget, "until": until, "judge": "Is it shown?"}).plan.specs
    goal: Goal = spec.goal
    assert (spec.tool, spec.judge.question) == (None, "Is it shown?")
    assert (goal.tools, goal.paths, goal.hosts) == (["fs.read", "log.search"], ["logs"], ["intranet.example"])
    assert (goal.steps, goal.tokens, goal.micros, goal.within_s) == (12, 40_000, 300_000, 300)
    assert goal.gives == '{"cause":"text","confidence":"number","evidence":["text"]}'


def test_the_hash_of_a_plan_covers_the_envelope() -> None:
    narrow, wide = (check({**GOAL, "may": {"tools": ["fs.read"], "paths": paths}}) for paths in (["logs"], ["."]))
    assert narrow.plan.hash != wide.plan.hash


FAULTS: list[tuple[dict[str, Any], Code, str]] = [
    ({"goal": " "}, Code.PLAN_INVALID, "goal"),
    ({"args": {"x": 1}}, Code.PLAN_INVALID, "args"),
    ({"checks": [{"output": "", "op": "exists"}]}, Code.PLAN_INVALID, "checks"),
    ({"retry": {"max_attempts": 2}}, Code.PLAN_INVALID, "retry"),
    ({"for_each": {"times": 2}}, Code.PLAN_INVALID, "for_each"),
    ({"tool": "fs.read"}, Code.PLAN_INVALID, ""),
    ({"device": {"from": "other"}}, Code.PLAN_INVALID, "device.from"),
    ({"may": {"tool": ["fs.read"]}}, Code.UNKNOWN_FIELD, "may.tool"),
    ({"may": {"hosts": ["a b"]}}, Code.PLAN_INVALID, "may.hosts[0]"),
    ({"budget": {"steps": 51}}, Code.PLAN_INVALID, "budget.steps"),
    ({"budget": {"dollars": -1}}, Code.PLAN_INVALID, "budget.dollars"),
    ({"gives": {}}, Code.PLAN_INVALID, "gives"),
    ({"gives": {"cause": "string"}}, Code.PLAN_INVALID, "gives.cause"),
    ({"gives": {"cause": ["text", "text"]}}, Code.PLAN_INVALID, "gives.cause"),
    ({"until": [{"output": "/proof", "op": "not_empty"}]}, Code.UNKNOWN_OUTPUT, "until[0].output"),
]


@pytest.mark.parametrize(("change", "code", "where"), FAULTS)
def test_a_fault_of_a_goal_has_its_place(change: dict[str, Any], code: Code, where: str) -> None:
    faults = check({**GOAL, **change}, {"id": "other", "tool": "fs.read"}).faults
    place = f"tasks[0].{where}" if where else "tasks[0]"
    assert [fault.code for fault in faults if fault.place == place] == [code], faults


def test_tools_and_devices_of_an_envelope_must_exist() -> None:
    known = {"known_devices": ["srv-a"], "known_tools": {"fs.read": Repeatability.PURE}}
    faults = check({**GOAL, "may": {"tools": ["fs.reed"]}}, **known).faults
    assert [(fault.place, fault.hint) for fault in faults] == [
        ("tasks[0].device.any[1].name", "Did you mean `srv-a`?"),
        ("tasks[0].may.tools[0]", "Did you mean `fs.read`?"),
    ]


def test_a_later_task_reads_the_fields_that_a_goal_gives() -> None:
    use = {"id": "use", "tool": "t", "inputs": {"x": {"from": "why", "output": "/cause"}}}
    assert not check(GOAL, use).faults
    (fault,) = check(GOAL, {**use, "inputs": {"x": {"from": "why", "output": "/reason"}}}).faults
    assert (fault.code, fault.place) == (Code.UNKNOWN_OUTPUT, "tasks[1].inputs.x.output")


def test_no_edit_adds_a_goal_not_even_within_a_plan() -> None:
    nested = {"id": "outer", "plan": {"tasks": [GOAL]}}
    for task in (GOAL, nested):
        faults, operations = check_edit([{"add_task": task}])
        assert (faults[0].code, operations) == (Code.PLAN_INVALID, [])
    rule = {"name": "r", "when": {"task": "a", "event": "failed"}, "reason": "x", "edit": [{"add_task": GOAL}]}
    made = check_plan({"starloom": 1, "tasks": [{"id": "a", "tool": "t"}], "rules": [rule]})
    assert made.faults[0].code is Code.PLAN_INVALID


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"cause": "x", "evidence": ["y"], "confidence": 0.5}, ""),
        ({"cause": "x", "evidence": [], "confidence": 1}, ""),
        ({"cause": "x", "evidence": ["y"]}, "It lacks confidence"),
        ({"cause": "x", "evidence": "y", "confidence": 1}, "`/evidence` must be"),
        ({"cause": "x", "evidence": [1], "confidence": 1}, "`/evidence/0` must be a text"),
        ({"cause": "x", "evidence": [], "confidence": True}, "`/confidence` must be a number"),
        ({"cause": "x", "evidence": [], "confidence": 1, "by": "ann"}, "it has by"),
        ([], "must be a map"),
    ],
)
def test_a_result_has_exactly_the_types_of_its_goal(value: Any, why: str) -> None:
    said = misfit_of('{"cause":"text","confidence":"number","evidence":["text"]}', value)
    assert why in said if why else said == ""
