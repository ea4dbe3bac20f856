"""Records of a constellation's past: its origin, and the calls that undo its work."""

from __future__ import annotations

from starloom_protocol.record import Record


class Origin(Record, frozen=True, kw_only=True):
    """The origin of a fork: another constellation after its event `seq`, at `version`, or from `task` on."""

    constellation: str
    seq: int
    task: str | None = None
    version: int


class UndoCall(Record, frozen=True, kw_only=True):
    """The call that undoes a task on the device that ran it; it must be safe to repeat.

    `outputs` are further arguments: a name, and the pointer to its value in the task's own result.
    """

    args: str = "{}"
    outputs: dict[str, str] = {}
    tool: str
