"""The call that takes back the work of a task: the one that its plan names, or the one that its tool always has.

A built-in tool that writes files puts what it replaces into the trash of its device, and its result names all that it
has made. A device adds the files to it that a task saves by `files_out`, whatever its tool. So the hub knows the way
back of such a call without a word of the plan. The device decides whether it can go
it: its trash has bounds, and a file that somebody changed since stays.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from starloom_protocol.records.entities import TaskSpec, UndoCall
from starloom_protocol.values import canonical

ADDED: Final = "/added"
"""The part of a result that names the files that its call made or replaced."""
HOLDING: Final = "/folder"
"""The part of a result that names the folder in which the files of its call lie, by its whole path."""
TAKES_AWAY: Final = UndoCall(tool="fs.trash", outputs={"paths": ADDED})
_BRINGS_BACK: Final = UndoCall(tool="fs.restore", outputs={"tickets": "/tickets"})
_PUTS_BACK: Final = UndoCall(tool="fs.restore", outputs={"put_back": "/put_back"})

OF_TOOLS: Final = MappingProxyType(
    {
        "archive.rotate": _BRINGS_BACK,
        "archive.unpack": TAKES_AWAY,
        "artifact.get": TAKES_AWAY,
        "fs.copy": TAKES_AWAY,
        "fs.move": _PUTS_BACK,
        "fs.trash": _BRINGS_BACK,
        "fs.write": TAKES_AWAY,
    }
)
"""The way back of each tool whose result tells all that it has changed."""
UNDOING: Final = frozenset({"fs.restore", "fs.trash"})
"""The tools that take back work; with `left_by` also that of a task whose attempts gave no result."""
LEFT_BY: Final = "left_by"
"""The argument by which the hub's own undo names that task. Nobody sees which files it stands for before the call, so
neither a plan nor a model may give it.
"""


def way_back(spec: TaskSpec) -> UndoCall | None:
    """Return the call that takes back the work of a task; None if nothing does.

    A task that may make another call does more than its tool's result tells, and one call takes back no files that were
    saved beside those that its tool moved. The undo of an undo would be the work itself.
    """
    if spec.undo is not None or spec.any_of or spec.undoes is not None:
        return spec.undo
    of_tool = OF_TOOLS.get(spec.tool or "")
    if not spec.files_out:
        return of_tool
    return TAKES_AWAY if of_tool in (None, TAKES_AWAY) else None


def way_back_of_stopped(spec: TaskSpec) -> UndoCall | None:
    """Return the call that takes back what an attempt had written that gave no result, as its device noted it.

    Nobody else knows it, so the undo of a plan cannot be given it.
    """
    call = way_back(spec)
    if call is None or spec.undo is not None:
        return None
    left: dict[str, object] = {LEFT_BY: spec.id}
    return UndoCall(tool=call.tool, args=canonical({**left, "paths": []} if call.tool == "fs.trash" else left))


def leaves_saved(spec: TaskSpec) -> bool:
    """Tell whether a task saves files that its way back does not take away, as one that its plan names may not."""
    call = way_back(spec)
    return bool(spec.files_out) and (call is None or ADDED not in call.outputs.values())


def tells_added(spec: TaskSpec) -> bool:
    """Tell whether the result of a task names the files that it made or replaced."""
    return bool(spec.files_out) or OF_TOOLS.get(spec.tool or "") == TAKES_AWAY
