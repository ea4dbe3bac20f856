"""Draining: a device gets no new work, and at its deadline repeatable work is moved to devices that can do it.

Work that may not be repeated is never cut: it runs to its end, however long the drain waits. To move work, the hub asks
the device to stop and waits for its receipt, so that nothing runs twice; a moved attempt uses up no try.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from starloom.core.placement.feasible import elsewhere
from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.orders import ArmTimer, SendCancel, SendDrain
from starloom.core.state.transitions import Trigger, Verdict, look_up
from starloom.core.state.work import Put, Refusal, Work, change_task, fault
from starloom_protocol.records.entities import Device
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import REPEATABLE, Code, Reason

TIMER = "drain"
DEADLINE_MOST_S = 7 * 86_400


class TaskName(NamedTuple):
    """A task on a draining device."""

    constellation: str
    task: str


class WorkOfDevice(NamedTuple):
    """The tasks of a draining device: those that are moved now, and those that continue there."""

    moving: list[TaskName]
    staying: list[TaskName]


def drain(work: Work, device: Device, *, deadline_s: int, reason: str, by: str | None = None) -> WorkOfDevice:
    """Stop giving a device new work; move its repeatable work away at the deadline.

    `deadline_s`: 0 moves it at once, -1 never.
    """
    if deadline_s > DEADLINE_MOST_S or deadline_s < -1:
        words = f"a drain takes 0 to {DEADLINE_MOST_S} s, or -1 for no deadline"
        raise Refusal(fault(Code.BAD_REQUEST, words, "deadline_s"))
    due_ms = work.at_ms + deadline_s * 1000 if deadline_s > 0 else 0
    draining = replace(device, draining=True, drain_due_ms=due_ms, drain_reason=reason[:500])
    puts: list[Put] = [("device", device.id, draining)]
    work.emit(work.shard.fleet, EventKind.DEVICE_DRAIN, device.id, puts, note=reason, by=by)
    work.order(SendDrain(device=device.id, draining=True, reason=reason[:500]))
    if deadline_s == 0:
        return _move_away(work, draining)
    if due_ms:
        work.order(_timer(draining))
    holders = work.shard.fleet.holders.get(device.id, {})
    return WorkOfDevice(moving=[], staying=[TaskName(name, task) for name, task in holders])


def resume(work: Work, device: Device, *, reason: str, by: str | None = None) -> None:
    """Give a device work again after it drained or was set aside."""
    resumed = replace(
        device, draining=False, drain_due_ms=0, drain_reason="", quarantined=False, aside="", probing=False
    )
    health: list[Put] = [("health", device.id, None)] if device.id in work.shard.fleet.health else []
    puts: list[Put] = [*health, ("device", device.id, resumed)]
    work.emit(work.shard.fleet, EventKind.DEVICE_RESUME, device.id, puts, note=reason, by=by)
    work.order(SendDrain(device=device.id, draining=False, reason=reason[:500]))


def greet(work: Work, device: Device) -> None:
    """Tell a device that has come back that it still drains."""
    if device.draining:
        work.order(SendDrain(device=device.id, draining=True, reason=device.drain_reason))


def on_timer(work: Work, item: TimerFired) -> None:
    """Move the repeatable work of a draining device whose deadline has passed."""
    device = work.shard.fleet.devices.get(item.entity)
    if device is None or not device.draining or not device.drain_due_ms or work.at_ms < device.drain_due_ms:
        work.ignore("the timer is stale")
        return
    _move_away(work, device)


def due_moments(shard: Shard) -> Iterator[ArmTimer]:
    """Yield the deadline of each draining device."""
    for device in shard.fleet.devices.values():
        if device.draining and device.drain_due_ms:
            yield _timer(device)


def _timer(device: Device) -> ArmTimer:
    return ArmTimer(constellation=FLEET, due_ms=device.drain_due_ms, entity=device.id, kind=TIMER)


def _move_away(work: Work, device: Device) -> WorkOfDevice:
    tasks = WorkOfDevice(moving=[], staying=[])
    for name, task in list(work.shard.fleet.holders.get(device.id, {})):
        moves = _move(work, work.shard.constellations[name], task)
        (tasks.moving if moves else tasks.staying).append(TaskName(name, task))
    note = (
        f"{len(tasks.moving)} moved to other devices; {len(tasks.staying)} must not be cut or fit no other and "
        "continue to their end"
    )
    work.emit(work.shard.fleet, EventKind.DEVICE_DRAIN_DUE, device.id, [], note=note, by=ENGINE)
    return tasks


def _move(work: Work, constellation: Constellation, task: str) -> bool:
    """Ask a task's device to give it back; False if it may not be repeated or no other device can do it."""
    record, spec = constellation.tasks[task], constellation.specs[task]
    attempt = constellation.attempt(task, record.attempt)
    if look_up(record.state, Trigger.MOVE).verdict is not Verdict.ACT or attempt.repeatability not in REPEATABLE:
        return False
    if record.reason is Reason.MOVING:
        return True
    if record.reason is not None or not elsewhere(work.shard, constellation, spec, attempt.device):
        return False
    moving = replace(record, reason=Reason.MOVING)
    reason = "its device drains; it is moved to another"
    change_task(work, constellation, task, EventKind.TASK_MOVING, moving, note=reason, by=ENGINE)
    at = constellation.lease_ref(task, record.attempt, attempt)
    work.order(SendCancel(at=at, device=attempt.device, reason=reason))
    return True
