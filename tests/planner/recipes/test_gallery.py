"""The gallery: every recipe's sentence for real fleets is understood as that recipe, and its picture is its plan."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue, plan_recipe, recipe_row
from starloom.planner.recipes.gallery import Filled, card, filled, shape
from starloom.planner.requests.matching import Match, match
from starloom_protocol.plan import Recipe
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Purpose, Repeatability
from tests.planner.fleets import GRANTS, device, fleet, offer

RECIPES = load_catalogue().all()
NAMES = [recipe.name for recipe in RECIPES]
CAMERA = ToolOffer(
    name="camera.capture", title="Take a picture", effects=[Effect.CONTROL], repeatability=Repeatability.NEVER
)
SAVE = ToolOffer(
    name="file.save", title="Save files on the device", effects=[Effect.WRITE], repeatability=Repeatability.NEVER
)
PICK = ToolOffer(
    name="file.pick", title="Let the person pick files", effects=[Effect.READ], repeatability=Repeatability.NEVER
)


def with_tools_of_a_tab(of: Offer) -> Offer:
    return Offer(digest=of.digest, grants=of.grants, slots=of.slots, tools=[*of.tools, CAMERA, PICK, SAVE])


def house() -> FleetSnapshot:
    """Return a fleet with other names than the documents'."""
    return fleet(
        device("brunhilde", labels=["server"]),
        device("Oskars Handy", labels=["phone"]),
        device("wolke7", labels=["laptop"]),
        offers={"Oskars Handy": with_tools_of_a_tab(offer())},
    )


def demo() -> FleetSnapshot:
    return fleet(device("demo-server", demo=True), device("demo-phone", demo=True), device("vm"))


def recipe(name: str) -> Recipe:
    return next(one for one in RECIPES if one.name == name)


def named(made: Filled) -> list[str]:
    return [part.text for part in made.parts if part.kind == "device"]


def understood(words: str, view: FleetSnapshot, name: str) -> None:
    found = match(words, RECIPES, view)
    assert found.outcome is Match.EXACT, (words, found)
    assert found.candidates[0].recipe == name, words
    planned = plan_recipe(recipe(name), found.candidates[0].params, view)
    assert not planned.faults, (words, planned.faults)


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_is_understood_as_its_recipe(name: str) -> None:
    made = filled(recipe(name), house())
    assert "{" not in made.words
    assert not made.lacks, made
    understood(made.words, house(), name)


@pytest.mark.parametrize("name", NAMES)
def test_each_recipe_has_a_purpose_and_a_picture(name: str) -> None:
    shown = card(recipe(name), house())
    assert shown["purpose"] in list(Purpose)
    drawn = shown["shape"]
    assert len(drawn["tasks"]) == len(recipe(name).plan["tasks"])
    places = {(task["column"], task["row"]) for task in drawn["tasks"]}
    assert len(places) == len(drawn["tasks"]), "two tasks lie on each other"
    for first, second in drawn["links"]:
        assert drawn["tasks"][first]["column"] < drawn["tasks"][second]["column"]


@pytest.mark.parametrize("name", [one.name for one in RECIPES if one.demo])
def test_a_try_names_demo_devices_alone_and_is_understood(name: str) -> None:
    tried = card(recipe(name), demo())["demo"]
    assert tried is not None
    assert tried["words"], tried
    assert set(tried["devices"]) <= {"demo-server", "demo-phone"}
    assert tried["devices"]
    understood(tried["words"], demo(), name)


def test_a_try_says_nothing_without_demo_devices_in_reach() -> None:
    asleep = fleet(device("demo-server", demo=True, online=False), device("demo-phone", demo=True, online=False))
    for view in (house(), asleep):
        tried = card(recipe("fleet-health"), view)["demo"]
        assert tried is not None
        assert (tried["words"], tried["devices"]) == ("", [])
        assert tried["leaves"]
    assert card(recipe("build-and-deploy"), demo())["demo"] is None


def test_devices_are_chosen_by_tools_kind_and_ownership() -> None:
    assert named(filled(recipe("photo-backup"), house())) == ["Oskars Handy", "brunhilde"]
    no_write = offer(without=["fs.write"])
    other = fleet(
        device("brunhilde", labels=["server"]), device("wolke7"), device("demo-phone", demo=True),
        offers={"brunhilde": no_write},
    )  # fmt: skip
    assert named(filled(recipe("copy-folder"), other)) == ["brunhilde", "wolke7"]


def test_a_device_that_has_not_allowed_it_comes_last_and_is_named() -> None:
    closed = offer(grants=[grant for grant in GRANTS if not grant.startswith("files")])
    view = fleet(device("anna"), device("berta"), device("carla"), offers={"anna": closed})
    assert named(filled(recipe("copy-folder"), view)) == ["berta", "carla"]
    alone = filled(recipe("find-duplicates"), fleet(device("anna"), offers={"anna": closed}))
    assert alone.ungranted == ["anna"]


def lacks(name: str, view: FleetSnapshot) -> Iterable[tuple[str, str]]:
    return [(item["reason"], item["way"]) for item in filled(recipe(name), view).lacks]


def test_a_slot_without_a_device_says_what_it_needs() -> None:
    alone = fleet(device("wolke7"))
    assert lacks("copy-folder", alone) == [("it takes a second device", "line")]
    assert lacks("picture-to-desk", alone) == [
        ("no device here can take pictures; the browser of a phone can", "phone")
    ]
    assert [item.kind for item in filled(recipe("copy-folder"), fleet()).parts].count("missing") == 2
    assert "{" not in filled(recipe("copy-folder"), fleet()).words
    assert lacks("fleet-health", fleet()) == [("no device here can tell how it is", "line")]


@pytest.mark.parametrize("recipe", RECIPES, ids=NAMES)
def test_a_device_that_lacks_all_is_told_in_words(recipe: Recipe) -> None:
    needed = {tool for param in recipe.params.values() for tool in param.needs}
    reasons = " ".join(item["reason"] for item in filled(recipe, fleet()).lacks)
    assert not [tool for tool in needed if tool in reasons], reasons


def test_a_plan_that_is_too_large_has_no_picture() -> None:
    plan = {"tasks": [{"id": f"t{at}", "tool": "data.sort"} for at in range(25)]}
    assert shape(plan)["tasks"] == []
    circle = {"tasks": [{"id": "a", "inputs": {"x": {"from": "b"}}}, {"id": "b", "inputs": {"x": {"from": "a"}}}]}
    assert len(shape(circle)["tasks"]) == 2


def test_a_word_that_only_turns_a_switch_on_has_no_field() -> None:
    spoken = {name: param["spoken"] for name, param in recipe_row(recipe("find-duplicates"))["params"].items()}
    assert [name for name in spoken if spoken[name]] == ["extras"]
    assert not any(param["spoken"] for param in recipe_row(recipe("photo-backup"))["params"].values())


def test_a_field_says_whether_each_of_its_devices_does_the_work() -> None:
    every = {name: recipe_row(recipe(name))["params"]["where"]["every"] for name in ("fleet-health", "split-work")}
    assert every == {"fleet-health": True, "split-work": False}
