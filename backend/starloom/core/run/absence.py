"""Absence and timers of attempts: absence by its policy, its end, back-off, the fence of a cancel.

A timer is judged against state; a stale one changes nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement import device_conditions, waiting
from starloom.core.placement.device_groups import off_devices
from starloom.core.run import recovery
from starloom.core.run.attempts import TOLD_TO_STOP, absence_of, stopped
from starloom.core.state.inputs import LeaseExpired, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import CloseDevice
from starloom.core.state.transitions import Trigger, Verdict, look_up
from starloom.core.state.work import Work, change_task, present, task_of_timer, task_timer
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import DeviceLink, Reason


def on_lease_expired(work: Work, item: LeaseExpired) -> None:
    """Make an attempt absent that no `alive` has named for ttl + grace; its policy decides the consequence."""
    constellation = work.shard.constellations.get(item.at.constellation)
    record = constellation.tasks.get(item.at.task) if constellation else None
    if constellation is None or record is None or record.attempt != item.at.attempt:
        work.ignore("its lease is closed")
        return
    if item.silent:
        _fell_silent(work, constellation.attempt(item.at.task, record.attempt).device)
    row = look_up(record.state, Trigger.SILENT)
    if row.verdict is not Verdict.ACT or record.absent_since_ms:
        work.ignore(row.reason or "it is known to be absent")
        return
    case = present(work, constellation, item.at.task)
    spec, attempt = case.spec, case.attempt
    after_ms, then = absence_of(work.shard.settings, spec, attempt, work.at_ms)
    device = work.shard.fleet.devices.get(attempt.device)
    awake = device_conditions.without_sleep(record, attempt, device, work.at_ms)
    reason = awake.reason if awake.reason in TOLD_TO_STOP else Reason.ABSENT
    absent = replace(awake, reason=reason, absent_since_ms=work.at_ms)
    change_task(
        work,
        constellation,
        spec.id,
        EventKind.TASK_ABSENT,
        absent,
        by=ENGINE,
        note=_absence_words(spec, after_ms, then),
    )
    if then == "wait":
        return
    if after_ms == 0:
        recovery.lost(present(work, constellation, spec.id), then)
    else:
        work.order(task_timer(constellation, spec.id, "absence", absent, work.at_ms + after_ms))


def _fell_silent(work: Work, device_id: str) -> None:
    """Mark a connected device as off that sent no `alive` for the span of a lease; it gets no work until it connects.

    Its connection may be open and even answer pings, as that of a frozen program or of a browser tab in the background.
    """
    device = work.shard.fleet.devices.get(device_id)
    span_ms = work.shard.settings.ttl_ms + work.shard.settings.grace_ms
    if device is None or device.link is not DeviceLink.ONLINE or work.at_ms - device.link_since_ms < span_ms:
        return
    offline = replace(device, link=DeviceLink.OFFLINE, link_since_ms=work.at_ms)
    reason = f"the device is connected and has been silent for {span_ms // 1000} s"
    work.emit(
        work.shard.fleet,
        EventKind.DEVICE_OFFLINE,
        device.id,
        [("device", device.id, offline)],
        note=reason,
        by=ENGINE,
    )
    work.order(CloseDevice(code="", device=device.id, reason=reason, session=device.session))


def _absence_words(spec: TaskSpec, after_ms: int, then: str) -> str:
    if then == "wait":
        return "the device does not answer; the work waits for it"
    after = f"in {after_ms // 1000} s" if after_ms else "now"
    if then == "reassign" and spec.device is not None and (spec.device.name or spec.device.id):
        return f"the device does not answer; it is the one that the plan names, so {after} the work waits for it"
    return f"the device does not answer; the work is {'moved' if then == 'reassign' else 'given up'} {after}"


def end_absence(work: Work, constellation: Constellation, task: str) -> None:
    """End the absence of an attempt whose device has answered before the attempt was given away."""
    record = constellation.tasks[task]
    if record.absent_since_ms and look_up(record.state, Trigger.HEARD).verdict is Verdict.ACT:
        stood_ms = record.stood_ms + work.at_ms - record.absent_since_ms
        device = work.shard.fleet.devices.get(record.device or "")
        tap = device_conditions.tap_reason(device, constellation.name, task, record.attempt)
        reason = record.reason if record.reason in TOLD_TO_STOP else tap
        back = replace(record, reason=reason, absent_since_ms=0, stood_ms=stood_ms)
        change_task(work, constellation, task, EventKind.TASK_HEARD, back, by=ENGINE)


def on_timer(work: Work, item: TimerFired) -> None:
    """Handle a timer of an attempt, judged against state; a stale one changes nothing."""
    timed = task_of_timer(work, item)
    if timed is None:
        return
    constellation, record = timed
    spec = constellation.specs[item.entity]
    if item.kind == "backoff" and record.reason is Reason.BACKOFF:
        again = replace(record, reason=Reason.HELD if record.held else None, not_before_ms=0)
        change_task(work, constellation, spec.id, EventKind.TASK_READY, again, by=ENGINE)
    elif item.kind == "absence" and record.absent_since_ms:
        case = present(work, constellation, spec.id)
        after_ms, then = absence_of(work.shard.settings, spec, case.attempt, record.absent_since_ms)
        if work.at_ms < record.absent_since_ms + after_ms:
            work.ignore("the timer belongs to an earlier absence")
        else:
            recovery.lost(case, then)
    elif item.kind == "fence" and look_up(record.state, Trigger.FENCE_PASSED).verdict is Verdict.ACT:
        case = present(work, constellation, spec.id)
        device = case.attempt.device
        device_record = work.shard.fleet.devices.get(device)
        is_online = device_record is not None and device_record.link is DeviceLink.ONLINE
        if device in work.shard.fleet.holders and is_online:
            # The device sends `alive`, so its fence has not expired: only its receipt proves the end.
            work.order(task_timer(constellation, spec.id, "fence", record, work.at_ms + work.shard.settings.ttl_ms))
            return
        stopped(case.with_attempt(ended_ms=work.at_ms, detail="stopped by its own fence"))
    elif item.kind == "waits_long":
        waiting.on_too_long(work, constellation, spec, record)
    elif item.kind == off_devices.TIMER:
        off_devices.on_due(work, constellation, spec, record)
    elif item.kind == "heard":
        end_absence(work, constellation, spec.id)
    else:
        work.ignore("the timer is stale")
