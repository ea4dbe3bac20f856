"""Calls of the hub's own tools: carried out in the step in which they would be leased, as a result in the log.

Owns what `fleet.devices`, `device.drain` and `device.resume` give and do, and decides again at the call whether the
author of the plan may control devices. No device is asked, and no slot is held. The result is a value of the task
itself, without an attempt, as that of a question to a person.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from starloom.core.fleet import draining
from starloom.core.placement.device_groups.returning import expected_after_restart, waits_for
from starloom.core.state import queues
from starloom.core.state.model import Constellation, Demand, Fleet, Shard
from starloom.core.state.tasks.named_times import NoMoment, named_ms
from starloom.core.state.tasks.roles import is_of_goal
from starloom.core.state.tasks.turns import begins_ms
from starloom.core.state.work import Refusal, Work, change_task, fault, moved, task_timer, without_moment
from starloom_protocol.records.entities import Device, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE, may_decide, name_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.tools.hub_tools import (
    DEVICES,
    DRAIN,
    HUB_TOOLS,
    NAMED_MOST,
    RESUME,
    ROWS_MOST,
    SECONDS_MOST,
    DevicesArgs,
    DrainArgs,
    ResumeArgs,
    controls_devices,
)
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import WORKING_CONSTELLATION_STATES, Code, DeviceLink, Reason, Role, TaskState

_STATE_OF = {DeviceLink.ONLINE: "on", DeviceLink.OFFLINE: "off", DeviceLink.SUSPENDED: "asleep"}
_MAY_CONTROL = frozenset({Role.OWNER, Role.OPERATOR})
T = TypeVar("T")
_OWN_PLAN = "Submit a plan of its own for it."


def carry_out(work: Work, demands: Iterable[Demand]) -> bool:
    """Carry out every ready call in these demands for the hub's own tools; True if there was one."""
    shard, any_call = work.shard, False
    for demand in demands:
        for name in list(demand.lines):
            for task in _take_from_queue(shard, demand, name):
                any_call = True
                _call(work, shard.constellations[name], task)
    return any_call


def _take_from_queue(shard: Shard, demand: Demand, name: str) -> list[str]:
    """Remove a constellation's tasks from the queue of a demand and return those that may run, highest rank first."""
    is_working = shard.constellations[name].head.state in WORKING_CONSTELLATION_STATES
    tasks = []
    for _rank, _order, task in sorted(demand.lines[name]):
        if shard.queued.get((name, task)) == demand.key:
            del shard.queued[name, task]
            tasks.append(task)
    demand.lines[name].clear()
    queues.leave(shard, demand, name)
    # A paused constellation queues its tasks again when it continues.
    return tasks if is_working else []


def _call(work: Work, constellation: Constellation, task: str) -> None:
    spec, record = constellation.specs[task], constellation.tasks[task]
    try:
        _check_may_call(work, constellation, spec, record)
        if _defer(work, constellation, spec, record):
            return
        value = _CALLS[spec.tool or ""](work, constellation, spec)
    except Refusal as refusal:
        cause = refusal.faults[0]
        failed = moved(work, record, TaskState.FAILED, code=cause.code, checked=False, started=record.started + 1)
        change_task(work, constellation, task, EventKind.TASK_FAILED, failed, note=cause.reason, by=ENGINE)
        work.fire_rules(constellation, task, "failed")
        return
    ended = moved(work, record, TaskState.SUCCEEDED, marked=canonical(value), started=record.started + 1)
    change_task(work, constellation, task, EventKind.TASK_SUCCEEDED, ended, note="the hub carried it out", by=ENGINE)
    work.fire_rules(constellation, task, "succeeded")


def begin_deferred(work: Work) -> None:
    """Let each call begin that waited for devices, once none of them is expected any more."""
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        for task in list(constellation.moments):
            spec, record = constellation.specs[task], constellation.tasks[task]
            if spec.tool in HUB_TOOLS and _may_begin(work, constellation, spec) and not _away(work, spec):
                change_task(work, constellation, task, EventKind.TASK_READY, without_moment(work, record), by=ENGINE)


def _may_begin(work: Work, constellation: Constellation, spec: TaskSpec) -> bool:
    """Tell whether the plan lets a call begin now; one whose own time is still to come waits for that."""
    if begins_ms(constellation, spec.id) > work.at_ms:
        return False
    try:
        return spec.not_before is None or named_ms(constellation, spec.not_before, work.at_ms) <= work.at_ms
    except NoMoment:
        return False


def _away(work: Work, spec: TaskSpec) -> list[Device]:
    """Return the expected devices for which a call waits: of those that it names, or of all.

    Wrong arguments are refused later.
    """
    names: list[str] = []
    if spec.tool == DEVICES:
        with contextlib.suppress(Refusal):
            names = _args(spec, DevicesArgs).names
    return expected_after_restart(work.shard.fleet, work.at_ms, names)


