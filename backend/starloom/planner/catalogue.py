"""The catalogue of the built-in recipes, read once from the folder beside the checkout or inside the wheel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import starloom
from starloom_protocol.api.recipes import RecipeHead
from starloom_protocol.plan import ParamDoc, Recipe, built_in_results, read_recipe


class RecipeBroken(Exception):
    """A recipe's file has faults; the message names the file, the places and the reasons."""


class Catalogue:
    """Recipes by name, in that order."""

    def __init__(self, recipes: Iterable[Recipe], texts: Mapping[str, str] | None = None) -> None:
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
        check = read_recipe(text, known_signatures=built_in_results())
        if check.recipe is None:
            faults = "; ".join(f"{fault.place}: {fault.reason}" for fault in check.faults)
            raise RecipeBroken(f"{path.name}: {faults}")
        if check.recipe.name != path.stem:
            raise RecipeBroken(f"{path.name}: its name is {check.recipe.name}; name the file after it")
        recipes.append(check.recipe)
        texts[check.recipe.name] = text
    return Catalogue(recipes, texts)


def param_title(name: str, param: ParamDoc) -> str:
    """Return the label of a parameter in a form."""
    return param.title or name.replace("_", " ").capitalize()


def recipe_row(recipe: Recipe) -> RecipeHead:
    """Return a recipe's head as a JSON value, without its plan."""
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
                "needs": list(param.needs),
            }
            for name, param in recipe.params.items()
        },
        "asks_for": recipe.asks_for,
        "effects": list(recipe.effects),
    }
