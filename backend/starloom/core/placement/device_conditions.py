"""Conditions that connected devices report: battery, presence of the owner, sleep, a full disk.

A sleeping device is neither lost nor late: the clocks of its attempts stand still until it wakes or disconnects.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement.disk_room import full_disk_words, has_full_disk
from starloom.core.state.inputs import ConditionReceived
from starloom.core.state.work import Put, Work
from starloom_protocol.records.entities import Attempt, Device, TaskRecord
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import DeviceFact, DeviceLink


def on_condition(work: Work, item: ConditionReceived) -> None:
    """Take a device's report of its battery, its owner's presence, its sleep or its disk."""
    fleet = work.shard.fleet
    device = fleet.devices.get(item.device)
    if device is None or device.session != item.session:
        work.ignore("a newer session has taken over")
        return
    facts = dict(sorted({**device.condition, **item.facts}.items()))
    asleep = facts.get(DeviceFact.SUSPENDING) == "true"
    link = DeviceLink.SUSPENDED if asleep else DeviceLink.ONLINE
    if facts == device.condition and link is device.link:
        return
    changed = replace(device, condition=facts)
    if link is not device.link:
        woke(work, device)
        changed = replace(changed, link=link, link_since_ms=work.at_ms)
    kind = EventKind.DEVICE_CONDITION
    full = has_full_disk(changed)
    if full != has_full_disk(device):
        kind = EventKind.DEVICE_FULL if full else EventKind.DEVICE_HAS_ROOM
    note = full_disk_words(changed) if kind is EventKind.DEVICE_FULL else ""
    work.emit(fleet, kind, device.id, [("device", device.id, changed)], note=note)


def woke(work: Work, device: Device) -> None:
    """Exclude the sleep of a device from the time of its tasks; call it while its record still says that it sleeps."""
    if device.link is not DeviceLink.SUSPENDED:
        return
    by_name: dict[str, list[Put]] = {}
    for name, task in work.shard.fleet.holders.get(device.id, {}):
        constellation = work.shard.constellations[name]
        record = constellation.tasks[task]
        attempt = constellation.attempt(task, record.attempt)
        if not record.absent_since_ms:
            by_name.setdefault(name, []).append(("task", task, stood_asleep(record, attempt, device, work.at_ms)))
    for name, puts in by_name.items():
        work.emit(work.shard.constellations[name], EventKind.DEVICE_WOKE, device.id, puts, by="engine")


def stood_asleep(record: TaskRecord, attempt: Attempt, device: Device | None, now_ms: int) -> TaskRecord:
    """Return a task's record with the sleep of its device until now excluded."""
    if device is None or device.link is not DeviceLink.SUSPENDED:
        return record
    slept_ms = max(0, now_ms - max(device.link_since_ms, attempt.leased_ms))
    return replace(record, stood_ms=record.stood_ms + slept_ms)
