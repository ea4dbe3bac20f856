"""Recipes: heads with faults, typed values, defaults, and the plan that comes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom_protocol.plan import Recipe, read_recipe, recipe_plan, recipe_values
from starloom_protocol.plan.language.param_types import PARAM_TYPES, ParamRefused, coerce, placeholder
from starloom_protocol.vocabulary import Code, Repeatability

RECIPES = sorted((Path(__file__).parents[3] / "recipes").glob("*.yaml"))
HEAD: dict[str, Any] = {
    "starloom_recipe": 1,
    "name": "echo",
    "title": "Echo",
    "version": 1,
    "phrases": ["echo on {where}"],
    "params": {
        "where": {"type": "device"},
        "other": {"type": "device", "optional": True, "not": "where"},
        "often": {"type": "integer", "default": 2},
        "loud": {"type": "boolean", "default": False, "true_when_named": "other"},
    },
    "effects": ["read"],
    "plan": {
        "starloom": 1,
        "tasks": [{"id": "a", "tool": "lab.echo", "device": {"param": "where"}, "args": {"n": {"param": "often"}}}],
    },
}


def _offering(kind: str = "text", **offers: str) -> dict[str, Any]:
    """Return the parameters of a recipe whose `x` offers files."""
    own = {"type": kind, "default": "", "offers": {"on": "where", "root": "folder", **offers}}
    return {"params": {**HEAD["params"], "folder": {"type": "path", "default": "."}, "x": own}}


def recipe(**changes: Any) -> Recipe:
    check = read_recipe(json.dumps({**HEAD, **changes}))
    assert check.faults == []
    assert check.recipe is not None
    return check.recipe


@pytest.mark.parametrize("place", RECIPES, ids=lambda place: place.stem)
def test_the_built_in_recipes_read(place: Path) -> None:
    check = read_recipe(place.read_bytes())
    assert check.faults == []
    assert check.recipe is not None
    assert check.recipe.name == place.stem


def test_a_parameter_that_was_not_given_is_the_same_as_another_one() -> None:
    tasks = [{"id": "a", "tool": "lab.echo", "args": {"x": {"param": "often"}, "y": {"param": "again"}}}]
    params = {**HEAD["params"], "again": {"type": "integer", "optional": True, "same_as": "often"}}
    made = recipe(params=params, plan={"starloom": 1, "tasks": tasks})
    for given, again in (({}, 2), ({"often": 5}, 5), ({"often": 5, "again": 7}, 7)):
        faults, values = recipe_values(made, {"where": "laptop", **given})
        assert (faults, values["again"]) == ([], again)


def test_values_defaults_and_the_plan() -> None:
    faults, values = recipe_values(recipe(), {"where": "laptop", "other": {"os": "linux"}})
    assert faults == []
    assert values == {"where": {"name": "laptop"}, "other": {"os": "linux"}, "often": 2, "loud": True}
    check = recipe_plan(recipe(), {"where": "laptop", "often": "5", "loud": "no"})
    assert check.plan is not None
    assert check.plan.recipe == "echo"
    assert check.plan.specs[0].args == '{"n":5}'
    assert json.loads(check.plan.params) == {"where": {"name": "laptop"}, "other": None, "often": 5, "loud": False}


def test_faults_of_values() -> None:
    found = recipe_plan(recipe(), {"other": "x", "often": "many", "lod": True}).faults
    assert {(fault.code, fault.place) for fault in found} == {
        (Code.UNKNOWN_PARAM, "params.lod"),
        (Code.MISSING_PARAM, "params.where"),
        (Code.PLAN_INVALID, "params.often"),
    }
    same = recipe_plan(recipe(), {"where": "x", "other": "x"}).faults
    assert [fault.place for fault in same] == ["params.other"]
    unknown = recipe_plan(recipe(), {"where": "latop"}, known_devices=["laptop"]).faults
    assert [(fault.place, fault.hint) for fault in unknown] == [("plan.tasks[0].device.name", "Did you mean `laptop`?")]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("often", 0, "must be at least 1"),
        ("often", "-3", "must be at least 1"),
        ("often", 10, "must be at most 9"),
        ("where", {"any": [{"name": "x"}, {"name": "y"}]}, "takes one device, not 2"),
    ],
)
def test_a_value_outside_its_limits_is_refused(name: str, value: Any, reason: str) -> None:
    limited = {**HEAD["params"], "often": {"type": "integer", "default": 2, "minimum": 1, "maximum": 9}}
    found = recipe_plan(recipe(params=limited), {"where": "x", name: value}).faults
    assert [fault.place for fault in found] == [f"params.{name}"]
    assert reason in found[0].reason
    several = recipe(params={**limited, "where": {"type": "device", "many": True}})
    assert recipe_plan(several, {"where": {"any": [{"name": "x"}, {"name": "y"}]}}).plan is not None


def test_a_text_may_offer_the_files_of_a_device() -> None:
    assert recipe(**_offering(pattern="*.gz")).params["x"].offers is not None


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"starloom_recipe": 2}, "starloom_recipe"),
        ({"name": "Bad Name"}, "name"),
        ({"phrases": ["echo on {wher}"]}, "phrases[0]"),
        ({"phrases": ["echo {where} {where}"]}, "phrases[0]"),
        ({"asks_for": {"wher": ["files:read"]}}, "asks_for.wher"),
        ({"effects": ["explode"]}, "effects[0]"),
        ({"params": {**HEAD["params"], "x": {"type": "colour"}}}, "params.x.type"),
        ({"params": {**HEAD["params"], "x": {"type": "text", "needs": ["fs.find"]}}}, "params.x"),
        ({"params": {**HEAD["params"], "x": {"type": "device", "not": "x"}}}, "params.x.not"),
        ({"params": {**HEAD["params"], "x": {"type": "text", "true_when_named": "where"}}}, "params.x.true_when_named"),
        ({"params": {**HEAD["params"], "x": {"type": "text", "optional": True, "same_as": "y"}}}, "params.x.same_as"),
        (
            {"params": {**HEAD["params"], "x": {"type": "text", "optional": True, "same_as": "often"}}},
            "params.x.same_as",
        ),
        ({"params": {**HEAD["params"], "x": {"type": "device", "same_as": "where"}}}, "params.x.same_as"),
        (_offering(on="x"), "params.x.offers.on"),
        (_offering(root="where"), "params.x.offers.root"),
        (_offering(words="where"), "params.x.offers.words"),
        (_offering(tool="fs.trash"), "params.x.offers.tool"),
        (_offering(kind="path"), "params.x"),
        ({"params": {**HEAD["params"], "x": {"type": "text", "default": "", "many": True}}}, "params.x"),
        ({"params": {**HEAD["params"], "x": {"type": "text", "default": "", "minimum": 1}}}, "params.x"),
        ({"params": {**HEAD["params"], "x": {"type": "text", "default": "", "everything": True}}}, "params.x"),
        ({"params": {**HEAD["params"], "x": {"type": "integer", "default": 0, "minimum": 1}}}, "params.x.default"),
        ({"params": {**HEAD["params"], "x": {"type": "integer", "default": "x"}}}, "params.x.default"),
        ({"params": {**HEAD["params"], "x": {"type": "integer", "default": None}}}, "params.x.default"),
        ({"params": {**HEAD["params"], "x": {"type": "choice", "default": "a"}}}, "params.x"),
        ({"params": {**HEAD["params"], "x": {"type": "choice", "values": {"a": ["one"]}}}}, "params.x"),
        (
            {"params": {**HEAD["params"], "x": {"type": "choice", "values": {"a": ["one"]}, "default": "b"}}},
            "params.x.default",
        ),
        ({"params": {**HEAD["params"], "x": {"type": "text", "values": {"a": ["b"]}, "default": ""}}}, "params.x"),
        ({"plan": {"starloom": 1, "tasks": [{"id": "a", "tol": "x"}]}}, "plan.tasks[0].tol"),
        ({"test": {"fixture": "x"}}, "test.answer"),
    ],
)
def test_faulty_heads(changes: dict[str, Any], place: str) -> None:
    check = read_recipe(json.dumps({**HEAD, **changes}))
    assert check.recipe is None
    assert place in [fault.place for fault in check.faults]


def test_text_that_is_no_document() -> None:
    assert read_recipe("[").faults


@pytest.mark.parametrize("kind", PARAM_TYPES)
def test_a_placeholder_is_of_its_type(kind: str) -> None:
    assert coerce(kind, placeholder(kind, "x")) == placeholder(kind, "x")


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("device", "laptop", {"name": "laptop"}),
        ("device", {"os": "linux"}, {"os": "linux"}),
        ("integer", " 12 ", 12),
        ("number", "1.5", 1.5),
        ("number", "3", 3),
        ("boolean", "Yes", True),
        ("boolean", "off", False),
        ("url", "https://example.org/x", "https://example.org/x"),
        ("duration", "2h", 7200),
        ("duration", "90", 90),
        ("duration", 5, 5),
        ("date", "2026-01-31", "2026-01-31"),
        ("hosts", "a.org, b.org:80 10.0.0.1", ["a.org", "b.org:80", "10.0.0.1"]),
        ("choice", "replace", "replace"),
        ("argv", '["ls", "-l"]', ["ls", "-l"]),
        ("argv", ["ls"], ["ls"]),
        ("file", "tax 2025", "tax 2025"),
        ("files", "*.pdf", "*.pdf"),
        ("service", "getty@tty1.service", "getty@tty1.service"),
        ("since", " 22:00 ", "22:00"),
        ("since", "3 hours", "3 hours"),
        ("since", "2026-01-31T08:00", "2026-01-31T08:00"),
        ("since", 90, "90"),
    ],
)
def test_values_by_type(kind: str, value: Any, kept: Any) -> None:
    assert coerce(kind, value) == kept


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("device", ""),
        ("device", {}),
        ("device", {"nam": "x"}),
        ("path", ""),
        ("path", "a\0b"),
        ("path", 3),
        ("text", "x" * 20_000),
        ("integer", 1.5),
        ("integer", True),
        ("integer", 2**60),
        ("number", "x"),
        ("number", float("nan")),
        ("number", True),
        ("boolean", 1),
        ("boolean", "perhaps"),
        ("url", "ftp://example.org"),
        ("url", "http://[::1"),
        ("duration", "soon"),
        ("duration", True),
        ("date", "31.1.2026"),
        ("hosts", []),
        ("hosts", "http://x"),
        ("argv", "ls -l"),
        ("argv", "[oops"),
        ("argv", []),
        ("argv", [""]),
        ("argv", ["a\0"]),
        ("file", " "),
        ("service", "-x"),
        ("service", ""),
        ("since", "breakfast"),
        ("since", -1),
        ("since", "25:00"),
        ("number", "1_0"),
        ("since", "2026-W45"),
    ],
)
def test_refused_values_by_type(kind: str, value: Any) -> None:
    with pytest.raises(ParamRefused) as caught:
        coerce(kind, value)
    assert caught.value.reason.startswith("must ")


def test_a_slot_within_a_word_is_refused_when_a_recipe_is_kept() -> None:
    text = """
