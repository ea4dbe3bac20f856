"""Saved recipes beside the built-in ones: the newest version counts, one that cannot be read is left out."""

from __future__ import annotations

from starloom.planner.catalogue import load_catalogue
from starloom.planner.library import newest, versions_in, with_saved
from starloom_protocol.entities import RecipeVersion, encode_entity

BUILT_IN = load_catalogue()


def version(name: str, number: int, title: str = "Mine", text: str = "") -> RecipeVersion:
    written = text or (
        f"starloom_recipe: 1\nname: {name}\ntitle: {title}\nversion: 1\n"
        "plan: {starloom: 1, tasks: [{id: look, tool: system.info}]}\n"
    )
    return RecipeVersion(at_ms=1, author="principal:mara", name=name, number=number, text=written, title=title)


def test_without_saved_ones_the_built_in_catalogue_is_used_as_it_is() -> None:
    assert with_saved(BUILT_IN, []) is BUILT_IN


def test_the_newest_version_counts_and_carries_its_number() -> None:
    versions = [version("mine", 2, "Second"), version("mine", 1, "First")]
    assert newest(versions)["mine"].number == 2
    found = with_saved(BUILT_IN, versions).get("mine")
    assert found is not None
    assert (found.title, found.version) == ("Second", 2)


def test_a_saved_recipe_goes_before_a_built_in_one_of_its_name() -> None:
    catalogue = with_saved(BUILT_IN, [version("fleet-health", 1, "My own")])
    found = catalogue.get("fleet-health")
    assert found is not None
    assert found.title == "My own"
    assert len(catalogue.all()) == len(BUILT_IN.all())


def test_what_this_hub_cannot_read_any_more_is_left_out() -> None:
    catalogue = with_saved(BUILT_IN, [version("old", 1, text="starloom_recipe: 0\nname: old\n"), version("mine", 1)])
    assert catalogue.get("old") is None
    assert catalogue.get("mine") is not None


def test_versions_are_found_among_the_fleet() -> None:
    one = version("mine", 1)
    assert versions_in({"recipe/mine/1": encode_entity(one), "device/d": b"{}"}) == [one]
