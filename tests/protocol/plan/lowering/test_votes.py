"""Votes in plans: their lowering to a group and a count, and what may not be voted on."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.language.models import WHICH
from starloom_protocol.plan.types.signatures import built_in_results
from starloom_protocol.records.edits import AddDependency, AddTask, LoweredPlan
from starloom_protocol.records.entities import Fault
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Need, Repeatability

PURE, IDEMPOTENT, NEVER = Repeatability.PURE, Repeatability.IDEMPOTENT, Repeatability.NEVER
TOOLS = {"fs.hash": PURE, "fs.stat": PURE, "system.info": PURE, "data.vote": PURE, "fs.copy": IDEMPOTENT, "pay": NEVER}


def voted(**fields: Any) -> dict[str, Any]:
    return {"id": "os", "tool": "system.info", "vote": {"n": 3, "on": "/system"}, **fields}


def plan(*tasks: Any, **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "Test", "tasks": list(tasks), **fields}


def faults(document: dict[str, Any]) -> list[Fault]:
    return check_plan(document, known_tools=TOOLS, known_signatures=built_in_results()).faults


def lowered(document: dict[str, Any]) -> LoweredPlan:
    check = check_plan(document, known_tools=TOOLS, known_signatures=built_in_results())
    assert check.plan is not None, check.faults
    return check.plan


def test_a_vote_becomes_a_group_of_calls_and_a_count() -> None:
    made = lowered(plan(voted(optional=True, retry={"max_attempts": 2})))
    calls, count = made.specs
    assert (calls.id, calls.tool, calls.retry.max_attempts, calls.optional) == ("os-calls", "system.info", 2, False)
    assert calls.for_each is not None
    assert (calls.for_each.times, calls.for_each.need, calls.for_each.devices) == (3, Need.BEST_EFFORT, None)
    assert (count.id, count.tool, count.optional) == ("os", "data.vote", True)
    assert parse(count.args) == {"of": 3, "on": "/system"}
    assert [(item.name, item.source, item.who) for item in count.inputs] == [
        ("ballots", "os-calls", False),
        ("voters", "os-calls", True),
    ]


@pytest.mark.parametrize(
    ("rule", "args"),
    [("majority", {}), ({"ahead_by": 2}, {"ahead_by": 2})],
)
def test_a_rule_becomes_an_argument_of_the_count(rule: Any, args: dict[str, Any]) -> None:
    made = lowered(plan(voted(vote={"n": 5, "rule": rule, "tolerance": 1})))
    assert parse(made.specs[1].args) == {"of": 5, "on": "", "tolerance": 1, **args}


def test_calls_apart_go_to_different_devices_that_have_the_tool() -> None:
    device = {"any": [{"os": "linux"}, {"labels": ["x"]}]}
    calls = lowered(plan(voted(device=device, vote={"n": 2, "apart": True}))).specs[0]
    assert calls.device is None
    assert calls.for_each is not None
    assert calls.for_each.devices is not None
    assert (calls.for_each.times, calls.for_each.devices.tools) == (2, ["system.info"])
    assert [item.os for item in calls.for_each.devices.any] == ["linux", None]


def test_the_calls_wait_for_all_that_the_task_waits_for() -> None:
    first = {"id": "first", "tool": "system.info"}
    made = lowered(plan(first, voted(), dependencies=[{"from": "first", "to": "os"}]))
    assert {(edge.source, edge.target) for edge in made.dependencies if edge.input is None} == {
        ("first", "os"),
        ("first", "os-calls"),
    }


def test_a_call_may_differ_by_its_number() -> None:
    made = lowered(plan(voted(tool="fs.stat", args={"paths": [{"each": "/number"}]}, vote={"n": 3})))
    assert parse(made.specs[0].args) == {"paths": [{"each": "/number"}]}


def test_a_vote_within_a_nested_plan_keeps_its_names() -> None:
    inner = plan(
        voted(), {"id": "use", "tool": "data.vote", "inputs": {"ballots": {"from": "os", "output": "/ballots"}}}
    )
    made = lowered(plan({"id": "part", "plan": inner}, {"id": "os", "tool": "system.info"}))
    by_id = {spec.id: spec for spec in made.specs}
    assert [item.source for item in by_id["part.os"].inputs] == ["part.os-calls", "part.os-calls"]
    assert by_id["part.os-calls"].group == by_id["part.os"].group == "part"
    assert by_id["part.use"].inputs[0].source == "part.os"


@pytest.mark.parametrize(
    ("task", "code", "place", "holds"),
    [
        (voted(tool="fs.copy"), Code.NOT_REPEATABLE, "vote", "it is idempotent"),
        (voted(tool="pay"), Code.NOT_REPEATABLE, "vote", "it is never"),
        (voted(tool="pay", repeatability="pure"), Code.NOT_REPEATABLE, "vote", "it is never"),
        (voted(repeatability="never"), Code.NOT_REPEATABLE, "repeatability", "the plan says that it is never"),
        (voted(tool=None, person="Well?"), Code.PLAN_INVALID, "vote", "only a call of a tool"),
        (voted(for_each={"times": 2}), Code.PLAN_INVALID, "for_each", "does not go with `vote`"),
        (voted(undo={"tool": "fs.copy"}), Code.PLAN_INVALID, "undo", "does not go with `vote`"),
        (voted(files_out=[{"output": "/x", "to": "a"}]), Code.PLAN_INVALID, "files_out", "does not go with `vote`"),
        (voted(vote={"n": 1}), Code.PLAN_INVALID, "vote.n", "it is at least 2"),
        (voted(vote={"n": 26}), Code.PLAN_INVALID, "vote.n", "it is at most 25"),
        (voted(vote={"n": 3, "rule": "most"}), Code.PLAN_INVALID, "vote.rule", "majority or {ahead_by: k}"),
        (voted(vote={"n": 3, "rule": {"ahead_by": 0}}), Code.PLAN_INVALID, "vote.rule", "from 1 to 25"),
        (voted(vote={"n": 3, "on": "/oss"}), Code.UNKNOWN_OUTPUT, "vote.on", "gives no `/oss`"),
        (
            voted(vote={"n": 3, "tolerance": -1}),
            Code.PLAN_INVALID,
            "vote.tolerance",
            "it is at least 0",
        ),
        (
            voted(device={"name": "nas"}, vote={"n": 2, "apart": True}),
            Code.PLAN_INVALID,
            "vote.apart",
            "2 different devices",
        ),
        (voted(id="x" * 64), Code.PLAN_INVALID, "id", "too long an id"),
    ],
)
def test_a_task_that_cannot_be_voted_on_is_refused(task: dict[str, Any], code: Code, place: str, holds: str) -> None:
    found = [(item.code, item.place, item.reason) for item in faults(plan(task))]
    assert any((kind, where) == (code, f"tasks[0].{place}") and holds in reason for kind, where, reason in found), found


def test_no_other_task_has_the_id_of_the_calls() -> None:
    first, *_ = faults(plan({"id": "os-calls", "tool": "system.info"}, voted()))
    assert (first.code, first.place) == (Code.DUPLICATE_ID, "tasks[1].vote")
    (fault,) = faults(plan(voted(), {"id": "os-calls", "tool": "system.info"}))
    assert (fault.code, fault.place) == (Code.DUPLICATE_ID, "tasks[1].id")


def test_a_tool_that_counts_votes_must_be_offered() -> None:
    (fault,) = check_plan(plan(voted()), known_tools={"system.info": PURE}).faults
    assert (fault.code, fault.place) == (Code.UNKNOWN_TOOL, "tasks[0].vote")


def test_an_edit_adds_a_vote_with_its_gates() -> None:
    found, operations = check_edit(
        [{"add_task": voted()}, {"add_dependency": {"from": "first", "to": "os"}}],
        known_tools=TOOLS,
        task_ids=["first"],
    )
    assert not found
    assert [item.spec.id for item in operations if isinstance(item, AddTask)] == ["os-calls", "os"]
    gates = [item.dependency for item in operations if isinstance(item, AddDependency)]
    assert [(gate.source, gate.target) for gate in gates] == [("first", "os"), ("first", "os-calls")]


def test_an_edit_does_not_turn_a_task_into_a_vote() -> None:
    found, _ = check_edit([{"update_task": {"id": "os", "vote": {"n": 3}}}])
    assert [(item.code, item.place) for item in found] == [(Code.PLAN_INVALID, "operations[0].update_task.vote")]


@pytest.mark.parametrize(
    ("each", "place"),
    [
        ({"times": 2, "from": "a"}, "for_each.times"),
        ({"times": 2, "same": "a"}, "for_each.times"),
        ({"times": 0}, "for_each.times"),
        ({"times": 1001}, "for_each.times"),
        ({"times": 2, "devices": {}, "when_off": "report"}, "for_each.when_off"),
    ],
)
def test_a_number_of_calls_stands_alone_or_with_devices(each: dict[str, Any], place: str) -> None:
    document = plan({"id": "a", "tool": "system.info"}, {"id": "b", "tool": "system.info", "for_each": each})
    assert f"tasks[1].{place}" in [item.place for item in faults(document)]


def test_who_is_asked_of_a_group_alone() -> None:
    reads = {"id": "b", "tool": "data.vote", "inputs": {"ballots": {"from": "a", "who": True}}}
    (fault,) = faults(plan({"id": "a", "tool": "system.info"}, reads))
    assert (fault.code, fault.place) == (Code.PLAN_INVALID, "tasks[1].inputs.ballots.who")


@pytest.mark.parametrize(
    ("rule", "question", "unclear"),
    [
        ("judge", WHICH, "ask"),
        ({"judge": "Which is newest?"}, "Which is newest?", "ask"),
        ({"judge": {"question": "Which is newest?", "unclear": "fail"}}, "Which is newest?", "fail"),
    ],
)
def test_a_judge_chooses_between_the_calls_before_the_count(rule: Any, question: str, unclear: str) -> None:
    made = lowered(plan(voted(vote={"n": 3, "on": "/system", "rule": rule})))
    calls, choice, count = made.specs
    assert (calls.id, choice.id, count.id) == ("os-calls", "os-choice", "os")
    assert choice.judge is not None
    assert choice.shows is not None
    assert (choice.person, choice.judge.question, choice.judge.unclear) == (question, question, unclear)
    assert (choice.shows.source, choice.shows.output, choice.choices) == ("os-calls", "/system", [])
    assert [(item.name, item.source, item.output) for item in count.inputs] == [
        ("ballots", "os-calls", ""),
        ("voters", "os-calls", ""),
        ("chosen", "os-choice", "/value"),
    ]
    assert parse(count.args) == {"of": 3, "on": "/system"}


def test_a_choice_within_a_nested_plan_keeps_its_names() -> None:
    inner = plan(voted(vote={"n": 2, "rule": "judge"}))
    by_id = {spec.id: spec for spec in lowered(plan({"id": "part", "plan": inner})).specs}
    shows = by_id["part.os-choice"].shows
    assert shows is not None
    assert shows.source == "part.os-calls"
    assert by_id["part.os"].inputs[2].source == "part.os-choice"


@pytest.mark.parametrize(
    ("task", "place", "holds"),
    [
        (voted(vote={"n": 3, "rule": {"judge": ""}}), "vote.rule", "a question of 1 to 500"),
        (voted(vote={"n": 3, "rule": {"judge": {"question": "?", "else": 1}}}), "vote.rule", "a question of 1 to 500"),
        (voted(vote={"n": 3, "rule": {"judge": "?", "ahead_by": 2}}), "vote.rule", "judge or {judge: QUESTION}"),
        (voted(vote={"n": 3, "rule": "judge", "tolerance": 1}), "vote.tolerance", "a judge chooses"),
        (voted(id="x" * 58, vote={"n": 3, "rule": "judge"}), "id", "the choice between its calls"),
        (voted(vote={"n": 3, "rule": "judge", "on": "/oss"}), "vote.on", "gives no `/oss`"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused_once(task: dict[str, Any], place: str, holds: str) -> None:
    found = [(item.place, item.reason) for item in faults(plan(task))]
    assert [where for where, _ in found] == [f"tasks[0].{place}"], found
    assert holds in found[0][1]


def test_the_id_of_a_choice_is_taken() -> None:
    other = {"id": "os-choice", "tool": "system.info"}
    fault = faults(plan(other, voted(vote={"n": 2, "rule": "judge"})))[0]
    assert (fault.code, fault.place) == (Code.DUPLICATE_ID, "tasks[1].vote")
