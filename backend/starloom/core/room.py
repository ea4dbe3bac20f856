"""A device whose disk is full: its agent can write down nothing that begins, so it gets no work until there is room."""

from __future__ import annotations

from msgspec.structs import replace

from starloom_protocol.entities import Device
from starloom_protocol.frames import DISK, DISK_FOLDER, DISK_FULL


def is_full(device: Device) -> bool:
    """Say whether the device has told that its disk is full, and not that it has room again."""
    return device.condition.get(DISK) == DISK_FULL


def words(device: Device) -> str:
    """Return what stands behind the name of such a device: `has a full disk (FOLDER)`."""
    folder = device.condition.get(DISK_FOLDER)
    return "has a full disk" + (f" ({folder})" if folder else "")


def untold(device: Device) -> Device:
    """Return a device of a new session: what an earlier process of its agent said of the disk counts no more."""
    if DISK not in device.condition:
        return device
    rest = {fact: value for fact, value in device.condition.items() if fact not in (DISK, DISK_FOLDER)}
    return replace(device, condition=rest)
