"""The machine's own battery, as the system tells it (Linux): its charge, and whether it charges. Decides nothing.

One reading for all: the condition of the device, its vital figures and `system.info` must not differ about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUPPLIES: Final = Path("/sys/class/power_supply")


@dataclass(frozen=True)
class Battery:
    """`percent` is the charge, from 0 to 100."""

    percent: int
    charging: bool


def own_battery(supplies: Path = SUPPLIES) -> Battery | None:
    """Return the first battery of the machine, None without one."""
    try:
        batteries = sorted(entry for entry in supplies.iterdir() if _word(entry / "type") == "Battery")
    except OSError:
        return None
    for entry in batteries:
        # Batteries of mice and pens say their device; the machine's own has none or `System`.
        if _word(entry / "scope") == "Device":
            continue
        percent = _word(entry / "capacity")
        if percent.isdecimal() and int(percent) <= 100:
            return Battery(int(percent), _word(entry / "status") in ("Charging", "Full", "Not charging"))
    return None


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
