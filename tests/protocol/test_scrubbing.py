"""A value is taken out of texts, JSON and streams in every form that it is usually written in."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_protocol.scrubbing import MASK, Scrubber, Stream, forms_of

VALUE = 'p@ss "w/ö+rd\\1'
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nAAAAB3NzaC1yc2E\n-----END KEY-----\n"


def written(value: str) -> list[str]:
    raw = value.encode()
    return [
        value,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        urllib.parse.quote(value),
        urllib.parse.quote(value, safe=""),
        urllib.parse.quote_plus(value),
        raw.hex(),
        raw.hex().upper(),
        repr(value),
        *(base64.b64encode(b"u:"[:before] + raw).decode() for before in range(3)),
        base64.urlsafe_b64encode(raw).decode(),
        base64.b64encode(b"user:" + raw + b"\n and more").decode(),
    ]


@pytest.mark.parametrize("form", written(VALUE))
def test_every_way_of_writing_it_is_hidden(form: str) -> None:
    clean = Scrubber([VALUE]).text(f"before {form} after")
    assert MASK in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    for left in forms_of(VALUE):
        assert left not in clean


def test_the_longer_of_two_goes_first_and_lines_of_a_long_one_too() -> None:
    assert Scrubber(["abcd", "abcdef"]).text("abcdef abcd") == "*** ***"
    clean = Scrubber([PEM]).text("it says MIIEvQIBADANBgkqhkiG and\nAAAAB3NzaC1yc2E")
    assert clean == "it says *** and\n***"
    assert Scrubber(["secret\n"]).text("a secret here") == "a *** here"


def test_values_of_json_are_cleaned_whole() -> None:
    scrubber = Scrubber(["12345678", "topsecret"])
    value = {"topsecret": [12345678, 1.5, True, None, "a topsecret b"], "n": {"deep": "12345678"}}
    assert scrubber.value(value) == {MASK: [MASK, 1.5, True, None, "a *** b"], "n": {"deep": MASK}}
    assert Scrubber([]).value(value) is value


def test_nothing_to_hide_changes_nothing() -> None:
    nothing = Scrubber(["", "   "[:0]])
    assert not nothing
    assert nothing.text("text") == "text"
    assert not nothing.finds(b"text")
    assert Scrubber(["    "]).text("a b") == "a b"
    assert Stream(nothing).take("text") == "text"


def test_bytes_are_searched() -> None:
    scrubber = Scrubber([VALUE])
    assert scrubber.finds(b"\xff\x00" + VALUE.encode())
    assert scrubber.finds(base64.b64encode(b"xy" + VALUE.encode()))
    assert not scrubber.finds(b"\xff\x00 nothing")


@given(st.text(min_size=4, max_size=12), st.text(max_size=30), st.text(max_size=30), st.lists(st.integers(0, 80)))
def test_a_stream_that_is_cut_anywhere_says_no_part_of_it(value: str, before: str, after: str, cuts: list[int]) -> None:
    scrubber = Scrubber([value])
    whole = before + value + after
    stream, said, at = Stream(scrubber), "", 0
    for cut in sorted(min(cut, len(whole)) for cut in cuts):
        said += stream.take(whole[at:cut])
        at = cut
    said += stream.take(whole[at:], final=True)
    assert value not in said.replace(MASK, "") or value in MASK
    if value.strip() and MASK[0] not in whole:
        assert MASK in said
