"""Sparing: a device is used last while its owner is at it, or while its battery is nearly empty."""

from __future__ import annotations

from starloom_protocol.records.entities import Device
from starloom_protocol.vocabulary import DeviceFact

LOW_PERCENT = 20


def spared(device: Device) -> bool:
    """Tell whether a device is used only if no other is free."""
    return bool(spared_words(device))


def spared_words(device: Device) -> str:
    """Return why a device is taken last; empty if it is not."""
    facts = device.condition
    if facts.get(DeviceFact.OWNER_PRESENT) == "true":
        return "its owner is at it"
    battery = facts.get(DeviceFact.BATTERY, "").rstrip("% ")
    low = battery.isdecimal() and int(battery) < LOW_PERCENT and facts.get(DeviceFact.CHARGING) != "true"
    return f"its battery has {battery} % left" if low else ""
