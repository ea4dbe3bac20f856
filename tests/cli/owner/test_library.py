"""Recipes at the command line: imported with every fault told, proved without a run, exported as written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom.client.terminal.typed import typed
from tests.cli.test_commands import StubHub, starloom

TEXT = """\
starloom_recipe: 1
name: mine   # a comment
title: Mine
version: 3
params: {folder: {type: path, default: Pictures}, most: {type: integer, optional: true}}
plan: {starloom: 1, tasks: [{id: look, tool: fs.find, args: {root: {param: folder}}}]}
"""
PREVIEW = {
    "name": "Mine",
    "tasks": [
        {
            "id": "look",
            "tool": "fs.find",
            "person": None,
            "device": "laptop",
            "devices": ["laptop"],
            "why": "it is the only one that can",
            "effects": ["read"],
        }
    ],
    "missing_grants": [],
    "warnings": [],
    "effects": ["read"],
    "asks_approval": False,
    "plan_hash": "abc",
}


@pytest.fixture
def file(hub: StubHub, tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_importing_says_that_nothing_has_run(hub: StubHub, file: Path) -> None:
    hub.answers[("POST", "/recipes")] = (201, {"name": "mine", "version": 1})
    code, said = starloom(hub, "recipe", "import", str(file))
    assert code == 0
    assert "kept as version 1. Nothing has run." in said
    assert hub.asked[-1] == ("POST", "/recipes", {"recipe": TEXT})


def test_importing_names_a_tool_that_no_device_offers(hub: StubHub, file: Path) -> None:
    lacking = "no device offers `fs.fnd`. Did you mean `fs.find`?"
    hub.answers[("POST", "/recipes")] = (201, {"name": "mine", "version": 1, "lacking": [lacking]})
    code, said = starloom(hub, "recipe", "import", str(file))
    assert code == 0
    assert lacking in said


def test_a_name_that_is_taken_says_how_to_go_over_it(hub: StubHub, file: Path) -> None:
    reason = "there is a recipe mine already, at version 4"
    hub.answers[("POST", "/recipes")] = (409, {"title": "It conflicts", "reason": reason, "current_version": 4})
    code, said = starloom(hub, "recipe", "import", str(file))
    assert code == 1
    assert reason in said
    assert "Add --over 4 to make it version 5" in said
    starloom(hub, "recipe", "import", str(file), "--over", "4")
    assert hub.asked[-1][2] == {"recipe": TEXT, "base_version": 4}


def test_every_fault_of_a_file_is_told(hub: StubHub, file: Path) -> None:
    faults = [
        {"place": "plan.tasks[0].tool", "reason": "there is no field `tol` here", "code": "unknown_field"},
        {"place": "params.nope", "reason": "nothing is there", "code": "plan_invalid"},
        {"place": "headline", "reason": "`headline` is missing", "code": "plan_invalid"},
    ]
    hub.answers[("POST", "/recipes/check")] = (422, {"title": "The plan has faults", "errors": faults})
    code, said = starloom(hub, "recipe", "test", str(file))
    assert code == 2
    lines = said.splitlines()
    assert lines[0].startswith("The recipe has faults")
    assert lines[1].startswith("  line 6: plan.tasks[0].tool: there is no field")
    assert lines[2].startswith("  line 5: params.nope: nothing is there")
    assert lines[3].startswith("  headline: `headline` is missing")


def test_a_proof_previews_with_defaults_and_starts_nothing(hub: StubHub, file: Path) -> None:
    hub.answers[("POST", "/recipes/check")] = (200, {"name": "mine"})
    hub.answers[("POST", "/constellations/preview")] = (200, PREVIEW)
    code, said = starloom(hub, "recipe", "test", str(file), "-p", "most:=2")
    assert code == 0
    assert "mine reads well" in said
    assert hub.asked[-1][2]["params"] == {"folder": "Pictures", "most": 2}
    assert all(path != "/constellations" for _, path, _ in hub.asked)


def test_a_proof_fails_where_a_task_has_no_device(hub: StubHub) -> None:
    hub.answers[("GET", "/recipes/mine")] = (200, {"text": TEXT})
    lost = {**PREVIEW, "tasks": [{**PREVIEW["tasks"][0], "device": None, "devices": []}]}  # type: ignore[index]
    hub.answers[("POST", "/constellations/preview")] = (200, lost)
    assert starloom(hub, "recipe", "test", "mine")[0] == 1


def test_an_export_is_what_was_written_and_overwrites_nothing(hub: StubHub, tmp_path: Path) -> None:
    hub.answers[("GET", "/recipes/mine")] = (200, {"text": TEXT, "document": {"name": "mine"}, "built_in": False})
    assert starloom(hub, "recipe", "export", "mine") == (0, TEXT)
    assert json.loads(starloom(hub, "recipe", "export", "mine", "--json")[1]) == {"name": "mine"}
    assert starloom(hub, "recipe", "export", "mine", str(tmp_path))[0] == 0
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == TEXT
    code, said = starloom(hub, "recipe", "export", "mine", str(tmp_path))
    assert code == 2
    assert "exists already" in said


TESTED = """\
starloom_recipe: 1
name: copy
title: Copy
version: 1
params:
  source: {type: device, needs: [artifact.put]}
  target: {type: device, needs: [fs.write], not: source}
