"""Families as a matrix: one row an item, one column a group of the family, each cell the shape of a task's state.

Of more items than there are rows, those that failed or cannot go on come first, then those that run, then the rest.
"""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from starloom.client.terminal.style import COLOURS, GLYPHS
from starloom.client.view import View
from starloom_protocol.records.entities import Item, TaskRecord
from starloom_protocol.text.presentation import Tone
from starloom_protocol.values import parse

ROWS_MOST = 24
_URGENCY = {
    tone: rank
    for rank, tones in enumerate(
        ((Tone.VERMILION,), (Tone.AMBER, Tone.VIOLET), (Tone.BLUE,), (Tone.INDIGO,), (Tone.GREY,))
    )
    for tone in tones
}


def urgency(view: View, task: str) -> int:
    """Return where a task comes in a list that has no room for all: a failed or held one first, a done one last."""
    tone = view.presentation_of(task).tone
    return _URGENCY.get(tone, len(_URGENCY))


def family_members(view: View) -> dict[str, list[str]]:
    """Return the ids of the children of each family, by its root group."""
    specs = view.specs
    members: dict[str, list[str]] = {}
    for name, spec in specs.items():
        if spec.group is not None and spec.key is not None:
            root = spec.family or (specs[spec.group].family if spec.group in specs else None) or spec.group
            members.setdefault(root, []).append(name)
    return members


def family_table(view: View) -> list[Table]:
    """Return one table for each family with its items as rows."""
    specs = view.specs
    tables = []
    for root, members in family_members(view).items():
        groups = list(dict.fromkeys(specs[name].group or "" for name in members))
        keys = sorted({specs[name].key or "" for name in members}, key=lambda key: (len(key), key))
        cells = {(specs[name].group, specs[name].key): name for name in members}
        if len(keys) > ROWS_MOST:
            most_urgent = dict.fromkeys(keys, len(_URGENCY))
            for name in members:
                key = specs[name].key or ""
                most_urgent[key] = min(most_urgent[key], urgency(view, name))
            keys.sort(key=most_urgent.__getitem__)
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
        table.add_column("item", style="bright_black", no_wrap=True)
        for group in groups:
            table.add_column(group)
        for key in keys[:ROWS_MOST]:
            row = [_cell(view, cells.get((group, key))) for group in groups]
            table.add_row(_label(view, root, key), *row)
        if len(keys) > ROWS_MOST:
            table.add_row(f"and {len(keys) - ROWS_MOST} more")
        tables.append(table)
    return tables


def _cell(view: View, name: str | None) -> Text:
    if name is None or view.record(f"task/{name}", TaskRecord) is None:
        return Text("")
    presented = view.presentation_of(name)
    return Text(GLYPHS[presented.glyph], style=COLOURS[presented.tone])


def _label(view: View, root: str, key: str) -> str:
    """Return the label of an item: the name of a device, else its place with its name or the end of its path."""
    item = view.record(f"item/{root}/{key}", Item)
    value = parse(item.value) if item is not None else None
    name = value
    if isinstance(value, dict):
        if value.get("id") == key and isinstance(value.get("name"), str):
            return str(value["name"])
        name = value.get("name") or value.get("path")
    word = name.rstrip("/").rpartition("/")[2][:24] if isinstance(name, str) else ""
    return f"{key} {word}".rstrip()
