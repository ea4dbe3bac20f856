"""Devices with a full disk: the agent cannot record the start of work, so it gets none until there is room."""

from __future__ import annotations

from msgspec.structs import replace

from starloom_protocol.records.entities import Device
from starloom_protocol.vocabulary import DeviceFact
from starloom_protocol.wire.frames import DISK_FULL

_OF_A_SESSION = frozenset({DeviceFact.DISK, DeviceFact.DISK_FOLDER, DeviceFact.OWNER_PRESENT})


def has_full_disk(device: Device) -> bool:
    """Tell whether a device's last report about its disk says that it is full."""
    return device.condition.get(DeviceFact.DISK) == DISK_FULL


def full_disk_words(device: Device) -> str:
    """Return the words that follow the name of such a device: `has a full disk (FOLDER)`."""
    folder = device.condition.get(DeviceFact.DISK_FOLDER)
    return "has a full disk" + (f" ({folder})" if folder else "")


def without_session_facts(device: Device) -> Device:
    """Return a device at a new session, without the reports on disk and owner of an earlier process of its agent."""
    if not _OF_A_SESSION & device.condition.keys():
        return device
    rest = {fact: value for fact, value in device.condition.items() if fact not in _OF_A_SESSION}
    return replace(device, condition=rest)
