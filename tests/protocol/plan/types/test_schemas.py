"""A pointer into any instance of a schema leads somewhere in the schema, and an instance always fits what it is of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from starloom_protocol.plan.types.schemas import (
    NOWHERE,
    OPEN,
    Shape,
    either,
    listed,
    map_of,
    misfit,
    of_value,
    shape_of,
)
from starloom_protocol.values import MISSING, canonical, point, pointer_step

NAMES = st.sampled_from(["a", "b", "c/d", "e~f", "0", "1"])
TEXTS = st.sampled_from(["", "x", "0"])
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 2.25]) | TEXTS
PLAIN = {
    "null": st.none(),
    "boolean": st.booleans(),
    "integer": st.integers(-9, 9),
    "string": st.sampled_from(["", "y"]),
}
Pair = tuple[dict[str, Any], Any]


def sch(schema: Any) -> Shape:
    return shape_of(canonical(schema))


@st.composite
def scalar(draw: st.DrawFn) -> Pair:
    kind = draw(st.sampled_from(sorted(PLAIN)))
    value = draw(PLAIN[kind])
    form = draw(st.sampled_from(["type", "types", "enum", "const", "any"]))
    schemas: dict[str, dict[str, Any]] = {
        "type": {"type": kind},
        "types": {"type": [kind, "number"]},
        "enum": {"enum": [value, "other"]},
        "const": {"const": value},
        "any": {},
    }
    return schemas[form], value


@st.composite
def listing(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    parts = draw(st.lists(inner, max_size=3))
    values = [value for _, value in parts]
    if not parts or draw(st.booleans()):
        return {"type": "array", "items": {"anyOf": [schema for schema, _ in parts] or [{}]}}, values
    rest = draw(st.sampled_from([False, {"type": "string"}]))
    return {"type": "array", "prefixItems": [schema for schema, _ in parts], "items": rest}, values


@st.composite
def mapping(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    parts = draw(st.dictionaries(NAMES, inner, max_size=3))
    listed_names = draw(st.sets(st.sampled_from(sorted(parts)))) if parts else set()
    value = {name: item for name, (_, item) in parts.items()}
    properties = {name: schema for name, (schema, _) in parts.items() if name in listed_names}
    others = [schema for name, (schema, _) in parts.items() if name not in listed_names]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": sorted(listed_names)}
    if not others:
        schema["additionalProperties"] = False
    elif draw(st.booleans()):
        schema["additionalProperties"] = {"anyOf": others}
    elif draw(st.booleans()):
        schema |= {"patternProperties": {"^.": {}}, "additionalProperties": False}
    return schema, value


@st.composite
def wrapped(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    schema, value = draw(inner)
    form = draw(st.sampled_from(["anyOf", "oneOf", "allOf", "allOf two", "title"]))
    if form == "title":
        return {**schema, "title": "T"}, value
    others: dict[str, list[dict[str, Any]]] = {"anyOf": [{"const": "never"}], "oneOf": [{"const": "never"}]}
    more = others.get(form, [{}] if form == "allOf two" else [])
    return {form.removesuffix(" two"): [schema, *more]}, value


PAIRS = st.recursive(scalar(), lambda inner: listing(inner) | mapping(inner) | wrapped(inner), max_leaves=8)


def pointers(value: Any, way: str = "") -> list[str]:
    """Return every pointer that finds something."""
    found = [way]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        found += pointers(item, f"{way}/{pointer_step(str(name))}")
    return found


def rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema behind references, as tools write it."""
    return {"$defs": {"X": schema, "Y": {"$ref": "#/$defs/X"}}, "$ref": "#/$defs/Y"}


@given(PAIRS)
@settings(deadline=None, max_examples=100)
def test_every_pointer_into_an_instance_leads_somewhere(pair: Pair) -> None:
    schema, value = pair
    Draft202012Validator(schema).validate(value)
    for shape in (sch(schema), sch(rooted(schema))):
        for pointer in pointers(value):
            assert shape.at(pointer).forms, pointer
            assert shape.missing(pointer) is None
            assert of_value(point(value, pointer)).may_be(shape.at(pointer)), pointer
        assert of_value(value).may_be(shape)
        assert shape.may_be(of_value(value))


@given(PAIRS, st.lists(NAMES | st.sampled_from(["-", "2", "x"]), max_size=4))
@settings(deadline=None, max_examples=100)
def test_a_pointer_that_leads_nowhere_finds_nothing(pair: Pair, steps: list[str]) -> None:
    schema, value = pair
    pointer = "".join(f"/{pointer_step(step)}" for step in steps)
    missing = sch(schema).missing(pointer)
    assert (missing is None) is bool(sch(schema).at(pointer).forms)
    if missing is not None:
        way, step, there = missing
        assert point(value, pointer) is MISSING
        assert pointer.startswith(f"{way}/{pointer_step(step)}")
        assert there.forms


@given(SCALARS | st.lists(SCALARS) | st.dictionaries(NAMES, SCALARS), PAIRS)
@settings(deadline=None, max_examples=100)
def test_what_a_schema_takes_is_never_called_wrong(value: Any, pair: Pair) -> None:
    schema, _ = pair
    if Draft202012Validator(schema).is_valid(value):
        assert of_value(value).may_be(sch(schema))
        assert of_value([value]).may_be(listed(sch(schema)))


