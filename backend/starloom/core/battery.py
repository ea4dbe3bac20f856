"""When work should rather go elsewhere for the owner's sake: somebody sits at the device, or its battery is low."""

from __future__ import annotations

from starloom_protocol.entities import Device

LOW_PERCENT = 20


def spared(device: Device) -> bool:
    """Whether a device is asked only where no other is free."""
    facts = device.condition
    if facts.get("owner_present") == "true":
        return True
    battery = facts.get("battery", "").rstrip("% ")
    return battery.isdecimal() and int(battery) < LOW_PERCENT and facts.get("charging") != "true"
