"""Recipes as MCP tools and prompts: their names, schemas and sentences, and the bound on their number."""

from __future__ import annotations

from typing import Any

from jsonschema_rs import Draft202012Validator

from starloom.cli.mcp import recipes
from starloom.cli.mcp.own_tools import TOOLS
from starloom.cli.mcp.recipes import recipe_prompt, recipe_tools
from starloom_protocol.plan.language.param_types import PARAM_TYPES
from tests.cli.mcp.programs import Shelf


def tool(name: str) -> recipes.RecipeTool:
    return next(one for one in recipe_tools(Shelf().recipes()) if one.recipe == name)


def test_each_built_in_recipe_is_a_tool_with_a_schema_of_its_values() -> None:
    shelf = Shelf()
    found = recipe_tools(shelf.recipes())
    assert [one.recipe for one in found] == [row["name"] for row in shelf.rows]
    find = tool("find-file")
    assert find.tool == "recipe_find-file"
    assert find.schema["required"] == ["what"]
    assert Draft202012Validator(find.schema).is_valid({"what": "invoice"})
    assert not Draft202012Validator(find.schema).is_valid({"wath": "invoice"})
    assert (find.quiet, find.loud) == (True, False)
    assert (tool("copy-folder").quiet, tool("copy-folder").loud) == (False, False)
    assert tool("restart-and-check").loud


def test_each_type_of_a_value_has_words_and_a_json_type() -> None:
    params: dict[str, Any] = {
        kind: {"type": kind, "title": kind, "optional": False, "default": None, "needs": [], "values": {}}
        for kind in PARAM_TYPES
    }
    row: Any = {"name": "all", "title": "All", "phrases": [], "params": params, "effects": [], "built_in": True}
    (made,) = recipe_tools([row])
    given = {name: part["type"] for name, part in made.schema["properties"].items()}
    assert set(given.values()) == {"string", "array", "integer", "number", "boolean"}
    assert not [name for name, part in made.schema["properties"].items() if part["description"].startswith("A text.")
                and name != "text"]  # fmt: skip


def test_saved_recipes_come_after_the_built_in_ones_and_their_number_is_bounded() -> None:
    shelf = Shelf()
    built_in = len(shelf.rows)
    for number in range(100):
        shelf.save({"name": f"a{number:02}", "title": f"Number {number}"})
    found = recipe_tools(shelf.recipes())
    assert len(found) == recipes.RECIPES_MOST
    assert [one.recipe for one in found[built_in:]] == [f"a{number:02}" for number in range(len(found) - built_in)]


def test_a_name_that_models_do_not_take_is_no_tool() -> None:
    shelf = Shelf()
    shelf.save({"name": "a" * 60, "title": "Long"})
    assert "a" * 60 not in [one.recipe for one in recipe_tools(shelf.recipes())]


def test_a_prompt_has_the_values_and_says_what_is_missing() -> None:
    words = recipe_prompt(tool("copy-folder"), {"folder": "Papers"})
    assert "`recipe_copy-folder`" in words
    assert "- folder: 'Papers'" in words
    assert "Ask me first for: source, target." in words


def test_no_recipe_has_the_name_of_a_tool() -> None:
    assert not [name for name in TOOLS if name.startswith(recipes.PREFIX)]
