"""Every built-in recipe, run on its fixture with the real tools, gives the answer that stands beside it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from starloom.planner.preview.plan import preview
from starloom.planner.recipes.catalogue import built_in_folder, load_catalogue, plan_recipe
from starloom.planner.requests.matching import Match, match
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.tools.system import services
from starloom_protocol.plan import ParamDoc, Recipe
from tests.planner.recipe_run import TOOLS, Fleet, Run, fits, write_archive
from tests.served import Quiet, Served

# Every service there is runs, and none has failed.
SYSTEMCTL = """#!/bin/sh
case "$1" in
is-system-running) echo running ;;
show) for name in "$@"; do last=$name; done
    printf 'Id=%s\\nLoadState=loaded\\nActiveState=active\\nSubState=running\\nNRestarts=0\\n' "$last" ;;
esac
"""
RECIPES = {recipe.name: recipe for recipe in load_catalogue().all()}


@pytest.fixture(autouse=True)
def quick_package_list(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own package list takes seconds to read and differs; one known update waits here instead."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "apt"
    program.write_text("#!/bin/sh\necho 'vim/stable 9.1 amd64 [upgradable from: 9.0]'\n", encoding="utf-8")
    program.chmod(0o755)
    program = folder / "systemctl"
    program.write_text(SYSTEMCTL, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def fixture_of(recipe: Recipe) -> Path:
    assert recipe.test is not None, f"{recipe.name} has no test"
    return built_in_folder() / recipe.test.fixture


class _Site(Quiet, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.reply(200)


@contextmanager
def a_site() -> Iterator[int]:
    """A site that is up, on this machine, for recipes that look at what they have put there."""
    with Served(_Site) as served:
        yield served.port


def ran(recipe: Recipe, home: Path, **more: object) -> tuple[Fleet, Run]:
    fleet = Fleet(home, fixture_of(recipe))
    assert recipe.test is not None
    params = {**recipe.test.params, **more}
    with a_site() as port:
        if recipe.name == "build-and-deploy":
            params["url"] = f"http://127.0.0.1:{port}/"
        check = plan_recipe(recipe, params, fleet.view())
        assert check.plan is not None, check.faults
        run = Run(fleet, check.plan)
        run.all()
    return fleet, run


def test_the_six_recipes_of_the_first_session_are_there() -> None:
    wanted = {"photo-backup", "fleet-health", "disk-space", "find-file", "copy-folder", "run-everywhere"}
    assert wanted <= set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_the_fixture_gives_the_expected_answer(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    _, run = ran(recipe, tmp_path)
    assert recipe.test is not None
    expected = json.loads((built_in_folder() / recipe.test.answer).read_text(encoding="utf-8"))
    results = {spec.title: spec for spec in run.plan.results}
    for item in expected["items"]:
        spec = results[item["title"]]
        found = run.done[spec.source].shown(spec.output)
        if "file" in item:
            assert found["name"] == item["file"]
            assert found["bytes"] > 0
        else:
            shown = found["rows"] if spec.show == "table" and isinstance(found, dict) else found
            assert fits(shown, item["has"]), (item["title"], found)


@pytest.mark.parametrize(
    ("at", "files"),
    [("", ["a.txt", "b.txt"]), ("20250101", ["old.txt"]), ("vps-Notes-20250101T000000Z.tar.gz", ["old.txt"])],
)
def test_the_backup_of_a_time_is_restored(at: str, files: list[str], tmp_path: Path) -> None:
    _, run = ran(RECIPES["restore-backup"], tmp_path, at=at)
    rows = run.done["table"].shown("/rows")
    assert sorted(Path(row["path"]).name for row in rows) == files


@pytest.mark.parametrize("name", ["restore-drill", "restore-backup"])
def test_the_backup_whose_name_fits_best_is_taken_before_a_newer_one(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    fleet = Fleet(tmp_path, fixture_of(recipe))
    nas = fleet.machines["nas"].folder / "Backups"
    for days, folder in enumerate(("Photos", "Work_Photos")):
        archive = nas / f"laptop-{folder}-2026110{2 - days}T000000Z.tar.gz"
        write_archive({f"{folder}.txt": "x"}, archive, tmp_path / "packed")
        os.utime(archive, (2_000_000_000 - 86_400 * days,) * 2)
    assert recipe.test is not None
    check = plan_recipe(recipe, {**recipe.test.params, "what": "Work Photos"}, fleet.view())
    assert check.plan is not None, check.faults
    run = Run(fleet, check.plan)
    run.all()
    assert run.done["complete"].shown("/rows/0/name") == "laptop-Work_Photos-20261101T000000Z.tar.gz"


@pytest.mark.parametrize("name", RECIPES)
def test_every_tool_and_effect_of_a_recipe_is_declared(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    fleet = Fleet(tmp_path, fixture_of(recipe))
    assert recipe.test is not None
    check = plan_recipe(recipe, recipe.test.params, fleet.view())
    assert check.plan is not None
    used = {spec.tool for spec in check.plan.specs if spec.tool}
    assert used <= set(TOOLS)
    assert set(preview(check.plan, fleet.view()).effects) <= set(recipe.effects)


def needed(param: ParamDoc) -> bool:
    return not param.optional and param.default is None


@pytest.mark.parametrize("name", RECIPES)
def test_a_phrase_of_the_recipe_alone_is_understood(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    view = Fleet(tmp_path, fixture_of(recipe)).view()
    words = {"source": "my laptop", "target": "the vps", "sheet_on": "my desktop", "where": "all servers"}
    words |= {"folder": "Papers", "to": "Copies", "what": "tax letter", "command": "`uptime`", "path": "/home"}
    words |= {"url": "example.org", "server": "the nas", "service": "nginx", "since": "22:00", "keep": "seven"}
    words |= {"extras": "the extra ones", "repo": "shop", "port": "8080", "script": "count.py", "data": "data/*.csv"}
    words |= {"file": "shop.sqlite", "live": "site/app.txt", "builder": "the laptop", "phone": "my phone"}
    words |= {"desk": "the laptop", "count": "three", "clash": "and replace the old one"}
    words |= {"one": "the laptop", "other": "the nas", "other_folder": "Copy", "pixels": "800", "text": '"tax"'}
    if "where" in recipe.params and not recipe.params["where"].takes_many:
        words |= {"where": "the nas"}
    if name in ("photo-backup", "picked-pictures"):
        words |= {"source": "my phone", "target": "the server"}
    if name == "copy-folder-to-several":
        words |= {"target": "the nas and the vps"}
    words |= {"top": "the ten", "days": "30", "second": "shop-old.sqlite"}
    for phrase in recipe.phrases:
        said = phrase.replace('"{text}"', "{text}")
        for slot in recipe.params:
            said = said.replace("{" + slot + "}", words.get(slot, slot))
        found = match(said, list(RECIPES.values()), view)
        asks = [slot for slot, param in recipe.params.items() if "{" + slot + "}" not in phrase and needed(param)]
        assert found.outcome is (Match.NEAR if asks else Match.EXACT), (said, found)
        assert found.candidates[0].recipe == name, (said, found)
        assert [missing.name for missing in found.candidates[0].missing] == asks


def test_photo_backup_copies_each_picture_once_and_shows_it(tmp_path: Path) -> None:
    fleet, run = ran(RECIPES["photo-backup"], tmp_path)
    phone = list(fleet.machines["phone"].folder.rglob("*.png"))
    on_server = list((fleet.machines["server"].folder / "Pictures").iterdir())
    wanted = {hashlib.sha256(path.read_bytes()).hexdigest() for path in phone}
    assert {path.stem for path in on_server} == wanted
    assert {hashlib.sha256(path.read_bytes()).hexdigest() for path in on_server} == wanted
    sheet = (fleet.machines["desktop"].folder / "Pictures/index.html").read_text(encoding="utf-8")
    assert sheet.count('src="data:image/png;base64,') == len(wanted)
    assert "rose.png" in sheet
    assert run.done["ask-room"].skipped
    assert [task for task, _ in run.calls].count("send") == 2  # the equal folder was dropped


def test_photo_backup_by_names_keeps_a_folder_whose_pictures_are_elsewhere_too(tmp_path: Path) -> None:
    fleet, run = ran(RECIPES["photo-backup"], tmp_path, names="path")
    there = {
        name: {path.relative_to(fleet.machines[name].folder) for path in fleet.machines[name].folder.rglob("*.png")}
        for name in ("phone", "server")
    }
    assert there["phone"] <= there["server"]
    assert run.done["proof"].value["files"] == len(there["phone"])


def test_photo_backup_run_again_writes_nothing_new(tmp_path: Path) -> None:
    fleet, run = ran(RECIPES["photo-backup"], tmp_path)
    first = run.done["copy"].value
    again = Run(fleet, run.plan)
    again.all()
    assert {part["written"] for part in first} == {1, 2}
    assert [(part["written"], part["kept"]) for part in again.done["copy"].value] == [(0, 1), (0, 2)]


def test_photo_backup_without_a_sheet_leaves_its_tasks_out(tmp_path: Path) -> None:
    recipe = RECIPES["photo-backup"]
    fleet = Fleet(tmp_path, fixture_of(recipe))
    check = plan_recipe(recipe, {"source": "phone", "target": "server"}, fleet.view())
    assert check.plan is not None
    assert {"thumb", "sheet"}.isdisjoint(spec.id for spec in check.plan.specs)
    assert [item.title for item in check.plan.results] == [
        "Outcome",
        "Proof",
        "Left out",
        "Empty or broken",
        "Not opened",
    ]
    assert Run(fleet, check.plan).all()["proof"].value["same"] is True


def test_fleet_health_has_one_line_a_device_worst_first_with_why(tmp_path: Path) -> None:
    _, run = ran(RECIPES["fleet-health"], tmp_path)
    rows = run.done["table"].value["rows"]
    assert [row["device"] for row in rows] == ["laptop", "nas", "vps"]  # one machine, so equally bad, then by name
    assert all("1 update waits" in row["why"] for row in rows)
    assert rows == sorted(rows, key=lambda row: -row["severity"])


def test_copy_folder_sends_only_what_differs_and_keeps_what_is_there(tmp_path: Path) -> None:
    fleet, run = ran(RECIPES["copy-folder"], tmp_path)
    vps = fleet.machines["vps"].folder / "results"
    assert (vps / "summary.md").read_text(encoding="utf-8") == "an older summary"
    assert (vps / "summary (2).md").read_text(encoding="utf-8") == "all is well"
    assert not (fleet.machines["vps"].folder / "other").exists()
    again = Run(fleet, run.plan)
    again.all()
    assert again.done["differ"].value["here"] == 3
    assert again.done["differ"].value["to_send"] == []


def test_logs_that_could_not_be_read_come_first_in_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Beneath.open

    def refuse(files: Beneath, path: Path) -> Any:
        if path.suffix == ".log":
            raise PermissionError(13, "Permission denied", str(path))
        return real(files, path)

    monkeypatch.setattr(Beneath, "open", refuse)
    _, run = ran(RECIPES["log-hunt"], tmp_path)
    lead = run.done["firsts"].value["lead"]
    assert lead.startswith("Could not read 1 log on laptop; could not read 1 log on nas")
    assert lead.endswith(". No such line is in the logs that were read.")


def test_services_that_could_not_be_seen_are_not_healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_missing", lambda: "this system has no systemd")
    _, run = ran(RECIPES["fleet-health"], tmp_path)
    lead = run.done["table"].value["lead"]
    assert lead.startswith("Could not look at the services on laptop (this system has no systemd); could not look at ")
    rows = {row["device"]: row["unseen"] for row in run.done["table"].value["rows"]}
    assert all("could not look at the services" in unseen for unseen in rows.values())


def contents(fleet: Fleet) -> dict[str, bytes]:
    """Return every file of every machine by its path, without what the trash keeps."""
    return {
        f"{name}/{path.relative_to(machine.folder)}": path.read_bytes()
        for name, machine in fleet.machines.items()
        for path in machine.folder.rglob("*")
        if path.is_file() and ".starloom-trash" not in path.parts
    }


UNDONE = [
    "backup-folder",
    "collect-files",
    "copy-file",
    "copy-folder",
    "database-copy",
    "find-duplicates",
    "phone-to-desk",
    "photo-backup",
    "picked-pictures",
    "picture-to-desk",
]


@pytest.mark.parametrize("name", UNDONE)
def test_what_a_recipe_changed_is_taken_back(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    assert recipe.test is not None
    params = {**recipe.test.params, **({"trash": True} if name == "find-duplicates" else {})}
    params.pop("sheet_on", None)  # a sheet is a file of the answer that is put on a device
    fleet = Fleet(tmp_path, fixture_of(recipe))
    before = contents(fleet)
    check = plan_recipe(recipe, params, fleet.view())
    assert check.plan is not None, check.faults
    run = Run(fleet, check.plan)
    run.all()
    assert contents(fleet) != before
    assert run.undo()
    assert contents(fleet) == before


@pytest.mark.parametrize("name", RECIPES)
def test_a_task_that_writes_or_trashes_says_how_it_is_undone(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    assert recipe.test is not None
    check = plan_recipe(recipe, recipe.test.params, Fleet(tmp_path, fixture_of(recipe)).view())
    assert check.plan is not None
    changing = {"fs.write", "fs.trash", "archive.rotate"}
    assert [spec.id for spec in check.plan.specs if spec.tool in changing and spec.undo is None] == []
