"""The check of a model's words against the values that it cites."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.planner.model.conversations.evidence import Evidence, _names, _with_digits, checked

FIGURE = re.compile(r"[+-]?\d[\w.,:/=@%+-]*|\w[\w.,:/=@+-]*\d[\w.,:/=@%+-]*")
"""The rule of a token with a digit as one pattern, whose time grows with the square of a text."""

ROWS: Any = {
    "rows": [
        {"service": "db", "device": "srv-b", "errors": 1412, "first": "2026-11-25T10:02:11Z"},
        {"service": "web", "device": "srv-a", "errors": 7, "first": "2026-11-25T09:00:00Z"},
    ],
    "free_bytes": 4_412_000_000,
    "share": 0.8312,
    "message": "db timeout after 30 s (conn=7)",
    "path": "/var/log/shop/app.log",
}


@pytest.fixture
def evidence() -> Evidence:
    made = Evidence()
    made.add(ROWS)
    return made


@pytest.mark.parametrize(
    "text",
    [
        "The service db had most errors on srv-b [1].",
        "db had 1412 errors [1].",
        "db had 1,412 errors.",
        "There are 4.4 GB free.",
        "There are 4412 MB free.",
        "The share is 0.83.",
        "The share is 83 %.",
        "It began at 10:02:11 on 2026-11-25.",
        "The first one came 2026-11-25T10:02:11Z.",
        "It says `db timeout` with conn=7.",
        "The lines are in /var/log/shop/app.log.",
        "Two services had errors.",
        "Nothing else was found.",
        "It waited 30 s.",
    ],
)
def test_sentence_with_cited_figures_and_names_stays(text: str, evidence: Evidence) -> None:
    assert checked(text, evidence).words == text
    assert not checked(text, evidence).struck


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("db had 1413 errors.", "1413"),
        ("db had 141 errors.", "141"),
        ("There are 5 GB free.", "5 GB"),
        ("There are 4.5 GB free.", "4.5 GB"),
        ("The share is 84 %.", "84 %"),
        ("It began at 10:02:12.", "10:02:12"),
        ("The cause is `disk full`.", "disk full"),
        ("The lines are in /var/log/other.log.", "/var/log/other.log"),
        ("The machine is Pluto.", "Pluto"),
        ("Eleven services had errors.", "eleven"),
        ("It has conn=8.", "conn=8"),
        ("The version is v12.", "v12"),
    ],
)
def test_sentence_with_another_figure_or_name_is_struck_out(text: str, lacks: str, evidence: Evidence) -> None:
    found = checked(f"Nothing else was found. {text}", evidence)
    assert found.words == "Nothing else was found."
    assert found.struck == (text,)
    assert found.missing == (lacks,)


def test_marks_of_cites_are_no_figures(evidence: Evidence) -> None:
    assert checked("Nothing was found [12].", evidence).words == "Nothing was found [12]."


def test_empty_evidence_proves_no_figure() -> None:
    assert checked("There are 3 files.", Evidence()).struck == ("There are 3 files.",)


def test_lengths_of_lists_are_figures() -> None:
    made = Evidence()
    made.add([{"a": 1}] * 17)
    assert not checked("17 files were found.", made).struck
    assert checked("18 files were found.", made).struck


def test_huge_value_ends_in_bounded_work() -> None:
    made = Evidence()
    made.add(list(range(1_000_000)))
    assert len(made.numbers) <= 200_001


def test_a_sentence_may_count_what_it_cites_and_what_the_request_says() -> None:
    assert not checked("Three have it: the first [1], the next [2] and the last [3].", Evidence()).struck
    assert checked("Four have it: the first [1], the next [2] and the last [3].", Evidence()).struck
    made = Evidence()
    made.add_text("make it two degrees warmer")
    assert not checked("It is two degrees warmer.", made).struck


def test_lines_stay_lines_and_one_wrong_line_takes_no_other_with_it(evidence: Evidence) -> None:
    found = checked("These are there:\n- the first one\n- 99 others\n\n- the last one", evidence)
    assert found.words == "These are there:\n- the first one\n- the last one"
    assert found.struck == ("- 99 others",)


def test_a_place_is_filled_and_a_sentence_with_an_empty_one_is_struck() -> None:
    known = {1: "-3.4", 2: "23 November"}
    found = checked("It froze on {2} at {1} C [1]. It was {3} before.", Evidence(), known.get)
    assert found.words == "It froze on 23 November at -3.4 C [1]."
    assert found.struck == ("It was {3} before.",)
    assert found.missing == ("{3}",)
    assert not checked("It froze at {1}.", Evidence()).words


@given(st.text("ab1\u0663é.,:/=@%+- _\n", max_size=40))
def test_tokens_with_digits_are_those_of_the_pattern(text: str) -> None:
    assert list(_with_digits(text)) == [(found.start(), found.group()) for found in FIGURE.finditer(text)]


@pytest.mark.parametrize("word", ["a", "a.", ".", "a%1", "-", "a-", "~", "\\", "é"])
def test_a_long_text_of_a_device_is_read_in_one_pass(word: str) -> None:
    """Its time grew with the square: a text of 1 MiB, as one cite may hold, was half an hour of a worker."""
    text = word * (1024 * 1024 // len(word))
    evidence = Evidence()
    evidence.add({"text": text})
    assert evidence.has_name(word)
    assert len(_names(f"It says {text[:100_000]}")) <= 2
