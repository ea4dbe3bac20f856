"""Calls of a plan that put a whole folder, or many files, into the trash: a person agrees to them beforehand. Pure.

The trash gives all back, so the effect of such a call is that of a write, which a plan may have unasked. A folder that
is gone stops the work of its owner in any case, and nobody misses one of many files in time. Some files that the plan
names, and files about which it asks a person itself, go unasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from starloom.core.rights.call_effects import ways_of
from starloom_protocol.records.entities import Dependency, TaskSpec
from starloom_protocol.text.wording import few, quoted
from starloom_protocol.values import parse

TRASH: Final = "fs.trash"
NAMED_FILES_MOST: Final = 20
"""As many as a person reads one by one before an answer."""
_PATHS: Final = "paths"
_WORDS_MOST: Final = 3
_PATH_CHARS_MOST: Final = 60
_ENDING_CHARS_MOST: Final = 5
_ENDINGS_OF_FOLDERS: Final = frozenset({"app", "d", "git"})


def wide_trash(specs: Iterable[TaskSpec], dependencies: Iterable[Dependency]) -> dict[str, str]:
    """Return the tasks that may put a folder or many files into the trash, each with the reason.

    Files that a result names count where no question to a person is on the way to the task.
    """
    by_id = {spec.id: spec for spec in specs}
    calls = [spec for spec in by_id.values() if spec.key is None and any(way.tool == TRASH for way in ways_of(spec))]
    if not calls:
        return {}
    before: dict[str, list[str]] = {}
    for edge in dependencies:
        before.setdefault(edge.target, []).append(edge.source)
    found = {spec.id: _reason(spec, by_id, before) for spec in calls}
    return {task: reason for task, reason in found.items() if reason}


def trashed_words(spec: TaskSpec) -> str:
    """Return, in words, what a call puts into the trash; empty for a call that may write in another way, too."""
    if spec.files_out or any(way.tool != TRASH for way in ways_of(spec)):
        return ""
    paths = _named(spec.args)
    of_a_list = spec.for_each is not None and spec.for_each.devices is None
    if _takes_paths(spec) or of_a_list or not all(paths):
        return "move files to the trash"
    names = few([quoted(_short(path)) for path in paths], _WORDS_MOST)
    return f"move {names} to the trash"


def _reason(spec: TaskSpec, specs: Mapping[str, TaskSpec], before: Mapping[str, Sequence[str]]) -> str:
    if _takes_paths(spec) or _is_one_of_a_list(spec, specs):
        asked = _is_asked_before(spec.id, specs, before)
        return "" if asked else f"{spec.id} puts files into the trash that the results of other tasks name"
    for way in (way for way in ways_of(spec) if way.tool == TRASH):
        items = parse(way.args).get(_PATHS)
        paths = _named(way.args)
        if len(paths) > NAMED_FILES_MOST:
            return f"{spec.id} puts {len(paths)} files into the trash"
        folder = next((path for path, item in zip(paths, items or [], strict=True) if _may_be_folder(item)), None)
        if folder is not None:
            return f"{spec.id} may put the whole folder {quoted(_short(folder))} into the trash"
    return ""


def _takes_paths(spec: TaskSpec) -> bool:
    return any(item.name == _PATHS for item in spec.inputs)


def _is_one_of_a_list(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> bool:
    """Tell whether a task is a group over a list of a result, whose items its arguments name."""
    each = specs.get(spec.family or spec.id, spec).for_each if spec.for_each is not None else None
    return each is not None and each.source is not None and each.devices is None


def _is_asked_before(task: str, specs: Mapping[str, TaskSpec], before: Mapping[str, Sequence[str]]) -> bool:
    ahead, seen = [task], {task}
    while ahead:
        for source in before.get(ahead.pop(), ()):
            if source in seen:
                continue
            if source in specs and specs[source].person is not None:
                return True
            seen.add(source)
            ahead.append(source)
    return False


def _named(args: str) -> list[str]:
    items = parse(args).get(_PATHS)
    return [_path_of(item) for item in items] if isinstance(items, list) else []


def _path_of(item: Any) -> str:
    return str(item.get("path", "")) if isinstance(item, dict) else str(item)


def _may_be_folder(item: Any) -> bool:
    """Tell whether a path may be that of a folder: only an ending as files have it speaks against that."""
    name = _path_of(item).rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    is_files = bool(stem) and ending.isalnum() and not ending.isdigit() and len(ending) <= _ENDING_CHARS_MOST
    listed_folder = isinstance(item, dict) and bool(item.get("folder"))
    return listed_folder or not is_files or ending.casefold() in _ENDINGS_OF_FOLDERS


def _short(path: str) -> str:
    return path if len(path) <= _PATH_CHARS_MOST else f"...{path[-_PATH_CHARS_MOST:]}"
