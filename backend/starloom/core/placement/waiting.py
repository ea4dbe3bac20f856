"""Ready tasks that no device can take: when they ask for a person's attention, and when that ends.

Waiting for a busy device is normal and asks for none. No capable device or a missing grant asks for attention at once,
a device that is away after `schedule_to_start_s`. An optional task is skipped then, unless work needs it, and at once
where the devices that it names are here and cannot do it.
"""

from __future__ import annotations

from collections.abc import Iterator

from starloom.core.placement.absent_devices import gone_devices
from starloom.core.placement.device_groups import off_devices
from starloom.core.placement.feasible import is_able, is_named, judge_device, nearest, offering
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import ArmTimer
from starloom.core.state.queues import ANY, demand_key, queueable
from starloom.core.state.task_needs import missing, needs_in, set_line
from starloom.core.state.tasks.roles import is_needed, is_optional_part, is_over, is_unbegun
from starloom.core.state.work import Work, attend, change_task, moved, unattend
from starloom_protocol.records.entities import Device, Selector, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import few
from starloom_protocol.tools.profiles import TAB_OS
from starloom_protocol.vocabulary import (
    WORKING_CONSTELLATION_STATES,
    Attention,
    ConstellationState,
    DeviceLink,
    Reason,
    TaskState,
)

_TOLD_MOST = 3
# A browser tab sleeps until a person opens it, so it asks for attention.
_ABOUT_DEVICES = (Attention.NO_CAPABLE_DEVICE, Attention.WAITS_LONG, Attention.MISSING_GRANT, Attention.MISSING_SECRET)


def watch(work: Work) -> None:
    """Check the tasks that joined a queue in this step and found no device: arm a timer, perhaps ask for attention."""
    shard = work.shard
    queued, shard.queued_now = shard.queued_now, {}
    judged_demands: dict[tuple[str, tuple[str, bytes]], None] = {}
    for name, task in queued:
        constellation = shard.constellations.get(name)
        record = constellation.tasks.get(task) if constellation is not None else None
        if constellation is None or record is None or not queueable(record):
            continue
        spec = constellation.specs[task]
        work.order(too_long(constellation, spec, record, record.since_ms))
        off = off_devices.timer_for(constellation, shard.fleet, spec, record, work.at_ms) if spec.key else None
        if off is not None:
            work.order(off)
        key = (constellation.name, demand_key(spec))
        if key not in judged_demands and constellation.head.state is ConstellationState.ACTIVE:
            judged_demands[key] = None
            _attend(work, constellation, spec)


def _attend(work: Work, constellation: Constellation, spec: TaskSpec) -> None:
    reason = obstacle(work, constellation, spec)
    if reason is Reason.NO_CAPABLE_DEVICE:
        left = " and ".join(device.name for device in gone_devices(work.shard.fleet, spec))
        lacks = f"needs {left}, which has left" if left else f"needs {spec.tool}, which no device that fits it offers"
        note = f"{spec.id} {lacks}"
        attend(work, constellation, Attention.NO_CAPABLE_DEVICE, note=note)
    elif reason is Reason.MISSING_GRANT:
        note = f"{spec.id} needs {spec.tool}, which no device that fits it is allowed to do"
        attend(work, constellation, Attention.MISSING_GRANT, note=note)
    elif reason is Reason.MISSING_SECRET:
        names = missing(needs_in(work.shard.access, constellation, spec))
        lines = ", ".join(set_line(name) for name in names)
        attend(work, constellation, Attention.MISSING_SECRET, note=f"{spec.id} needs a secret that is not set: {lines}")


def device_gone(work: Work, device: Device) -> None:
    """A device has left: where a ready task names it and no other can take that task, it asks for attention at once."""
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        if constellation.head.state is not ConstellationState.ACTIVE:
            continue
        waiting = [constellation.specs[task] for task, record in constellation.tasks.items() if queueable(record)]
        specs = {
            demand_key(spec): spec for spec in waiting if spec.device is not None and is_named(spec.device, device)
        }
        for spec in specs.values():
            _attend(work, constellation, spec)


def is_awaited(work: Work, wanted: str) -> bool:
    """Tell whether work that has not ended names a device so. All live work is looked at: ask of one name, seldom."""
    live = [work.shard.constellations[name] for name in work.shard.live]
    return any(
        _has_name(selector, wanted)
        for constellation in live
        for task, spec in constellation.specs.items()
        for selector in (spec.device, spec.for_each.devices if spec.for_each is not None else None)
        if selector is not None and not is_over(constellation, task)
    )


def _has_name(selector: Selector, name: str) -> bool:
    return selector.name == name or any(_has_name(one, name) for one in selector.any)


def obstacle(work: Work, constellation: Constellation, spec: TaskSpec) -> Reason | None:
    """Return the least obstacle that keeps a task from every device; None if one could take it when free."""
    shard, tool, selector = work.shard, spec.tool or "", spec.device or ANY
    if is_able(shard, constellation, spec):
        return None
    needs = needs_in(shard.access, constellation, spec)
    # A device that does not offer the tool has no lesser obstacle than that.
    here = offering(shard.fleet, tool)
    return nearest({judge_device(shard.fleet, device, tool, selector, needs).reason for device in here})


