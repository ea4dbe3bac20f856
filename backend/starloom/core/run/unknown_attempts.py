"""Unknown attempts: a device has begun them and this log does not have them, as after a backup was restored.

Such a log would give out unrepeatable work a second time. The device's report adds the attempt as one in doubt: its own
result counts if it is that of the same call, else a person decides. The owner is notified once. Never decides about
repeatable work.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement.feasible import elsewhere, is_kept_from, judge_device
from starloom.core.run.attempts import digest_of, dispatch_of
from starloom.core.state.inputs import LedgerReported
from starloom.core.state.model import Constellation
from starloom.core.state.queues import ANY
from starloom.core.state.task_needs import needs_in
from starloom.core.state.work import Case, Work, attend, change_task, moved
from starloom_protocol.records.entities import Attempt, Device, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    REPEATABLE,
    AttemptEnd,
    Attention,
    ConstellationState,
    EffectSeen,
    Reason,
    TaskState,
)
from starloom_protocol.wire.frames import LeaseRef

WHY = "its device remembers it; this history is older"
OTHER = "its device began another call under this name; this history is older"
_TAKES_UP = frozenset({ConstellationState.ACTIVE, ConstellationState.PAUSED})


def on_begun(work: Work, item: LedgerReported) -> None:
    """Take a device's report of an unrepeatable attempt that it has begun; does nothing if the log has it."""
    at, device = item.at, work.shard.fleet.devices.get(item.device)
    constellation = work.shard.constellations.get(at.constellation)
    if device is None or constellation is None or constellation.name not in work.shard.live:
        work.ignore("a device remembers work of a constellation that is not live")
        return
    spec, record = constellation.specs.get(at.task), constellation.tasks.get(at.task)
    logged = constellation.attempts.get(f"{at.task}/{at.attempt}")
    if spec is None or record is None or (logged is not None and _same(logged, device, at)):
        work.ignore("what a device has begun is known")
        return
    if record.attempt > at.attempt or not _could_have_had(work, constellation, spec, device):
        work.ignore("a device remembers an attempt that it could not have had")
        return
    _tell_owner(work, constellation, device, at)
    if constellation.head.state not in _TAKES_UP or is_kept_from(device, spec.device or ANY):
        # A device that was reserved since may have begun it, but work that does not name it is not given to it.
        return
    attempt = constellation.attempts.get(f"{at.task}/{record.attempt}")
    if record.state is TaskState.READY and record.reason in (None, Reason.HELD, Reason.BACKOFF):
        _take_up(work, constellation, spec, record, device, item)
    elif record.state is TaskState.LEASED and attempt is not None and attempt.device == device.id:
        if record.attempt < at.attempt:
            unstarted = replace(attempt, end=AttemptEnd.NEVER_STARTED, ended_ms=work.at_ms, effect=EffectSeen.NONE)
            work.emit(
                constellation, EventKind.ATTEMPT_ENDED, spec.id, [("attempt", f"{spec.id}/{record.attempt}", unstarted)]
            )
        record = replace(record, started=max(record.started - 1, 0))
        _take_up(work, constellation, spec, record, device, item)
    elif (
        record.state is TaskState.WAITING and not record.held and elsewhere(work.shard, constellation, spec, device.id)
    ):
        # Only another device would begin it again; this one refuses it, and then the attempt is added.
        note = f"{device.name} remembers that it began {spec.id}; release it to run it, or mark it"
        change_task(work, constellation, spec.id, EventKind.TASK_HELD, replace(record, held=True), note=note, by=ENGINE)


def _same(logged: Attempt, device: Device, at: LeaseRef) -> bool:
    return logged.device == device.id and logged.incarnation == at.incarnation


def _could_have_had(work: Work, constellation: Constellation, spec: TaskSpec, device: Device) -> bool:
    """Tell whether this device may be given the task: its report about work of other devices does not count."""
    offer = work.shard.fleet.tools.get(device.id, {}).get(spec.tool or "")
    if offer is None or (spec.repeatability or offer.repeatability) in REPEATABLE:
        return False
    needs = needs_in(work.shard.access, constellation, spec)
    shared = replace(device, reserved=False)
    judgement = judge_device(work.shard.fleet, shared, spec.tool or "", spec.device or ANY, needs)
    return judgement.reason in (None, Reason.BUSY)


def _tell_owner(work: Work, constellation: Constellation, device: Device, at: LeaseRef) -> None:
    """Tell the owner that a device remembers more than the history has: once, until it was seen."""
    if device.remembers:
        return
    words = (
        f"this history is older than what {device.name} remembers: it has begun {at.task} of "
        f"{constellation.head.name or constellation.name}, attempt {at.attempt}, in life {at.incarnation}. "
        "Work that may not be repeated is taken up as it is known there, or waits for you"
    )
    new_device = replace(device, remembers=words)
    work.emit(
        work.shard.fleet, EventKind.HISTORY_OLDER, device.id, [("device", device.id, new_device)], note=words, by=ENGINE
    )


def _take_up(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, device: Device, item: LedgerReported
) -> None:
    """Open the attempt as one in doubt. If it is the same call, send its dispatch: the device answers from its ledger.

    An edit, or a step of a goal, that was lost may have given this name to another call. Then the device's result does
    not count, and a person decides; so it is with a step of a goal whose device noted no digest.
    """
    at = item.at
    offer = work.shard.fleet.tools[device.id][spec.tool or ""]
    attempt = Attempt(
        device=device.id,
        effect=EffectSeen.MAYBE,
        incarnation=at.incarnation,
        leased_ms=work.at_ms,
        repeatability=spec.repeatability or offer.repeatability,
        round=record.round,
        started_ms=work.at_ms,
        why=WHY,
    )
    unknown = moved(
        work,
        record,
        TaskState.UNKNOWN,
        attempt=at.attempt,
        device=device.id,
        reason=Reason.MAY_HAVE_HAPPENED,
        started=record.started + 1,
    )
    case = Case(work, constellation, spec, unknown, at.attempt, attempt)
    order = dispatch_of(case)
    note = f"{spec.id} may have happened before this history was restored; mark or retry it"
    if not item.call:
        is_same = spec.group is None or constellation.specs[spec.group].goal is None
    elif not (is_same := item.call == digest_of(constellation, order)):
        note = f"{device.name} began another call under the name {spec.id} before this history; mark or retry it"
    if not is_same:
        case = case.with_attempt(other_call=True, why=OTHER if item.call else WHY)
    case.emit(EventKind.TASK_UNKNOWN, unknown, note=case.attempt.why, by=ENGINE)
    attend(work, constellation, Attention.TASK_UNKNOWN, note=note)
    if is_same:
        work.order(order)
