"""Results that a stranger may have written: they carry it directly, or through the tasks whose results they use.

Pure. A stranger is anybody who is not the owner of the devices: authors of pages, mails, files from elsewhere, MCP
servers. Owns the walk from a result to its origins, findings included; `envelope` says which tools bring such text in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from starloom.core.rights.envelope import may_hold_foreign_text
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.findings import sources_of
from starloom_protocol.vocabulary import AttemptEnd, TaskState

_SILENT: Final = (None, AttemptEnd.NEVER_STARTED, AttemptEnd.REFUSED)
"""Ends of an attempt that did not run, or still does: the device alone gives their reason."""


def stranger_in(fleet: Fleet, constellation: Constellation, tasks: Iterable[str]) -> str:
    """Return the first of these tasks whose result or failure a stranger may have written; empty if there is none.

    A model reads the result of a task, or the reason and the last output of one that failed: a server and a program
    write these, too.
    """
    for task in tasks:
        record, spec = constellation.tasks.get(task), constellation.specs.get(task)
        if record is None or spec is None:
            continue
        if record.state is TaskState.SUCCEEDED:
            device = record.device or ""
        elif (last := constellation.last_attempt(task)) is not None and last.end not in _SILENT:
            device = last.device
        else:
            continue
        offer = fleet.tools.get(device, {}).get(spec.tool or "")
        if offer is None or may_hold_foreign_text(offer):
            return task
    return ""


def stranger_behind(fleet: Fleet, constellation: Constellation, starts: Iterable[str]) -> str:
    """Return the task by which the results of some tasks or groups rest on a stranger's text; empty if none does."""
    seen = dict.fromkeys(starts)
    ahead = deque(seen)
    while ahead:
        name = ahead.popleft()
        for task in (name, *constellation.contents_of(name)):
            spec = constellation.specs.get(task)
            if spec is None:
                continue
            works = task in constellation.tasks and spec.tool is not None
            if works and stranger_in(fleet, constellation, [task]):
                return task
            # The words of a judge about results are as much a stranger's as these.
            read = [spec.shows.source] if spec.shows is not None and spec.judge is not None else []
            for source in [*sources_of(constellation, spec), *read]:
                if source not in seen:
                    seen[source] = None
                    ahead.append(source)
    return ""


def in_findings(constellation: Constellation, reader: str) -> str:
    """Return the task by which a finding that others published rests on a stranger's text; empty if none does."""
    tasks = (one.stranger for one in constellation.findings.values() if one.stranger and one.by != reader)
    return next(tasks, "")
