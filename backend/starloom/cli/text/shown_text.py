"""The part of a result that stands beside a question, as lines of a terminal.

A result is text of a stranger: every line is escaped, cut and marked as quoted, and their number is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from starloom_protocol.text.wording import escaped, value_words
from starloom_protocol.values import canonical

LINES_MOST: Final = 60
_TIME_FROM_S: Final = 1e9
"""A number of seconds from here on is a time since 1970 (2001 and later), a smaller one is a duration."""
_TIME_MOST_S: Final = 253_402_000_000
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
            yield "  ".join(_cell(row[name], name) if name in row else "-" for name in fields)
    elif isinstance(value, list):
        yield from ([_cell(item) for item in value] or ["an empty list"])
    elif isinstance(value, dict):
        yield from (f"{name}: {_cell(item, name)}" for name, item in value.items())
    else:
        yield value_words(value)


def _cell(value: Any, field: str = "") -> str:
    if (at := time_of(field, value)) is not None:
        return at
    return canonical(value) if isinstance(value, dict | list) else value_words(value)


def time_of(field: str, value: Any) -> str | None:
    """Return the local time in a field of seconds since 1970, as `mtime_s`; None where it is another value."""
    if not field.endswith("_s") or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not _TIME_FROM_S <= value <= _TIME_MOST_S:
        return None
    return f"{datetime.fromtimestamp(value, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def with_times(value: Any) -> Any:
    """Return a value whose times, at any depth, are as people read them."""
    if isinstance(value, dict):
        return {name: time_of(name, item) or with_times(item) for name, item in value.items()}
    return [with_times(item) for item in value] if isinstance(value, list) else value
