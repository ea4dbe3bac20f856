"""Draining: a device gets no new work, and at its deadline repeatable work is moved to devices that can do it.

Work that may not be repeated is never cut: it runs to its end, however long the drain waits. To move work, the hub asks
the device to stop and waits for its receipt, so that nothing runs twice; a moved attempt uses up no try.
"""

from __future__ import annotations

from collections.abc import Iterator

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


Moved = tuple[str, str]
"""A task on its way to another device: its constellation and its name."""


def drain(
    work: Work, device: Device, *, deadline_s: int, reason: str, by: str | None = None
) -> tuple[list[Moved], list[Moved]]:
    """Stop giving a device new work; move its repeatable work away, at once or at a deadline.

    Return the tasks that are moved now, and those that go on there.
    """
    if deadline_s > DEADLINE_MOST_S or deadline_s < -1:
        raise Refusal(fault(Code.BAD_REQUEST, f"a drain takes at most {DEADLINE_MOST_S} s", "deadline_s"))
    due_ms = work.at_ms + deadline_s * 1000 if deadline_s > 0 else 0
    draining = replace(device, draining=True, drain_due_ms=due_ms, drain_reason=reason[:500])
    puts: list[Put] = [("device", device.id, draining)]
    work.emit(work.shard.fleet, EventKind.DEVICE_DRAIN, device.id, puts, note=reason, by=by)
    work.order(SendDrain(device=device.id, draining=True, reason=reason[:500]))
    if deadline_s == 0:
        return _move_away(work, draining)
    if due_ms:
        work.order(_timer(draining))
    return [], list(work.shard.fleet.holders.get(device.id, {}))


def resume(work: Work, device: Device, *, reason: str, by: str | None = None) -> None:
    """Give a device work again after it drained or was set aside."""
    again = replace(device, draining=False, drain_due_ms=0, drain_reason="", quarantined=False, aside="", probing=False)
    cleared: list[Put] = [("health", device.id, None)] if device.id in work.shard.fleet.health else []
    puts: list[Put] = [*cleared, ("device", device.id, again)]
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


def _move_away(work: Work, device: Device) -> tuple[list[Moved], list[Moved]]:
    moving: list[Moved] = []
    staying: list[Moved] = []
    for name, task in list(work.shard.fleet.holders.get(device.id, {})):
        moves = _move(work, work.shard.constellations[name], task)
        (moving if moves else staying).append((name, task))
    note = (
        f"{len(moving)} moved to other devices; {len(staying)} must not be cut or fit no other and go on to their end"
    )
    work.emit(work.shard.fleet, EventKind.DEVICE_DRAIN_DUE, device.id, [], note=note, by=ENGINE)
    return moving, staying


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
