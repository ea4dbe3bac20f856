"""A value is taken out of texts, JSON and streams in every form that it is usually written in."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_protocol.text.scrubbing import FORMS_BYTES_MOST, MASK, Scrubber, Stream, forms_of

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
        value.upper(),
        value.lower(),
        value.swapcase(),
        *(base64.b32encode(b"12345"[:before] + raw + b"!").decode() for before in range(5)),
        base64.b32encode(raw).decode().lower(),
        value.encode("utf-16-le").hex(),
        *(base64.b64encode(b"u:"[:before] + value.encode("utf-16-le")).decode() for before in range(3)),
        base64.b64encode(value.encode("utf-16-be")).decode(),
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


SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=4, max_size=24).filter(str.strip)
WORDS = st.text(st.characters(codec="utf-8"), max_size=24)


@given(SECRETS, WORDS, WORDS)
def test_base32_and_utf16_are_hidden_wherever_they_stand(value: str, before: str, after: str) -> None:
    scrubber = Scrubber([value])
    for codec in ("utf-8", "utf-16-le", "utf-16-be"):
        raw, around = value.encode(codec), (before.encode(codec), after.encode(codec))
        whole = around[0] + raw + around[1]
        assert scrubber.finds(whole)
        core = base64.b32encode(raw).decode().rstrip("=")[:-1]
        if len(core) >= 8:
            for written in (base64.b32encode(whole).decode(), base64.b32encode(whole).decode().lower()):
                assert MASK in scrubber.text(written)
                assert scrubber.finds(written.encode())
            assert core not in scrubber.text(base64.b32encode(raw).decode())
        hexed = scrubber.text(whole.hex())
        assert len(raw) < 4 or raw.hex() not in hexed


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=4, max_size=24), WORDS, WORDS)
def test_a_value_read_from_utf16_is_hidden(value: str, before: str, after: str) -> None:
    for codec in ("utf-16-le", "utf-16-be"):
        for reading in ("utf-8", "latin-1"):
            told = (before + value + after).encode(codec).decode(reading, "replace")
            assert "\0".join(value) not in Scrubber([value]).text(told)


@given(SECRETS, WORDS, WORDS)
def test_other_cases_are_hidden(value: str, before: str, after: str) -> None:
    scrubber = Scrubber([value])
    for case in (value.lower(), value.upper(), value.title(), value.capitalize(), value.swapcase()):
        assert MASK in scrubber.text(before + case + after)


def test_the_forms_of_a_value_stay_within_a_bound() -> None:
    for size in (8, 100, FORMS_BYTES_MOST, FORMS_BYTES_MOST + 1, 64 * 1024):
        forms = Scrubber(["aB3/" * (size // 4)]).forms
        assert len(forms) <= 80
        assert sum(map(len, forms)) <= 200 * min(size, FORMS_BYTES_MOST) + 20 * size


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
