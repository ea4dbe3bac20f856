"""Each phrase of a recipe is read as a request among all recipes; a phrase that starts another one is told."""

from __future__ import annotations

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.plan import Recipe, read_recipe
from tests.planner.fleets import device, fleet

TEXT = """
starloom_recipe: 1
name: {name}
title: Look around
version: 1
phrases: {phrases}
params: {{folder: {{type: path, default: Pictures}}, on: {{type: device, default: {{tools: [fs.find]}}}}}}
effects: [read]
plan:
  starloom: 1
  name: Look around
  tasks: [{{id: find, tool: fs.find, args: {{root: {{param: folder}}}}, device: {{param: on}}}}]
"""


def recipe(phrases: str, name: str = "look-around") -> Recipe:
    read = read_recipe(TEXT.format(phrases=phrases, name=name))
    assert read.recipe is not None, read.faults
    return read.recipe


def test_a_phrase_fits_its_own_recipe_with_the_values_that_it_gives() -> None:
    planning = Planning(load_catalogue(), lambda: fleet(device("nas")))
    (first, second) = planning.tried(recipe('["gander around in {folder}", "gander around on {on}"]'))
    assert (first["words"], first["fits"]) == ("gander around in Pictures", True)
    assert first["params"]["folder"] == "Pictures"
    assert (second["words"], second["fits"]) == ("gander around on nas", True)


def test_a_phrase_that_starts_another_recipe_is_told() -> None:
    planning = Planning(load_catalogue(), lambda: fleet(device("nas")))
    (taken,) = planning.tried(recipe('["how are my machines"]'))
    assert taken["fits"] is False
    assert taken["why"]


def test_a_phrase_without_a_device_for_it_is_not_judged() -> None:
    needs = recipe('["gander around on {on}"]')
    needs.params["on"] = needs.params["on"].model_copy(update={"needs": ["camera.capture"]})
    planning = Planning(load_catalogue(), lambda: fleet(device("nas")))
    (open_,) = planning.tried(needs)
    assert open_["fits"] is None


def test_each_phrase_of_the_built_in_recipes_fits_or_lacks_a_device() -> None:
    planning = Planning(load_catalogue(), lambda: fleet(device("nas"), device("phone", os="android"), device("desk")))
    wrong = {
        row["words"]: row["why"]
        for one in load_catalogue().all()
        for row in planning.tried(one)
        if row["fits"] is False
    }
    assert wrong == {}
