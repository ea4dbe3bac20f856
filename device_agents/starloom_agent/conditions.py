"""What this device says of itself beside its offer: how full its battery is, in steps, and whether it charges.

Read from the system where that costs nothing (Linux); a device without a battery says nothing. The hub asks a device
whose battery is nearly empty last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from starloom_protocol.frames import ConditionFrame

READ_EVERY_S: Final = 30.0
STEP_PERCENT: Final = 10
_SUPPLIES: Final = Path("/sys/class/power_supply")


class Conditions:
    """Remembers what was said last, so that only a change is said again."""

    def __init__(self, clock: Callable[[], float], supplies: Path = _SUPPLIES) -> None:
        self._clock = clock
        self._supplies = supplies
        self._read_at: float | None = None
        self._said: dict[str, str] = {}

    def greeting(self) -> list[ConditionFrame]:
        """Return what a hub that has just welcomed this device is told."""
        self._read_at = self._clock()
        self._said = battery(self._supplies)
        return [ConditionFrame(facts=self._said)] if self._said else []

    def changed(self) -> list[ConditionFrame]:
        """Return what is to be said now, which is mostly nothing."""
        now = self._clock()
        if self._read_at is not None and now - self._read_at < READ_EVERY_S:
            return []
        self._read_at = now
        facts = battery(self._supplies)
        if not facts or facts == self._said:
            return []
        self._said = facts
        return [ConditionFrame(facts=facts)]


def battery(supplies: Path = _SUPPLIES) -> dict[str, str]:
    """Return the charge of the first battery in steps and whether it charges; empty without one."""
    try:
        found = sorted(entry for entry in supplies.iterdir() if _word(entry / "type") == "Battery")
    except OSError:
        return {}
    for entry in found:
        # Batteries of mice and pens say their device; the machine's own has none or `System`.
        if _word(entry / "scope") == "Device":
            continue
        percent = _word(entry / "capacity")
        if percent.isdecimal():
            step = min(int(percent), 100) // STEP_PERCENT * STEP_PERCENT
            charging = _word(entry / "status") in ("Charging", "Full", "Not charging")
            return {"battery": str(step), "charging": "true" if charging else "false"}
    return {}


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
