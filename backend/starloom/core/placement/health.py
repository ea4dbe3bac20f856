"""Health of devices: one that fails more than its peers is suspect, then set aside with probes, then restored.

A fault is an end caused by the device: interrupted, lost, timed out, or an error of class `device`. Each success
removes one, so only a device that keeps failing stands out, and only if its peers do not fail too, which would point to
the work or the network. A device that was set aside is probed with repeatable work. If there is none, it is ranked last
again; otherwise work that only it can do would never run. Costs one look-up for a device without faults.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Fleet, Shard
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Work
from starloom_protocol.records.entities import Attempt
from starloom_protocol.records.fleet import Health
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import CODES, ENDED_THERE, AttemptEnd, Code, CodeClass

TIMER = "probe"
SUSPECT, QUARANTINED = "suspect", "quarantined"
GOOD_TO_RESTORE = 2
OUTLIER_TIMES = 3
_FAULTS = frozenset({AttemptEnd.INTERRUPTED, AttemptEnd.LOST, AttemptEnd.TIMEOUT})
# A decision of its owner, or a state that the owner can mend with one command, says nothing about the device. Nor does
# a fence: the lease ran out, as on each device when the hub was away. A device without a desktop, or without a program,
# does its other work as well as its peers. So does one with a full folder, which concerns the work that writes there.
_NOT_ITS_FAULT = frozenset(
    {Code.MISSING_GRANT, Code.POLICY_REFUSED, Code.NEEDS_APPROVAL, Code.FENCED, Code.TOOL_UNAVAILABLE, Code.NO_SPACE}
)


def is_fault(ended: Attempt) -> bool:
    """Tell whether an attempt's end counts as a fault of its device."""
    if ended.code in _NOT_ITS_FAULT or _was_asked_for(ended):
        return False
    if ended.end in _FAULTS:
        return True
    if ended.end is not AttemptEnd.ERROR or ended.code is None:
        return False
    return CODES[ended.code].code_class is CodeClass.DEVICE


def _was_asked_for(ended: Attempt) -> bool:
    """Tell whether an attempt was interrupted because a person at its device said so."""
    return ended.end is AttemptEnd.INTERRUPTED and ended.detail.endswith(ENDED_THERE)


def hinders_its_tool(ended: Attempt) -> bool:
    """Tell whether an attempt's end makes its device a worse place for the same tool: a fault, or a full folder."""
    return is_fault(ended) or (ended.end is AttemptEnd.ERROR and ended.code is Code.NO_SPACE)


def failed(work: Work, ended: Attempt) -> None:
    """Count an end against its device if it is a fault; a device that stands out is ranked last, then set aside."""
    fleet = work.shard.fleet
    device = fleet.devices.get(ended.device)
    if device is None or device.revoked:
        return
    if not is_fault(ended):
        if ended.end is AttemptEnd.ERROR and fleet.health:
            # The error is the tool's own, so the device works.
            succeeded(work, device.id)
        return
    before = fleet.health.get(device.id) or Health(device=device.id, since_ms=work.at_ms)
    now = replace(before, faults=before.faults + 1, good=0)
    settings = work.shard.settings
    outlier = _stands_out(fleet, now)
    if before.state == QUARANTINED:
        if not before.trying:
            _put(work, EventKind.DEVICE_FAULT, now, [])
            return
        _set_aside(work, replace(now, probe_ms=min(now.probe_ms * 2, settings.probe_most_ms)), "its probe failed too")
    elif outlier and now.faults >= settings.quarantine_at:
        why = f"{now.faults} of its tasks were interrupted, lost or failed by its own fault; its peers do better"
        pause_ms = min(max(now.probe_ms * 2, settings.probe_first_ms), settings.probe_most_ms)
        _set_aside(work, replace(now, state=QUARANTINED, since_ms=work.at_ms, probe_ms=pause_ms), why)
    elif outlier and now.faults >= settings.suspect_at and before.state != SUSPECT:
        note = f"{now.faults} faults, more than its peers: it is asked last"
        _put(work, EventKind.DEVICE_SUSPECTED, replace(now, state=SUSPECT, since_ms=work.at_ms), [], note)
    else:
        _put(work, EventKind.DEVICE_FAULT, now, [])


