"""The part of a result that stands beside a question, as lines of a terminal.

A result is text of a stranger: every line is escaped, cut and marked as quoted, and their number is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.client.terminal.escaping import escaped
from starloom_protocol.text.wording import value_words
from starloom_protocol.values import canonical

LINES_MOST: Final = 60
LINE_CHARS_MOST: Final = 240


def shown_lines(source: str, output: str, value: Any, left_out: int) -> Iterator[str]:
    """Yield the head of what a question shows and its lines, each behind a bar."""
    where = f" at {escaped(output)}" if output else ""
    yield f"    it shows the result of {escaped(source)}{where}:"
    lines = list(_lines(value))
    for line in lines[:LINES_MOST]:
        cut = line if len(line) <= LINE_CHARS_MOST else f"{line[:LINE_CHARS_MOST]} ..."
        yield f"    | {escaped(cut)}"
    if len(lines) > LINES_MOST:
        yield f"    ({len(lines) - LINES_MOST} more lines are on the page)"
    if left_out:
        yield f"    ({left_out} characters are not shown; the whole is the result of {escaped(source)})"


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.splitlines() or [""]
    elif isinstance(value, list) and value and all(isinstance(row, dict) and row for row in value):
        fields = list(dict.fromkeys(name for row in value for name in row))
        yield "  ".join(fields)
        for row in value:
            yield "  ".join(_cell(row[name]) if name in row else "-" for name in fields)
    elif isinstance(value, list):
        yield from ([_cell(item) for item in value] or ["an empty list"])
    elif isinstance(value, dict):
        yield from (f"{name}: {_cell(item)}" for name, item in value.items())
    else:
        yield value_words(value)


def _cell(value: Any) -> str:
    return canonical(value) if isinstance(value, dict | list) else value_words(value)
