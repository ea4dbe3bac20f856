"""The controls of a task that its state allows: hub, CLI and page offer these and no others.

A control that is allowed may still ask for a person's `confirm`, where work must not be repeated.
"""

from __future__ import annotations

from typing import Final

from starloom_protocol.vocabulary import TaskState

_UNSTARTED: Final = ("skip", "hold", "release", "cancel")
_ENDED: Final = ("retry", "retry-from", "mark")

CONTROLS: Final[dict[TaskState, tuple[str, ...]]] = {
    TaskState.WAITING: _UNSTARTED,
    TaskState.READY: _UNSTARTED,
    TaskState.LEASED: ("cancel",),
    TaskState.RUNNING: ("cancel",),
    TaskState.CANCELLING: (),
    TaskState.UNKNOWN: ("retry", "mark"),
    TaskState.SUCCEEDED: ("retry-from", "mark"),
    TaskState.FAILED: _ENDED,
    TaskState.CANCELLED: _ENDED,
    TaskState.SKIPPED: _ENDED,
}
