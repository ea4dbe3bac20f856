"""The files that undos moved, in sentences: how many on which device, out of or into which folder, how many were gone.

Reads what the undos reported. A report that is too large to be kept beside its task gives no counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact
from starloom.core.state.tasks.roles import called, device_name
from starloom_protocol.text.wording import counted, few, listed, quoted
from starloom_protocol.vocabulary import TaskState

_TRASH: Final = "fs.trash"
_RESTORE: Final = "fs.restore"
_DEVICES_NAMED: Final = 3
_TASKS_NAMED: Final = 3
_SEPARATORS: Final = re.compile(r"[/\\]")


@dataclass
class _Moved:
    """The paths on one device: put into the trash, back from it, and those about which nothing was to be done."""

    trashed: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    gone: int = 0
    back_before: int = 0

    @property
    def anything(self) -> bool:
        return bool(self.trashed or self.back)


def moved(constellation: Constellation, fleet: Fleet, undos: Iterable[str]) -> list[str]:
    """Return a sentence for each of the first devices on which undos moved files, and one for the rest."""
    found: dict[str, _Moved] = {}
    for undo in undos:
        device = constellation.tasks[undo].device
        if device is not None:
            _add(found.setdefault(device, _Moved()), constellation, undo)
    told = [(device, one) for device, one in found.items() if one.anything]
    said = [f"On {device_name(fleet, device)} {_words(one)}." for device, one in told[:_DEVICES_NAMED]]
    more = told[_DEVICES_NAMED:]
    if more:
        count = sum(len(one.trashed) + len(one.back) for _, one in more)
        said.append(f"On {counted(len(more), 'more device')} {counted(count, 'file')} were moved.")
    return said


def not_undone(constellation: Constellation, fleet: Fleet) -> list[str]:
    """Return the sentence on work whose undo failed or was left out, with the files that stay."""
    stays = [
        spec.undoes
        for task, spec in constellation.specs.items()
        if spec.undoes is not None
        and constellation.tasks[task].state in (TaskState.FAILED, TaskState.SKIPPED)
        and spec.undoes in constellation.tasks
    ]
    if not stays:
        return []
    names = [f"{called(constellation, fleet, task)}{_with_files(constellation, task)}" for task in stays]
    return [f"Not taken back: {few(names, _TASKS_NAMED)}."]


def _add(moved_there: _Moved, constellation: Constellation, undo: str) -> None:
    tool = constellation.specs[undo].tool
    items = _rows(fact(constellation, undo, "/items"))
    if tool == _TRASH:
        moved_there.trashed += _paths(items)
        restored = fact(constellation, undo, "/restored")
        moved_there.back += [path for path in restored if isinstance(path, str)] if isinstance(restored, list) else []
        missing = fact(constellation, undo, "/missing")
        moved_there.gone += len(missing) if isinstance(missing, list) else 0
    elif tool == _RESTORE:
        moved_there.back += _paths([item for item in items if item.get("moved") is True])
        moved_there.back_before += sum(1 for item in items if item.get("moved") is False)


def _words(one: _Moved) -> str:
    parts = []
    if one.trashed:
        parts.append(f"{counted(len(one.trashed), 'file')} went{_folder(' from', one.trashed)} to the trash")
    if one.back:
        parts.append(f"{counted(len(one.back), 'file')} came back{_folder(' to', one.back)}")
    if one.gone:
        parts.append(f"{one.gone} {'was' if one.gone == 1 else 'were'} not there any more")
    if one.back_before:
        parts.append(f"{one.back_before} had come back before")
    return listed(parts)


def _folder(word: str, paths: list[str]) -> str:
    """Return the folder in which all of these lie, behind its word; empty for the first folder of a device."""
    folders = [path[: len(path) - len(_SEPARATORS.split(path)[-1])] for path in dict.fromkeys(paths)]
    shared = folders[0]
    while shared and not all(folder.startswith(shared) for folder in folders):
        last = max(shared.rfind(mark, 0, -1) for mark in "/\\")
        shared = shared[: last + 1]
    shown = shared if shared in ("/", "\\") else shared[:-1]
    return f"{word} {quoted(shown)}" if shown not in ("", ".") else ""


def _with_files(constellation: Constellation, task: str) -> str:
    """Return how many files the undo of a task was to move, in brackets; empty where that is not known."""
    undo = constellation.specs[task].undo
    if undo is None or undo.tool not in (_TRASH, _RESTORE):
        return ""
    lists = [fact(constellation, task, pointer) for pointer in undo.outputs.values()]
    count = sum(len(found) for found in lists if isinstance(found, list))
    return f" ({counted(count, 'file')})" if count else ""


def _rows(found: object) -> list[Mapping[str, Any]]:
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _paths(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (path for item in items if isinstance(path := item.get("path"), str))