starloom_recipe: 1
name: mark
title: Mark
version: 1
phrases: ["mark x-{file} now", "mark {file}, now"]
params: {file: {type: path}}
plan:
  starloom: 1
  name: Mark
  tasks: [{id: look, tool: fs.find, args: {root: {param: file}, pattern: "x-{file}"}}]
"""
    assert read_recipe(text).faults == []
    kept = read_recipe(text, known_tools={"fs.find": Repeatability.PURE}).faults
    assert [(fault.place, fault.reason) for fault in kept] == [
        ("phrases[0]", "`x-{file}` has more than its slot, which takes whole words"),
        (
            "plan.tasks[0].args.pattern",
            "`{file}` within a text stays as it is written; a plan puts no value into a text",
        ),
    ]
    assert all(fault.hint for fault in kept)


def test_a_slot_of_a_phrase_in_a_plan_is_told_its_form() -> None:
    tasks = [{"id": "a", "tool": "t", "device": {"param": "where"}, "args": {"to": ["{often}"], "p": "{other_word}"}}]
    faults = read_recipe(json.dumps({**HEAD, "plan": {"starloom": 1, "tasks": tasks}})).faults
    assert [(fault.place, fault.reason, fault.hint) for fault in faults] == [
        (
            "plan.tasks[0].args.to[0]",
            "`{often}` is plain text in a plan; only phrases have slots",
            "Write `{param: often}` without quotes.",
        )
    ]


def test_a_recipe_to_keep_has_no_idle_parameter_and_no_foreign_form() -> None:
    script = "for x in y:\n    print(f'{params.x}')"
    args = {"to": ["x ${params.often}"], "p": "{{ inputs.rows }}", "code": script}
    tasks = [{"id": "a", "tool": "lab.echo", "device": {"param": "where"}, "args": args}]
    text = json.dumps({**HEAD, "plan": {"starloom": 1, "tasks": tasks}})
    assert read_recipe(text).faults == [], "one that is kept goes on"
    faults = read_recipe(text, known_tools={}).faults
    assert [(fault.place, fault.hint) for fault in faults] == [
        ("params.often", "Write `{param: often}` where its value belongs, or remove it."),
        ("params.loud", "Write `{param: loud}` where its value belongs, or remove it."),
        ("plan.tasks[0].args.to[0]", "Write `{param: often}` as the whole value."),
        ("plan.tasks[0].args.p", "Write `inputs: {ARGUMENT: {from: TASK, output: /FIELD}}` at the task."),
    ]
