"""Timeouts of open attempts: start to close, the whole round, and going unnamed while the device talks.

They are computed from state by a sweep over open leases, so that work that ends in time costs nothing. Each finding is
an input, judged here again. The device enforces its own limit first; the hub is the backup.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from starloom.core.placement import finish
from starloom.core.run import hedge_opening, recovery
from starloom.core.run.attempts import dispatch_of
from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.orders import ArmTimer, SendCancel, SendResume
from starloom.core.state.transitions import Trigger, Verdict, look_up
from starloom.core.state.work import Case, Put, Work, attend, change_task, present, task_of_timer, task_timer, unattend
from starloom_protocol.records.entities import Attempt, Device, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    REPEATABLE,
    Attention,
    ConstellationState,
    DeviceLink,
    Reason,
    Resume,
    TaskState,
)

CLOSE = "start_to_close"
STOP = "stop_overdue"
WHOLE = "schedule_to_close"
UNNAMED = "heartbeat"
KINDS = frozenset({CLOSE, STOP, WHOLE, UNNAMED})


def passed(shard: Shard, now_ms: int) -> Iterator[ArmTimer]:
    """Yield a timer for each passed timeout that was not acted on yet; O(open leases + live constellations)."""
    slow: dict[str, None] = {}
    for device, holders in shard.fleet.holders.items():
        device_record = shard.fleet.devices.get(device)
        for name, task in holders:
            constellation = shard.constellations[name]
            record = constellation.tasks[task]
            if record.state is not TaskState.RUNNING:
                continue
            spec, attempt = constellation.specs[task], constellation.attempt(task, record.attempt)
            if not record.hedge and hedge_opening.is_due(shard, constellation, task, now_ms):
                yield task_timer(constellation, task, hedge_opening.KIND, record, now_ms)
            if _is_late(shard, device_record, spec, record, attempt, now_ms):
                kind = STOP if record.reason is Reason.OVERDUE else CLOSE
                yield task_timer(constellation, task, kind, record, now_ms)
            asleep = device_record is not None and device_record.link is DeviceLink.SUSPENDED
            if not asleep and _takes_long(constellation, task, now_ms):
                slow[name] = None
                if Attention.TAKES_LONG not in constellation.head.attention:
                    yield task_timer(constellation, task, WHOLE, record, now_ms)
    for name in shard.live:
        if name not in slow and Attention.TAKES_LONG in shard.constellations[name].head.attention:
            yield ArmTimer(constellation=name, due_ms=now_ms, entity="", kind=WHOLE)
    yield from finish.due_waits(shard, now_ms)


def _is_late(
    shard: Shard, device: Device | None, spec: TaskSpec, record: TaskRecord, attempt: Attempt, now_ms: int
) -> bool:
    """Tell whether a running attempt exceeds its time, or did not stop when asked; only while its device is online."""
    if device is None or device.link is not DeviceLink.ONLINE:
        return False
    margin_ms = shard.settings.ttl_ms + shard.settings.grace_ms
    if record.reason is Reason.OVERDUE:
        return now_ms >= max(record.since_ms, device.link_since_ms) + margin_ms
    return now_ms >= attempt.started_ms + spec.timeouts.start_to_close_s * 1000 + margin_ms


def _takes_long(constellation: Constellation, task: str, now_ms: int) -> bool:
    record = constellation.tasks[task]
    most_ms = constellation.specs[task].timeouts.schedule_to_close_s * 1000
    return record.state is TaskState.RUNNING and taken_ms(constellation, task, record, now_ms) >= most_ms


def taken_ms(constellation: Constellation, task: str, record: TaskRecord, now_ms: int) -> int:
    """Return how long the attempts of a task's round have taken together, without excluded time.

    The time between attempts (back-off, a busy device, a hold, an approval), pauses of the constellation and absences
    of a device for which the policy waits are excluded.
    """
    total_ms = -record.stood_ms
    for attempt in constellation.tried(task, record.attempt, record.round):
        total_ms += (attempt.ended_ms or now_ms) - attempt.leased_ms
    if record.absent_since_ms:
        return total_ms - (now_ms - record.absent_since_ms)
    if constellation.head.state is ConstellationState.PAUSED:
        return total_ms - _paused_ms(constellation, task, record, now_ms)
    return total_ms


def _paused_ms(constellation: Constellation, task: str, record: TaskRecord, now_ms: int) -> int:
    return now_ms - max(constellation.head.paused_since_ms, constellation.attempt(task, record.attempt).leased_ms)


def without_pause(constellation: Constellation, now_ms: int) -> list[Put]:
    """Return the records of tasks that ran during a pause that ends now, with the pause excluded."""
    puts: list[Put] = []
    for key in constellation.open_attempts:
        task = key.rpartition("/")[0]
        record = constellation.tasks[task]
        if not record.absent_since_ms:
            stood_ms = record.stood_ms + _paused_ms(constellation, task, record, now_ms)
            puts.append(("task", task, replace(record, stood_ms=stood_ms)))
    return puts


def on_timer(work: Work, item: TimerFired) -> None:
    """Handle a passed timeout, judged against state; a task that has moved since is left alone."""
    constellation = work.shard.constellations.get(item.constellation)
    if constellation is not None and item.kind == WHOLE and not item.entity:
        if not any(
            _takes_long(constellation, key.rpartition("/")[0], work.at_ms) for key in constellation.open_attempts
        ):
            unattend(work, constellation, Attention.TAKES_LONG)
        return
    timed = task_of_timer(work, item)
    if timed is None:
        return
    constellation, record = timed
    spec = constellation.specs[item.entity]
    if item.kind == UNNAMED:
        _ask_after(work, constellation, spec.id)
        return
    if look_up(record.state, Trigger.TIME_OVER).verdict is not Verdict.ACT:
        work.ignore("the timer is stale")
        return
    case = present(work, constellation, spec.id)
    if item.kind == WHOLE and _takes_long(constellation, spec.id, work.at_ms):
        note = f"{spec.id} has taken longer over all its attempts than its {spec.timeouts.schedule_to_close_s} s"
        attend(work, constellation, Attention.TAKES_LONG, note=note)
    elif item.kind == WHOLE or not _is_late(
        work.shard, work.shard.fleet.devices.get(case.attempt.device), spec, record, case.attempt, work.at_ms
    ):
        work.ignore("the timer is stale")
    elif record.reason is Reason.OVERDUE:
        _give_up(case)
    else:
        _tell_to_stop(case)


def _tell_to_stop(case: Case) -> None:
    """Ask the device to stop an attempt that it did not end in time; its receipt makes it a timeout."""
    overdue = replace(case.record, reason=Reason.OVERDUE, since_ms=case.work.at_ms)
    reason = f"it took longer than its {case.spec.timeouts.start_to_close_s} s"
    change_task(case.work, case.constellation, case.spec.id, EventKind.TASK_OVERDUE, overdue, by=ENGINE, note=reason)
    case.work.order(SendCancel(at=case.at, device=case.attempt.device, reason=reason))


def _give_up(case: Case) -> None:
    """Give up an attempt that did not stop when asked: repeatable work moves on, other work is in doubt."""
    if case.attempt.repeatability in REPEATABLE:
        recovery.timed_out(case)
    else:
        recovery.uncertain(case)


def _ask_after(work: Work, constellation: Constellation, task: str) -> None:
    """Restate an attempt to a talking device that did not name it; the device answers from its ledger."""
    attempt = constellation.last_attempt(task)
    if attempt is None or attempt.end is not None:
        work.ignore("the timer is stale")
        return
    case = present(work, constellation, task)
    if case.record.state is TaskState.LEASED:
        work.order(dispatch_of(case))
    elif case.record.state is TaskState.RUNNING and case.record.reason is not Reason.OVERDUE:
        work.order(SendResume(action=Resume.CONTINUE, at=case.at, device=attempt.device))
    else:
        work.order(SendCancel(at=case.at, device=attempt.device, reason="it was asked to stop"))