plan:
  starloom: 1
  tasks: [{id: a, tool: fs.list, device: {param: source}}, {id: b, tool: fs.list, device: {param: target}}]
test: {fixture: f, answer: f/answer.json, params: {source: laptop, target: {any: [{name: nas}]}}}
"""


def here(name: str, *tools: str, **fields: object) -> dict[str, object]:
    return {"id": f"d-{name}", "name": name, "revoked": False, "link": "online", "tools": list(tools), **fields}


def proved(hub: StubHub, *words: str) -> tuple[int, str, dict[str, object]]:
    hub.answers[("GET", "/recipes/copy")] = (200, {"text": TESTED, "built_in": True})
    hub.answers[("POST", "/constellations/preview")] = (200, PREVIEW)
    code, said = starloom(hub, "recipe", "test", "copy", *words)
    return code, said, (hub.asked[-1][2] or {}).get("params", {})


def test_a_built_in_recipe_is_exported_without_the_test_of_its_fixture(hub: StubHub) -> None:
    document = {"name": "copy", "test": {}}
    found = {"text": TESTED, "document": document, "built_in": True}
    hub.answers[("GET", "/recipes/copy")] = (200, found)
    said = starloom(hub, "recipe", "export", "copy")[1]
    assert said == TESTED[: TESTED.index("test:")]
    assert json.loads(starloom(hub, "recipe", "export", "copy", "--json")[1]) == {"name": "copy"}
    hub.answers[("GET", "/recipes/copy")] = (200, {**found, "built_in": False})
    assert starloom(hub, "recipe", "export", "copy")[1] == TESTED


def test_devices_of_this_fleet_stand_in_for_those_of_the_test(hub: StubHub) -> None:
    both = ("artifact.put", "fs.write")
    rows = [
        here("old", *both, revoked=True),
        here("away", *both, link="offline"),
        here("desk", *both),
        here("b", *both),
    ]
    hub.answers[("GET", "/devices")] = (200, {"items": rows})
    code, said, params = proved(hub)
    assert code == 0
    assert params == {"source": {"name": "desk"}, "target": {"name": "b"}}
    assert "source is desk, target is b" in said
    assert proved(hub, "-p", "source=b")[2] == {"source": {"name": "b"}, "target": {"name": "desk"}}


def test_devices_of_the_test_that_are_here_are_taken(hub: StubHub) -> None:
    hub.answers[("GET", "/devices")] = (200, {"items": [here("laptop"), here("nas")]})
    code, said, params = proved(hub)
    assert (code, params) == (0, {"source": {"name": "laptop"}, "target": {"any": [{"name": "nas"}]}})
    assert "not here" not in said


def test_a_real_device_stands_in_before_one_of_the_demo(hub: StubHub) -> None:
    both = ("artifact.put", "fs.write")
    rows = [here("demo-phone", *both, demo=True), here("away", *both, link="offline"), here("desk", *both)]
    hub.answers[("GET", "/devices")] = (200, {"items": rows})
    assert proved(hub)[2] == {"source": {"name": "desk"}, "target": {"name": "away"}}


SAME = """\
starloom_recipe: 1
name: same
title: Same
version: 1
params:
  mine: {type: path}
  theirs: {type: path, optional: true, same_as: mine}
