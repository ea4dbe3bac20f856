"""The exit codes of `starloom`, which carry the result. Decides which one a state or a refusal means.

A watch that is cut never ends in `SUCCEEDED`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, cast

from starloom_protocol.vocabulary import Code, ConstellationState

if TYPE_CHECKING:
    from starloom_protocol.api.previews import PlanPreview, RequestPreview


class Exit(IntEnum):
    SUCCEEDED = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    ATTENTION = 4
    UNREACHABLE = 5
    CANCELLED = 6
    INTERRUPTED = 130
    OUTPUT_LOST = 74
    """Output could not be written, as on a full disk: the code of `sysexits.h` for it. It says nothing of the work."""
    READER_GONE = 141
    """Output was not read to its end: the code that a shell shows for a program which a closed pipe has ended."""


_OF_STATE = {
    ConstellationState.SUCCEEDED: Exit.SUCCEEDED,
    ConstellationState.FAILED: Exit.FAILED,
    ConstellationState.PARTIAL: Exit.PARTIAL,
    ConstellationState.CANCELLED: Exit.CANCELLED,
}


def exit_of_state(state: str) -> Exit | None:
    """Return the exit code of a final state of a constellation, None for one that is not final."""
    return _OF_STATE.get(ConstellationState(state))


def exit_of_refusal(status: int, code: str) -> Exit:
    """Return the exit code of a refused request: the request is wrong, or the hub cannot do it, or it failed.

    A refused token is a wrong call, never the result of a constellation; a refusal that waits for a person's approval
    or for a grant needs a person.
    """
    if code in (Code.NEEDS_APPROVAL, Code.MISSING_GRANT):
        return Exit.ATTENTION
    if status in (502, 503, 504):
        return Exit.UNREACHABLE
    if status in (400, 401, 403, 404, 405, 410, 413, 415, 422):
        return Exit.USAGE
    return Exit.FAILED


def exit_of_preview(preview: RequestPreview, *, approved: str = "") -> Exit:
    """Return the exit code that submitting a preview would begin with; `approved` is the hash given with it.

    Words that no recipe fits and no model may plan are a mistake in the call, as is a plan that may not start. A plan
    that waits for an approval, or whose tasks are held until somebody gives a grant or a secret, needs a person.
    """
    if preview.get("may_not"):
        return Exit.USAGE
    understood = preview.get("understood")
    is_understood = understood is not None and (understood["outcome"] == "exact" or understood.get("by_model", False))
    if not preview["tasks"] and not is_understood:
        return Exit.USAGE
    waits = bool(preview.get("asks_approval")) and approved != preview["plan_hash"]
    return Exit.ATTENTION if waits or preview.get("held") else Exit.SUCCEEDED


def exit_of_plan(preview: PlanPreview, *, approved: str = "") -> Exit:
    """Return the exit code that submitting a plan without words would begin with; its preview has no match of words."""
    return exit_of_preview(cast("RequestPreview", preview), approved=approved)
