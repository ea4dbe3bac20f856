"""Which schedules name a device, and which of their devices are gone. Pure; owns nothing of a schedule's clock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starloom.client.answers import ScheduleRowJson
    from starloom_protocol.api.fleet import DeviceRow


def names_device(item: ScheduleRowJson, device: str) -> bool:
    """Return whether a schedule names a device: in its words, in a value, or among the devices of its consent.

    A word of the request that only equals the name counts too; no decision depends on it.
    """
    if any(bound["name"] == device for bound in item["devices"]):
        return True
    if device in _texts(item["params"]) or (item["approved"] and device in item["approved"]["devices"]):
        return True
    alone = rf"(?<!\w){re.escape(device)}(?!\w)"
    return re.search(alone, item["request"], re.IGNORECASE) is not None


def gone_devices(devices: Sequence[DeviceRow]) -> list[str]:
    """Return the names of devices that left or were revoked, without those that another device has now."""
    present = {item["name"] for item in devices if not item["revoked"]}
    return sorted({item["name"] for item in devices if item["revoked"]} - present)


def gone_lines(item: ScheduleRowJson, gone: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each device of a schedule that is gone or that another replaced, with the way out."""
    for bound in item["devices"]:
        if bound["another"]:
            yield (
                f"the name {bound['name']} now belongs to another device than the one that was approved: "
                f"its next firing asks before it goes there"
            )
    replaced = {bound["name"] for bound in item["devices"] if bound["another"]}
    for name in gone:
        if name not in replaced and names_device(item, name):
            yield (
                f"{name}, which it names, is no device of the fleet any more. Let it name another device "
                f"(starloom schedule edit {item['id']}), or remove it: starloom schedule rm {item['id']}"
            )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
