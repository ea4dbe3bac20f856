"""The library of all current recipes: the built-in ones and those that people saved here, as one catalogue.

Pure over the given entities. A saved recipe takes precedence over a built-in one of the same name, because an update
of the hub must not take away a recipe that a person relies on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from starloom.planner.catalogue import Catalogue, recipe_row
from starloom_protocol.api.recipes import RecipeLine, RecipeText
from starloom_protocol.plan import Recipe, read_document, read_recipe
from starloom_protocol.records.entities import RecipeVersion, decode_entity
from starloom_protocol.vocabulary import RISKY_EFFECTS


@lru_cache(maxsize=512)
def recipe_of(text: str, number: int) -> Recipe | None:
    """Return a saved text as a recipe of that version; None if this hub's language has moved on since it was saved."""
    found = read_recipe(text).recipe
    return None if found is None else found.model_copy(update={"version": number})


def newest(versions: Iterable[RecipeVersion]) -> dict[str, RecipeVersion]:
    """Return the newest version of each saved recipe, by name."""
    found: dict[str, RecipeVersion] = {}
    for version in versions:
        held = found.get(version.name)
        if held is None or version.number > held.number:
            found[version.name] = version
    return found


def with_saved(built_in: Catalogue, versions: Iterable[RecipeVersion]) -> Catalogue:
    """Return the catalogue of built-in and saved recipes."""
    saved = [recipe_of(version.text, version.number) for version in newest(versions).values()]
    own = {recipe.name: recipe for recipe in saved if recipe is not None}
    if not own:
        return built_in
    return Catalogue([*(recipe for recipe in built_in.all() if recipe.name not in own), *own.values()])


def versions_in(entities: Mapping[str, bytes]) -> list[RecipeVersion]:
    """Return the saved versions among the entities of the stream `fleet`."""
    found = [decode_entity(key, raw) for key, raw in entities.items() if key.startswith("recipe/")]
    return [record for record in found if isinstance(record, RecipeVersion)]


def listed(recipe: Recipe, *, built_in: bool) -> RecipeLine:
    """Return a recipe's line in the list.

    `clock`: all its values have defaults and it never asks, so that a schedule can run it unattended.
    """
    given = all(param.optional or param.default is not None for param in recipe.params.values())
    clock = given and not RISKY_EFFECTS & set(recipe.effects)
    return {**recipe_row(recipe), "built_in": built_in, "clock": clock}


def shown(recipe: Recipe, text: str, *, built_in: bool) -> RecipeText:
    """Return a recipe with its text: its line, its document as data and its text as written."""
    return {**listed(recipe, built_in=built_in), "document": read_document(text), "plan": recipe.plan, "text": text}
