"""A preview warns of a path outside the folders that a device has told, and of no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_agent.toolkit.interface import way_out
from starloom_protocol.plan import check_plan
from starloom_protocol.text.folder_grants import NO_LINE
from tests.planner.fleets import device, fleet, offer

FACTS = {"program": "/opt/agent/starloom-agent", "home": "/srv/agent", "reads": "/home/ann/Documents\n/srv/share"}


def warnings(path: str, facts: dict[str, str], call: dict[str, Any] | None = None) -> list[str]:
    plain = offer()
    told = msgspec.structs.replace(plain, facts={**plain.facts, **facts})
    view = fleet(device("nas"), offers={"nas": told})
    task = {"id": "look", "tool": "fs.list", "args": {"path": path}, "device": {"name": "nas"}, **(call or {})}
    check = check_plan({"starloom": 1, "name": "Look", "tasks": [task]})
    assert check.plan is not None, check.faults
    found = Planning(load_catalogue(), lambda: view).preview(check.plan)["warnings"]
    return [text for text in found if "outside" in text]


def test_a_path_outside_is_told_with_the_line_to_type() -> None:
    (told,) = warnings("/data", FACTS)
    assert told.startswith("look: '/data' is outside the folders that nas allows for files:read ('/home/ann/Documents'")
    assert told.endswith("/opt/agent/starloom-agent grant --home /srv/agent files:read /data")


def test_one_file_by_its_whole_path_is_told_with_the_line_for_its_folder() -> None:
    (told,) = warnings("", FACTS, {"tool": "fs.find", "args": {"root": ".", "file": "/data/papers/plan.txt"}})
    assert told.startswith("look: '/data/papers/plan.txt' is outside the folders that nas allows")
    assert told.endswith("files:read /data/papers")
    (told,) = warnings("", FACTS, {"tool": "fs.find", "args": {"root": ".", "file": "/etc/passwd"}})
    assert told.endswith(NO_LINE)
    assert warnings("", FACTS, {"tool": "fs.find", "args": {"root": ".", "file": "/srv/share/plan.txt"}}) == []


@pytest.mark.parametrize("path", ["/", "/etc", "/etc/ssh", "/usr/lib", "/home/ann/.ssh"])
def test_a_system_or_hidden_folder_gets_no_line_as_its_device_would_give_none(path: str) -> None:
    (told,) = warnings(path, FACTS)
    assert told.endswith(f"unless a link leads there. {NO_LINE}")
    assert way_out("files:read", Path(path)) == NO_LINE


@pytest.mark.parametrize("path", ["/home/ann/Documents", "/srv/share/a/../b", "Documents", "~/x", "."])
def test_a_path_inside_or_one_that_the_device_completes_is_not(path: str) -> None:
    assert warnings(path, FACTS) == []


@pytest.mark.parametrize("path", ["/srv/share/../other", "/srv/shared"])
def test_a_path_that_climbs_out_or_only_looks_alike_is_told(path: str) -> None:
    assert len(warnings(path, FACTS)) == 1


def test_a_device_that_told_no_folders_is_not_judged() -> None:
    assert warnings("/etc", {}) == []


def test_the_folder_that_a_copy_goes_into_unnamed_is_named() -> None:
    told = msgspec.structs.replace(offer(), facts={"writes": "/srv/backup\n/srv/share\n/var/agent/workspace"})
    view = fleet(device("nas"), device("pc"), offers={"nas": told, "pc": offer()})
    planning = Planning(load_catalogue(), lambda: view)
    params = {"source": {"name": "pc"}, "target": {"name": "nas"}, "folder": "Papers"}
    plan = planning.plan_recipe("copy-folder", params).plan
    assert plan is not None
    why = {row["id"]: row["why"] for row in planning.preview(plan)["tasks"]}
    assert why["copy"] == (
        "the plan names it; in '/srv/backup', the first folder that it allows,"
        " or in '/srv/share' where a file's own folder is there"
    )
    assert why["list"] == "the plan names it"
