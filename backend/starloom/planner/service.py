"""One object for the edge and the jobs: recipes, matching, planning and preview on the fleet as it is now.

It holds no state of its own; the fleet is asked for at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starloom.planner.catalogue import Catalogue, recipe_row
from starloom.planner.fleet import FleetView
from starloom.planner.matching import Match, Matched, match
from starloom.planner.planning import plan_recipe
from starloom.planner.preview import preview
from starloom_protocol.edits import LoweredPlan
from starloom_protocol.entities import Fault
from starloom_protocol.plan import PlanCheck
from starloom_protocol.vocabulary import Code


class Planning:
    """`fleet` returns the picture of now; quick, because previews are made while a person types."""

    def __init__(self, catalogue: Catalogue, fleet: Callable[[], FleetView]) -> None:
        self._catalogue = catalogue
        self._fleet = fleet

    def understand(self, words: str, params: Mapping[str, Any]) -> Matched:
        """Match words against all recipes; `params` were given beside them."""
        return match(words, self._catalogue.all(), self._fleet(), params=params)

    def plan_recipe(self, name: str, params: Mapping[str, Any]) -> PlanCheck:
        """Return the plan of a recipe with these values, or every fault."""
        recipe = self._catalogue.get(name)
        if recipe is None:
            known = ", ".join(recipe.name for recipe in self._catalogue.all())
            reason = f"there is no recipe {name[:64]!r}; there are {known}"
            return PlanCheck(faults=[Fault(code=Code.UNKNOWN_RECIPE, place="recipe", reason=reason)])
        return plan_recipe(recipe, params, self._fleet())

    def plan_words(self, words: str, params: Mapping[str, Any]) -> PlanCheck:
        """Return the plan that words mean exactly; else one fault, `request_ambiguous` or `request_not_understood`."""
        matched = self.understand(words, params)
        if matched.outcome is Match.EXACT:
            meant = matched.candidates[0]
            return self.plan_recipe(meant.recipe, meant.params)
        titles = ", ".join(candidate.title for candidate in matched.candidates)
        if matched.outcome is Match.NEAR:
            fault = Fault(code=Code.REQUEST_AMBIGUOUS, place="request", reason=f"these words may mean: {titles}")
        else:
            nearest = f"; nearest: {titles}" if titles else ""
            fault = Fault(
                code=Code.REQUEST_NOT_UNDERSTOOD, place="request", reason=f"no recipe fits the words{nearest}"
            )
        return PlanCheck(faults=[fault])

    def preview(self, plan: LoweredPlan) -> dict[str, Any]:
        """Return what a plan would do now, as a JSON value."""
        return preview(plan, self._fleet()).plain()

    def recipes(self) -> list[dict[str, Any]]:
        """Return every recipe's head."""
        return [recipe_row(recipe) for recipe in self._catalogue.all()]

    def recipe(self, name: str) -> dict[str, Any] | None:
        """Return one recipe with its plan as written, or None."""
        found = self._catalogue.get(name)
        return None if found is None else {**recipe_row(found), "plan": found.plan}
