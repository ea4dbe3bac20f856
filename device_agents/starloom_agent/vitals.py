"""How this device fares, in figures for the hub's lines: load, memory, disk, charge. Nobody decides by them.

A figure that the system does not tell is left unsaid. Owns no state but when the next word is due.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from starloom_agent.tools.system import charge_percent, memory_bytes
from starloom_protocol.frames import VITALS_EVERY_S, VitalsFrame

LOAD_MOST: Final = 10_000
"""What a hub believes; a machine with more is as lost."""


class VitalClock:
    """Says when figures are due: at the beginning of a session, then again and again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due_at = 0.0

    def begin(self) -> None:
        """A hub has just welcomed this device and knows no figure yet."""
        self._due_at = 0.0

    def is_due(self) -> bool:
        """Say whether it is time, once."""
        now = self._clock()
        if now < self._due_at:
            return False
        self._due_at = now + VITALS_EVERY_S
        return True


def read_vitals(folder: Path) -> VitalsFrame:
    """Return the figures of now; `folder` is where the agent writes, so its disk is the one that counts."""
    return VitalsFrame(
        battery_percent=_within(charge_percent()),
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
    return min(max(round(100 * disk.used / disk.total), 0), 100) if disk.total > 0 else -1


def _within(percent: int | None) -> int:
    return percent if percent is not None and 0 <= percent <= 100 else -1
