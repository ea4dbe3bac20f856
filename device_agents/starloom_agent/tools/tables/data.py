"""`data.merge`, `data.filter`, `data.sort`, `data.table`: rows (JSON objects) put together, chosen, ordered, shown.

Pure: the same rows give the same answer, nothing outside is read. Nothing is evaluated; conditions use the
operators of plans.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import Row
from starloom_agent.toolkit.results import Stored
from starloom_protocol.text.wording import quoted, size_words, value_words
from starloom_protocol.values import MISSING, holds, point
from starloom_protocol.vocabulary import Code, Op, Repeatability

_SHOWN_CHARS = 200
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT_MOST_S = 253_402_300_799
"""The last second of the year 9999, the last that a date can name."""
_SUM_MOST = 10**4000
"""Python reads no number of many more digits."""
_UNSEEN_MOST = 6
_LED_MOST = 3
"""The most rows, or names of rows that say the same, in the one line above a table."""


class Merge(Args, frozen=True, kw_only=True):
    """Join up to six lists of rows: end to end, or with `key` into one row for each of its values.

    A list that is null (its source was left out) counts as empty. With `key`, fields of later lists are added; those
    in `add` are summed, of those in `most` the largest stays, those in `join` are put together as text. `fill` is what
    a row has where it lacks the field. With `show: bytes` values of `key` that are shown alike are one.
    """

    rows: Annotated[list[Row] | None, msgspec.Meta(examples=[[{"n": 1}]])] = None
    second: list[Row] | None = None
    third: list[Row] | None = None
    fourth: list[Row] | None = None
    fifth: list[Row] | None = None
    sixth: list[Row] | None = None
    key: str = ""
    add: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    join: tuple[str, ...] = ()
    separator: str = "; "
    show: Literal["", "bytes"] = ""
    fill: dict[str, Any] = msgspec.field(default_factory=dict)


class Rows(TypedDict):
    count: int
    rows: list[Row]


def merge(_context: ToolContext, args: Merge) -> Rows:
    lists = [part for part in (args.rows, args.second, args.third, args.fourth, args.fifth, args.sixth) if part]
    if not args.key:
        rows = [row for part in lists for row in part]
        return {"rows": rows, "count": len(rows)}
    merged: dict[str, Row] = {}
    for part in lists:
        for row in part:
            if args.key not in row:
                raise ToolFailed(
                    Code.BAD_ARGUMENTS, f"a row has no field {quoted(args.key)} to be merged by: {value_words(row)}"
                )
            alike = size_words(int(_number(row, args.key))) if args.show else str(row[args.key])
            into = merged.setdefault(alike, {})
            for name in row:
                into[name] = plus(into.get(name), row, name) if name in args.add else _combined(into, row, name, args)
    return {"rows": [{**args.fill, **row} for row in merged.values()], "count": len(merged)}


def plus(total: float | None, row: Row, name: str) -> float:
    """Return a sum with this field of one more row; a field that the row lacks adds nothing.

    Raises:
        ToolFailed: `bad_arguments` with the row, for a field that is no number or makes the sum too large for one.
    """
    with suppress(OverflowError):
        sum_now = (total or 0) + _number(row, name)
        if -_SUM_MOST < sum_now < _SUM_MOST:
            return sum_now
    raise ToolFailed(Code.BAD_ARGUMENTS, f"{name} is to be added up, but no number is so large{_of_row(row, name)}")


def _number(row: Row, name: str) -> float:
    value = row.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        reason = f"{name} is to be added up, but {quoted(_cell(value))} is not a number{_of_row(row, name)}"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason)
    return value


def _of_row(row: Row, name: str) -> str:
    others = {field: value for field, value in row.items() if field != name}
    return f": see the row {_cell(others)}"


def _combined(into: Row, row: Row, name: str, args: Merge) -> Any:
    old, new = into.get(name), row[name]
    if name in args.most:
        if new is None or new == "":
            return old
        return _number(row, name) if old is None else max(old, _number(row, name))
    if name in args.join:
        return args.separator.join(str(part) for part in (old, new) if part not in (None, ""))
    return new


class Filter(Args, frozen=True, kw_only=True):
    """Keep the rows for which `where` (a JSON pointer into the row, an operator and a value) holds, all of them."""

    class Where(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        output: str
        op: Op
        value: Any = None

    rows: list[Row]
    where: list[Where]
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Kept(Rows):
    """`count` fit, of which `limit` are shown; `dropped` do not."""

    dropped: int


def filter_rows(_context: ToolContext, args: Filter) -> Kept:
    rows = [row for row in args.rows if all(holds(part.op, point(row, part.output), part.value) for part in args.where)]
    shown_rows = rows[: args.limit]
    return {"rows": shown_rows, "count": len(rows), "dropped": len(args.rows) - len(rows)}


class Sort(Args, frozen=True, kw_only=True):
    """Order rows by fields; `-name` means largest first. Rows without a field come last. `limit` keeps the first."""

    rows: list[Row]
    by: list[str]
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


def _order(value: Any) -> tuple[int, Any]:
    """Return a key in which numbers come before texts; nothing else is compared by its contents."""
    if isinstance(value, bool):
        return (0, int(value))
    if isinstance(value, (int, float)):
        return (0, value)
    return (1, value.casefold()) if isinstance(value, str) else (2, "")


def sort_rows(_context: ToolContext, args: Sort) -> Rows:
    rows = ordered(args.rows, args.by)
    return {"rows": rows[: args.limit], "count": len(rows)}


def ordered(rows: list[Row], by: Sequence[str]) -> list[Row]:
    """Return the rows in another order; those that are equal in it stay as they were."""
    rows = list(rows)
    for field in reversed(by):
        name = field.removeprefix("-")
        with_field = [row for row in rows if row.get(name) is not None]
        without = [row for row in rows if row.get(name) is None]
        with_field.sort(key=lambda row: _order(row[name]), reverse=field.startswith("-"))
        rows = with_field + without
    return rows


class Table(Args, frozen=True, kw_only=True):
    """Show rows as a table: chosen `columns` with titles, in the order `by` (as in `data.sort`), and as a CSV file.
    `mark_differences` names a field: rows with another value than more than half have are marked. `lead`
    makes one line of the rows whose `fields` all say something: with `fine`, said if none does, of each, else of the
    first, with the number of the others unless it stands `alone`; `empty`: no row; `differs` is said of each marked
    row. The line begins with what the rows in `unseen` could not look at.
    """

    class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        field: str
        title: str = ""
        show: Literal["", "bytes", "percent", "duration", "date"] = ""

    class Lead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        fields: tuple[str, ...]
        fine: str = ""
        empty: str = ""
        fine_but: str = ""
        empty_but: str = ""
        differs: str = ""
        alone: bool = False

    rows: list[Row]
    unseen: list[Row] | None = None
    columns: tuple[Column, ...] = ()
    by: tuple[str, ...] = ()
    lead: Lead | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000
    mark_differences: str = ""
    name: str = "table.csv"


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        value = msgspec.json.encode(value).decode()
    if isinstance(value, str) and len(value) > _SHOWN_CHARS:
        return f"{value[: _SHOWN_CHARS - 1]}\N{HORIZONTAL ELLIPSIS}"
    return value


def _marked(rows: list[Row], field: str) -> tuple[list[bool], int]:
    """Return which rows differ from most, and the number of different values; without a usual one none differs."""
    texts = [repr(row.get(field)) for row in rows] if field else []
    counts = Counter(texts)
    usual = next((text for text, count in counts.items() if 2 * count > len(rows)), None)
    return [usual is not None and text != usual for text in texts] or [False] * len(rows), len(counts)


def lead_of(rows: list[Row], lead: Table.Lead, *, unseen: bool = False) -> str:
    """Return the one line about the rows: each that says something, or without `fine` the first and how many follow.

    Where something is `unseen`, it speaks of the rest.
    """
    fine, empty = (lead.fine_but or lead.fine, lead.empty_but or lead.empty) if unseen else (lead.fine, lead.empty)
    if not rows:
        return empty
    lines = [[str(row.get(field) or "") for field in lead.fields] for row in (rows if lead.fine else rows[:1])]
    alike: dict[tuple[str, ...], dict[str, None]] = {}
    for name, *rest in (words for words in lines if words and all(words)):
        alike.setdefault(tuple(rest), {})[name] = None
    parts = [": ".join([_few(list(names)), *rest]) for rest, names in alike.items()]
    left = len(parts) - _LED_MOST if lead.fine else 0 if lead.alone else len(rows) - 1
    more = f"; and {left} more" if left > 0 else ""
    return "; ".join(parts[:_LED_MOST]) + more if parts else fine


def _few(names: list[str]) -> str:
    """Return the names of rows that say the same, the first ones with the number of the others."""
    more = [f"{len(names) - _LED_MOST} more"] if len(names) > _LED_MOST else []
    *before, last = [*names[:_LED_MOST], *more]
    return f"{', '.join(before)} and {last}" if before else last


def unseen_of(rows: list[Row]) -> str:
    """Return one sentence on the things that could not be checked, each once; empty if there are none."""
    parts = list(dict.fromkeys(str(row["unseen"]) for row in rows if row.get("unseen")))
    left = sum(bool(row.get("path") and row.get("why")) for row in rows if "unseen" not in row)
    if left:
        parts.append(f"{left} {'entry was' if left == 1 else 'entries were'} left out")
    if not parts:
        return ""
    more = f"; and {len(parts) - _UNSEEN_MOST} more" if len(parts) > _UNSEEN_MOST else ""
    text = "; ".join(parts[:_UNSEEN_MOST])
    return f"{text[:1].upper()}{text[1:]}{more}."


class ShownColumn(TypedDict):
    field: str
    show: str
    title: str


class _Lead(TypedDict, total=False):
    lead: str


class ShownTable(Rows, _Lead):
    """`different` rows have `differs`: true; the field has so many `values`; `lead` is there where it was asked for."""

    columns: list[ShownColumn]
    csv: Stored
    different: int
    values: int


def table(context: ToolContext, args: Table) -> ShownTable:
    rows = ordered(args.rows, args.by)
    fields = [(column.field, column.title or column.field, column.show) for column in args.columns]
    if not fields:
        names = dict.fromkeys(name for row in rows for name in row)
        fields = [(name, name, "bytes" if name.endswith("bytes") else "") for name in names]
    others, values = _marked(rows, args.mark_differences)
    body: list[Row] = []
    for row, differs in zip(rows[: args.limit], others, strict=False):
        cells = {field: _cell(row.get(field)) for field, _, _ in fields}
        if args.mark_differences:
            cells["differs"] = differs
        body.append(cells)
    titles = [title for _, title, _ in fields]
    text = csv_text(
        [titles, *([_csv_cell(row.get(field, MISSING), show) for field, _, show in fields] for row in rows)]
    )
    path = context.workdir / "table.csv"
    with plain(path, "writing"):
        path.write_bytes(text.encode())
    lead: _Lead = {}
    if args.lead is not None:
        told_rows, lead_in = rows, args.lead
        if args.lead.differs:
            told_rows = [
                {**row, "differs": args.lead.differs if other else ""} for row, other in zip(rows, others, strict=True)
            ]
            lead_in = msgspec.structs.replace(args.lead, fields=(*args.lead.fields, "differs"))
            if values > 1 and lead_in.fine:  # said where none is marked: most have no value in common
                lead_in = msgspec.structs.replace(lead_in, fine=f"{values} different values.", fine_but="")
        lead["lead"] = " ".join(
            filter(None, (unseen_of(args.unseen or []), lead_of(told_rows, lead_in, unseen=bool(args.unseen))))
        )
    return {
        **lead,
        "columns": [{"field": field, "title": title, "show": show} for field, title, show in fields],
        "rows": body,
        "count": len(rows),
        "different": sum(others),
        "values": values,
        "csv": context.put(path, name=args.name, media="text/csv"),
    }


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV in which no text is a formula: a spreadsheet would run one that begins like that.

    Where a comma parts the digits of numbers, a spreadsheet parts cells by semicolons, and by them in quotes nowhere.
    """
    out = io.StringIO()
    plainly, whole = (csv.writer(out, lineterminator="\r\n", quoting=how) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    for row in rows:
        cells = [_no_formula(cell) if isinstance(cell, str) else cell for cell in row]
        parted = any(sign in cell for cell in cells if isinstance(cell, str) for sign in ";\t")
        (whole if parted else plainly).writerow(cells)
    return out.getvalue()


def _no_formula(text: str) -> str:
    return "'" + text if text.startswith(_FORMULA) else text


def _csv_cell(value: Any, show: str) -> Any:
    if value is MISSING or value is None:
        return ""
    if show == "date" and isinstance(value, (int, float)) and 0 <= value <= _MOMENT_MOST_S:
        # A spreadsheet reads this as a moment, and seconds since 1970 as a number.
        return (_EPOCH + timedelta(seconds=value)).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, (dict, list)):
        return msgspec.json.encode(value).decode()
    return value


def _pure(name: str, title: str, args: type[Args], run: Any, *, reusable: bool = True) -> Tool:
    return Tool(
        name=name,
        title=title,
        args=args,
        run=run,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=reusable,
    )


TOOLS = (
    _pure("data.merge", "Put lists of rows together", Merge, merge),
    _pure("data.filter", "Choose rows", Filter, filter_rows),
    _pure("data.sort", "Order rows", Sort, sort_rows),
    # It stores a file at the hub: the connection belongs to one call.
    _pure("data.table", "Show rows as a table and a CSV file", Table, table, reusable=False),
)
