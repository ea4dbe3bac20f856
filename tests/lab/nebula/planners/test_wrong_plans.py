"""A plan with a mistake in it: made of the gold plan, and refused where the mistake no longer fits."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.lab.nebula.planners.script import read_script, reply_to
from starloom.lab.nebula.planners.wrong_plans import MistakeUnfit, filled_in, needs_gold
from starloom.lab.nebula.task import TaskInvalid

pytestmark = pytest.mark.quick
GOLD: dict[str, Any] = {
    "tasks": [{"id": "list", "tool": "fs.find", "args": {"root": "Documents", "code": "glob('*.txt')"}}, {"id": "b"}],
    "dependencies": [{"from": "list", "to": "b"}],
}


def plan(mistakes: dict[str, Any]) -> Any:
    return filled_in({"gold": True, "mistakes": mistakes}, GOLD)["plan"]


def test_each_kind_of_mistake_is_made_and_the_gold_plan_stays_as_it_is() -> None:
    made = plan(
        {
            "/tasks/list/args/root": "documents",
            "/tasks/list/args/code": {"replace": ["*.txt", "*.md"]},
            "/tasks/list/needs": ["b"],
            "/tasks/-": {"id": "c"},
            "/tasks/1": {"leave_out": True},
            "/dependencies/0": {"leave_out": True},
        }
    )
    first = {"args": {"root": "documents", "code": "glob('*.md')"}, "id": "list", "needs": ["b"], "tool": "fs.find"}
    assert made == {"tasks": [first, {"id": "c"}], "dependencies": []}
    assert GOLD["tasks"][0]["args"]["root"] == "Documents"
    assert filled_in({"gold": True}, GOLD) == {"kind": "plan", "plan": GOLD}


def test_a_task_of_the_gold_plan_is_said_anew_under_another_name() -> None:
    said = {
        "kind": "edit",
        "operations": [{"add_task": {"gold": "list", "id": "again", "mistakes": {"/args/root": "x"}}}],
    }
    (operation,) = filled_in(said, GOLD)["operations"]
    assert operation["add_task"] == {
        **GOLD["tasks"][0],
        "id": "again",
        "args": {**GOLD["tasks"][0]["args"], "root": "x"},
    }


@pytest.mark.parametrize(
    ("say", "said"),
    [
        ({"gold": True, "mistakes": {"/tasks/none/tool": "x"}}, "there is no none"),
        ({"gold": True, "mistakes": {"/tasks/7": "x"}}, "the plan has no /tasks/7"),
        ({"gold": True, "mistakes": {"/tasks/list/device": {"leave_out": True}}}, "to leave out"),
        ({"gold": True, "mistakes": {"/tasks/list/args/code": {"replace": ["*.csv", "x"]}}}, "has no text"),
        ({"operations": [{"add_task": {"gold": "none"}}]}, "the gold plan has no task none"),
    ],
)
def test_a_mistake_that_does_not_fit_the_gold_plan_is_refused(say: dict[str, Any], said: str) -> None:
    assert needs_gold(say)
    with pytest.raises(MistakeUnfit, match=said):
        filled_in(say, GOLD)


def test_a_transcript_with_a_mistake_that_does_not_fit_is_refused_with_its_place() -> None:
    gold = "tasks: [{id: list, tool: fs.find}]"
    line = '{"stage": "planning", "say": {"gold": true, "mistakes": {"/tasks/b/tool": "x"}}}'
    with pytest.raises(TaskInvalid, match="a task, call 1: the plan has no /tasks/b/tool"):
        read_script(line, gold, {}, "a task")


def test_a_hint_counts_in_the_last_turn_alone() -> None:
    script = read_script('{"stage": "planning", "hints": ["flatten"], "say": {"kind": "cannot"}}', "", {}, "a task")
    assert reply_to(script, 0, "planning", ["rules: flatten", "add flatten"])[1] == []
    (fault,) = reply_to(script, 0, "planning", ["rules: flatten", "add it"])[1]
    assert fault.endswith("flatten (in the last turn)")
