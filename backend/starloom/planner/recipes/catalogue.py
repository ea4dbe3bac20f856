"""The catalogue of recipes: the built-in ones, those that people saved here, and the plan that one makes of values.

The built-in ones are read once, from the folder beside the checkout or inside the wheel; the rest is pure. A saved
recipe takes precedence over a built-in one of the same name, because an update of the hub must not take away a recipe
that a person relies on. A plan is checked against the current fleet, with every fault at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import starloom
from starloom.core.people.recipes.runs import owner_of
from starloom.planner.equivalents import check_with_equivalents, equivalents
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.trash_lists import with_lists
from starloom_protocol.api.recipes import RecipeHead, RecipeLine, RecipeText
from starloom_protocol.plan import (
    ParamDoc,
    PlanCheck,
    Recipe,
    built_in_results,
    read_document,
    read_recipe,
    recipe_plan,
    results_alone,
)
from starloom_protocol.records.entities import RecipeRuns, RecipeVersion, decode_entity
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect


class RecipeBroken(Exception):
    """A recipe's file has faults; the message names the file, the places and the reasons."""


class Catalogue:
    """Recipes by name, in that order.

    `grown` are the runs of those that were kept from a proposal, by name, and `keepers` the persons who keep them.
    """

    def __init__(
        self,
        recipes: Iterable[Recipe],
        texts: Mapping[str, str] | None = None,
        grown: Mapping[str, RecipeRuns] | None = None,
        keepers: Mapping[str, str] | None = None,
    ) -> None:
        self.grown = dict(grown or {})
        self.keepers = dict(keepers or {})
        self._texts = dict(texts or {})
        self._recipes = {recipe.name: recipe for recipe in sorted(recipes, key=lambda recipe: recipe.name)}

    def all(self) -> list[Recipe]:
        return list(self._recipes.values())

    def get(self, name: str) -> Recipe | None:
        return self._recipes.get(name)

    def text(self, name: str) -> str:
        """Return a built-in recipe as it was written; empty for any other."""
        return self._texts.get(name, "")


