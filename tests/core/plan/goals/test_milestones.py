"""Milestones of a goal: one that is missed is a rung of the ladder; one that is reached in its time says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.rights.envelope import envelope_words
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.vocabulary import Code, Outcome
from tests.core.plan.goals.pursued import GOAL, VALUE, Pursued, call

LOGS = {"says": "a line of the log was read", "tool": "fs.read", "steps": 2}
MANY = {"says": "more than three were found", "output": "/count", "op": "gt", "value": 3, "steps": 2}
SOON = {"says": "the disk was seen", "tool": "t.pure", "output": "/disk", "op": "not_empty", "within_s": 60}


def pursued(*milestones: dict[str, Any], **fields: Any) -> Pursued:
    return Pursued(goal={"milestones": list(milestones), "budget": {"steps": 20, "within_s": 600}, **fields})


def stepped(one: Pursued, *values: Any) -> None:
    for value in values:
        at = len(one.turns)
        one.step(call(number=at), cites=("why.1",) if one.turns else ())
        one.end_calls({"number": at} if value is None else value)


MISSED = "the milestone \u201cmore than three were found\u201d is not reached within 2 steps"


def test_a_missed_milestone_warns_the_model_first() -> None:
    one = pursued(MANY)
    stepped(one, {"count": 1})
    assert [kind for kind, _ in one.turns] == ["step"]
    stepped(one, {"count": 3})
    assert one.turns[-1] == ("told", MISSED)
    assert [event.note for event in one.events if event.kind == "goal_stalled"] == [MISSED]
    stepped(one, {"count": 2}, {"count": 0})
    assert [kind for kind, _ in one.turns].count("told") == 1, "each warns once"


def test_a_milestone_that_is_reached_in_its_time_says_nothing() -> None:
    one = pursued(MANY)
    stepped(one, {"count": 4}, {"count": 0}, None, None)
    assert [kind for kind, _ in one.turns] == ["step"] * 4


@pytest.mark.parametrize("milestone", [{**MANY, "tool": "fs.read"}, LOGS])
def test_a_result_of_another_tool_reaches_no_milestone(milestone: dict[str, Any]) -> None:
    one = pursued(milestone)
    stepped(one, {"count": 9}, {"count": 10})
    assert one.turns[-1][0] == "told"


def test_a_call_that_failed_reaches_no_milestone() -> None:
    one = pursued({"says": "a call was made", "tool": "t.pure", "steps": 2})
    for at in range(2):
        one.step(call(number=at))
        for work in one.take():
            one.result(work, None, Outcome.ERROR, code=Code.FILE_NOT_FOUND)
    assert one.turns[-1] == ("told", "the milestone \u201ca call was made\u201d is not reached within 2 steps")


def test_a_milestone_may_be_due_by_time() -> None:
    one = pursued(SOON)
    one.now_ms += 59_000
    stepped(one, {"disk": ""})
    assert [kind for kind, _ in one.turns] == ["step"]
    one.now_ms += 2_000
    stepped(one, None)
    assert one.turns[-1] == ("told", "the milestone \u201cthe disk was seen\u201d is not reached within 60 s")


def test_time_that_a_person_took_to_answer_is_not_counted() -> None:
    goal = {"milestones": [SOON], "may": {"tools": ["t.pure", "svc.restart"]}}
    one = Pursued(goal=goal, policy={"approval": "never"})
    one.step(call("svc.restart"))
    assert one.made.open_questions
    one.now_ms += 300_000
    one.reply("deny")
    stepped(one, None)
    assert "told" not in [kind for kind, _ in one.turns]


def test_the_second_missed_milestone_asks_a_person_who_allows_as_much_again() -> None:
    one = pursued(MANY, {**MANY, "says": "ten were found", "value": 9, "steps": 3})
    stepped(one, {"count": 1}, {"count": 2}, {"count": 3})
    (question,) = [one.made.questions[key] for key in one.made.open_questions]
    assert "the milestone \u201cten were found\u201d is not reached within 3 steps" in question.text
    one.reply("go_on")
    stepped(one, {"count": 4})
    assert not one.made.open_questions
    assert one.turns[-1][0] == "step", "the first is reached now, and the other has until its sixth step"
    stepped(one, None, None)
    assert one.turns[-1] == ("told", "the milestone \u201cten were found\u201d is not reached within 6 steps")


def test_the_next_tier_goes_on_where_there_is_one() -> None:
    one = pursued(MANY, {**MANY, "says": "ten were found", "value": 9, "steps": 3})
    one.tiers = ("small", "worker")
    stepped(one, {"count": 1}, {"count": 2}, {"count": 3})
    assert one.turns[-1][0] == "escalated"
    assert "ten were found" in one.turns[-1][1]


def test_a_goal_may_end_without_its_milestones() -> None:
    one = pursued(MANY)
    stepped(one, {"count": 1}, {"count": 2})
    one.answer(VALUE)
    assert one.run() == "succeeded"
    one.folded_equals_state()


def test_a_milestone_reads_the_part_of_a_large_result() -> None:
    one = pursued(MANY)
    one.step(call())
    (work,) = one.take()
    assert "/count" in work.wants
    one.result(work, None, artifact="sha256-" + "a" * 64, bytes=9_000_000, facts={"/count": "7"})
    stepped(one, {"count": 0})
    assert "told" not in [kind for kind, _ in one.turns]


def test_a_part_that_is_too_large_is_no_fault_of_the_step() -> None:
    one = pursued(MANY)
    one.step(call())
    (work,) = one.take()
    one.result(work, None, artifact="sha256-" + "a" * 64, bytes=9_000_000, facts_too_big={"/count": 90_000})
    assert one.states()["why.1"] == "succeeded"


def test_the_approval_names_the_milestones() -> None:
    one = pursued(MANY, SOON)
    words = envelope_words(one.made.specs["why"], one.shard.fleet)
    assert words.endswith("Milestones: more than three were found (within 2 steps); the disk was seen (within 60 s).")


@pytest.mark.parametrize(
    ("milestone", "place", "why"),
    [
        ({"says": "x", "steps": 2}, "", "says which result reaches it"),
        ({"says": "x", "tool": "t.pure"}, "", "says by when it is reached"),
        ({"says": "", "tool": "t.pure", "steps": 2}, ".says", ""),
        ({"says": "x", "tool": "t.pure", "steps": 21}, ".steps", "ends after 20 steps"),
        ({"says": "x", "tool": "t.pure", "within_s": 601}, ".within_s", "ends after 600 s"),
        ({"says": "x", "output": "/a", "steps": 2}, "", "a check is"),
        ({"says": "x", "output": "a", "op": "exists", "steps": 2}, ".output", ""),
        ({"says": "x", "tool": "t.pure", "steps": 2, "by": 3}, ".by", ""),
    ],
)
def test_a_milestone_that_cannot_be_judged_is_refused(milestone: dict[str, Any], place: str, why: str) -> None:
    faults = check_plan({"starloom": 1, "tasks": [{**GOAL, "milestones": [milestone]}]}).faults
    assert [fault.place for fault in faults] == [f"tasks[0].milestones[0]{place}"], faults
    assert why in faults[0].reason


def test_only_a_goal_has_milestones_and_no_edit_sets_them() -> None:
    (fault,) = check_plan({"starloom": 1, "tasks": [{"id": "a", "tool": "x", "milestones": [LOGS]}]}).faults
    assert "belongs to `goal`" in fault.reason
    faults, _ = check_edit([{"update_task": {"id": "why", "milestones": [LOGS]}}])
    assert "cannot be set by an edit" in faults[0].reason