@pytest.mark.parametrize(
    ("given_schema", "due_schema", "fits"),
    [
        ({"type": "array"}, {"type": "string"}, False),
        ({"type": "number"}, {"type": "integer"}, True),
        ({"type": "integer"}, {"type": "number"}, True),
        ({"type": "boolean"}, {"type": "integer"}, False),
        ({"type": ["string", "null"]}, {"type": "string"}, True),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, True),
        ({"const": "a"}, {"enum": ["b", "c"]}, False),
        ({"type": "string"}, {"enum": ["b", "c"]}, True),
        ({"const": 2.0}, {"type": "integer"}, True),
        ({"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "string"}}, False),
        ({"type": "array", "items": False}, {"type": "array", "items": {"type": "string"}}, True),
        ({"const": ["a", 1]}, {"type": "array", "items": {"type": "string"}}, False),
        ({"const": {"a": 1}}, {"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({"const": {"a": 1}}, {"type": "object", "required": ["a", "b"]}, False),
        ({"const": {"a": 1}}, {"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}}, {"type": "object", "additionalProperties": False}, True),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "required": ["a"]}, False),
        ({"type": "object"}, {"type": "object", "required": ["a"]}, True),
        ({"const": True}, {"const": 1}, False),
        ({}, {"type": "string"}, True),
        (False, {}, False),
    ],
)
def test_what_stands_where_something_else_is_due(given_schema: Any, due_schema: Any, fits: bool) -> None:
    assert sch(given_schema).may_be(sch(due_schema)) is fits


@pytest.mark.parametrize(
    "schema",
    [
        True,
        7,
        {"$ref": "#/nowhere"},
        {"$ref": "http://x/y"},
        {"$ref": 5},
        {"$ref": "#"},
        {"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"},
        {"allOf": [{"type": "string"}, {"type": "string"}]},
        {"allOf": 7},
        {"anyOf": {}},
        {"type": "file"},
        {"type": {}},
        {"enum": 7},
        {"anyOf": [{"const": number} for number in range(100)]},
        {"properties": [], "required": 7, "prefixItems": {}, "maxItems": "x"},
        {"type": "array", "items": [{"type": "string"}], "maxItems": 9},
    ],
)
def test_a_schema_that_is_not_understood_allows_everything(schema: Any) -> None:
    assert sch(schema).at("/0").forms
    assert sch(schema).at("/0").may_be(sch({"type": "string"}))


def test_text_that_is_no_schema_allows_everything() -> None:
    assert (shape_of("{"), shape_of("").at("/x/y").words()) == (OPEN, "any value")
    assert either([OPEN, sch({"type": "string"})]) is OPEN
    assert either([sch({"enum": list(range(60))}), sch({"enum": list(range(60, 99))})]) is OPEN


def test_a_schema_that_leads_into_itself_is_followed_without_end() -> None:
    properties = {"up": {"$ref": "#"}, "n": {"type": "integer"}}
    tree = {"type": "object", "properties": properties, "additionalProperties": False}
    assert sch(tree).at("/up" * 50 + "/n").words() == "a whole number"
    missing = sch(tree).missing("/up/down")
    assert missing is not None
    assert (missing[:2], missing[2].names()) == (("/up", "down"), ["n", "up"])
    assert sch(tree).may_be(sch({**tree, "title": "other"}))


def test_a_hostile_schema_costs_little() -> None:
    deep: Any = {"type": "string"}
    for _ in range(200):
        deep = {"anyOf": [{"allOf": [deep]}]}
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    many = {"$defs": {**defs, "d40": {"type": "string"}}, "$ref": "#/$defs/d0"}
    loop = {"type": "object", "properties": {f"p{n}": {"$ref": "#"} for n in range(20)}}
    loop["required"] = list(loop["properties"])
    assert sch(deep).at("/x").forms
    assert sch(many).at("/x").forms
    assert sch(loop).may_be(sch({**loop, "title": "other"}))


def test_a_value_says_where_it_is_wrong() -> None:
    due = sch({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}, "a/b": {}}})
    steps, one, other = misfit(of_value({"a/b": 1, "rows": ["x", 7]}), due)
    assert (steps, one.words(), other.words()) == (("rows", 1), "a whole number", "a text")
    assert misfit(of_value(7), due)[0] == ()
    assert misfit(either([of_value(7), of_value("x")]), due)[0] == ()


def test_holes_of_a_value_are_what_stands_there_later() -> None:
    def hole(kind: str, _value: Any) -> Shape | None:
        return sch({"type": "string"}) if kind == "each" else None

    made = of_value({"a": [{"each": "/x"}], "b": {"each": 1, "c": 2}}, hole)
    assert made.at("/a/0").words() == "a text"
    assert made.at("/b/each").words() == "a whole number"


def test_shapes_are_told_in_words() -> None:
    assert sch({"type": "array", "items": {"type": "object"}}).words() == "a list of maps"
    assert sch({"type": "array", "items": {"type": "boolean"}}).words() == "a list"
    assert sch({"type": ["string", "null"]}).words() == "a text or nothing"
    assert of_value([1, 2]).words() == "a list of whole numbers"
    assert sch({"const": [1, 2]}).words() == "a list"
    assert NOWHERE.words() == "no value"
    assert map_of({"b": OPEN, "a": OPEN}).names() == ["a", "b"]
    assert sch({"const": {"z": 1}}).names() == ["z"]
    assert sch({"const": [1, "x"]}).entries().words() == "a whole number or a text"
    assert sch({"type": "string"}).entries().forms == ()


def test_what_would_make_it_fit_is_said() -> None:
    assert sch({"enum": ["a", "b"]}).choices() == ["a", "b"]
    assert sch({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}).choices() == []
    assert NOWHERE.choices() == []
    due = sch({"type": "object", "required": ["a"]})
    assert of_value({}).lacking(due) == "It lacks a."
    assert of_value(7).lacking(due) == ""
    assert of_value({}).lacking(either([due, due])) == ""