def too_long(constellation: Constellation, spec: TaskSpec, record: TaskRecord, from_ms: int) -> ArmTimer:
    """Return the timer of `schedule_to_start_s`."""
    # As `task_timer`, whose call each ready task would make: tests/engine/test_cost.py counts them.
    return ArmTimer(
        attempt=record.attempt,
        constellation=constellation.name,
        due_ms=from_ms + spec.timeouts.schedule_to_start_s * 1000,
        entity=spec.id,
        kind="waits_long",
        round=record.round,
    )


def on_too_long(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> None:
    """Ask for attention for a task that was ready for `schedule_to_start_s`, or skip it if it is optional.

    Nothing happens while its time stands still.
    """
    due_ms = too_long(constellation, spec, record, record.since_ms).due_ms
    if record.state is not TaskState.READY or work.at_ms < due_ms:
        work.ignore("the timer is stale")
        return
    paused = constellation.head.state not in WORKING_CONSTELLATION_STATES
    if paused or record.reason is not None or is_able(work.shard, constellation, spec) or _sleeps(work, spec):
        work.order(too_long(constellation, spec, record, work.at_ms))
        return
    if _may_be_skipped(constellation, spec, record):
        _skip(work, constellation, spec.id, f"no device could begin it within {spec.timeouts.schedule_to_start_s} s")
        note_granted(work, constellation)
        return
    attend(work, constellation, Attention.WAITS_LONG, note=f"{spec.id} has waited for its device longer than it may")


def leave_out(work: Work) -> bool:
    """Skip the optional tasks that joined a queue in this step and that no device they name can do; True for any."""
    shard, any_skipped = work.shard, False
    for name, task in [at for at, may_go in shard.queued_now.items() if may_go]:
        constellation = shard.constellations.get(name)
        record = constellation.tasks.get(task) if constellation is not None else None
        if constellation is None or record is None or constellation.head.state is not ConstellationState.ACTIVE:
            continue
        spec = constellation.specs[task]
        if spec.optional and queueable(record) and _may_be_skipped(constellation, spec, record):
            unable = unable_words(shard.fleet, spec)
            if unable:
                _skip(work, constellation, task, unable)
                any_skipped = True
    return any_skipped


def unable_words(fleet: Fleet, spec: TaskSpec) -> str:
    """Return why no device that a task names can do its call, where all of them are here; else nothing.

    A grant or a secret that is missing is no such obstacle, nor a device that is away: these pass without the plan.
    """
    if spec.any_of or spec.for_each is not None:
        return ""
    obstacles = []
    for part in _each(spec.device or ANY):
        device = fleet.devices.get(part.id) if part.id is not None else fleet.named(part.name or "")
        if device is None or device.link is not DeviceLink.ONLINE or device.id not in fleet.offers:
            return ""
        judgement = judge_device(fleet, device, spec.tool or "", part)
        if judgement.reason is not Reason.NO_CAPABLE_DEVICE:
            return ""
        obstacles.append(f"{device.name} {judgement.words}")
    return few(obstacles, _TOLD_MOST)


def _each(selector: Selector) -> Iterator[Selector]:
    """Yield the choices of a selector."""
    if not selector.any:
        yield selector
    for part in selector.any:
        yield from _each(part)


def _may_be_skipped(constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> bool:
    return is_optional_part(spec) and is_unbegun(record) and not is_needed(constellation, spec.id)


def _skip(work: Work, constellation: Constellation, task: str, why: str) -> None:
    record = constellation.tasks[task]
    skipped = moved(work, record, TaskState.SKIPPED, reason=Reason.NO_CAPABLE_DEVICE, cause="not_chosen")
    note = f"{why}, and it is optional"
    change_task(work, constellation, task, EventKind.TASK_SKIPPED, skipped, note=note, by=ENGINE)


def _sleeps(work: Work, spec: TaskSpec) -> bool:
    """Tell whether a device that could do a task sleeps; the task's time to wait stands still meanwhile."""
    fleet, selector = work.shard.fleet, spec.device or ANY
    return any(
        device.link is DeviceLink.SUSPENDED
        and device.os != TAB_OS
        and judge_device(fleet, device, spec.tool or "", selector).reason is Reason.DEVICE_AWAY
        for device in offering(fleet, spec.tool or "")
    )


def note_granted(work: Work, constellation: Constellation) -> None:
    """End the attention about devices after a lease, once no task of this constellation waits for one."""
    attention = constellation.head.attention
    if not attention or not any(reason in attention for reason in _ABOUT_DEVICES):
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


def secrets_set(work: Work) -> None:
    """End the attention about missing secrets after one was set, where no task waits for one any more."""
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        if Attention.MISSING_SECRET not in constellation.head.attention:
            continue
        specs = (constellation.specs[task] for task, record in constellation.tasks.items() if queueable(record))
        if not any(missing(needs_in(work.shard.access, constellation, spec)) for spec in specs):
            unattend(work, constellation, Attention.MISSING_SECRET)
