"""Vital figures of this device for the hub's charts: load, memory, disk, charge. No decision depends on them.

Figures that the system does not provide are left out. Owns no state except the time of the next report.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from starloom_agent.platforms.batteries import own_battery
from starloom_agent.toolkit.files.filling import used_percent
from starloom_agent.tools.system.system import memory_bytes
from starloom_protocol.wire.frames import VITALS_EVERY_S, VitalsFrame

LOAD_MOST: Final = 10_000
"""The highest load that a hub accepts; a machine with more is just as overloaded."""


class VitalClock:
    """The schedule of the figures: at the beginning of a session, then every `VITALS_EVERY_S`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due_at = 0.0

    def begin(self) -> None:
        """Make the figures due now: a hub has just welcomed this device and has none yet."""
        self._due_at = 0.0

    def is_due(self) -> bool:
        """Return whether figures are due; after True, not again before `VITALS_EVERY_S` have passed."""
        now = self._clock()
        if now < self._due_at:
            return False
        self._due_at = now + VITALS_EVERY_S
        return True


def read_vitals(folder: Path) -> VitalsFrame:
    """Return the figures of now; `folder` is where the agent writes, so its disk is the one that counts."""
    return VitalsFrame(
        battery_percent=_battery_percent(),
        disk_percent=_disk_percent(folder),
        load_percent=_load_percent(),
        memory_percent=_memory_percent(),
    )


def _load_percent() -> int:
    if not hasattr(os, "getloadavg"):
        return -1
    try:
        load = os.getloadavg()[0]
    except OSError:
        return -1
    return min(round(100 * load / (os.cpu_count() or 1)), LOAD_MOST)


def _memory_percent() -> int:
    memory = memory_bytes()
    if memory is None or memory[0] <= 0:
        return -1
    total, available = memory
    return min(max(round(100 * (total - available) / total), 0), 100)


def _disk_percent(folder: Path) -> int:
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return -1
    return used_percent(disk.used, disk.free) if disk.total > 0 else -1


def _battery_percent() -> int:
    battery = own_battery()
    return battery.percent if battery is not None else -1
