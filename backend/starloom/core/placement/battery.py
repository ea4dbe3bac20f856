"""Sparing: a device is used last while its owner is at it, or while its battery is nearly empty."""

from __future__ import annotations

from starloom_protocol.entities import Device
from starloom_protocol.vocabulary import DeviceFact

LOW_PERCENT = 20


def spared(device: Device) -> bool:
    """Tell whether a device is used only if no other is free."""
    facts = device.condition
    if facts.get(DeviceFact.OWNER_PRESENT) == "true":
        return True
    battery = facts.get(DeviceFact.BATTERY, "").rstrip("% ")
    return battery.isdecimal() and int(battery) < LOW_PERCENT and facts.get(DeviceFact.CHARGING) != "true"
