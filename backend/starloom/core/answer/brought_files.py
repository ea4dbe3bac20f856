"""Files that an earlier task brought from a device: a retry of the task that reads them gets the same bytes again.

Pure, on entities alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from starloom.core.people import controls
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.roles import called
from starloom_protocol.text.wording import utc_words
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import TaskState

RETRY_FROM: Final = "retry-from"
_BRINGS: Final = "artifact.put"
_NAMED_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Brought:
    """A task that brought files of a device, when it did, and the one file that it brought for a task, if known."""

    task: str
    device: str
    at_ms: int
    file: str


def brought_to(constellation: Constellation, task: str) -> list[Brought]:
    """Return the tasks that brought the files which a task reads, in the order of its inputs, then of its lists."""
    sources: dict[str, Brought] = {}
    by_input = [one.source for one in constellation.specs[task].inputs]
    for place, name in enumerate([*by_input, *_lists(constellation, task)]):
        for source in constellation.leaves(name) if name in constellation.groups else [name]:
            record, attempt = constellation.tasks.get(source), constellation.last_attempt(source)
            spec = constellation.specs.get(source)
            if record is None or spec is None or attempt is None or spec.tool != _BRINGS:
                continue
            if record.state is TaskState.SUCCEEDED and record.marked is None:
                file = _only_file(spec.args) if place < len(by_input) else ""
                sources.setdefault(source, Brought(source, attempt.device, attempt.ended_ms, file))
    return list(sources.values())


def _lists(constellation: Constellation, task: str) -> Iterator[str]:
    """Yield the tasks that gave the lists of which a task is an item, the innermost first.

    Not the groups: a list of a thousand that failed would go through each of a thousand sources for every item.
    """
    spec = constellation.specs[task]
    while spec.group is not None:
        each = constellation.specs[spec.family or spec.group].for_each
        if each is not None and each.source is not None and each.source in constellation.tasks:
            yield each.source
        spec = constellation.specs[spec.group]


def file_of(constellation: Constellation, task: str) -> str:
    """Return the name of the one file that a task reads; empty where it reads none, several or one that has no name."""
    sources = brought_to(constellation, task)
    return sources[0].file if len(sources) == 1 else ""


def name_with_file(constellation: Constellation, fleet: Fleet, task: str) -> str:
    """Return the display name of a task with the file that it reads: *parse.139 (buoy-139.csv)*."""
    file = file_of(constellation, task)
    return called(constellation, fleet, task) + (f" ({file})" if file else "")


def to_read_again(constellation: Constellation, task: str) -> list[Brought]:
    """Return the tasks that can read the files of a failed task again, as they are now."""
    return [one for one in brought_to(constellation, task) if RETRY_FROM in controls.possible(constellation, one.task)]


def way_out(constellation: Constellation, fleet: Fleet, task: str) -> tuple[str, list[str]]:
    """Return the sentence and the lines for files that a person may have changed since they were brought."""
    sources = to_read_again(constellation, task)
    if not sources:
        return "", []
    first, alone = sources[0], len(sources) == 1
    where = f"from {fleet.name_of(first.device)} at {utc_words(first.at_ms)}"
    one = f"Its file was read {where}, and a retry gets that again: if you changed it since, retry from {first.task}."
    several = (
        f"Its files were read {where}, and a retry gets these again: if you changed one since, retry from its task."
    )
    lines = [controls.retry_line(constellation, source.task, RETRY_FROM) for source in sources[:_NAMED_MOST]]
    return f" {one if alone else several}", lines


def read_again(constellation: Constellation, failed: list[str]) -> list[str]:
    """Return the sentence on how failed tasks get their files as these are now; empty if no task brought them."""
    if not any(to_read_again(constellation, task) for task in failed):
        return []
    line = f"starloom retry --failed --from-source {constellation.name}"
    return [f"If you changed files since, {line} reads these again."]


def _only_file(args: str) -> str:
    values = parse(args)
    paths = values.get("paths") if isinstance(values, dict) else None
    only = paths[0] if isinstance(paths, list) and len(paths) == 1 else None
    return only.rpartition("/")[2] if isinstance(only, str) else ""