plan: {starloom: 1, tasks: [{id: a, tool: fs.list, args: {path: {param: theirs}}}]}
"""


def test_a_proof_fills_and_judges_values_as_a_run_does(hub: StubHub) -> None:
    hub.answers[("GET", "/recipes/same")] = (200, {"text": SAME})
    hub.answers[("POST", "/constellations/preview")] = (200, PREVIEW)
    assert starloom(hub, "recipe", "test", "same", "-p", "mine=Docs")[0] == 0
    assert (hub.asked[-1][2] or {})["params"] == {"mine": "Docs", "theirs": "Docs"}
    asked = len(hub.asked)
    code, said = starloom(hub, "recipe", "test", "same", "-p", "min=Docs")
    assert code == 2
    assert "same has no parameter `min`" in said
    assert "`mine` (path) has no value" in said
    assert hub.asked[asked:] == [("GET", "/recipes/same", None)]


def test_a_proof_refuses_the_same_device_twice_where_a_run_does(hub: StubHub) -> None:
    hub.answers[("GET", "/devices")] = (200, {"items": [here("desk", "artifact.put", "fs.write")]})
    code, said, _ = proved(hub, "-p", "source=desk", "-p", "target=desk")
    assert code == 2
    assert "`target` must be another device than `source`" in said


@pytest.mark.parametrize("name", ["recipes/nope", "nope.yaml"])
def test_a_file_that_is_not_there_is_said_to_be_missing(hub: StubHub, name: str) -> None:
    code, said = starloom(hub, "recipe", "test", name)
    assert code == 2
    assert f"the recipe {name} cannot be read: No such file or directory" in said
    assert "a recipe is YAML or JSON" in said
    assert hub.asked == []


def test_a_fleet_without_a_stand_in_is_told_what_to_name(hub: StubHub) -> None:
    hub.answers[("GET", "/devices")] = (200, {"items": [here("desk", "artifact.put", "fs.write")]})
    code, said, _ = proved(hub)
    assert code == 2
    assert "the test of copy names nas for target, and no device here with fs.write can stand in" in said
    assert typed("starloom recipe test copy -p target=DEVICE") in said


def test_own_recipes_show_their_versions(hub: StubHub) -> None:
    hub.answers[("GET", "/recipes/mine")] = (200, {"name": "mine", "title": "Mine", "built_in": False, "clock": True})
    row = {"version": 2, "title": "Mine", "author": "person:ann", "saved_at": "2026-01-01T00:00:00Z"}
    hub.answers[("GET", "/recipes/mine/versions")] = (200, {"items": [row]})
    _, said = starloom(hub, "recipe", "show", "mine")
    assert "version 2, 2026-01-01T00:00:00Z, by ann" in said
    assert "schedule add -r mine" in said


def test_a_recipe_is_removed(hub: StubHub) -> None:
    hub.answers[("DELETE", "/recipes/mine")] = (200, {})
    assert starloom(hub, "recipe", "rm", "mine")[0] == 0


def test_the_line_to_try_a_recipe_has_a_value_for_each_parameter_that_needs_one(hub: StubHub, tmp_path: Path) -> None:
    path = tmp_path / "note.yaml"
    params = (
        "params:\n  where: {type: device}\n  folder: {type: path, example: My documents}\n  often: {type: integer}\n"
        "  text: {type: text, default: hello}\n  more: {type: text, optional: true}\n"
    )
    plan = (
        "plan: {starloom: 1, tasks: [{id: a, tool: fs.list, device: {param: where}, args: {path: {param: folder}}}]}\n"
    )
    path.write_text(f"starloom_recipe: 1\nname: note\ntitle: Note\nversion: 1\n{params}{plan}", encoding="utf-8")
    hub.answers[("POST", "/recipes")] = (201, {"name": "note", "version": 1})
    hub.answers[("GET", "/devices")] = (200, {"items": [here("old", revoked=True), here("desk")]})
    _, said = starloom(hub, "recipe", "import", str(path))
    line = "Try it: starloom recipe test note -p where=desk -p 'folder=My documents' -p often=1"
    assert said.splitlines()[-1] == typed(line)


def test_the_line_to_try_a_recipe_keeps_its_own_rules(hub: StubHub, tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    path.write_text(TESTED[: TESTED.index("test:")], encoding="utf-8")
    both = ("artifact.put", "fs.write")
    rows = [here("demo-phone", *both, demo=True), here("bare"), here("desk", *both)]
    hub.answers[("POST", "/recipes")] = (201, {"name": "copy", "version": 1})
    hub.answers[("GET", "/devices")] = (200, {"items": rows})
    _, said = starloom(hub, "recipe", "import", str(path))
    line = "Try it: starloom recipe test copy -p source=desk -p target=demo-phone"
    assert said.splitlines()[-1] == typed(line)


def test_each_phrase_of_a_file_is_tried_and_one_that_does_not_fit_fails(hub: StubHub, file: Path) -> None:
    fits = {"words": "look into Pictures", "fits": True, "params": {"folder": "Pictures"}, "why": ""}
    open_: dict[str, Any] = {
        "words": "look on a phone",
        "fits": None,
        "params": {},
        "why": "no phone is here",
    }
    misses = {"words": "is it up", "fits": False, "params": {}, "why": "these words start site-check"}
    hub.answers["POST", "/constellations/preview"] = (200, PREVIEW)
    hub.answers["POST", "/recipes/check"] = (200, {"name": "mine", "lacking": [], "examples": [fits, open_]})
    code, said = starloom(hub, "recipe", "test", str(file))
    assert code == 0
    assert "“look into Pictures”  fits: look on laptop" in said
    assert "“look on a phone”  not tried here: no phone is here" in said
    hub.answers["POST", "/recipes/check"] = (200, {"name": "mine", "lacking": [], "examples": [fits, misses]})
    code, said = starloom(hub, "recipe", "test", str(file))
    assert (code, "“is it up”  DOES NOT FIT: these words start site-check" in said) == (1, True)


def test_a_recipe_of_an_assistant_says_who_saved_it(hub: StubHub) -> None:
    own = {"built_in": False, "name": "tidy", "title": "Tidy", "version": 2}
    for author, whose in (("assistant:helper#k", "saved by the assistant helper"), ("person:ann#k", "yours")):
        hub.answers[("GET", "/recipes")] = (200, {"items": [{**own, "trust": {"author": author}}], "next": None})
        code, said = starloom(hub, "recipes")
        assert (code, f"Tidy  ({whose}, version 2)" in said) == (0, True)
    hub.answers[("GET", "/recipes")] = (200, {"items": [own], "next": None})
    assert "(yours, version 2)" in starloom(hub, "recipes")[1], "a hub of an earlier release does not tell it"


def test_a_recipe_gives_up_after_its_deadline(hub: StubHub) -> None:
    hub.answers[("POST", "/constellations")] = (202, {"id": "c-1", "state": "planning"})
    assert starloom(hub, "recipe", "run", "mine", "--deadline", "5m")[0] == 0
    assert [body["deadline_s"] for method, _, body in hub.asked if method == "POST"] == [300]


def test_a_parameter_says_whose_value_it_has(hub: StubHub) -> None:
    params = {"file": {"type": "file"}, "second": {"type": "file", "optional": True, "same_as": "file"}}
    hub.answers[("GET", "/recipes/mine")] = (200, {"name": "mine", "title": "Mine", "params": params})
    said = starloom(hub, "recipe", "show", "mine")[1]
    assert "-p second=...   file  the same as file if not given\n" in said
    assert said.count("the same as") == 1


def test_a_plan_and_a_recipe_are_told_apart(hub: StubHub, file: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("# a comment\nstarloom: 1\ntasks: []\n")
    code, said = starloom(hub, "recipe", "import", str(plan))
    assert (code, f"{plan} is a plan, and no recipe" in said) == (2, True)
    code, said = starloom(hub, "submit", "-f", str(file))
    assert (code, f"{file} is a recipe, and no plan" in said) == (2, True)
    assert hub.asked == []
