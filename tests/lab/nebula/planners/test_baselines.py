"""Baselines: every gold plan stays a plan, and has exactly what its baseline says."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from starloom.lab.nebula.planners.baselines import BASELINES, BaselineUnknown, plan_of, read_baselines
from starloom.lab.nebula.task import Task, all_tasks
from starloom_protocol.plan import check_plan
from tests.lab.nebula.conftest import FACTS

pytestmark = pytest.mark.quick
SAID = [task for task in all_tasks() if task.gold]


def document(task: Task, baseline: str) -> dict[str, Any]:
    return dict(yaml.safe_load(plan_of(task.plan(FACTS.words()), baseline)))


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("task", SAID, ids=lambda task: task.id)
def test_a_plan_stays_a_plan(task: Task, baseline: str) -> None:
    checked = check_plan(document(task, baseline))
    assert checked.faults == []


@pytest.mark.parametrize("task", SAID, ids=lambda task: task.id)
def test_the_full_product_has_the_plan_as_it_is_written(task: Task) -> None:
    assert plan_of(task.gold, "") == task.gold


def chain_of(made: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["from"], one["to"]) for one in made["dependencies"]]


def test_one_at_a_time_each_task_waits_for_the_one_before_and_lists_go_one_by_one() -> None:
    plan = yaml.safe_dump(
        {
            "starloom": 1,
            "tasks": [
                {"id": "b", "tool": "t", "inputs": {"x": {"from": "a"}}},
                {"id": "a", "tool": "t"},
                {"id": "c", "tool": "t", "for_each": {"from": "a", "output": "/rows"}},
                {"id": "d", "tool": "t", "for_each": {"same": "c"}},
                {"id": "e", "tool": "t"},
            ],
            "dependencies": [{"from": "c", "to": "e", "when": "failure"}],
        }
    )
    made = yaml.safe_load(plan_of(plan, "seq"))
    assert chain_of(made) == [("c", "e"), ("b", "c"), ("d", "e")]
    listed = {task["id"]: task.get("for_each", {}).get("max_parallel") for task in made["tasks"]}
    assert listed == {"a": None, "b": None, "c": 1, "d": None, "e": None}


def test_without_recovery_each_task_is_tried_once_and_people_are_asked_as_before() -> None:
    task = next(task for task in SAID if task.number == 36)
    for one in document(task, "norecover")["tasks"]:
        assert one.get("retry") == (None if "person" in one else {"max_attempts": 1})


def test_static_reviews_nothing_and_has_no_rules() -> None:
    plan = yaml.safe_dump(
        {"tasks": [], "rules": [{}], "policy": {"review": "always", "review_at": ["a"], "partial": True}}
    )
    assert yaml.safe_load(plan_of(plan, "static")) == {"tasks": [], "policy": {"review": "never", "partial": True}}


def test_baselines_are_read_and_others_refused() -> None:
    assert read_baselines("") == ()
    assert read_baselines("seq, norecover,seq") == ("seq", "norecover")
    with pytest.raises(BaselineUnknown, match="random is none of seq, static, norecover"):
        read_baselines("seq,random")
