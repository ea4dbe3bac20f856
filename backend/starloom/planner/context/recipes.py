"""The recipes of a model's context, as calls with their slots; pure and bounded.

A recipe that a model picks is planned and judged like any other plan; this only says which there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starloom.planner.context.relevance import ranked
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.quoting import plain, within_a_line
from starloom.planner.requests.fitting import Candidate
from starloom_protocol.plan import ParamDoc, Recipe
from starloom_protocol.values import canonical

RECIPES_BYTES: Final = 4_000
NEAR_MOST: Final = 12
_DEFAULT_CHARS: Final = 40


def call(recipe: Recipe, *, titled: bool = True) -> str:
    """Return `recipe(slot: type, other?: type = default) [effects] - title`; a text, 7, false, './a' have no type."""
    slots = ", ".join(_slot(name, param) for name, param in recipe.params.items())
    title = f" - {plain(recipe.title)}" if titled else ""
    return f"{plain(recipe.name, 64)}({slots}) [{','.join(recipe.effects)}]{title}"


def possible(recipes: Sequence[Recipe], fleet: FleetSnapshot) -> list[Recipe]:
    """Return the recipes whose required devices have the tools for them somewhere in the fleet."""
    return [
        recipe
        for recipe in recipes
        if not fleet.devices
        or all(
            fleet.able(param.needs)
            for param in recipe.params.values()
            if param.type == "device" and param.needs and not param.optional and param.default is None
        )
    ]


def all_of(recipes: Sequence[Recipe]) -> list[str]:
    """Return the lines of all recipes if they fit, without their titles if they fit so, else none."""
    for titled in (True, False):
        lines = [call(recipe, titled=titled) for recipe in sorted(recipes, key=lambda recipe: recipe.name)]
        if sum(map(_size, lines)) <= RECIPES_BYTES:
            return lines
    return []


def nearest(recipes: Sequence[Recipe], words: str) -> list[str]:
    """Return the lines of the recipes nearest to the words."""
    texts = [(recipe, " ".join((recipe.name.replace("-", " "), recipe.title, *recipe.phrases))) for recipe in recipes]
    near: list[str] = []
    room = RECIPES_BYTES
    for recipe, score in ranked(texts, words)[:NEAR_MOST]:
        line = call(recipe)
        if score and _size(line) <= room:
            near.append(line)
            room -= _size(line)
    return near


def candidate_line(recipe: Recipe, candidate: Candidate) -> str:
    """Return one line for a recipe that the words nearly fit: what was found in them, and what is missing."""
    fields: dict[str, Any] = {"recipe": recipe.name, "params": dict(candidate.params)}
    lacks = {item.name: item.reason or f"a value for {item.title}" for item in candidate.missing}
    return within_a_line(canonical({**fields, **({"lacks": lacks} if lacks else {})}))


def _slot(name: str, param: ParamDoc) -> str:
    kind = "devices" if param.type == "device" and param.takes_many else "|".join(param.values) or param.type
    # The default of a number, a switch or a path shows its type.
    typed = (
        "" if kind == "text" or (param.default is not None and kind in ("integer", "boolean", "path")) else f": {kind}"
    )
    if param.default is None:
        return f"{plain(name, 64)}{'?' if param.optional else ''}{typed}"
    if isinstance(param.default, dict) or param.values:
        return f"{plain(name, 64)}?{typed}"
    return f"{plain(name, 64)}?{typed} = {plain(canonical(param.default), _DEFAULT_CHARS)}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 1
