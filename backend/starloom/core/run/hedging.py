"""Open hedges: two attempts of repeatable work run at once and the first result ends both (I3).

The task's record names the attempt that counts. When that one ends without success, the hedge takes its place; when the
hedge has its result first, it becomes the one that counts. `hedge_opening` opens them.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.state.model import Constellation
from starloom.core.state.orders import SendCancel
from starloom.core.state.work import Put, Work, change_task, moved
from starloom_protocol.records.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import AttemptEnd, TaskState


def of(constellation: Constellation, task: str, record: TaskRecord) -> Attempt | None:
    """Return the open hedge of a task."""
    if record.hedge <= record.attempt:
        return None
    found = constellation.attempts.get(f"{task}/{record.hedge}")
    return found if found is not None and found.end is None else None


def take_over(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> bool:
    """Let an open hedge take the place of the attempt that has ended; False if there is none."""
    hedge = of(constellation, spec.id, record)
    if hedge is None:
        return False
    state = record.state if record.state is TaskState.CANCELLING else _state_of(hedge)
    now = moved(work, record, state, attempt=record.hedge, device=hedge.device)
    old: Put = ("attempt", f"{spec.id}/{record.attempt}", ended)
    new: Put = ("attempt", f"{spec.id}/{record.hedge}", replace(hedge, hedge=False))
    change_task(work, constellation, spec.id, EventKind.HEDGE_TOOK_OVER, now, old, new, note=ended.detail, by=ENGINE)
    return True


def wins(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> None:
    """End the first attempt of a task whose hedge has a result first; the hedge becomes the attempt that counts."""
    first = constellation.attempt(spec.id, record.attempt)
    at = constellation.lease_ref(spec.id, record.attempt, first)
    ended = replace(first, end=AttemptEnd.REVOKED, ended_ms=work.at_ms, detail="its hedge was faster")
    if take_over(work, constellation, spec, record, ended):
        work.order(SendCancel(at=at, device=first.device, reason="its hedge was faster"))


def close(work: Work, constellation: Constellation, task: str, record: TaskRecord) -> None:
    """End the open hedge of a task whose first attempt has a result."""
    hedge = of(constellation, task, record)
    if hedge is None:
        return
    ended = replace(hedge, end=AttemptEnd.REVOKED, ended_ms=work.at_ms, detail="the first attempt was faster")
    work.emit(constellation, EventKind.HEDGE_CLOSED, task, [("attempt", f"{task}/{record.hedge}", ended)], by=ENGINE)
    at = constellation.lease_ref(task, record.hedge, hedge)
    work.order(SendCancel(at=at, device=hedge.device, reason="the first attempt was faster"))


def ended_early(work: Work, constellation: Constellation, task: str, record: TaskRecord, ended: Attempt) -> None:
    """Close a hedge that ended without a result; the first attempt continues alone."""
    put: Put = ("attempt", f"{task}/{record.hedge}", ended)
    work.emit(constellation, EventKind.HEDGE_CLOSED, task, [put], note=ended.detail, by=ENGINE)


def stop(work: Work, constellation: Constellation, task: str, record: TaskRecord, reason: str) -> None:
    """Ask an open hedge to stop too; its task is over only when both have confirmed."""
    hedge = of(constellation, task, record)
    if hedge is not None:
        at = constellation.lease_ref(task, record.hedge, hedge)
        work.order(SendCancel(at=at, device=hedge.device, reason=reason))


def revoked(work: Work, device: str) -> None:
    """End the hedges of a device that was revoked."""
    for name, task in list(work.shard.fleet.hedges.get(device, {})):
        constellation = work.shard.constellations[name]
        record = constellation.tasks[task]
        hedge = of(constellation, task, record)
        if hedge is not None:
            ended = replace(hedge, end=AttemptEnd.REVOKED, ended_ms=work.at_ms, detail="its device was revoked")
            ended_early(work, constellation, task, record, ended)


def _state_of(hedge: Attempt) -> TaskState:
    return TaskState.RUNNING if hedge.started_ms else TaskState.LEASED
