"""The arguments of a tool in words: type, unit, default, need, and an example that a plan takes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from starloom_agent.work.registry import all_tools
from starloom_protocol.plan import check_plan
from starloom_protocol.tools.arguments import about_in, arguments_in, example_of

KINDS = {tool.name: tool.args for tool in all_tools()}
SCHEMAS = {name: msgspec.json.schema(kind) for name, kind in KINDS.items()}


def told(tool: str) -> dict[str, str]:
    return {one.name: one.words() for one in arguments_in(SCHEMAS[tool])}


def test_an_argument_has_its_type_unit_default_and_need() -> None:
    assert told("fs.read")["path"] == "text, needed"
    assert told("net.check")["port"] == "whole number, 1 to 65535"
    assert told("ask")["within_s"] == "whole number of seconds, 5 to 3600, default 300"
    assert told("fs.copy")["on_clash"] == 'one of fail, replace, default "fail"'
    assert told("data.compare")["first"] == "list of map with path, sha256, below?, bytes?, needed"
    assert told("ask")["choices"] == "list of text"
    assert [one.needed for one in arguments_in(SCHEMAS["fs.copy"])] == [True, True, False]


def test_the_words_of_a_schema_are_one_line_and_cut() -> None:
    assert "`name_by` name puts all files into `under` itself; `path` keeps" in about_in(SCHEMAS["fs.write"])
    assert about_in({"description": "  a\n\n  b " + "c" * 5000}) == "a b " + "c" * 1_996
    nothing: tuple[Any, ...] = ({}, {"description": 3}, [], None)
    assert [about_in(schema) for schema in nothing] == [""] * 4


@pytest.mark.parametrize("tool", sorted(SCHEMAS))
def test_every_tool_says_what_its_arguments_do(tool: str) -> None:
    assert about_in(SCHEMAS[tool])


@pytest.mark.parametrize("tool", sorted(SCHEMAS))
def test_the_example_of_a_tool_is_a_task_of_a_plan(tool: str) -> None:
    (task,) = yaml.safe_load(example_of(tool, SCHEMAS[tool]))
    assert task["tool"] == tool
    args = task.get("args", {})
    assert set(args) >= {one.name for one in arguments_in(SCHEMAS[tool]) if one.needed}
    jsonschema_rs.validate(SCHEMAS[tool], args)
    msgspec.convert(args, KINDS[tool])
    assert check_plan({"starloom": 1, "name": "Example", "tasks": [task]}).plan is not None


def test_an_example_has_what_a_call_takes_in_one_of_several_ways() -> None:
    (task,) = yaml.safe_load(example_of("fs.move", SCHEMAS["fs.move"]))
    assert task["args"] == {"path": "a.pdf", "to": "Papers/"}
    odd = {"properties": {"a": {"examples": 3}, "b": {"examples": []}, "c": 3}, "required": ["a"]}
    assert example_of("x", odd) == '- {id: example, tool: x, args: {"a":"A"}}'


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "properties",
                    "required",
                    "description",
                    "type",
                    "anyOf",
                    "enum",
                    "items",
                    "default",
                    "$ref",
                    "minimum",
                    "a",
                ]
            ),
            inner | st.sampled_from(["array", "object", "integer", "#/properties/a", "#"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(ANYTHING)
def test_any_schema_of_a_device_is_told_in_some_words(schema: Any) -> None:
    assert all(one.words() for one in arguments_in(schema))
    assert "\n" not in about_in(schema)
    assert example_of("x.y", schema).startswith("- {id: example, tool: x.y")
