"""A table of an answer in a terminal: rows as they are, or with the columns and units that `data.table` gives."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from starloom.client.terminal.escaping import escaped_text
from starloom.client.terminal.fitting import Fitted
from starloom.client.terminal.style import clock
from starloom_protocol.text.wording import escaped, number_words, size_words

ROWS_MOST = 30
_COLUMNS_MOST = 10
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_PERCENT_MOST = 10**9
_FIRST_MOMENT_S = 10**9
"""A number of seconds from here on is a time since 1970 (2001 and later), a smaller one is a duration."""
_FIRST_DATE_S, _LAST_DATE_S = -62_000_000_000, 253_402_000_000
"""Beyond the years 5 and 9999 Python has no date in some zone of the world."""


Column = tuple[str, str, str]
"""The field of a row, the title above it, and how its values are shown."""


def is_table(value: object) -> bool:
    """Return whether a value is a table: rows, or columns and rows as `data.table` or `sqlite.query` give them.

    A device may give anything: a value that only looks like a table is none.
    """
    return _columns_and_rows(value) is not None


def without_rows(value: object) -> bool:
    """Return whether a value is a list of rows that has none, and says nothing beside that."""
    return isinstance(value, dict) and value.get("rows") == [] and not any(value.values())


def value_table(value: Any) -> RenderableType:
    """Return a table value as a table, with a line on what it leaves out; `is_table` holds for it."""
    every, rows = _columns_and_rows(value) or ([], [])
    columns = every[:_COLUMNS_MOST]
    marked = any("differs" in row for row in rows)
    table = Table(box=None, padding=(0, 2, 0, 2), show_edge=False)
    for _, title, show in columns:
        table.add_column(escaped(title), justify="right" if show in ("bytes", "percent", "duration") else "left")
    if marked:
        table.add_column("")
    for row in rows[:ROWS_MOST]:
        mark = ["differs" if row.get("differs") else ""] if marked else []
        table.add_row(*(escaped_text(cell(row.get(field), show)) for field, _, show in columns), *mark)
    beyond = [f"{len(rows) - ROWS_MOST} more rows"] if len(rows) > ROWS_MOST else []
    beyond += [f"{len(every) - _COLUMNS_MOST} more columns"] if len(every) > _COLUMNS_MOST else []
    if not beyond:
        return Fitted(table)
    return Group(Fitted(table), Text(f"  and {' and '.join(beyond)}; --json has all", style="bright_black"))


def _columns_and_rows(value: object) -> tuple[list[Column], list[dict[str, Any]]] | None:
    if isinstance(value, list):
        if not value or not all(isinstance(row, dict) for row in value):
            return None
        # An artifact is named by its hash, which is said once.
        left_out = {"differs", *(["sha256"] if all(row.get("artifact") == row.get("sha256") for row in value) else [])}
        names = [name for name in dict.fromkeys(name for row in value for name in row) if name not in left_out]
        return [(name, name, shown_as(name)) for name in names], value
    if not isinstance(value, dict):
        return None
    headings, rows = value.get("columns"), value.get("rows")
    if not isinstance(headings, list) or not isinstance(rows, list):
        return None
    columns = [_column(item) for item in headings]
    readable = [column for column in columns if column is not None]
    if len(readable) < len(columns):
        return None
    fields = [field for field, _, _ in readable]
    # The rows of a query are lists in the order of its columns.
    dicts = [dict(zip(fields, row, strict=False)) if isinstance(row, list) else row for row in rows]
    return (readable, dicts) if all(isinstance(row, dict) for row in dicts) else None


def _column(item: object) -> Column | None:
    if isinstance(item, str):
        return item, item, shown_as(item)
    if not isinstance(item, dict) or "field" not in item:
        return None
    field = str(item["field"])
    return field, str(item.get("title", field)), str(item.get("show") or shown_as(field))


def shown_as(name: str) -> str:
    """Return how the values of a field without a form of its own are shown, by the names that tools give: bytes are
    counted in units, and seconds or milliseconds since 1970 are a date.
    """
    if name == "bytes" or name.endswith("_bytes"):
        return "bytes"
    return "moment_ms" if name.endswith("_ms") else "moment" if name.endswith("_s") else ""


def cell(value: object, show: str) -> str:
    """Return a value for people; a list or map by its content, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        match show:
            case "bytes":
                return size_words(int(value))
            case "percent" if abs(value) <= _PERCENT_MOST:
                return f"{value:g} %"
            case "duration":
                return _duration(int(value))
            case "date" if _FIRST_DATE_S <= value <= _LAST_DATE_S:
                return clock(int(value) * 1000)
            case "moment" if _FIRST_MOMENT_S <= value <= _LAST_DATE_S:
                return clock(int(value) * 1000)
            case "moment_ms" if _FIRST_MOMENT_S * 1000 <= value <= _LAST_DATE_S * 1000:
                return clock(int(value))
        return number_words(value).replace(",", "") if isinstance(value, float) else str(value)
    if isinstance(value, list):
        return ", ".join(cell(item, show) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell(item, shown_as(str(name)))}" for name, item in value.items())
    return str(value).rstrip()


def _duration(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE:02d} min"
    return f"{seconds // _DAY} days"
