"""The answer as the command line prints it."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any, cast

import pytest
from rich.console import Console

from starloom.cli.text.constellation_text import answer_lines

if TYPE_CHECKING:
    from starloom.client.answers import ResultJson
    from starloom_protocol.api.constellations import AnswerPart, AnswerSource


def an_answer(**fields: Any) -> ResultJson:
    """Return an answer as `/result` gives it."""
    document: Any = {"id": "c-1", "constellation_state": "succeeded", "fault": None, "state": "final", **fields}
    return cast("ResultJson", document)


def an_item(title: str, value: Any) -> AnswerPart:
    source: AnswerSource = {"task": "a", "attempt": 1, "device": None, "device_name": None}
    return {
        "title": title,
        "show": "value",
        "value": value,
        "artifact": None,
        "bytes": 0,
        "media": None,
        "pointer": "",
        "lacks": "",
        "checked": False,
        "from": source,
    }


def test_words_of_a_model_come_first_with_their_sources() -> None:
    document = an_answer(
        sentence="Errors is done: 1 task on srv-b.",
        words="The service db has most errors [1].",
        cites=[{"task": "count", "pointer": "/rows/0"}],
        struck=["It has 1500 of them."],
        items=[],
    )
    console = Console(width=100, record=True, file=StringIO())
    console.print(answer_lines(document, {}))
    assert console.export_text().splitlines() == [
        "The service db has most errors [1].",
        "From [1] count /rows/0.",
        "Left out, because no cited result shows it: It has 1500 of them.",
        "Errors is done: 1 task on srv-b.",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"count": 0, "rows": []}, ["  nothing"]),
        ({"again": [], "bytes": 2048, "note": {"a": 1}}, ["  again: none", "  bytes: 2.0 kB", "  note: a: 1"]),
        ({"count": 1, "rows": [{"n": 1}]}, ["  count: 1", "  rows:", "  n", "  1"]),
    ],
)
def test_a_result_of_several_values_is_no_raw_json(value: Any, said: list[str]) -> None:
    console = Console(width=100, record=True, file=StringIO())
    console.print(answer_lines(an_answer(sentence="Done.", items=[an_item("Proof", value)]), {}))
    assert [line.rstrip() for line in console.export_text().splitlines()][2:] == said


STEERS = "a\u202egpj.exe\x1b[31m\x9b2J\x07\u2066"


@pytest.mark.parametrize(
    "value",
    [
        STEERS,
        f"first line\n{STEERS}",
        {"cause": STEERS, STEERS: 1},
        {"nested": {"deep": STEERS}},
        [{"name": STEERS, STEERS: "b"}],
        {"columns": [{"field": "a", "title": STEERS}], "rows": [{"a": STEERS}]},
        {"artifact": "0" * 64, "bytes": 1, "name": STEERS},
    ],
)
def test_no_result_steers_the_terminal(value: Any) -> None:
    items = [an_item(STEERS, value)]
    document = an_answer(sentence=f"Done: {STEERS}", words=STEERS, cites=[], struck=[STEERS], items=items)
    written = StringIO()
    Console(width=200, file=written, force_terminal=False).print(answer_lines(document, {}))
    assert "gpj.exe" in written.getvalue()
    assert not [sign for sign in written.getvalue() if sign not in "\n\t" and not sign.isprintable()]


def test_rows_beside_single_values_are_a_table_below_lines() -> None:
    value = {"count": 1, "files": [{"name": "a.jpg", "bytes": 3}], "lost": []}
    console = Console(width=100, record=True, file=StringIO())
    console.print(answer_lines(an_answer(sentence="Done.", items=[an_item("All", value)], words="", cites=[]), {}))
    said = console.export_text()
    assert "  count: 1" in said
    assert "3 bytes    a.jpg" in said
    assert "{" not in said


def test_empty_parts_are_one_line() -> None:
    items = [
        an_item("Errors", []),
        an_item("Found", "three"),
        an_item("Links", {"count": 0, "rows": []}),
        an_item("Copies", {"columns": [{"field": "a", "title": "A"}], "rows": []}),
    ]
    console = Console(width=100, record=True, file=StringIO())
    console.print(answer_lines(an_answer(sentence="Done.", items=items, words="", cites=[]), {}))
    assert [line.rstrip() for line in console.export_text().splitlines()] == [
        "Done.",
        "Found  (a)",
        "  three",
        "Nothing in: Errors, Links, Copies",
    ]


def test_a_part_without_a_value_says_so_in_words() -> None:
    lacking: AnswerPart = {**an_item("Rows", None), "lacks": "first (failed)"}
    console = Console(width=100, record=True, file=StringIO())
    console.print(answer_lines(an_answer(sentence="Done.", items=[an_item("Sum", None), lacking]), {}))
    assert console.export_text().splitlines() == [
        "Done.",
        "Sum  (a)",
        "  no value",
        "Rows  (a)",
        "  no value: it waited for first (failed)",
    ]