def built_in_folder() -> Path:
    """Return where the built-in recipes lie: in a checkout `recipes/`, in an installed wheel `starloom/_recipes`.

    Raises:
        FileNotFoundError: if neither is there.
    """
    package = Path(starloom.__file__).resolve().parent
    for folder in (package.parents[1] / "recipes", package / "_recipes"):
        if any(folder.glob("*.yaml")):
            return folder
    raise FileNotFoundError(f"the built-in recipes are neither in {package.parents[1] / 'recipes'} nor in {package}")


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """Read every recipe of a folder, the built-in ones by default.

    Raises:
        RecipeBroken: if one has a fault; a hub does not start with half of its recipes.
    """
    recipes: list[Recipe] = []
    texts: dict[str, str] = {}
    for path in sorted((folder or built_in_folder()).glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        recipe = _in_file(path.name, text)
        recipes.append(recipe)
        texts[recipe.name] = text
    return Catalogue(recipes, texts)


@lru_cache(maxsize=512)
def _in_file(file: str, text: str) -> Recipe:
    """Return the recipe of a file. The same text is read once in a process: all of them take a sixth of a second."""
    check = read_recipe(text, known_signatures=built_in_results())
    if check.recipe is None:
        faults = "; ".join(f"{fault.place}: {fault.reason}" for fault in check.faults)
        raise RecipeBroken(f"{file}: {faults}")
    if check.recipe.name != file.removesuffix(".yaml"):
        raise RecipeBroken(f"{file}: its name is {check.recipe.name}; name the file after it")
    return check.recipe


def param_title(name: str, param: ParamDoc) -> str:
    """Return the label of a parameter in a form."""
    return param.title or name.replace("_", " ").capitalize()


def recipe_row(recipe: Recipe) -> RecipeHead:
    """Return a recipe's head as a JSON value, without its plan."""
    switches = {param.true_when_named for param in recipe.params.values()}
    groups = [task["for_each"] for task in recipe.plan["tasks"] if isinstance(task.get("for_each"), dict)]
    return {
        "name": recipe.name,
        "title": recipe.title,
        "version": recipe.version,
        "phrases": list(recipe.phrases),
        "params": {
            name: {
                "type": param.type,
                "title": param_title(name, param),
                "optional": param.optional or param.default is not None,
                "default": param.default,
                "same_as": param.same_as,
                "every": any(group.get("devices") == {"param": name} for group in groups),
                "needs": list(param.needs),
                "spoken": param.type == "text" and name in switches,
                "values": {value: words[0] for value, words in param.values.items()},
                "offers": None
                if (offers := param.offers) is None
                else {"on": offers.on, "root": offers.root, "words": offers.words, "pattern": offers.pattern},
            }
            for name, param in recipe.params.items()
        },
        "asks_for": recipe.asks_for,
        "effects": list(recipe.effects),
    }


@lru_cache(maxsize=512)
def recipe_of(text: str, number: int) -> Recipe | None:
    """Return a saved text as a recipe of that version; None if this hub's language has moved on since it was saved."""
    recipe = read_recipe(text).recipe
    return None if recipe is None else recipe.model_copy(update={"version": number})


def newest(versions: Iterable[RecipeVersion]) -> dict[str, RecipeVersion]:
    """Return the newest version of each saved recipe, by name."""
    newest_of: dict[str, RecipeVersion] = {}
    for version in versions:
        other = newest_of.get(version.name)
        if other is None or version.number > other.number:
            newest_of[version.name] = version
    return newest_of


def with_saved(built_in: Catalogue, versions: Iterable[RecipeVersion], runs: Iterable[RecipeRuns] = ()) -> Catalogue:
    """Return the catalogue of built-in and saved recipes; `runs` are those of saved ones."""
    rows = list(versions)
    saved = [recipe_of(version.text, version.number) for version in newest(rows).values()]
    by_name = {recipe.name: recipe for recipe in saved if recipe is not None}
    if not by_name:
        return built_in
    grown = {one.name: one for one in runs if one.source and one.name in by_name}
    keepers = {
        name: owner_of(
            sorted((one for one in rows if one.name == name), key=lambda one: one.number),
            by_name[name].version,
        )
        for name in grown
    }
    others = [recipe for recipe in built_in.all() if recipe.name not in by_name]
    return Catalogue([*others, *by_name.values()], grown=grown, keepers=keepers)


def versions_in(entities: Mapping[str, bytes]) -> list[RecipeVersion]:
    """Return the saved versions among the entities of the stream `fleet`."""
    records = [decode_entity(key, raw) for key, raw in entities.items() if key.startswith("recipe/")]
    return [record for record in records if isinstance(record, RecipeVersion)]


def runs_in(entities: Mapping[str, bytes]) -> list[RecipeRuns]:
    """Return the runs of saved recipes among the entities of the stream `fleet`."""
    records = [decode_entity(key, raw) for key, raw in entities.items() if key.startswith("recipe_runs/")]
    return [record for record in records if isinstance(record, RecipeRuns)]


def with_effects(recipe: Recipe, effects_known: Mapping[str, Collection[Effect]]) -> Recipe:
    """Return a recipe of somebody else with the effects of the tools that its plan names, whatever it says itself.

    `effects_known` has those of the tools that devices offer. A tool that no device offers cannot be called here.
    """
    effects_of_tools = {effect for tool in _tools_in(recipe.plan) for effect in effects_known.get(tool, ())}
    effects = [effect for effect in Effect if effect in effects_of_tools or effect in recipe.effects]
    return recipe.model_copy(update={"effects": effects})


def _tools_in(part: Any) -> Iterator[str]:
    """Yield each text under a key `tool`, at any depth: tasks, undo, other calls, rules and goals."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "tool" and isinstance(value, str):
                yield value
            elif key == "tools" and isinstance(value, list):
                yield from (tool for tool in value if isinstance(tool, str))
            else:
                yield from _tools_in(value)
    elif isinstance(part, list):
        for each in part:
            yield from _tools_in(each)


def listed(recipe: Recipe, *, built_in: bool) -> RecipeLine:
    """Return a recipe's line in the list.

    `clock`: all its values have defaults and it never asks, so that a schedule can run it unattended.
    """
    is_complete = all(param.optional or param.default is not None for param in recipe.params.values())
    clock = is_complete and not RISKY_EFFECTS & set(recipe.effects)
    return {**recipe_row(recipe), "built_in": built_in, "clock": clock}


def recipe_text(recipe: Recipe, text: str, *, built_in: bool) -> RecipeText:
    """Return a recipe with its text: its line, its document as data and its text as written."""
    return {**listed(recipe, built_in=built_in), "document": read_document(text), "plan": recipe.plan, "text": text}


def plan_recipe(recipe: Recipe, params: Mapping[str, Any], fleet: FleetSnapshot) -> PlanCheck:
    """Return the plan that these values make, or all faults with their places (`params.source`, `plan.tasks[2]` ...).

    The tools are checked against the fleet only for their repeatability and results: a tool that no device offers yet
    makes a waiting task with a reason, not a fault of the recipe.
    """
    tools = _tolerant(fleet.known_tools(), recipe)
    signatures = {**built_in_results(), **results_alone(fleet.known_signatures())}

    def check(plan: Any) -> PlanCheck:
        return recipe_plan(
            recipe.model_copy(update={"plan": plan}),
            params,
            known_devices=fleet.known_names() or None,
            known_tools=tools,
            known_signatures=signatures,
        )

    check_result = check_with_equivalents(recipe.plan, equivalents(fleet.records, fleet.offers), check)
    return PlanCheck(plan=with_lists(check_result.plan)) if check_result.plan is not None else check_result


def _tolerant(offered: Mapping[str, Any], recipe: Recipe) -> dict[str, Any] | None:
    """Return the known tools, or None if the recipe uses one that no device offers now."""
    used = {task.get("tool") for task in recipe.plan.get("tasks", []) if isinstance(task, dict)} - {None}
    return dict(offered) if used <= set(offered) else None
