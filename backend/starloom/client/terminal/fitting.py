"""A table in the width that there is: texts wrap, numbers and names stay whole, and what does not fit is named.

Rich cuts a cell that has no room, a number too, and the part that is left reads as another number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from starloom.client.terminal.escaping import escaped_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_NUMBER: Final = re.compile(r"[-+]?[\d.,:]+(?: ?(?:%|[a-zA-Z]{1,5}|[A-Za-z]+/s))?")
_TEXT_LEAST: Final = 12
"""The narrowest that a column of texts gets, if its words are not shorter."""


class Fitted:
    """A table that leaves out whole columns where the width is too small; `spared` are titles that go first."""

    def __init__(self, table: Table, *, spared: Collection[str] = ()) -> None:
        self._table = table
        self._spared = tuple(spared)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table of the columns that fit, and a line that names the others."""
        columns = list(self._table.columns)
        dropped: list[Column] = []
        while len(columns) > 1 and sum(map(_least, columns)) + self._padding(columns) > options.max_width:
            # The first column names the row, so it is never one of these.
            column = next((each for name in self._spared for each in columns[1:] if _title(each) == name), columns[-1])
            columns.remove(column)
            dropped.append(column)
        yield self._of(columns, options.max_width - self._padding(columns))
        if dropped:
            names = ", ".join(_title(each) for each in self._table.columns if each in dropped and _title(each))
            yield Text(f"Left out in this width: {names}. All: a wider terminal, or --json.", style="bright_black")

    def _padding(self, columns: list[Column]) -> int:
        _, right, _, left = self._table.padding
        return len(columns) * (right + left)

    def _of(self, columns: list[Column], room: int) -> Table:
        table = Table(box=None, padding=self._table.padding, show_edge=False)
        for column, width in zip(columns, _widths(columns, room), strict=True):
            table.add_column(
                column.header,
                justify=column.justify,
                no_wrap=_is_whole(column) and width >= _least(column),
                overflow="fold",
                style=column.style,
                width=width,
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*cells)
        return table


def _widths(columns: list[Column], room: int) -> list[int]:
    """Return the width of each column: first what it needs, then the rest to those that would wrap least."""
    widths = [min(_least(column), room) for column in columns]
    for place_number, place in enumerate(sorted(range(len(columns)), key=lambda place: _natural(columns[place]))):
        share = (room - sum(widths)) // (len(columns) - place_number)
        widths[place] += max(0, min(_natural(columns[place]) - widths[place], share))
    return widths


def _natural(column: Column) -> int:
    return max(cell_len(line) for text in (_title(column), *_texts(column)) for line in (text.splitlines() or [""]))


def _title(column: Column) -> str:
    return _plain(column.header)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else escaped_lines(str(cell))


def _texts(column: Column) -> Iterator[str]:
    yield from (_plain(cell) for cell in column.cells)


def _is_whole(column: Column) -> bool:
    """Tell whether the cells of a column stay whole: names that are typed again, and numbers."""
    texts = [text for text in _texts(column) if text]
    return column.no_wrap or column.justify == "right" or bool(texts and all(map(_NUMBER.fullmatch, texts)))


def _least(column: Column) -> int:
    """Return the width in which a column can be read; no word of its title is cut."""
    title = max((cell_len(word) for word in _title(column).split()), default=0)
    if _is_whole(column):
        return max(title, *(cell_len(text) for text in _texts(column)), 0)
    longest = max((cell_len(word) for text in _texts(column) for word in text.split()), default=0)
    return max(1, min(_TEXT_LEAST, max(title, longest)))
