"""The figures of devices over the last hour, in the memory of the hub that hears them.

Owns the lines that the page draws: load, memory, disk, battery, and the latency that this hub measures. No decision
depends on them, none is stored, and a device adds to its own lines alone. A moment without a figure stays empty: it is
never filled in from its neighbours.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from starloom_protocol.records.fleet import DeviceVitals, Vitals
from starloom_protocol.vocabulary import Vital
from starloom_protocol.wire.frames import VitalsFrame

STEP_S: Final = 30
"""Agents send figures every 20 s, so each step has one; a shorter step would have holes."""
SLOTS: Final = 120
"""Points of a line: an hour, one every `STEP_S`. A device that says more overwrites its last point."""
ASK_EVERY_S: Final = 24.0
"""How often a device is asked for an answer, to see how long it takes."""
DEVICES_MAX: Final = 10_000
"""Of more devices those heard last are kept: about 1.5 KB each, 15 MB in all (`test_vital_lines`)."""
ASKED_MAX: Final = 100
"""Devices in one answer."""
MOST: Final[dict[Vital, int]] = {
    Vital.BATTERY_PERCENT: 100,
    Vital.DISK_PERCENT: 100,
    Vital.LATENCY_MS: 60_000,
    Vital.LOAD_PERCENT: 10_000,
    Vital.MEMORY_PERCENT: 100,
}
"""The largest value of each line that is believed."""
_STEP_MS: Final = STEP_S * 1000
_NOTHING: Final = 0xFFFF
_PLACES: Final = {vital: place * SLOTS for place, vital in enumerate(MOST)}
_EMPTY: Final = array("H", [_NOTHING] * (SLOTS * len(MOST)))


@dataclass(slots=True)
class _History:
    """The lines of one device, one after the other in `points`; `slot` is the newest that was begun."""

    slot: int
    heard_ms: int = 0
    points: array[int] = field(default_factory=lambda: _EMPTY[:])

    def reach(self, slot: int) -> None:
        """Move on to a slot: those that were passed meanwhile are empty."""
        if slot <= self.slot:
            return
        for skipped in range(max(self.slot + 1, slot - SLOTS + 1), slot + 1):
            for start in _PLACES.values():
                self.points[start + skipped % SLOTS] = _NOTHING
        self.slot = slot

    def line(self, vital: Vital) -> list[int | None]:
        """Return the points up to the newest slot, from the first that was heard."""
        start, next_ = _PLACES[vital], (self.slot + 1) % SLOTS
        oldest_first = self.points[start + next_ : start + SLOTS] + self.points[start : start + next_]
        if oldest_first.count(_NOTHING) == SLOTS:
            return []
        begins = next(at for at, value in enumerate(oldest_first) if value != _NOTHING)
        return [None if value == _NOTHING else value for value in oldest_first[begins:]]


class VitalLines:
    """The recent figures of devices that this hub has received."""

    def __init__(self, now_ms: Callable[[], int], hub: str = "", devices_max: int = DEVICES_MAX) -> None:
        self._now_ms = now_ms
        self._hub = hub
        self._devices_max = devices_max
        self._histories: OrderedDict[str, _History] = OrderedDict()
        self.since_ms = 0
        self.heard: list[Callable[[], None]] = []
        """Called whenever a line has a new figure."""

    def __len__(self) -> int:
        return len(self._histories)

    def take(self, device: str, frame: VitalsFrame) -> int:
        """Take a device's figures; return the number of impossible ones, which are left out."""
        figures = [
            (Vital.BATTERY_PERCENT, frame.battery_percent),
            (Vital.DISK_PERCENT, frame.disk_percent),
            (Vital.LOAD_PERCENT, frame.load_percent),
            (Vital.MEMORY_PERCENT, frame.memory_percent),
        ]
        given_figures = [(vital, value) for vital, value in figures if value != -1]
        believed = [(vital, value) for vital, value in given_figures if 0 <= value <= MOST[vital]]
        if believed:
            self._add(device, believed)
        return len(given_figures) - len(believed)

    def answered(self, device: str, latency_s: float) -> None:
        """Take how long a device took to answer."""
        latency_ms = min(max(round(latency_s * 1000), 0), MOST[Vital.LATENCY_MS])
        self._add(device, [(Vital.LATENCY_MS, latency_ms)])

    def forget(self, device: str) -> None:
        """Drop the lines of a device that left the fleet."""
        self._histories.pop(device, None)

    def of(self, devices: Iterable[str]) -> Vitals:
        """Return the lines of these devices up to now."""
        now_ms = self._now_ms()
        names = list(dict.fromkeys(devices))
        slot = now_ms // _STEP_MS
        return Vitals(
            hub=self._hub,
            items=[self._lines(device, slot) for device in names[:ASKED_MAX]],
            left_out=max(len(names) - ASKED_MAX, 0),
            since_ms=self.since_ms,
            slots=SLOTS,
            step_s=STEP_S,
            until_ms=slot * _STEP_MS,
        )

    def _lines(self, device: str, slot: int) -> DeviceVitals:
        history = self._histories.get(device)
        if history is None:
            return DeviceVitals(device=device, heard_ms=0, lines={})
        history.reach(slot)
        lines = {vital: history.line(vital) for vital in MOST}
        return DeviceVitals(
            device=device, heard_ms=history.heard_ms, lines={vital: line for vital, line in lines.items() if line}
        )

    def _add(self, device: str, values: list[tuple[Vital, int]]) -> None:
        now_ms = self._now_ms()
        slot = now_ms // _STEP_MS
        history = self._histories.get(device)
        if history is None:
            history = self._histories[device] = _History(slot)
            if len(self._histories) > self._devices_max:
                self._histories.popitem(last=False)
        else:
            self._histories.move_to_end(device)
        history.reach(slot)
        history.heard_ms = now_ms
        self.since_ms = self.since_ms or now_ms
        for vital, value in values:
            history.points[_PLACES[vital] + slot % SLOTS] = value
        for hear in self.heard:
            hear()
