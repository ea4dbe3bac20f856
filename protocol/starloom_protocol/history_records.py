"""Records by which a constellation knows what it goes back to: its origin, and how work of it is undone."""

from __future__ import annotations

from starloom_protocol.record import Record


class Origin(Record, frozen=True, kw_only=True):
    """What a constellation was forked from: another one after its event `seq`, at `version`, or from `task` on."""

    constellation: str
    seq: int
    task: str | None = None
    version: int


class UndoCall(Record, frozen=True, kw_only=True):
    """The call that takes back what a task has done, on the device that did it; it must be safe to repeat.

    `outputs` are further arguments: a name, and the pointer into the task's own result that has its value.
    """

    args: str = "{}"
    outputs: dict[str, str] = {}
    tool: str