def _defer(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> bool:
    """Let a call wait for devices that this hub lost when it ended itself: they are not down, and may take work.

    Return False where it need not wait.
    """
    if spec.tool == RESUME:
        return False
    away = _away(work, spec)
    if not away:
        return False
    until_ms = max(device.expected_until_ms for device in away)
    later = replace(record, reason=Reason.MOMENT, not_before_ms=until_ms)
    work.order(task_timer(constellation, spec.id, "moment", later, until_ms))
    change_task(work, constellation, spec.id, EventKind.TASK_READY, later, note=waits_for(away), by=ENGINE)
    return True


def _check_may_call(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> None:
    """Refuse a call that controls a device and is not one that a person approved with its plan, or not any more."""
    if spec.look or is_of_goal(constellation, spec.id):
        raise Refusal(fault(Code.FORBIDDEN, f"no look and no step of a goal calls {spec.tool}", spec.id, _OWN_PLAN))
    if not controls_devices(spec.tool):
        return
    is_added = spec.changed_in != 1 or spec.key is not None or spec.undoes is not None or spec.verifies is not None
    if is_added or spec.inputs or record.round > 1:
        reason = f"{spec.tool} is called once, with the arguments of the plan that a person approved"
        raise Refusal(fault(Code.FORBIDDEN, reason, spec.id, _OWN_PLAN))
    head = constellation.head
    if not head.controls or not may_decide(head.author) or head.schedule is not None:
        raise Refusal(fault(Code.FORBIDDEN, f"{name_of(head.author)} may not control devices here", spec.id))
    name = name_of(head.author)
    for principal in work.shard.access.principals.values():
        if principal.name == name and principal.role not in _MAY_CONTROL:
            reason = f"the role of {name} is {principal.role} now, and {spec.tool} needs operator"
            raise Refusal(fault(Code.FORBIDDEN, reason, spec.id))


def _args(spec: TaskSpec, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(spec.args, type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(fault(Code.BAD_REQUEST, f"{spec.tool}: {error}", spec.id)) from error


def _devices(work: Work, _constellation: Constellation, spec: TaskSpec) -> dict[str, Any]:
    """Return a row for each device, those that are down first; at most `ROWS_MOST`, which the log can bear."""
    args = _args(spec, DevicesArgs)
    fleet = work.shard.fleet
    if not 0 <= args.for_s <= SECONDS_MOST or len(args.names) > ROWS_MOST:
        raise Refusal(fault(Code.BAD_REQUEST, f"{spec.tool} takes {ROWS_MOST} names and {SECONDS_MOST} s", spec.id))
    devices = [device for device in fleet.devices.values() if not device.revoked]
    if args.names:
        wanted = set(args.names)
        devices = [device for device in devices if device.name in wanted or device.id in wanted]
    ordered = sorted(devices, key=lambda device: (device.name, device.id))
    down = [device for device in ordered if _is_down(device, work.at_ms, args.for_s)]
    down_ids = {device.id for device in down}
    listed = [*down, *(device for device in ordered if device.id not in down_ids)][:ROWS_MOST]
    names = {name for device in ordered for name in (device.name, device.id)}
    rows = [_row(fleet, device, work.at_ms) for device in listed]
    return {
        "at": _iso_time(work.at_ms),
        "count": len(ordered),
        "down": len(down),
        "left_out": len(ordered) - len(listed),
        "off": rows[: min(len(down), ROWS_MOST)],
        "rows": sorted(rows, key=lambda row: str(row["device"])),
        "unknown": [name[:128] for name in args.names if name not in names],
    }


def _is_down(device: Device, now_ms: int, for_s: int) -> bool:
    return device.link is not DeviceLink.ONLINE and now_ms - device.link_since_ms >= for_s * 1000


def _row(fleet: Fleet, device: Device, now_ms: int) -> dict[str, Any]:
    is_online = device.link is DeviceLink.ONLINE
    return {
        "device": device.name,
        "draining": device.draining,
        "last_seen": _iso_time(now_ms if is_online else device.link_since_ms),
        "os": device.os,
        "running": fleet.used.get(device.id, 0),
        "set_aside": device.quarantined,
        "since": _iso_time(device.link_since_ms),
        "state": _STATE_OF[device.link],
    }


def _iso_time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _device(work: Work, spec: TaskSpec, name: str) -> Device:
    fleet = work.shard.fleet
    # An id is compared first: no device takes the place of another one by its name.
    device = fleet.devices.get(name) or fleet.named(name)
    if device is None or device.revoked:
        reason = f"{spec.tool} names {name[:80]}, and no device here is called so"
        raise Refusal(fault(Code.UNKNOWN_DEVICE, reason, spec.id))
    return device


def _reason(constellation: Constellation, reason: str) -> str:
    return reason or f"by {constellation.head.name}"


def _drain(work: Work, constellation: Constellation, spec: TaskSpec) -> dict[str, Any]:
    args = _args(spec, DrainArgs)
    device = _device(work, spec, args.device)
    if args.deadline_s < 0:
        raise Refusal(fault(Code.BAD_REQUEST, "a drain has no deadline before now", spec.id))
    by, reason = constellation.head.author, _reason(constellation, args.reason)
    moving, staying = draining.drain(work, device, deadline_s=args.deadline_s, reason=reason, by=by)
    return {
        "device": device.name,
        "draining": True,
        "moved": len(moving),
        "moving": _task_rows(moving),
        "stayed": len(staying),
        "staying": _task_rows(staying),
    }


def _task_rows(tasks: list[draining.TaskName]) -> list[dict[str, str]]:
    return [{"constellation": one.constellation, "task": one.task} for one in tasks[:NAMED_MOST]]


def _resume(work: Work, constellation: Constellation, spec: TaskSpec) -> dict[str, Any]:
    args = _args(spec, ResumeArgs)
    device = _device(work, spec, args.device)
    draining.resume(work, device, reason=_reason(constellation, args.reason), by=constellation.head.author)
    return {"device": device.name, "draining": False}


_CALLS: Final[dict[str, Callable[[Work, Constellation, TaskSpec], dict[str, Any]]]] = {
    DEVICES: _devices,
    DRAIN: _drain,
    RESUME: _resume,
}
