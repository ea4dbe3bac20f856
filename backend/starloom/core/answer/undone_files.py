"""The files that calls replaced or trashed, and those that undos moved, in sentences: how many, on which device, where.

Reads what the calls reported. Of a report that is too large to be kept beside its task, the hub has the number alone;
the folder is then the one that the plan names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import commonpath
from typing import Any, Final

from starloom.core.people.compensation import count_of_files, undoes_now
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact
from starloom.core.state.tasks.roles import called
from starloom_protocol.text.wording import counted, few, listed, quoted
from starloom_protocol.tools.ways_back import ADDED, tells_added, way_back
from starloom_protocol.values import MISSING, parse
from starloom_protocol.vocabulary import TaskState

_TRASH: Final = "fs.trash"
_RESTORE: Final = "fs.restore"
_DEVICES_NAMED: Final = 3
_TASKS_NAMED: Final = 3
_PATH_CHARS_MOST: Final = 200
"""A device writes the path; a name of a file is shorter."""


@dataclass
class _Moved:
    """The files of one device by folder: put into the trash, back from it; and those that were not to be moved.

    `folders` is the number of empty ones that went with them, `stays` are those that hold other files.
    """

    trashed: Counter[str] = field(default_factory=Counter)
    folders: int = 0
    stays: list[str] = field(default_factory=list)
    back: Counter[str] = field(default_factory=Counter)
    gone: int = 0
    back_before: int = 0

    @property
    def anything(self) -> bool:
        return bool(self.trashed or self.back or self.folders)


def moved(constellation: Constellation, fleet: Fleet, undos: Iterable[str]) -> list[str]:
    """Return a sentence for each of the first devices on which undos moved files, and one for the rest."""
    by_device: dict[str, _Moved] = {}
    for undo in undos:
        device = constellation.tasks[undo].device
        if device is not None:
            _add(by_device.setdefault(device, _Moved()), constellation, undo)
    devices_with_files = [(device, one) for device, one in by_device.items() if one.anything]
    sentences = [f"On {fleet.name_of(device)} {_words(one)}." for device, one in devices_with_files[:_DEVICES_NAMED]]
    more = devices_with_files[_DEVICES_NAMED:]
    if more:
        count = sum(one.trashed.total() + one.back.total() for _, one in more)
        sentences.append(f"On {counted(len(more), 'more device')} {counted(count, 'file')} were moved.")
    return sentences


def replaced(constellation: Constellation, fleet: Fleet, tasks: Iterable[str]) -> list[str]:
    """Return a sentence for each of the first devices on which calls replaced files, and one for the rest."""
    paths_by_device: dict[str, dict[str, None]] = {}
    for task in tasks:
        device = constellation.tasks[task].device
        if device is not None and tells_added(constellation.specs[task]):
            added = fact(constellation, task, ADDED)
            items = [item for item in added if isinstance(item, dict)] if isinstance(added, list) else []
            paths = dict.fromkeys(_paths([item for item in items if isinstance(item.get("replaced"), str)]))
            if paths:
                paths_by_device.setdefault(device, {}).update(paths)
    sentences = []
    for device, paths in list(paths_by_device.items())[:_DEVICES_NAMED]:
        words = "The file that was at {} on {} lies" if len(paths) == 1 else "The files that were at {} on {} lie"
        sentences.append(f"{words.format(_path_words(paths), fleet.name_of(device))} in its trash.")
    more = list(paths_by_device.values())[_DEVICES_NAMED:]
    if more:
        count = counted(sum(map(len, more)), "file")
        sentences.append(f"On {counted(len(more), 'more device')} {count} were replaced, and lie in the trash there.")
    return sentences


def trashed(constellation: Constellation, fleet: Fleet, tasks: Iterable[str]) -> list[str]:
    """Return a sentence for each of the first devices on which calls trashed files, and one for the rest."""
    by_device: dict[str, list[tuple[list[str], int]]] = {}
    for task in tasks:
        spec, device = constellation.specs[task], constellation.tasks[task].device
        if spec.undoes is None and device is not None:
            by_device.setdefault(device, []).append(_trashed_by(constellation, task))
    sentences: list[str] = []
    more = 0
    for device, calls in by_device.items():
        paths, files = sorted(path for in_call, _ in calls for path in in_call), sum(count for _, count in calls)
        if len(sentences) == _DEVICES_NAMED:
            more += files
        elif files > 1 or (files and not paths):
            which = f": {_path_words(paths)}" if paths else ""
            sentences.append(f"{counted(files, 'file')} went to the trash on {fleet.name_of(device)}{which}.")
        elif paths:
            sentences.append(f"{_path_words(paths)} went to the trash on {fleet.name_of(device)}.")
    return [*sentences, *([f"On other devices {counted(more, 'file')} went to the trash."] if more else [])]


def _trashed_by(constellation: Constellation, task: str) -> tuple[list[str], int]:
    """Return what a call put into the trash: files, and folders with a mark behind them; and the number of files."""
    listing, count = fact(constellation, task, "/items"), fact(constellation, task, "/count")
    items = [item for item in listing if isinstance(item, dict)] if isinstance(listing, list) else []
    if listing is MISSING:
        return [], count if isinstance(count, int) else 0
    paths = [f"{item['path']}/" if item.get("folder") else item["path"] for item in items if _has_path(item)]
    inside = (item.get("files") if item.get("folder") else 1 for item in items)
    return paths, sum(number for number in inside if isinstance(number, int))


def _has_path(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("path"), str)


def places(folders: Iterable[str]) -> str:
    """Return the folder that holds all of these whole ones, or the first of them where only the top does."""
    paths = list(folders)
    common = commonpath(paths)
    return _path_words(paths if common == "/" else [common])


def not_undone(constellation: Constellation, fleet: Fleet) -> list[str]:
    """Return the sentence on work whose undo failed or was left out, with the files that stay."""
    stays = [
        (spec.undoes, spec.undoes_attempt)
        for task, spec in constellation.specs.items()
        if spec.undoes is not None
        and constellation.tasks[task].state in (TaskState.FAILED, TaskState.SKIPPED)
        and undoes_now(constellation, task)
    ]
    if not stays:
        return []
    names = [
        f"{called(constellation, fleet, task)}{_with_files(constellation, task, attempt)}" for task, attempt in stays
    ]
    return [f"Not taken back: {few(names, _TASKS_NAMED)}."]


def _add(moved_there: _Moved, constellation: Constellation, undo: str) -> None:
    tool = constellation.specs[undo].tool
    listing, count = fact(constellation, undo, "/items"), fact(constellation, undo, "/count")
    items = [item for item in listing if isinstance(item, dict)] if isinstance(listing, list) else []
    if listing is MISSING and isinstance(count, int) and count > 0 and tool in (_TRASH, _RESTORE):
        whole = moved_there.trashed if tool == _TRASH else moved_there.back
        whole[_written_into(constellation, undo)] += count
    if tool == _TRASH:
        files = [item for item in items if not item.get("folder")]
        moved_there.trashed.update(map(_folder_of, _paths(files)))
        for item in items:
            count = item.get("files")
            if item.get("folder") and isinstance(count, int) and count > 0:
                moved_there.trashed.update({f"{path}/": count for path in _paths([item])})
            elif item.get("folder"):
                moved_there.folders += 1
        left_out = fact(constellation, undo, "/left_out")
        moved_there.stays += _paths(left_out) if isinstance(left_out, list) else []
        restored = fact(constellation, undo, "/restored")
        moved_there.back.update(_folder_of(path) for path in _texts(restored))
        missing = fact(constellation, undo, "/missing")
        moved_there.gone += len(missing) if isinstance(missing, list) else 0
    elif tool == _RESTORE:
        moved_there.back.update(map(_folder_of, _paths([item for item in items if item.get("moved") is True])))
        moved_there.back_before += sum(1 for item in items if item.get("moved") is False)


def _words(one: _Moved) -> str:
    parts = []
    if one.trashed:
        parts.append(f"{counted(one.trashed.total(), 'file')} went{_folder(' from', one.trashed)} to the trash")
    if one.folders:
        parts.append(f"{counted(one.folders, 'empty folder')} went{' there too' if one.trashed else ' to the trash'}")
    if one.stays:
        stay = "stays, since it holds" if len(one.stays) == 1 else "stay, since they hold"
        parts.append(f"{_path_words(one.stays)} {stay} other files")
    if one.back:
        parts.append(f"{counted(one.back.total(), 'file')} came back{_folder(' to', one.back)}")
    if one.gone:
        parts.append(f"{one.gone} {'was' if one.gone == 1 else 'were'} not there any more")
    if one.back_before:
        parts.append(f"{one.back_before} had come back before")
    return listed(parts)


def _path_words(paths: Iterable[str]) -> str:
    short = [path if len(path) <= _PATH_CHARS_MOST else f"...{path[-_PATH_CHARS_MOST:]}" for path in paths]
    return few([quoted(path) for path in short], _TASKS_NAMED)


def _folder(word: str, folders: Iterable[str]) -> str:
    """Return the folder that holds all of these, behind its word; empty for the first folder of a device."""
    first, *others = folders
    shared = first
    while shared and not all(folder.startswith(shared) for folder in others):
        shared = shared[: max(shared.rfind(mark, 0, -1) for mark in "/\\") + 1]
    name = shared if len(shared) == 1 else shared[:-1]
    return f"{word} {quoted(name)}" if name not in ("", ".") else ""


def _folder_of(path: str) -> str:
    """Return the folder of a path, with the mark that ends it; empty for a name alone."""
    return path[: max(path.rfind(mark) for mark in "/\\") + 1]


def _written_into(constellation: Constellation, undo: str) -> str:
    """Return the folder that the undone task names as the place of its files; empty where it names none."""
    spec = constellation.specs.get(constellation.specs[undo].undoes or "")
    folder = parse(spec.args).get("under") if spec is not None else None
    return f"{folder.rstrip('/')}/" if isinstance(folder, str) and folder not in ("", ".") else ""


def _with_files(constellation: Constellation, task: str, attempt: int) -> str:
    """Return how many files the undo of an attempt was to move, in brackets; empty where that is not known."""
    undo = way_back(constellation.specs[task])
    if undo is None or undo.tool not in (_TRASH, _RESTORE):
        return ""
    count = count_of_files(constellation, task, attempt)
    return f" ({counted(count, 'file')})" if count else ""


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _paths(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (item["path"] for item in items if _has_path(item))
