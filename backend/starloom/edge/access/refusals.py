"""The latest refusals at the doors for devices, so that the owner reads the same reason as the device.

Kept in memory and bounded; a repeated refusal is counted, not listed twice. Holds no secret and no join code.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from starloom_protocol.vocabulary import Code

KEPT_MAX = 100
"""A person looks for the device that was just refused; the list is in memory and shown whole."""


@dataclass(frozen=True, slots=True)
class DeviceRefusal:
    """One refusal. `who` is the device's own name for itself, `enrollment` the id of its join code; both may be "".

    `device` is the id of a device that has proved its key, else "".
    """

    at_ms: int
    door: str
    address: str
    code: str
    reason: str
    who: str = ""
    enrollment: str = ""
    device: str = ""
    times: int = 1


class Refusals:
    """The latest refusals of this hub process."""

    def __init__(self) -> None:
        self.heard: list[Callable[[DeviceRefusal], None]] = []
        self._refusals: OrderedDict[tuple[str, str, str, str, str], DeviceRefusal] = OrderedDict()

    def note(self, refusal: DeviceRefusal) -> None:
        """Remember a refusal; the oldest goes when there are too many."""
        device = refusal.device or refusal.who
        key = (refusal.door, refusal.address, refusal.code, device, refusal.enrollment)
        former = self._refusals.pop(key, None)
        self._refusals[key] = replace(refusal, times=former.times + 1) if former is not None else refusal
        while len(self._refusals) > KEPT_MAX:
            self._refusals.popitem(last=False)
        for hear in self.heard:
            hear(refusal)

    def of_device(self, at_ms: int, device: str, door: str, reason: str) -> None:
        """Remember the engine's refusal of a device that has proved its key."""
        self.note(DeviceRefusal(at_ms, door, "", Code.FORBIDDEN, reason, device=device))

    def latest(self, enrollment: str | None = None) -> list[DeviceRefusal]:
        """Return refusals, newest first; with `enrollment` only those that used its code."""
        matches = [item for item in self._refusals.values() if enrollment is None or item.enrollment == enrollment]
        return matches[::-1]
