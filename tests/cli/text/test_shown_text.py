"""The part of a result beside a question, as lines of a terminal: bounded, escaped, quoted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from starloom.cli.text.shown_text import LINE_CHARS_MOST, LINES_MOST, shown_lines

TAKEN = f"{datetime.fromtimestamp(1795597200, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("-a\n+b", ["| -a", "| +b"]),
        ("", ["|"]),
        ([{"device": "srv-a", "up": True}, {"device": "b"}], ["| device  up", "| srv-a  yes", "| b  -"]),
        (["x", 2], ["| x", "| 2"]),
        ([], ["| an empty list"]),
        ({"total": 3, "of": [1]}, ["| total: 3", "| of: [1]"]),
        (None, ["| nothing"]),
        ([{"path": "a.jpg", "mtime_s": 1795597200}], ["| path  mtime_s", f"| a.jpg  {TAKEN}"]),
        ({"mtime_s": 1795597200.5, "took_s": 90}, [f"| mtime_s: {TAKEN}", "| took_s: 90"]),
        ({"mtime_s": 1e300}, ["| mtime_s: 1e+300"]),
    ],
)
def test_each_kind_of_value_has_its_lines(value: Any, lines: list[str]) -> None:
    head, *rest = shown_lines("fix", "/diff", value, 0)
    assert head == "    it shows the result of fix at /diff:"
    assert [line.strip() for line in rest] == lines


def test_lines_and_their_number_are_bounded_and_it_says_so() -> None:
    text = "\n".join(["y" * 5_000] * (LINES_MOST + 3))
    found = list(shown_lines("fix", "", text, 17))
    assert all(len(line) < LINE_CHARS_MOST + 20 for line in found)
    assert found[-2:] == [
        "    (3 more lines are on the page)",
        "    (17 characters are not shown; the whole is the result of fix)",
    ]


@pytest.mark.parametrize("text", ["\x1b[2K\x1b[1A", "\u202eevil", "a\r| yes", "\x07", "\u2028next"])
def test_nothing_of_a_result_moves_the_terminal(text: str) -> None:
    for value in (text, [text], {text: text}, [{text: text}]):
        for line in shown_lines(text, "/" + text, value, 0):
            assert line.isprintable(), repr(line)
            assert line.startswith(("    it shows", "    | "))
