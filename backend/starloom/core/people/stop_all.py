"""Stop all: every live constellation is cancelled, and the attempts that each device has to confirm are kept.

The firings of schedules that wait are left out. The schedules themselves go on with their next moment.

A device has confirmed when the last attempt that it was asked to end is certainly closed: by its receipt, its result or
its fence. A device that is away stays listed until then.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.people import controls
from starloom.core.state.inputs import ControlRequested, StopAllRequested
from starloom.core.state.model import Shard
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.fleet import Stopping
from starloom_protocol.records.schedules import course_of
from starloom_protocol.stream.authors import ENGINE, is_assistant
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import counted
from starloom_protocol.vocabulary import Code, ConstellationState, ScheduleState


def on_stop_all(work: Work, item: StopAllRequested) -> None:
    """Cancel every live constellation; the answer names them, the devices that have to confirm, and active schedules.

    Raises:
        Refusal: `forbidden` for an assistant, which stops constellations one by one.
    """
    if is_assistant(work.by):
        reason = "only a person stops the work of everybody"
        raise Refusal(fault(Code.FORBIDDEN, reason, hint="Cancel what you have asked for, by its id."))
    shard = work.shard
    left_out = _leave_out_waiting(work)
    stopped: list[str] = []
    for name in list(shard.live):
        head = shard.constellations[name].head
        if head.state is not ConstellationState.CANCELLING:
            controls.on_control(
                work, ControlRequested(id=item.id, by=item.by, action="cancel", constellation=name, reason=item.reason)
            )
        stopped.append(name)
    work.answers[:] = [answer for answer in work.answers if answer.input_id != item.id]
    attempts_by_device = _open_attempts(shard, stopped)
    fleet = shard.fleet
    puts: list[Put] = [("stopping", device, None) for device in fleet.stopping if device not in attempts_by_device]
    for device, attempts in attempts_by_device.items():
        row = Stopping(
            asked=len(attempts), at_ms=work.at_ms, attempts=attempts, by=work.by, device=device, reason=item.reason
        )
        puts.append(("stopping", device, row))
    note = f"{len(stopped)} constellations, {len(attempts_by_device)} devices have to confirm"
    work.emit(fleet, EventKind.STOP_ALL, "", puts, note=note)
    active = sorted(one.name for one in fleet.schedules.values() if one.state is ScheduleState.ACTIVE)
    work.answer(
        {
            "constellations": stopped,
            "devices": sorted(attempts_by_device),
            "left_out": left_out,
            "schedules": active,
        }
    )


def _leave_out_waiting(work: Work) -> int:
    """Empty the queue of each schedule, since the end of a firing starts the next one; return their number."""
    shard, count = work.shard, 0
    for schedule in list(shard.fleet.schedules.values()):
        if waiting := len(schedule.queued):
            count += waiting
            after = replace(schedule, queued=[], skipped=schedule.skipped + waiting)
            note = f"{counted(waiting, 'firing')} left out by a stop of everything"
            put: Put = ("schedule", schedule.id, after)
            if shard.settings.keeps_courses:
                put = ("schedule_course", schedule.id, course_of(after))
            work.emit(shard.fleet, EventKind.SCHEDULE_CHANGED, schedule.id, [put], note=note)
    return count


def _open_attempts(shard: Shard, names: list[str]) -> dict[str, list[str]]:
    """Return the open attempts of these constellations, by device."""
    by_device: dict[str, list[str]] = {}
    for name in names:
        constellation = shard.constellations[name]
        for key in constellation.open_attempts:
            by_device.setdefault(constellation.attempts[key].device, []).append(f"{name}/{key}")
    return by_device


def note_ended(work: Work) -> None:
    """Remove the attempts that ended in this step from those that their devices have to confirm."""
    shard = work.shard
    ended, shard.ended_stops = shard.ended_stops, {}
    for attempt in ended:
        device = shard.fleet.stop_waits.get(attempt)
        if device is None:
            continue
        row = shard.fleet.stopping[device]
        unconfirmed = [item for item in row.attempts if item not in ended]
        after = replace(row, attempts=unconfirmed, confirmed_ms=0 if unconfirmed else work.at_ms)
        kind = EventKind.DEVICE_STOPPING if unconfirmed else EventKind.DEVICE_STOPPED
        work.emit(shard.fleet, kind, device, [("stopping", device, after)], by=ENGINE)
