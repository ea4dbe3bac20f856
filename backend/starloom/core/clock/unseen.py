"""Firings that failed only because nobody could see their notices: where, by which fault, and since when.

Owns what two such ends have in common; people read those of one cause together. Decides no notice: `schedules` does.
"""

from __future__ import annotations

from starloom.core.placement.selection import NOTIFY
from starloom.core.state.model import Constellation
from starloom_protocol.records.schedules import Notice, Unseen
from starloom_protocol.vocabulary import TaskState


def unseen_in(constellation: Constellation, before: Notice | None, at_ms: int) -> Unseen | None:
    """Return the cause that the failed tasks share, all of them notices; None where anything else failed or differs.

    The cause lasts since the notice `before`, if that has the same one.
    """
    failed = [task for task, record in constellation.tasks.items() if record.state is TaskState.FAILED]
    if not failed or any(constellation.specs[task].tool != NOTIFY for task in failed):
        return None
    last = [constellation.last_attempt(task) for task in failed]
    causes = {(attempt.device, attempt.code) if attempt is not None else None for attempt in last}
    cause = causes.pop()
    if causes or cause is None or cause[1] is None:
        return None
    known = before.unseen if before is not None else None
    same = known is not None and (known.device, known.code) == cause
    return Unseen(code=cause[1], device=cause[0], since_ms=known.since_ms if known is not None and same else at_ms)
