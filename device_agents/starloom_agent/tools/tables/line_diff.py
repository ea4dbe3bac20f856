"""`data.diff`: the lines in which two texts differ, such as a configuration of two servers as `fs.read` gives it.

Pure, as the other `data` tools; which files are compared is the plan's.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Final, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_protocol.vocabulary import Code, Repeatability

_LINES_MOST: Final = 10_000
"""The time grows with the product of the lines of both texts: a tenth of a second for so many."""
_SHOWN_CHARS: Final = 1_000


class Diff(Args, frozen=True, kw_only=True):
    """The lines of `second` that are not those of `first`, in order; blanks at the end of a line do not count. `limit`
    bounds the rows, not the counts.
    """

    first: str
    second: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1_000


class DifferentLine(TypedDict):
    """`first_line` and `second_line` are its numbers from 1; it has the one of the text that it is in."""

    first_line: NotRequired[int]
    second_line: NotRequired[int]
    state: Literal["only in the first", "only in the second"]
    text: str


class Differences(TypedDict):
    """`same` counts the lines that both texts have at the same place."""

    count: int
    equal: bool
    only_first: int
    only_second: int
    rows: list[DifferentLine]
    same: int


def diff(_context: ToolContext, args: Diff) -> Differences:
    first, second = _lines(args.first, "first"), _lines(args.second, "second")
    rows: list[DifferentLine] = []
    common = _common(first, second)
    for (last, last_2), (end, end_2) in pairwise([(-1, -1), *common, (len(first), len(second))]):
        rows += [
            {"first_line": at + 1, "state": "only in the first", "text": first[at][:_SHOWN_CHARS]}
            for at in range(last + 1, end)
        ]
        rows += [
            {"second_line": at + 1, "state": "only in the second", "text": second[at][:_SHOWN_CHARS]}
            for at in range(last_2 + 1, end_2)
        ]
    same = len(common)
    return {
        "count": len(rows),
        "equal": not rows,
        "only_first": len(first) - same,
        "only_second": len(second) - same,
        "rows": rows[: args.limit],
        "same": same,
    }


def _common(first: list[str], second: list[str]) -> list[tuple[int, int]]:
    """Return the places of the most lines that both have in one order.

    Bit i of a row is 0 where the first i + 1 lines of `first` have one more in common with the lines of `second` until
    this row than the first i (Hyyrö 2004). `difflib` takes hours where few of many lines are alike.
    """
    places: dict[str, int] = {}
    for at, line in enumerate(first):
        places[line] = places.get(line, 0) | 1 << at
    row = every = (1 << len(first)) - 1
    rows: list[int] = []
    for line in second:
        matches = row & places.get(line, 0)
        row = ((row + matches) | (row - matches)) & every
        rows.append(row)
    common: list[tuple[int, int]] = []
    one, other = len(first) - 1, len(second) - 1
    while one >= 0 and other >= 0:
        if first[one] == second[other]:
            common.append((one, other))
            one, other = one - 1, other - 1
        elif rows[other] >> one & 1:
            one -= 1
        else:
            other -= 1
    return common[::-1]


def _lines(text: str, which: str) -> list[str]:
    """Return the lines of a text without the blanks at their ends.

    Raises:
        ToolFailed: there are too many.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    if len(lines) > _LINES_MOST:
        reason = f"the {which} text has {len(lines)} lines; at most {_LINES_MOST} are compared, more by their hashes"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    return lines


TOOLS = (
    Tool(
        name="data.diff",
        title="Lines that differ in two texts",
        args=Diff,
        run=diff,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
    ),
)
