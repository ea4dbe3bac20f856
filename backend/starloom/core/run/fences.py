"""The fence of an attempt, at which its device must stop it, with the name and the timers of the attempt. Pure."""

from __future__ import annotations

from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Work
from starloom_protocol.records.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.vocabulary import REPEATABLE, Reason
from starloom_protocol.wire.frames import LeaseRef

# Reasons of an open attempt whose device was asked to stop it. They outlive an absence, or its receipt would be lost.
TOLD_TO_STOP = frozenset({Reason.OVERDUE, Reason.MOVING})


def lease_ref(constellation: Constellation, task: str, number: int, attempt: Attempt) -> LeaseRef:
    """Return the name of an attempt in frames."""
    return LeaseRef(attempt=number, constellation=constellation.name, incarnation=attempt.incarnation, task=task)


def absence_of(spec: TaskSpec, attempt: Attempt) -> tuple[int, str]:
    """Return (T in milliseconds, action) of an attempt's absence policy, with defaults."""
    if spec.on_absence.then:
        return spec.on_absence.after_s * 1000, spec.on_absence.then
    return (0, "reassign") if attempt.repeatability in REPEATABLE else (0, "wait")


def fence_after_ms(work: Work, spec: TaskSpec, attempt: Attempt) -> int:
    """Return how long after its last answered `alive` an agent must stop; 0 means never (`wait`)."""
    after_ms, then = absence_of(spec, attempt)
    if then == "wait":
        return 0
    settings = work.shard.settings
    return max(settings.ttl_ms + after_ms - settings.absence_margin_ms, settings.ttl_ms // 4)


def timer(constellation: Constellation, task: str, kind: str, record: TaskRecord, due_ms: int) -> ArmTimer:
    """Return the order to judge a task again at a moment."""
    return ArmTimer(
        attempt=record.attempt,
        constellation=constellation.name,
        due_ms=due_ms,
        entity=task,
        kind=kind,
        round=record.round,
    )


def arm_fence(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, attempt: Attempt) -> None:
    """Arm a timer that judges a cancel again when the attempt's own fence must have ended it."""
    fence = fence_after_ms(work, spec, attempt)
    if fence:
        settings = work.shard.settings
        due = work.at_ms + settings.ttl_ms + fence + settings.grace_ms
        work.order(timer(constellation, spec.id, "fence", record, due))
