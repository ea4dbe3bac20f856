"""The call that takes back the work of a task: the one that its plan names, or the one that its tool always has.

A built-in tool that writes files puts what it replaces into the trash of its device, and its result names all that it
has made. So the hub knows the way back of such a call without a word of the plan. The device decides whether it can go
it: its trash has bounds, and a file that somebody changed since stays.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from starloom_protocol.records.entities import TaskSpec, UndoCall

_TAKES_AWAY: Final = UndoCall(tool="fs.trash", outputs={"paths": "/added"})
_BRINGS_BACK: Final = UndoCall(tool="fs.restore", outputs={"tickets": "/tickets"})
_PUTS_BACK: Final = UndoCall(tool="fs.restore", outputs={"put_back": "/put_back"})

OF_TOOLS: Final = MappingProxyType(
    {
        "archive.rotate": _BRINGS_BACK,
        "archive.unpack": _TAKES_AWAY,
        "artifact.get": _TAKES_AWAY,
        "fs.copy": _TAKES_AWAY,
        "fs.move": _PUTS_BACK,
        "fs.trash": _BRINGS_BACK,
        "fs.write": _TAKES_AWAY,
    }
)
"""The way back of each tool whose result tells all that it has changed."""


def way_back(spec: TaskSpec) -> UndoCall | None:
    """Return the call that takes back the work of a task; None if nothing does.

    A task that saves further files, or that may make another call, does more than its tool's result tells. The undo of
    an undo would be the work itself.
    """
    if spec.undo is not None or spec.files_out or spec.any_of or spec.undoes is not None:
        return spec.undo
    return OF_TOOLS.get(spec.tool or "")
