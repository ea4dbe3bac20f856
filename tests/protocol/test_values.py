"""Canonical text against RFC 8785, pointers against RFC 6901, every operator, names for people."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_protocol.values import (
    MISSING,
    canonical,
    depth_of,
    equal,
    holds,
    name_fault,
    parse,
    point,
    pointer_fault,
)
from starloom_protocol.vocabulary import Op

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    # Above 2^53 ECMAScript writes digits that only a double reads back, as RFC 8785 wants.
    | st.floats(-(2**53), 2**53)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123e18, "123000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-9, "1.25e-9"),
        (0.05, "0.05"),
        (333333333.3333333, "333333333.3333333"),
        (9007199254740992.0, "9007199254740992"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        ([56.0, {"d": True, "10": None, "1": []}], '[56,{"1":[],"10":null,"d":true}]'),
        ({"\ufb33": 1.5, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1.5}'),
        ({"\u20ac": "\n\u001f", "a": "/"}, '{"a":"/","\u20ac":"\\n\\u001f"}'),
        ((1, 2.5), "[1,2.5]"),
        ("null", '"null"'),
    ],
)
def test_canonical_text(value: Any, text: str) -> None:
    assert canonical(value) == text


@given(JSON)
def test_canonical_text_says_the_same_and_stays(value: Any) -> None:
    text = canonical(value)
    assert equal(parse(text), value)
    assert canonical(parse(text)) == text
    assert equal(json.loads(text), value)


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"a": object()}])
def test_what_is_no_json_has_no_text(value: Any) -> None:
    if isinstance(value, (float, list)):
        value = {"x": value, "y": 1.5}
    with pytest.raises(ValueError):
        canonical(value)


def test_too_deep_a_value_has_no_text() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="JSON"):
        canonical(value)
    assert depth_of(value) == 33
    with pytest.raises(ValueError, match="JSON"):
        parse("[" * 100_000)
    with pytest.raises(ValueError, match="JSON"):
        parse("{")


def test_depth() -> None:
    assert depth_of(1) == 0
    assert depth_of([]) == 1
    assert depth_of({"a": [1, {"b": ()}]}) == 4


DOCUMENT = {"a/b": 1, "m~n": 2, "": 3, "list": [10, [11]], "0": "zero"}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", DOCUMENT),
        ("/a~1b", 1),
        ("/m~0n", 2),
        ("/", 3),
        ("/list/0", 10),
        ("/list/1/0", 11),
        ("/0", "zero"),
        ("/list/2", MISSING),
        ("/list/01", MISSING),
        ("/list/-", MISSING),
        ("/list/-1", MISSING),
        ("/nothing", MISSING),
        ("/a~1b/x", MISSING),
    ],
)
def test_pointers(pointer: str, found: Any) -> None:
    assert point(DOCUMENT, pointer) == found
    assert pointer_fault(pointer) is None


def test_faulty_pointers_and_missing() -> None:
    assert pointer_fault("a") is not None
    assert pointer_fault("/" + "a" * 256) is not None
    assert not MISSING
    assert repr(MISSING) == "MISSING"


def test_equal_is_that_of_json() -> None:
    assert equal(1, 1.0)
    assert not equal(True, 1)
    assert not equal(0, False)
    assert equal({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert not equal([True], [1])
    assert not equal([1], [1, 2])
    assert not equal({"a": 1}, {"b": 1})


@pytest.mark.parametrize(
    ("op", "found", "value", "expected"),
    [
        (Op.EQ, 1, 1.0, True),
        (Op.EQ, "1", 1, False),
        (Op.NE, 1, 2, True),
        (Op.NE, MISSING, 2, False),
        (Op.LT, 1, 2, True),
        (Op.LT, "a", "b", True),
        (Op.LT, "1", 2, False),
        (Op.LT, False, True, False),
        (Op.LE, 2, 2.0, True),
        (Op.GT, 3, 2, True),
        (Op.GT, None, 2, False),
        (Op.GE, 2, 3, False),
        (Op.IN, 1, [2, 1.0], True),
        (Op.IN, 1, 1, False),
        (Op.NOT_IN, 1, [2], True),
        (Op.NOT_IN, 1, "x", False),
        (Op.CONTAINS, "abc", "b", True),
        (Op.CONTAINS, "abc", 1, False),
        (Op.CONTAINS, [1, 2], 2, True),
        (Op.CONTAINS, {"a": 1}, "a", False),
        (Op.EMPTY, None, None, True),
        (Op.EMPTY, [], None, True),
        (Op.EMPTY, 0, None, False),
        (Op.EMPTY, "x", None, False),
        (Op.NOT_EMPTY, [0], None, True),
        (Op.NOT_EMPTY, {}, None, False),
        (Op.NOT_EMPTY, 7, None, False),
        (Op.NOT_EMPTY, MISSING, None, False),
        (Op.EXISTS, None, None, True),
        (Op.EXISTS, MISSING, None, False),
        (Op.EXISTS, MISSING, False, True),
        (Op.EXISTS, 1, False, False),
    ],
)
def test_operators(op: Op, found: Any, value: Any, expected: bool) -> None:
    assert holds(op, found, value) is expected


@given(st.sampled_from(Op), JSON, JSON)
def test_operators_are_total(op: Op, found: Any, value: Any) -> None:
    assert holds(op, found, value) in (True, False)


@pytest.mark.parametrize("name", ["", "  ", "x" * 129, "e\u0301", "a\nb", "a\u202eb", "\ud800", "a\x00"])
def test_refused_names(name: str) -> None:
    assert name_fault(name)


def test_a_good_name_has_no_fault() -> None:
    assert name_fault("Mara's \u00e9cole \u4e16\u754c") is None
