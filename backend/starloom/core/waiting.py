"""Ready tasks that nobody can take: when a person should know, and when that is over.

Waiting for a busy device is normal and says nothing. No capable device or a missing grant asks for attention at once;
a device that is away is waited for until `schedule_to_start_s` has passed.
"""

from __future__ import annotations

from starloom.core.effects import ArmTimer
from starloom.core.model import Constellation
from starloom.core.placement import judge
from starloom.core.queues import ANY, demand_key, queueable
from starloom.core.work import Work, attend, unattend
from starloom_protocol.entities import TaskRecord, TaskSpec
from starloom_protocol.vocabulary import Attention, ConstellationState, Reason, TaskState

_ABOUT_DEVICES = (Attention.NO_CAPABLE_DEVICE, Attention.WAITS_LONG, Attention.MISSING_GRANT)


def watch(work: Work) -> None:
    """Look at tasks that joined a queue in this step and found no device in it: a timer each, perhaps attention."""
    shard = work.shard
    judged: dict[tuple[str, tuple[str, bytes]], None] = {}
    for name, task in shard.queued_now:
        constellation = shard.constellations.get(name)
        record = constellation.tasks.get(task) if constellation else None
        if constellation is None or record is None or not queueable(record):
            continue
        spec = constellation.specs[task]
        work.order(too_long(constellation, spec, record, record.since_ms))
        key = (name, demand_key(spec))
        if key not in judged and constellation.head.state is ConstellationState.ACTIVE:
            judged[key] = None
            _attend(work, constellation, spec)
    shard.queued_now.clear()


def _attend(work: Work, constellation: Constellation, spec: TaskSpec) -> None:
    reason = best_reason(work, spec)
    if reason is Reason.NO_CAPABLE_DEVICE:
        note = f"{spec.id} needs {spec.tool}, which no device that fits it offers"
        attend(work, constellation, Attention.NO_CAPABLE_DEVICE, note=note)
    elif reason is Reason.MISSING_GRANT:
        note = f"{spec.id} needs {spec.tool}, which no device that fits it is allowed to do"
        attend(work, constellation, Attention.MISSING_GRANT, note=note)


def best_reason(work: Work, spec: TaskSpec) -> Reason | None:
    """Return what stands between a task and the device nearest to taking it; None if one is free."""
    selector = spec.device or ANY
    fleet = work.shard.fleet
    found = dict.fromkeys(judge(fleet, device, spec.tool or "", selector).reason for device in fleet.devices.values())
    for reason in (None, Reason.BUSY, Reason.DEVICE_AWAY, Reason.MISSING_GRANT):
        if reason in found:
            return reason
    return Reason.NO_CAPABLE_DEVICE


def too_long(constellation: Constellation, spec: TaskSpec, record: TaskRecord, from_ms: int) -> ArmTimer:
    """Return the timer of `schedule_to_start_s`."""
    return ArmTimer(
        attempt=record.attempt,
        constellation=constellation.name,
        due_ms=from_ms + spec.timeouts.schedule_to_start_s * 1000,
        entity=spec.id,
        kind="waits_long",
        round=record.round,
    )


def on_too_long(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> None:
    """A task was ready for `schedule_to_start_s`: attention, unless the time stood still."""
    if record.state is not TaskState.READY:
        work.ignore("the timer is stale")
        return
    paused = constellation.head.state is not ConstellationState.ACTIVE
    if paused or record.reason is not None or best_reason(work, spec) in (None, Reason.BUSY):
        work.order(too_long(constellation, spec, record, work.at_ms))
        return
    attend(work, constellation, Attention.WAITS_LONG, note=f"{spec.id} has waited for its device longer than it may")


def granted(work: Work, constellation: Constellation) -> None:
    """A task was leased: attention about devices ends once no task of this constellation waits for one."""
    if not any(reason in constellation.head.attention for reason in _ABOUT_DEVICES):
        return
    waits = any(
        record.state is TaskState.READY
        and record.reason in (None, Reason.MISSING_GRANT)
        and constellation.specs[task].tool is not None
        for task, record in constellation.tasks.items()
    )
    if not waits:
        for reason in _ABOUT_DEVICES:
            unattend(work, constellation, reason)
