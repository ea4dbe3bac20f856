"""Planning: a recipe and values become a lowered plan, checked against the current fleet; every fault at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starloom.planner.equivalents import checked, equivalents
from starloom.planner.fleet import FleetView
from starloom_protocol.plan import PlanCheck, Recipe, built_in_results, recipe_plan, results_alone


def plan_recipe(recipe: Recipe, params: Mapping[str, Any], fleet: FleetView) -> PlanCheck:
    """Return the plan that these values make, or all faults with their places (`params.source`, `plan.tasks[2]` ...).

    The tools are checked against the fleet only for their repeatability and results: a tool that no device offers yet
    makes a waiting task with a reason, not a fault of the recipe.
    """
    known = _tolerant(fleet.known_tools(), recipe)
    signatures = {**built_in_results(), **results_alone(fleet.known_signatures())}

    def check(plan: Any) -> PlanCheck:
        return recipe_plan(
            recipe.model_copy(update={"plan": plan}),
            params,
            known_devices=fleet.known_names() or None,
            known_tools=known,
            known_signatures=signatures,
        )

    return checked(recipe.plan, equivalents(fleet.records, fleet.offers), check)


def _tolerant(offered: Mapping[str, Any], recipe: Recipe) -> dict[str, Any] | None:
    """Return the known tools, or None if the recipe uses one that no device offers now."""
    used = {task.get("tool") for task in recipe.plan.get("tasks", []) if isinstance(task, dict)} - {None}
    return dict(offered) if used <= set(offered) else None
