"""Open hedges: two attempts of repeatable work run at once and the first result ends both (I3).

The task's record names the attempt that counts. When that one ends without success, the hedge takes its place; when the
hedge has its result first, it becomes the one that counts. `hedge_opening` opens them.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.state.model import Constellation
from starloom.core.state.orders import SendCancel
from starloom.core.state.work import Case, Put, Work, present
from starloom_protocol.records.entities import Attempt, TaskRecord
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import AttemptEnd, TaskState

_SLOWER = "the first attempt was faster"


def open_hedge(constellation: Constellation, task: str, record: TaskRecord) -> Attempt | None:
    """Return the open hedge of a task."""
    if record.hedge <= record.attempt:
        return None
    attempt = constellation.attempts.get(f"{task}/{record.hedge}")
    return attempt if attempt is not None and attempt.end is None else None


def take_over(case: Case) -> bool:
    """Let an open hedge take the place of the attempt that has ended; False if there is none."""
    record = case.record
    hedge = open_hedge(case.constellation, case.spec.id, record)
    if hedge is None:
        return False
    state = TaskState.RUNNING if hedge.started_ms else TaskState.LEASED
    state = record.state if record.state is TaskState.CANCELLING else state
    new_record = case.moved(state, attempt=record.hedge, device=hedge.device)
    hedge_put: Put = ("attempt", f"{case.spec.id}/{record.hedge}", replace(hedge, hedge=False))
    case.emit(EventKind.HEDGE_TOOK_OVER, new_record, hedge_put, note=case.attempt.detail, by=ENGINE)
    return True


def let_win(work: Work, constellation: Constellation, task: str) -> None:
    """End the first attempt of a task whose hedge has a result first; the hedge becomes the attempt that counts."""
    first = present(work, constellation, task)
    ended = first.with_attempt(end=AttemptEnd.REVOKED, ended_ms=work.at_ms, detail="its hedge was faster")
    if take_over(ended):
        work.order(SendCancel(at=first.at, device=first.attempt.device, reason="its hedge was faster"))


def close(case: Case) -> None:
    """End the open hedge of a task whose first attempt has a result."""
    hedge = _hedge_of(case)
    if hedge is not None:
        _emit_closed(hedge.with_attempt(end=AttemptEnd.REVOKED, ended_ms=case.work.at_ms, detail=_SLOWER))
        case.work.order(SendCancel(at=hedge.at, device=hedge.attempt.device, reason=_SLOWER))


def ended_early(hedge: Case) -> None:
    """Close a hedge that ended without a result; the first attempt continues alone."""
    _emit_closed(hedge, note=hedge.attempt.detail)


def _emit_closed(hedge: Case, *, note: str = "") -> None:
    hedge.work.emit(hedge.constellation, EventKind.HEDGE_CLOSED, hedge.spec.id, [hedge.put], note=note, by=ENGINE)


def stop(case: Case, reason: str) -> None:
    """Ask an open hedge to stop too; its task is over only when both have confirmed."""
    hedge = _hedge_of(case)
    if hedge is not None:
        case.work.order(SendCancel(at=hedge.at, device=hedge.attempt.device, reason=reason))


def _hedge_of(case: Case) -> Case | None:
    hedge = open_hedge(case.constellation, case.spec.id, case.record)
    return None if hedge is None else replace(case, number=case.record.hedge, attempt=hedge)


def end_hedges_of(work: Work, device: str) -> None:
    """End the hedges of a device that was revoked."""
    for name, task in list(work.shard.fleet.hedges.get(device, {})):
        hedge = _hedge_of(present(work, work.shard.constellations[name], task))
        if hedge is not None:
            detail = "its device was revoked"
            ended_early(hedge.with_attempt(end=AttemptEnd.REVOKED, ended_ms=work.at_ms, detail=detail))