def succeeded(work: Work, device: str) -> None:
    """Remove one fault; two successes in a row restore a device that was set aside."""
    fleet = work.shard.fleet
    before = fleet.health.get(device)
    if before is None:
        return
    now = replace(before, faults=max(0, before.faults - 1), good=before.good + 1)
    if before.state == QUARANTINED:
        if not before.trying:
            work.ignore("it was given before its device was set aside")
            return
        if now.good < GOOD_TO_RESTORE:
            again = replace(fleet.devices[device], probing=True)
            now = replace(now, trying=False, since_ms=work.at_ms)
            _put(work, EventKind.DEVICE_PROBED, now, [("device", device, again)], "its probe succeeded")
            work.order(_timer(now))
            return
        restored = replace(fleet.devices[device], quarantined=False, probing=False, aside="")
        puts: list[Put] = [("health", device, None), ("device", device, restored)]
        work.emit(fleet, EventKind.DEVICE_RESTORED, device, puts, note="its probes succeeded", by=ENGINE)
    elif not now.faults:
        work.emit(fleet, EventKind.DEVICE_SOUND, device, [("health", device, None)], by=ENGINE)
    else:
        _put(work, EventKind.DEVICE_SOUND, replace(now, state="ok") if not _stands_out(fleet, now) else now, [])


def granted(work: Work, device: str) -> None:
    """Note that a probed device has its one task; if it does not report, it is probed again later."""
    fleet = work.shard.fleet
    health = fleet.health.get(device)
    if health is None or health.state != QUARANTINED:
        return
    trying = replace(health, trying=True, since_ms=work.at_ms)
    taken = replace(fleet.devices[device], probing=False)
    _put(work, EventKind.DEVICE_TRIED, trying, [("device", device, taken)])
    work.order(_timer(trying))


def on_timer(work: Work, item: TimerFired) -> None:
    """Probe a device that was set aside with one task, or end a probe that found no task after another pause."""
    device = work.shard.fleet.devices.get(item.entity)
    health = work.shard.fleet.health.get(item.entity)
    if device is None or health is None or not device.quarantined:
        work.ignore("the timer is stale")
        return
    if work.at_ms < health.since_ms + health.probe_ms:
        work.ignore("the timer belongs to an earlier probe")
        return
    if device.probing:
        _ask_last(work, health)
        return
    if work.shard.fleet.used.get(device.id, 0):
        later = replace(health, since_ms=work.at_ms)
        _put(work, EventKind.DEVICE_TRIED, later, [])
        work.order(_timer(later))
        return
    note = "it may have one task that may be repeated, to see whether it works again"
    open_now = replace(health, trying=False, since_ms=work.at_ms)
    _put(work, EventKind.DEVICE_PROBING, open_now, [("device", device.id, replace(device, probing=True))], note)
    work.order(_timer(open_now))


def due_moments(shard: Shard) -> Iterator[ArmTimer]:
    """Yield the timer of the next probe of each device that was set aside, or of the end of the open one."""
    for device in shard.fleet.devices.values():
        if device.quarantined and device.id in shard.fleet.health:
            yield _timer(shard.fleet.health[device.id])


def _timer(health: Health) -> ArmTimer:
    return ArmTimer(constellation=FLEET, due_ms=health.since_ms + health.probe_ms, entity=health.device, kind=TIMER)


def _stands_out(fleet: Fleet, now: Health) -> bool:
    """Tell whether a device has several times the mean faults of its peers; False without a peer."""
    before = fleet.health.get(now.device)
    peers = len(fleet.by_name) - 1
    others = fleet.faults - (before.faults if before is not None else 0)
    return peers > 0 and now.faults * peers >= OUTLIER_TIMES * max(others, 1)


def _set_aside(work: Work, health: Health, why: str) -> None:
    fleet = work.shard.fleet
    now = replace(health, since_ms=work.at_ms, good=0, trying=False)
    aside = replace(fleet.devices[health.device], quarantined=True, probing=False, aside=why)
    _put(work, EventKind.DEVICE_QUARANTINED, now, [("device", aside.id, aside)], why)
    work.order(_timer(now))


def _ask_last(work: Work, health: Health) -> None:
    """Rank a device last again, as no repeatable work could probe it; the next fault sets it aside twice as long."""
    fleet = work.shard.fleet
    faults = max(work.shard.settings.quarantine_at - 1, 1)
    suspect = replace(health, state=SUSPECT, since_ms=work.at_ms, faults=faults, good=0, trying=False)
    back = replace(fleet.devices[health.device], quarantined=False, probing=False, aside="")
    note = "there was nothing that may be repeated to try it with: it is asked last"
    _put(work, EventKind.DEVICE_SUSPECTED, suspect, [("device", back.id, back)], note)


def _put(work: Work, kind: EventKind, health: Health, also: list[Put], note: str = "") -> None:
    puts: list[Put] = [("health", health.device, health), *also]
    work.emit(work.shard.fleet, kind, health.device, puts, note=note, by=ENGINE)
