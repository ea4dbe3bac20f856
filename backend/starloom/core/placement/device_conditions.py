"""Conditions that connected devices report: battery, clock, presence of the owner, courtesy, sleep, a full disk, taps.

A sleeping device is neither lost nor late: the clocks of its attempts stand still until it wakes or disconnects. One
with its owner at it, or with a nearly empty battery, is spared: used last. Where the owner has a rule of courtesy, its
device says what follows from it, and that alone holds: it may only step back.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from starloom.core.state.inputs import ConditionReceived
from starloom.core.state.work import Put, Work, attend, change_task, unattend
from starloom_protocol.records.entities import Attempt, Device, TaskRecord
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.courtesy import no_work_words, taken_last_words
from starloom_protocol.vocabulary import Attention, Code, DeviceFact, DeviceLink, Reason, TaskState
from starloom_protocol.wire.frames import DISK_FULL

_OF_A_SESSION = frozenset(
    {
        DeviceFact.CLOCK,
        DeviceFact.COURTESY,
        DeviceFact.COURTESY_UNTIL,
        DeviceFact.COURTESY_WHY,
        DeviceFact.DISK,
        DeviceFact.DISK_FOLDER,
        DeviceFact.OWNER_PRESENT,
        DeviceFact.TAP,
    }
)


def has_full_disk(device: Device) -> bool:
    """Tell whether a device's last report about its disk says that it is full."""
    return device.condition.get(DeviceFact.DISK) == DISK_FULL


def full_disk_words(device: Device) -> str:
    """Return the words that follow the name of such a device: `has a full disk (FOLDER)`."""
    folder = device.condition.get(DeviceFact.DISK_FOLDER)
    return "has a full disk" + (f" ({folder})" if folder else "")


def without_session_facts(device: Device) -> Device:
    """Return a device at a new session, without the reports of an earlier process of its agent (`_OF_A_SESSION`)."""
    if not _OF_A_SESSION & device.condition.keys():
        return device
    rest = {fact: value for fact, value in device.condition.items() if fact not in _OF_A_SESSION}
    return replace(device, condition=rest)


def refused_words(device: Device) -> str:
    """Return why the hub refuses the agent of a device, and what to do; empty where it does not."""
    if device.link is not DeviceLink.OFFLINE or not device.refused:
        return ""
    if device.refused == Code.HUB_TOO_OLD:
        return "is refused, because this hub is too old for its agent: update the hub"
    return "is refused, because its agent is too old for this hub; on the device: starloom-agent upgrade"


def on_condition(work: Work, item: ConditionReceived) -> None:
    """Take a device's report: battery, owner's presence, sleep, disk, courtesy, taps."""
    fleet = work.shard.fleet
    device = fleet.devices.get(item.device)
    if device is None or device.revoked or device.session != item.session:
        work.ignore("a newer session has taken over")
        return
    facts = dict(sorted({**device.condition, **item.facts}.items()))
    is_asleep = facts.get(DeviceFact.SUSPENDING) == "true"
    link = DeviceLink.SUSPENDED if is_asleep else DeviceLink.ONLINE
    if facts == device.condition and link is device.link:
        return
    changed = replace(device, condition=facts)
    if link is not device.link:
        exclude_sleep(work, device)
        changed = replace(changed, link=link, link_since_ms=work.at_ms)
    kind = EventKind.DEVICE_CONDITION
    is_full = has_full_disk(changed)
    if is_full != has_full_disk(device):
        kind = EventKind.DEVICE_FULL if is_full else EventKind.DEVICE_HAS_ROOM
    note = full_disk_words(changed) if kind is EventKind.DEVICE_FULL else ""
    work.emit(fleet, kind, device.id, [("device", device.id, changed)], note=note)
    if DeviceFact.TAP in item.facts:
        _note_taps(work, changed)


def tap_reason(device: Device | None, constellation: str, task: str, attempt: int) -> Reason | None:
    """Return `tap` if a device says that its attempt of a task waits for a tap of the person who holds it."""
    tapping = device.condition.get(DeviceFact.TAP, "") if device is not None else ""
    return Reason.TAP if tapping and f"{constellation}/{task}/{attempt}" in tapping.split() else None


def _note_taps(work: Work, device: Device) -> None:
    """Note which running tasks of a device wait for a tap there, and which do not any more."""
    for name, task in list(work.shard.fleet.holders.get(device.id, {})):
        constellation = work.shard.constellations[name]
        record = constellation.tasks[task]
        reason = tap_reason(device, name, task, record.attempt)
        if record.state is not TaskState.RUNNING or record.reason not in (None, Reason.TAP) or record.reason is reason:
            continue
        kind = EventKind.TASK_AWAITS_TAP if reason else EventKind.TASK_TAPPED
        change_task(work, constellation, task, kind, replace(record, reason=reason))


def watch_taps(work: Work, names: Iterable[str]) -> None:
    """Ask for attention for each of these constellations that waits for a tap, and end it for one that does not."""
    for name in names:
        constellation = work.shard.constellations.get(name)
        if constellation is None:
            continue
        if constellation.tapped:
            attend(work, constellation, Attention.WAITS_FOR_A_TAP)
        elif Attention.WAITS_FOR_A_TAP in constellation.head.attention:
            unattend(work, constellation, Attention.WAITS_FOR_A_TAP)


def exclude_sleep(work: Work, device: Device) -> None:
    """Exclude the sleep of a device from the time of its tasks; call it while its record still says that it sleeps."""
    if device.link is not DeviceLink.SUSPENDED:
        return
    by_name: dict[str, list[Put]] = {}
    for name, task in work.shard.fleet.holders.get(device.id, {}):
        constellation = work.shard.constellations[name]
        record = constellation.tasks[task]
        attempt = constellation.attempt(task, record.attempt)
        if not record.absent_since_ms:
            by_name.setdefault(name, []).append(("task", task, without_sleep(record, attempt, device, work.at_ms)))
    for name, puts in by_name.items():
        work.emit(work.shard.constellations[name], EventKind.DEVICE_WOKE, device.id, puts, by=ENGINE)


def without_sleep(record: TaskRecord, attempt: Attempt, device: Device | None, now_ms: int) -> TaskRecord:
    """Return a task's record with the sleep of its device until now excluded."""
    if device is None or device.link is not DeviceLink.SUSPENDED:
        return record
    slept_ms = max(0, now_ms - max(device.link_since_ms, attempt.leased_ms))
    return replace(record, stood_ms=record.stood_ms + slept_ms)


def is_spared(device: Device) -> bool:
    """Tell whether a device is used only if no other is free."""
    return bool(taken_last_words(device.condition))


def spared_words(device: Device) -> str:
    """Return why a device is taken last; empty if it is not."""
    return taken_last_words(device.condition)


def courtesy_words(device: Device) -> str:
    """Return why a device takes no new work by the rule of its owner; empty if it does."""
    return no_work_words(device.condition)
