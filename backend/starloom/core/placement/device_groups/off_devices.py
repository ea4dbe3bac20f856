"""Groups over devices with `when_off: report`: a device that is off is reported, not waited for.

Owns when a child of such a group ends because its device is off, its row for later tasks (`off: true`), and the words.
The link of a device says whether it is off. Never ends a child that was begun; leases do.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import ArmTimer
from starloom.core.state.queues import queueable
from starloom.core.state.work import Work, change_task, moved, task_timer
from starloom_protocol.records.entities import Device, ForEach, Item, TaskRecord, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import WORKING_CONSTELLATION_STATES, DeviceLink, Reason, TaskState

TIMER: Final = "device_off"
REPORT: Final = "report"
_WEEKDAY_MS: Final = 6 * 24 * 3600 * 1000
"""Beyond it the name of the weekday could be that of today."""


def is_off(device: Device) -> bool:
    """Tell whether a device is unreachable now: disconnected or asleep."""
    return device.link is not DeviceLink.ONLINE


def reporting(constellation: Constellation, spec: TaskSpec) -> ForEach | None:
    """Return the list of a child that is reported when its device is off; None for every other task."""
    root = constellation.specs.get(spec.family or "")
    on_its_own = spec.device is not None and spec.device.id is not None and spec.device.id == spec.key
    for_each = root.for_each if root is not None and on_its_own else None
    return for_each if for_each is not None and for_each.when_off == REPORT else None


def timer_for(
    constellation: Constellation, fleet: Fleet, spec: TaskSpec, record: TaskRecord, now_ms: int
) -> ArmTimer | None:
    """Return the timer that checks whether a ready child waits for a device that is off; None for other tasks."""
    for_each = reporting(constellation, spec)
    device = fleet.devices.get(spec.key or "")
    if for_each is None or device is None:
        return None
    since_ms = device.link_since_ms if is_off(device) else now_ms
    due_ms = since_ms + max(for_each.after_s, 1) * 1000
    return task_timer(constellation, spec.id, TIMER, record, max(due_ms, device.expected_until_ms))


def on_due(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> None:
    """End a child whose device has been off for long enough; otherwise check again later."""
    for_each = reporting(constellation, spec)
    device = work.shard.fleet.devices.get(spec.key or "")
    if for_each is None or device is None or record.state is not TaskState.READY:
        work.ignore("the timer is stale")
        return
    may_go_on = constellation.head.state in WORKING_CONSTELLATION_STATES and queueable(record)
    overdue_ms = work.at_ms - max(device.link_since_ms + for_each.after_s * 1000, device.expected_until_ms)
    if not may_go_on or not is_off(device) or overdue_ms < 0:
        wait_ms = -overdue_ms if may_go_on and is_off(device) else max(for_each.after_s, 1) * 1000
        work.order(task_timer(constellation, spec.id, TIMER, record, work.at_ms + wait_ms))
        return
    skipped = moved(work, record, TaskState.SKIPPED, reason=Reason.DEVICE_AWAY, cause="not_chosen")
    key = f"{spec.family}/{spec.key}"
    item = replace(constellation.items[key], off_since_ms=device.link_since_ms)
    note = f"{device.name} is off {since_words(device.link_since_ms, work.at_ms)}"
    change_task(
        work, constellation, spec.id, EventKind.TASK_SKIPPED, skipped, ("item", key, item), by=ENGINE, note=note
    )


def reported(constellation: Constellation, group: str) -> list[Item]:
    """Return the items of a group whose child ended because its device is off, in the order of the list."""
    family = constellation.specs[group].family or group
    items = []
    for child in constellation.children.get(group, {}):
        record = constellation.tasks.get(child)
        if record is not None and record.state is TaskState.SKIPPED and record.reason is Reason.DEVICE_AWAY:
            items.append(constellation.items[f"{family}/{constellation.specs[child].key}"])
    return items


def row(fleet: Fleet, item: Item) -> str:
    """Return the row of a device that is off, as canonical text, for later tasks."""
    device = fleet.devices.get(item.key)
    at = datetime.fromtimestamp(item.off_since_ms / 1000, UTC)
    return canonical(
        {
            "device": device.name if device is not None else item.key,
            "off": True,
            "off_since": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "os": device.os if device is not None else "",
            "why": f"off since {at.day} {at:%B %Y, %H:%M} UTC",
        }
    )


def since_words(since_ms: int, now_ms: int) -> str:
    """Return `since 09:14 UTC`, `since Tuesday` or `since 3 November`, the shortest that is clear."""
    since, now = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (since_ms, now_ms))
    if since.date() == now.date():
        return f"since {since:%H:%M} UTC"
    if now_ms - since_ms < _WEEKDAY_MS:
        return f"since {since:%A}"
    return f"since {since.day} {since:%B}" + (f" {since.year}" if since.year != now.year else "")
