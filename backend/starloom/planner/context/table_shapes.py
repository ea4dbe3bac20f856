"""The shape of a table that stands in a text: its separator, the names of its columns and the forms of their cells.

Pure. Owns what a card may say of a table whose content is not shown: a form is `9,9` for `84,20`, never the figure; a
text has no form but how many different ones there are. A first row that may be data is not told as names.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final

SAMPLE_LINES: Final = 200
HEAD_LINES_MOST: Final = 20
"""The lines that may stand before a table, such as the head of a bank's statement."""
FORMS_MOST: Final = 4
SEPARATORS: Final = (";", "\t", ",", "|")
TEXT_FORM: Final = "text"
_NUMBER: Final = re.compile(r"[-+]?[\d.,' ]*\d%?")
_FORMED: Final = re.compile(r"[-+]?\d[\d.,:/' T+-]*%?Z?")
_DIGITS: Final = re.compile(r"\d+")


def table_in(lines: Sequence[str], masked: Callable[[str], str], columns_most: int) -> dict[str, Any]:
    """Return `{"table": {...}}` for a text that is a table with a row of names, else nothing.

    `masked` takes out of a column's name what may not be shown.
    """
    sample = [line for line in lines[: SAMPLE_LINES + HEAD_LINES_MOST] if line.strip()]
    for separator in SEPARATORS:
        table = _rows_by(separator, sample)
        if table is None:
            continue
        before, rows = table
        names = [name.strip().lstrip("\ufeff") for name in rows[0]]
        if not all(names) or len(set(names)) != len(names) or any(map(_NUMBER.fullmatch, names)):
            return {}
        if not any(_NUMBER.fullmatch(cell.strip()) for row in rows[1:] for cell in row):
            continue
        columns = list(zip(*rows[1:], strict=True))[:columns_most]
        shape: dict[str, Any] = {
            "cells": [_forms_of(cells) for cells in columns],
            "columns": [masked(name) for name in names[:columns_most]],
            "separator": separator,
        }
        return {"table": {**shape, "lines_before": before} if before else shape}
    return {}


def _rows_by(separator: str, sample: Sequence[str]) -> tuple[int, list[list[str]]] | None:
    """Return how many lines stand before the table and its rows; it goes to the end, where the last may be cut."""
    try:
        rows = list(csv.reader(sample, delimiter=separator))
    except csv.Error:
        return None
    runs = [(width, len(list(run))) for width, run in groupby(rows, key=len)]
    if len(runs) > 1 and runs[-1][1] == 1:
        # The last line of a text that was read in part may be cut.
        rows.pop()
        runs.pop()
    width, length = runs[-1] if runs else (0, 0)
    before = len(rows) - length
    if width < 2 or length < 2 or before > HEAD_LINES_MOST:
        return None
    return before, rows[before:]


def _forms_of(cells: Sequence[str]) -> str:
    """Return the forms of the cells of one column in words, the usual one first."""
    counted: dict[str, int] = {}
    for cell in cells:
        form = _form_of(cell.strip())
        counted[form] = counted.get(form, 0) + 1
    forms = sorted(counted, key=lambda form: (-counted[form], form))
    more = ["..."] if len(forms) > FORMS_MOST else []
    words = " | ".join([*forms[:FORMS_MOST], *more])
    texts = {cell.strip() for cell in cells if _form_of(cell.strip()) == TEXT_FORM}
    return f"{words} ({len(texts)} different)" if texts else words


def _form_of(cell: str) -> str:
    if not cell:
        return "empty"
    return _DIGITS.sub("9", cell) if _FORMED.fullmatch(cell) and len(cell) <= 40 else TEXT_FORM
