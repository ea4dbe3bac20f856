"""Documents: YAML without surprises, JSON, limits; any text gives a map or a fault with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom_protocol.plan import DocumentRefused, read_document
from starloom_protocol.plan.language.document import DOCUMENT_BYTES_MAX, line_of
from starloom_protocol.vocabulary import Code


def test_words_and_numbers_of_yaml() -> None:
    text = "{a: no, b: 2026-01-31, c: 010, d: 1:30, e: true, f: ~, g: 1.5, h: 1e3, i: -7, j: 0x1f, k: on, l: .5, m: <<}"
    assert read_document("x: " + text) == {
        "x": {
            "a": "no",
            "b": "2026-01-31",
            "c": "010",
            "d": "1:30",
            "e": True,
            "f": None,
            "g": 1.5,
            "h": 1000.0,
            "i": -7,
            "j": "0x1f",
            "k": "on",
            "l": 0.5,
            "m": "<<",
        }
    }


def test_json_and_flow_yaml_and_bytes() -> None:
    assert read_document('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    assert read_document("{a: [1, {b: c}]}") == {"a": [1, {"b": "c"}]}
    assert read_document("a: gr\u00fcn".encode()) == {"a": "gr\u00fcn"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "map"),
        ("- a", "map"),
        ("[1]", "map"),
        ("a: 1\na: 2", "twice"),
        ('{"a": 1, "a": 2}', "twice"),
        ("1: a", "key"),
        ("a: &x 1\nb: *x", "anchors"),
        ("a: !!python/object:os.system x", "tag"),
        ("a: !custom x", "tag"),
        ("a: [", "YAML"),
        ("{a: b", "YAML"),
        ("a: b: c", "YAML"),
        ("a: \x00", "YAML"),
        ("a: 1\n---\nb: 2", "YAML"),
        ("a: 1e999", "range"),
        ('{"a": NaN}', "NaN"),
        ('{"a": ' + "9" * 5000 + "}", "range"),
        ("a: " + "9" * 5000, "YAML"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "deeper"),
        ("a: " + "[" * 40 + "]" * 40, "deeper"),
        ("[" * 100_000, "deeper"),
        ('{"a": 1, "a": ' + "[" * 40 + "]" * 40 + "}", "deeper"),
        ('{"a": NaN, "b": ' + "[" * 40 + "]" * 40 + "}", "deeper"),
        ('{"a": ' + "9" * 5000 + ', "b": ' + "[" * 40 + "]" * 40 + "}", "deeper"),
        ('{"a": ' + "[" * 40 + "]" * 40 + ",}", "deeper"),
        ('{"a": "' + "[" * 40 + '", "a": 1}', "twice"),
        ('{"a": "\ud800"}', "UTF-8"),
        (r'{"a": ["b", "x\ud83d"]}', "half of a character"),
        (r'{"\uDE00": 1}', "half of a character"),
        (r'a: "\ud83d"', "YAML"),
    ],
)
def test_refused(text: str, word: str) -> None:
    with pytest.raises(DocumentRefused) as caught:
        read_document(text)
    assert word in caught.value.fault.reason
    assert caught.value.fault.hint


def test_both_halves_of_a_character_are_one() -> None:
    assert read_document(r'{"a": "\ud83d\ude00", "b": "\\ud83d"}') == {"a": "\U0001f600", "b": r"\ud83d"}


def test_size_and_bytes() -> None:
    with pytest.raises(DocumentRefused) as caught:
        read_document(b"a: " + b"x" * DOCUMENT_BYTES_MAX)
    assert caught.value.fault.code is Code.PLAN_TOO_BIG
    with pytest.raises(DocumentRefused, match="UTF-8"):
        read_document(b"\xff")


def test_a_text_that_nobody_closes_is_refused_in_time_that_grows_with_its_length() -> None:
    """From each of its quotes to the end would be hours for one document."""
    with pytest.raises(DocumentRefused):
        read_document('{"a": "' + '\\"' * 500_000)


def test_a_place_is_a_line() -> None:
    with pytest.raises(DocumentRefused) as caught:
        read_document("a: 1\nb: 2\na: 3")
    assert caught.value.fault.place == "line 3, column 1"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("{}[]:,-&*!|>'\"#%@`ab01 \n\t~?<"), max_size=40) | st.text(max_size=40))
def test_any_text_gives_a_map_or_a_fault(text: str) -> None:
    try:
        found = read_document(text)
    except DocumentRefused as refused:
        found = {"fault": refused.fault}
    assert isinstance(found, dict)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("tasks[1].args.path", 5),
        ("tasks[1].args.pattern", 4),
        ("tasks[1]", 3),
        ("tasks[0].id", 2),
        ("tasks[7].id", 1),
        ("name", 6),
        ("names", 0),
        ("line 2, column 4", 0),
        ("", 0),
    ],
)
def test_a_place_has_the_line_of_its_nearest_part(place: str, line: int) -> None:
    text = "tasks:\n  - {id: a}\n  - id: b\n    args:\n      path: x\nname: n\n"
    assert line_of(text, place) == line
    assert line_of("[", place) == 0
