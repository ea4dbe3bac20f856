"""A device whose disk is full: its agent can write down nothing that begins, so it gets no work until there is room."""

from __future__ import annotations

from msgspec.structs import replace

from starloom_protocol.entities import Device
from starloom_protocol.frames import DISK_FULL
from starloom_protocol.vocabulary import DeviceFact

_OF_A_SESSION = frozenset({DeviceFact.DISK, DeviceFact.DISK_FOLDER, DeviceFact.OWNER_PRESENT})


def is_full(device: Device) -> bool:
    """Say whether the device has told that its disk is full, and not that it has room again."""
    return device.condition.get(DeviceFact.DISK) == DISK_FULL


def words(device: Device) -> str:
    """Return what stands behind the name of such a device: `has a full disk (FOLDER)`."""
    folder = device.condition.get(DeviceFact.DISK_FOLDER)
    return "has a full disk" + (f" ({folder})" if folder else "")


def untold(device: Device) -> Device:
    """Return a device of a new session: what an earlier process of its agent said of disk and owner counts no more."""
    if not _OF_A_SESSION & device.condition.keys():
        return device
    rest = {fact: value for fact, value in device.condition.items() if fact not in _OF_A_SESSION}
    return replace(device, condition=rest)
