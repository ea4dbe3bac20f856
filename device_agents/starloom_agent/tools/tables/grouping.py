"""`data.group`: rows that share a value put together as one row: how many, what they add up to, what they hold.

Pure, as the other `data` tools.
"""

from __future__ import annotations

from typing import Annotated, TypedDict, cast

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import Row
from starloom_agent.toolkit.results import OPEN_ENDED
from starloom_agent.tools.tables.data import plus
from starloom_protocol.text.wording import quoted, value_words
from starloom_protocol.vocabulary import Code, Repeatability

_SHOWN_MOST = 20


class Group(Args, frozen=True, kw_only=True):
    """One row for each value of the fields `by`, in the order of their first rows.

    It is the first row of its group with `count`; `total_NAME` for each field in `add` and `extra_NAME`, the same
    without the first row; `each_NAME` for each field in `collect`: its different values as one text. `at_least` leaves
    out smaller groups. `rest` are all rows but the first of each group.
    """

    rows: list[Row]
    by: Annotated[list[str], msgspec.Meta(min_length=1)]
    add: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    at_least: Annotated[int, msgspec.Meta(ge=1)] = 1
    separator: str = ", "


class Groups(TypedDict):
    """With `extra_NAME` for each field in `add`."""

    count: int
    rest: list[Row]
    rows: list[Row]


def group(_context: ToolContext, args: Group) -> Annotated[Groups, OPEN_ENDED]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in args.rows:
        missing = [name for name in args.by if name not in row]
        if missing:
            raise ToolFailed(
                Code.BAD_ARGUMENTS, f"a row has no field {quoted(missing[0])} to be grouped by: {value_words(row)}"
            )
        groups.setdefault(tuple(repr(row[name]) for name in args.by), []).append(row)
    large = [members for members in groups.values() if len(members) >= args.at_least]
    rows = [_row(members, args) for members in large]
    totals = {f"extra_{name}": _sum(rows, f"extra_{name}") for name in args.add}
    answer: Groups = {"rows": rows, "count": len(rows), "rest": [row for members in large for row in members[1:]]}
    return cast(Groups, {**answer, **totals})


def _row(members: list[Row], args: Group) -> Row:
    row = {**members[0], "count": len(members)}
    for name in args.add:
        row[f"total_{name}"] = _sum(members, name)
        row[f"extra_{name}"] = _sum(members[1:], name)
    for name in args.collect:
        values = list(dict.fromkeys(str(member[name]) for member in members if member.get(name) not in (None, "")))
        more = len(values) - _SHOWN_MOST
        values_words = args.separator.join(values[:_SHOWN_MOST])
        row[f"each_{name}"] = f"{values_words}{args.separator}and {more} more" if more > 0 else values_words
    return row


def _sum(rows: list[Row], name: str) -> float:
    total: float = 0
    for row in rows:
        total = plus(total, row, name)
    return total


TOOLS = (
    Tool(
        name="data.group",
        title="Put rows that share a value together",
        args=Group,
        run=group,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
    ),
)
