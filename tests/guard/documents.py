"""Damaged plans, edits, recipes, scenarios and their YAML, into the real loaders: faults, or a plan.

A case is its seed. Nothing raises, nothing costs much, and a document with faults gives no plan.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from starloom_protocol.plan import check_edit, check_plan, read_document, read_recipe
from starloom_protocol.plan.language.document import DocumentRefused
from starloom_protocol.plan.scenario import read_scenario
from tests.cost import calls
from tests.guard.mutate import cut, damage

RECIPES = Path(__file__).parents[2] / "recipes"
CALLS_MOST = 2_000_000
"""What one document may cost: most cost some thousands of calls, the dearest of 1,500 a quarter of a million."""

EDIT: list[dict[str, Any]] = [
    {"op": "add_task", "task": {"id": "b", "tool": "t.one", "args": {"n": 1}}},
    {"op": "update_task", "id": "a", "set": {"name": "other", "args": {"n": 2}}},
    {"op": "remove_task", "id": "c"},
    {"op": "add_dependency", "dependency": {"from": "a", "to": "b", "when": "success"}},
    {"op": "remove_dependency", "from": "a", "to": "b"},
    {"op": "reassign", "id": "a", "on": {"name": "laptop"}},
]


@cache
def recipes() -> list[Any]:
    """Return every built-in recipe as it is written."""
    return [read_document(path.read_text(encoding="utf-8")) for path in sorted(RECIPES.glob("*.yaml"))]


@cache
def plans() -> list[Any]:
    return [found["plan"] for found in (*recipes(), *scenarios()) if isinstance(found.get("plan"), dict)]


@cache
def scenarios() -> list[Any]:
    return [read_document(path.read_text(encoding="utf-8")) for path in sorted((RECIPES / "scenarios").glob("*.yaml"))]


@cache
def values() -> dict[str, Any]:
    """Return a value for the parameters that the recipes' plans name, so that most plans are sound before damage."""
    names = {name for recipe in recipes() for name in recipe.get("params", {})}
    return dict.fromkeys(sorted(names))


def run_case(seed: int) -> str:
    """Run one case; return what it was and what came of it.

    Raises:
        AssertionError: if a loader promised something else.
    """
    random_ = random.Random(seed)
    match random_.randrange(6):
        case 0 | 1:
            what, load, text = "plan", _plan, damage(random_, random_.choice(plans()), plans())
        case 2:
            what, load, text = "edit", _edit, damage(random_, EDIT, plans())
        case 3:
            what, load, text = "recipe", _recipe, damage(random_, random_.choice(recipes()), recipes())
        case 4:
            what, load, text = "scenario", _scenario, damage(random_, random_.choice(scenarios()), plans())
        case _:
            whole = yaml.safe_dump(random_.choice(recipes()), allow_unicode=True)
            what, load, text = "yaml", _recipe, cut(random_, cut(random_, whole))
    said = ""

    def run() -> None:
        nonlocal said
        said = f"{what} {load(text)}"

    spent = calls(run)
    assert spent < CALLS_MOST, f"{said} took {spent} calls"
    return said


def _plan(text: str) -> str:
    try:
        document = read_document(text)
    except DocumentRefused as refused:
        _judge([refused.fault])
        return "refused"
    check = check_plan(document, params=values())
    assert (check.plan is None) == bool(check.faults), "a plan and faults, or neither"
    _judge(check.faults)
    return "refused" if check.faults else "taken"


def _edit(text: str) -> str:
    try:
        operations = read_document('{"operations":' + text + "}").get("operations")
    except DocumentRefused as refused:
        _judge([refused.fault])
        return "refused"
    faults, lowered = check_edit(operations)
    assert bool(faults) != bool(lowered), "an edit and faults, or neither"
    _judge(faults)
    return "refused" if faults else "taken"


def _recipe(text: str) -> str:
    check = read_recipe(text)
    assert (check.recipe is None) == bool(check.faults), "a recipe and faults, or neither"
    _judge(check.faults)
    return "refused" if check.faults else "taken"


def _scenario(text: str) -> str:
    check = read_scenario(text)
    assert (check.scenario is None) == bool(check.faults), "a scenario and faults, or neither"
    _judge(check.faults)
    return "refused" if check.faults else "taken"


def _judge(faults: list[Any]) -> None:
    for fault in faults:
        assert fault.reason, f"a fault without a reason at {fault.place}"
        assert len(fault.reason) < 2000, "a fault repeats the attack"
