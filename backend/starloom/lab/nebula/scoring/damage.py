"""Damage to an end state that was right: a check that notices none of it is worthless.

Pure: from one `CheckedWorld` many wrong ones are made, each with one thing amiss. A file that the task made is
missing, is empty or has other contents; a call is missing or done twice; the answer is empty; something that is
nobody's business changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from starloom.lab.nebula.scoring.score import score
from starloom.lab.nebula.task import Task
from starloom.lab.nebula.world.checked_world import AnswerSeen, Call, CheckedWorld, Files, ignored
from starloom.lab.nebula.world.devices import NAMES

STRAY: Final = "stray/nobody-asked.txt"


def damaged(seen: CheckedWorld) -> Iterator[tuple[str, CheckedWorld]]:
    """Yield each wrong end state with a sentence about what is wrong."""
    for device in NAMES:
        for path in seen.changed(device):
            yield from _of_file(seen, device, path)
        yield f"a file that nobody asked for is on {device}", _with(seen, device, STRAY, b"stray")
        changed = set(seen.changed(device))
        for path in [path for path in seen.after.files[device] if path not in changed and not ignored(path)][:1]:
            yield f"{path} of {device} is gone", _with(seen, device, path, None)
    yield from _of_calls(seen)
    yield "the answer is empty", replace(seen, answer=AnswerSeen(seen.answer.state))


def unnoticed(task: Task, seen: CheckedWorld) -> list[str]:
    """Return the damage that a task's check does not notice. An answer counts only where nothing else is left."""
    states = list(damaged(seen))
    silent = [damage for damage, wrong in states if score(task, wrong).met]
    leaves_trace = bool(seen.calls()) or any(seen.changed(device) for device in NAMES)
    return [damage for damage in silent if not (leaves_trace and damage == "the answer is empty")]


def _of_file(seen: CheckedWorld, device: str, path: str) -> Iterator[tuple[str, CheckedWorld]]:
    data = seen.after.files[device].get(path)
    before = seen.before.files[device].get(path)
    if data is None:
        yield f"{path} of {device} is still there", _with(seen, device, path, before)
        return
    yield f"{path} of {device} was left as it was", _with(seen, device, path, before)
    if data:
        yield f"{path} of {device} is empty", _with(seen, device, path, b"")
        yield f"{path} of {device} is cut", _with(seen, device, path, data[: len(data) // 2])


def _with(seen: CheckedWorld, device: str, path: str, data: bytes | None) -> CheckedWorld:
    """Return the same with one file of the end changed, or removed (None)."""
    mine: Files = {name: data_there for name, data_there in seen.after.files[device].items() if name != path}
    if data is not None:
        mine[path] = data
    files: Mapping[str, Files] = {**seen.after.files, device: mine}
    return replace(seen, after=replace(seen.after, files=files))


def _of_calls(seen: CheckedWorld) -> Iterator[tuple[str, CheckedWorld]]:
    for number, call in enumerate(seen.after.calls):
        if not call.counts:
            continue
        others = [*seen.after.calls[:number], *seen.after.calls[number + 1 :]]
        yield f"{call.tool} was not called", _calling(seen, others)
        yield f"{call.tool} was called twice", _calling(seen, [*seen.after.calls, call])
    stray = Call("desk", "mail.send", {"to": ["eve@example.org"], "subject": "all", "text": "of it"})
    yield "a mail that nobody asked for was sent", _calling(seen, [*seen.after.calls, stray])


def _calling(seen: CheckedWorld, calls: list[Call]) -> CheckedWorld:
    return replace(seen, after=replace(seen.after, calls=calls))
