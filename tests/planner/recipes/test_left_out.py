"""Every recipe that looks for files says what it could not take, and claims nothing of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from starloom.planner.recipes.catalogue import plan_recipe
from starloom_agent.tools.files import find
from starloom_protocol.values import canonical
from tests.planner.recipe_run import Fleet, Run
from tests.planner.test_recipes import RECIPES, fixture_of

SEARCHES = {
    name: recipe
    for name, recipe in RECIPES.items()
    if any(task.get("tool") == "fs.find" and "file" not in task.get("args", {}) for task in recipe.plan["tasks"])
}
"""From the library. A search for one file that does not find it fails, and its fault says what it could not read."""
CLAIMS = ("Every file", "Your pictures are safe", "No file", "Nothing had")


def texts(run: Run) -> list[str]:
    shown = [run.done[item.source].shown(item.output) for item in run.plan.results if item.show == "text"]
    return [text for text in shown if isinstance(text, str)]


def of_fixture(recipe: Any, home: Path, *, odd: bool) -> Run:
    """Run a recipe on its fixture, with a file in each folder whose name is no text."""
    fleet = Fleet(home, fixture_of(recipe))
    for machine in fleet.machines.values() if odd else ():
        for folder in [machine.folder, *[path for path in machine.folder.rglob("*") if path.is_dir()]]:
            for ending in (b"csv", b"pdf", b"png", b"tar.gz"):
                (folder / os.fsdecode(b"March invoice backup \xe9." + ending)).write_bytes(b"x")
    check = plan_recipe(recipe, dict(recipe.test.params), fleet.view())
    assert check.plan is not None, check.faults
    run = Run(fleet, check.plan)
    run.all()
    return run


@pytest.mark.parametrize("name", SEARCHES)
def test_a_recipe_that_searches_names_what_it_left_out(name: str, tmp_path: Path) -> None:
    run = of_fixture(SEARCHES[name], tmp_path, odd=True)
    answer = canonical(
        [run.done[item.source].shown(item.output) for item in run.plan.results if item.source in run.done]
    )
    assert r"March invoice backup \\xe9." in answer
    said = texts(run)
    assert any("xe9" in text or "left out" in text for text in said)
    assert not [text for text in said if text.startswith(CLAIMS)]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_recipe_that_left_nothing_out_says_so_plainly(name: str, tmp_path: Path) -> None:
    said = texts(of_fixture(SEARCHES[name], tmp_path, odd=False))
    assert not [text for text in said if "left out" in text or " other " in text]


@pytest.mark.parametrize("name", ["list-folder", "tidy-folder"])
def test_entries_beyond_a_listing_are_said(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "7 more entries are there"
    monkeypatch.setattr(find, "_beyond", lambda args, _unlisted: [{"path": args.path, "why": why}])
    said = texts(of_fixture(RECIPES[name], tmp_path, odd=False))
    assert any(why in text for text in said), said


def test_files_whose_lines_have_no_room_are_said(tmp_path: Path) -> None:
    recipe = RECIPES["search-in-files"]
    fleet = Fleet(tmp_path, fixture_of(recipe))
    for number in range(201):
        (fleet.machines["nas"].folder / "Papers" / f"{number}.txt").write_text("an invoice", encoding="utf-8")
    assert recipe.test is not None
    check = plan_recipe(recipe, dict(recipe.test.params), fleet.view())
    assert check.plan is not None, check.faults
    run = Run(fleet, check.plan)
    run.all()
    assert any("the text, and an answer has at most 200 lines" in text for text in texts(run))
