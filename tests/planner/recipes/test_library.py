"""Saved recipes beside the built-in ones: the newest version counts, one that cannot be read is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import (
    RecipeBroken,
    built_in_folder,
    load_catalogue,
    newest,
    plan_recipe,
    versions_in,
    with_saved,
)
from starloom.planner.service import Planning
from starloom_agent.policy.offers import schema_of
from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.work.registry import all_tools
from starloom_protocol.plan import read_recipe, signatures_of
from starloom_protocol.records.entities import RecipeVersion, ToolOffer, encode_entity
from starloom_protocol.vocabulary import DISK_NEARLY_FULL_PERCENT, RISKY_EFFECTS, Effect
from tests.planner.fleets import sample

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


def test_a_saved_recipe_has_the_effects_of_its_tools_whatever_it_says() -> None:
    text = (
        "starloom_recipe: 1\nname: tidy\ntitle: Tidy\nversion: 1\neffects: [read]\n"
        "plan:\n  starloom: 1\n  tasks:\n"
        "    - {id: away, tool: fs.trash, args: {paths: [a]}, undo: {tool: fs.write}}\n"
        "    - {id: look, goal: Find it., device: {name: desk}, may: {tools: [http.request]}}\n"
    )
    saved = version("tidy", 1, text=text)
    service = Planning(BUILT_IN, sample, lambda: [saved])
    (row,) = [row for row in service.recipes() if row["name"] == "tidy"]
    assert set(row["effects"]) >= {Effect.READ, Effect.WRITE, Effect.REACH}
    assert row["clock"] is not bool(RISKY_EFFECTS & set(row["effects"]))
    whole = service.recipe("tidy")
    assert whole is not None
    assert whole["effects"] == row["effects"]
    (health,) = [row for row in service.recipes() if row["name"] == "fleet-health"]
    assert health["effects"] == [Effect.READ]


def test_what_this_hub_cannot_read_any_more_is_left_out() -> None:
    catalogue = with_saved(BUILT_IN, [version("old", 1, text="starloom_recipe: 0\nname: old\n"), version("mine", 1)])
    assert catalogue.get("old") is None
    assert catalogue.get("mine") is not None


def test_built_in_recipes_point_at_what_is_there_and_give_what_is_taken() -> None:
    offers = [ToolOffer(args=schema_of(t.args), name=t.name, returns=schema_of_result(t)) for t in all_tools()]
    known = signatures_of(offers)
    for path in sorted(built_in_folder().glob("*.yaml")):
        assert read_recipe(path.read_bytes(), known_signatures=known).faults == [], path.name


def test_a_recipe_that_points_at_nothing_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "starloom_recipe: 1\nname: mine\ntitle: Mine\nversion: 1\nplan:\n  starloom: 1\n"
        "  tasks: [{id: look, tool: system.info}]\n  result: [{title: T, from: look, output: /no/such}]\n"
    )
    with pytest.raises(RecipeBroken, match=r"plan\.result\[0\]\.output: `system.info` gives no `/no/such`"):
        load_catalogue(tmp_path)
    (tmp_path / "mine.yaml").write_text((tmp_path / "mine.yaml").read_text().replace("/no/such", "/cpus"))
    assert load_catalogue(tmp_path).get("mine") is not None


def test_a_recipe_that_was_saved_before_is_listed_and_tells_its_faults() -> None:
    text = version("mine", 1).text.replace("tool: system.info", "tool: system.info, checks: [{exit_code: 0}]")
    saved = with_saved(BUILT_IN, [version("mine", 1, text=text)]).get("mine")
    assert saved is not None
    assert [fault.place for fault in plan_recipe(saved, {}, FleetSnapshot()).faults] == ["plan.tasks[0].checks[0]"]


def test_versions_are_found_among_the_fleet() -> None:
    one = version("mine", 1)
    assert versions_in({"recipe/mine/1": encode_entity(one), "device/d": b"{}"}) == [one]


def test_recipes_that_look_again_and_again_say_what_a_change_is() -> None:
    """Each result of such a recipe names the fields that are compared: what was measured differs at each firing."""
    looks = [recipe for recipe in BUILT_IN.all() if str(recipe.purpose) in ("health", "upkeep")]
    told = {
        f"{recipe.name}: {item['title']}": item
        for recipe in looks
        for item in recipe.plan["result"]
        if recipe.name != "run-everywhere" and item.get("show") in ("table", "file")
    }
    assert len(told) > 10
    assert [name for name, item in told.items() if item.get("compare") is None] == []
    measured = {"page_ms", "free_bytes", "used_percent", "uptime_s", "took_s", "at_s", "bytes"}
    assert [name for name, item in told.items() if measured & set(item["compare"])] == []


def test_recipes_that_find_trouble_have_a_sentence_that_is_an_alarm() -> None:
    checks = ("site-check", "site-down", "disk-space", "fleet-health")
    found = {name: BUILT_IN.get(name) for name in checks}
    alarms = {
        name: any(one.get("alarm") for one in recipe.plan["sentence"]) for name, recipe in found.items() if recipe
    }
    assert alarms == dict.fromkeys(checks, True)


@pytest.mark.parametrize("name", ["backup-folder", "photo-backup"])
def test_a_backup_that_is_not_whole_is_an_alarm(name: str) -> None:
    recipe = BUILT_IN.get(name)
    assert recipe is not None
    left_out = [one for one in recipe.plan["sentence"] if "left out on" in one["text"]]
    assert left_out == [one for one in recipe.plan["sentence"] if one.get("alarm")] != []


def test_a_disk_is_nearly_full_by_one_bound_everywhere() -> None:
    recipe = BUILT_IN.get("disk-space")
    assert recipe is not None
    (alarm,) = (one for one in recipe.plan["sentence"] if one.get("alarm"))
    assert alarm["when"]["value"] == DISK_NEARLY_FULL_PERCENT
    assert f"{DISK_NEARLY_FULL_PERCENT} %" in alarm["text"]
