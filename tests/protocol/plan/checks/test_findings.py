"""Inputs by topic at preview: a topic is published by somebody, and can be looked at again where it must be fresh."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_plan
from starloom_protocol.plan.types.signatures import Signature
from starloom_protocol.records.entities import Finds
from starloom_protocol.vocabulary import Code, Effect, Gate, Repeatability

TOOLS = {"look": Repeatability.PURE, "write": Repeatability.IDEMPOTENT, "sum": Repeatability.PURE}
SIGNATURES = {
    "look": Signature(effects=frozenset({Effect.READ})),
    "write": Signature(effects=frozenset({Effect.WRITE})),
    "sum": Signature(),
}
FINDS: dict[str, Any] = {"id": "a", "tool": "look", "finds": {"topic": "free space", "value": "/free"}}
GOAL: dict[str, Any] = {"id": "why", "goal": "Find out why.", "finds": {"topics": ["cause"]}}


def uses(topic: str = "free space", /, **fields: Any) -> dict[str, Any]:
    return {"id": "b", "tool": "look", "inputs": {"free": {"finding": topic, **fields}}}


def faults(*tasks: dict[str, Any]) -> list[tuple[str, Code, str]]:
    check = check_plan(
        {"starloom": 1, "tasks": list(tasks)}, known_devices=["one"], known_tools=TOOLS, known_signatures=SIGNATURES
    )
    return [(fault.place, fault.code, f"{fault.reason}; {fault.hint}") for fault in check.faults]


def test_a_topic_becomes_a_gate_from_each_task_that_publishes_it() -> None:
    check = check_plan(
        {"starloom": 1, "tasks": [FINDS, {**FINDS, "id": "c"}, uses("free space", fresh_s=60, **{"else": None})]}
    )
    assert check.plan is not None, check.faults
    gates = [(gate.source, gate.target, gate.gate, gate.topic) for gate in check.plan.dependencies]
    assert gates == [("a", "b", Gate.DATA, "free space"), ("c", "b", Gate.DATA, "free space")]
    by_id = {spec.id: spec for spec in check.plan.specs}
    assert by_id["a"].finds == Finds(output="/free", topic="free space")
    (given,) = by_id["b"].inputs
    assert (given.topic, given.fresh_s, given.otherwise, given.source) == ("free space", 60, "null", "")


def test_a_topic_that_nothing_publishes_is_a_fault_with_the_nearest() -> None:
    (found,) = faults(FINDS, uses("free spaces"))
    assert found[:2] == ("tasks[1].inputs.free.finding", Code.UNKNOWN_TOPIC)
    assert found[2] == "nothing publishes `free spaces`; Did you mean `free space`?"


def test_a_task_does_not_wait_for_its_own_topic() -> None:
    (found,) = faults({**uses(), "finds": {"topic": "free space"}})
    assert found[0] == "tasks[0].inputs.free.finding"


def test_tasks_that_wait_for_the_findings_of_each_other_are_a_cycle() -> None:
    (found,) = faults({**FINDS, "inputs": {"x": {"finding": "other"}}}, {**uses(), "finds": {"topic": "other"}})
    assert found[1] is Code.PLAN_CYCLE


@pytest.mark.parametrize(
    ("task", "place", "word"),
    [
        ({**FINDS, "for_each": {"times": 2}}, "tasks[0].finds", "each item"),
        ({"id": "a", "person": "Well?", "finds": {"topic": "x"}}, "tasks[0].finds", "only a call"),
        ({**FINDS, "finds": {"value": "/free"}}, "tasks[0].finds.topic", "missing"),
        ({**FINDS, "finds": {"topic": "x" * 81}}, "tasks[0].finds.topic", "80"),
        ({**FINDS, "finds": {"topic": "a\nb"}}, "tasks[0].finds.topic", ""),
        ({**GOAL, "finds": {"topic": "cause"}}, "tasks[0].finds.topic", ""),
        ({**uses(), "inputs": {"free": {"finding": "t", "from": "a"}}}, "tasks[0].inputs.free.from", "does not go"),
        ({**uses(), "inputs": {"free": {"finding": "t", "output": "/x"}}}, "tasks[0].inputs.free.output", "does not"),
        ({**uses(), "inputs": {"free": {"from": "b", "fresh_s": 3}}}, "tasks[0].inputs.free.fresh_s", "belongs to"),
        ({**uses(), "inputs": {"free": {"from": "b", "else": 3}}}, "tasks[0].inputs.free.else", "belongs to"),
        ({**uses(), "inputs": {"free": {}}}, "tasks[0].inputs.free.from", "missing"),
        ({**uses(), "reuse": {"fresh_s": 3}}, "tasks[0].inputs.free.finding", "another one in each run"),
        ({**GOAL, "inputs": {"x": {"finding": "t", "fresh_s": 3}}}, "tasks[0].inputs.x.fresh_s", "looks for itself"),
    ],
)
def test_what_is_no_finding_is_said_with_its_place(task: dict[str, Any], place: str, word: str) -> None:
    said = [words for where, _, words in faults(task) if where == place]
    assert any(word in words for words in said)


@pytest.mark.parametrize(
    ("publisher", "word"),
    [
        ({**FINDS, "tool": "write"}, "does more than read"),
        ({**FINDS, "tool": "sum"}, "computes"),
        ({**GOAL, "finds": {"topics": ["free space"]}}, "no single call"),
        ({**FINDS, "repeat": {"max": 2, "every_s": 1}}, "no single call"),
        ({**FINDS, "judge": "Is it so?"}, "has a judge"),
        ({**FINDS, "args": {"key": {"secret": "k"}}}, "is given a secret"),
    ],
)
def test_a_fact_that_cannot_be_looked_at_again_has_no_age(publisher: dict[str, Any], word: str) -> None:
    said = [words for place, _, words in faults(publisher, uses(fresh_s=60)) if place == "tasks[1].inputs.free.fresh_s"]
    assert len(said) == 1
    assert word in said[0]
    assert not [one for one in faults(publisher, uses()) if "inputs.free" in one[0]]


def test_a_rule_adds_no_task_that_publishes() -> None:
    added = {"add_task": {**FINDS, "id": "c"}}
    rule = {"name": "r", "when": {"task": "a", "event": "failed"}, "reason": "x", "edit": [added]}
    check = check_plan({"starloom": 1, "tasks": [FINDS], "rules": [rule]})
    assert [fault.code for fault in check.faults] == [Code.FORBIDDEN]


def test_more_publishers_than_findings_have_room_for_are_refused() -> None:
    check = check_plan({"starloom": 1, "tasks": [{**FINDS, "id": f"a{number}"} for number in range(101)]})
    assert [fault.code for fault in check.faults] == [Code.PLAN_TOO_BIG]


def test_a_vote_publishes_by_its_count() -> None:
    voted = {**FINDS, "finds": {"topic": "free space", "value": "/winner"}, "vote": {"n": 3}}
    check = check_plan({"starloom": 1, "tasks": [voted, uses()]})
    assert check.plan is not None, check.faults
    assert {spec.id: spec.finds is not None for spec in check.plan.specs} == {"a-calls": False, "a": True, "b": False}


@pytest.mark.parametrize("fresh_s", [-3, 0])
def test_an_age_below_its_bound_is_told_in_the_words_of_the_plan(fresh_s: int) -> None:
    reader = uses()
    reader["inputs"]["free"]["fresh_s"] = fresh_s
    (found,) = faults(FINDS, reader)
    assert found[0] == "tasks[1].inputs.free.fresh_s"
    assert found[2].startswith(f"{fresh_s} is not possible: it is at least 1")
