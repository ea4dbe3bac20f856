"""Expected times by tool, size class and device: a pure function of the fleet's paces, brought up to date when read.

A device with few calls of a tool is expected to take the median of all devices, times its own factor over the tools
that it is known for. The median, because one device that lies or stalls must not move what is expected of the others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

from starloom.core.placement.pace.logarithms import OCTAVE, log_of, power_of
from starloom.core.placement.pace.table import TRANSFER
from starloom.core.state.model import Fleet
from starloom_protocol.fleet_records import Pace

SAMPLES_LEAST: Final = 3
"""A device with fewer calls of a tool is judged by the other devices, and taken whenever it is free."""
FACTOR_MOST: Final = 4 * OCTAVE
FAILURES_MOST: Final = 2 * OCTAVE
TOOLS_MOST: Final = 64
"""A plan of more tools is ranked by the slowest of them; the others count as their mean."""
MIB: Final = 1_048_576
MIB_MS: Final = 100
"""Milliseconds for a MiB to a device of which no transfer is known."""
_Key = tuple[str, int]


class PaceIndex:
    """The logarithms of expected times by (tool, size class) and device, with their sorted values for medians.

    `sure` are the devices with enough calls; `changed` has, by tool, the number of each device's last change in order.
    """

    __slots__ = ("_devices", "_sorted", "changed", "logs", "number", "rates", "rows", "sizes", "sure")

    def __init__(self) -> None:
        self.number = 0
        self.rows: dict[str, Pace] = {}
        self.logs: dict[_Key, dict[str, int]] = {}
        self.sure: dict[_Key, dict[str, None]] = {}
        self.sizes: dict[str, dict[int, int]] = {}
        self.rates: dict[str, int] = {}
        self.changed: dict[str, dict[str, int]] = {}
        self._sorted: dict[_Key, list[int]] = {}
        self._devices: dict[str, dict[_Key, int]] = {}

    def take(self, key: str, row: Pace | None, number: int) -> None:
        """Take the present state of one row; None if it is gone."""
        was = self.rows.pop(key, None)
        if was is not None:
            self._leave(was)
        if row is not None:
            self.rows[key] = row
            self._join(row)
        either = row or was
        if either is not None:
            changed = self.changed.setdefault(either.tool, {})
            changed.pop(either.device, None)
            changed[either.device] = number
        self.number = max(self.number, number)

    def expected(self, tool: str, size: int, device: str) -> int:
        """Return the milliseconds that a call should take on a device; 0 if nothing is known of the tool."""
        at = tool, size
        if device in self.sure.get(at, ()):
            return power_of(self.logs[at][device])
        usual = self.median(tool, size)
        return power_of(usual + self.factor(device)) if usual is not None else 0

    def is_sure(self, tool: str, size: int, device: str) -> bool:
        """Tell whether a device has enough calls of a tool to be judged by them."""
        return device in self.sure.get((tool, size), ())

    def median(self, tool: str, size: int) -> int | None:
        """Return the median logarithm over devices, of the nearest size class that is known; None if none is."""
        sizes = self.sizes.get(tool)
        if not sizes:
            return None
        near = size if size in sizes else min(sizes, key=lambda known: (abs(known - size), known))
        found = self._sorted[tool, near]
        return (found[(len(found) - 1) // 2] + found[len(found) // 2]) // 2

    def factor(self, device: str) -> int:
        """Return the mean logarithm of how much longer a device takes than the median, over what it is known for."""
        known = self._devices.get(device)
        if not known:
            return 0
        total = 0
        for at, log in known.items():
            found = self._sorted[at]
            total += log - (found[(len(found) - 1) // 2] + found[len(found) // 2]) // 2
        return max(-FACTOR_MOST, min(FACTOR_MOST, total // len(known)))

    def transfer_ms(self, device: str, count: int) -> int:
        """Return the milliseconds for so many bytes to a device."""
        rate = self.rates.get(device)
        return count * (MIB_MS if rate is None else power_of(rate)) // MIB

    def _join(self, row: Pace) -> None:
        if not row.count:
            return
        log = expected_log(row)
        if row.tool == TRANSFER:
            if row.count >= SAMPLES_LEAST:
                self.rates[row.device] = log
            return
        at = row.tool, row.size
        self.logs.setdefault(at, {})[row.device] = log
        insort(self._sorted.setdefault(at, []), log)
        self._devices.setdefault(row.device, {})[at] = log
        sizes = self.sizes.setdefault(row.tool, {})
        sizes[row.size] = sizes.get(row.size, 0) + 1
        if row.count >= SAMPLES_LEAST:
            self.sure.setdefault(at, {})[row.device] = None

    def _leave(self, row: Pace) -> None:
        if not row.count:
            return
        if row.tool == TRANSFER:
            self.rates.pop(row.device, None)
            return
        at = row.tool, row.size
        log = self.logs[at].pop(row.device)
        ordered = self._sorted[at]
        del ordered[bisect_left(ordered, log)]
        del self._devices[row.device][at]
        sizes = self.sizes[row.tool]
        sizes[row.size] -= 1
        if not sizes[row.size]:
            del sizes[row.size]
        self.sure.get(at, {}).pop(row.device, None)


def expected_log(row: Pace) -> int:
    """Return the logarithm of the time that a row leads to expect; failures lengthen it, fourfold at most."""
    log = row.logs // row.count
    if row.failures:
        tries = log_of((row.count + row.failures) * OCTAVE // row.count) - log_of(OCTAVE)
        log += min(tries, FAILURES_MOST)
    return log


def index_of(fleet: Fleet) -> PaceIndex:
    """Return the index over the fleet's paces, up to date."""
    index: PaceIndex | None = fleet.pace_index
    if index is None:
        index = fleet.pace_index = PaceIndex()
    if index.number != fleet.pace_number:
        newer: list[tuple[str, int]] = []
        for key in reversed(fleet.pace_changed):
            number = fleet.pace_changed[key]
            if number <= index.number:
                break
            newer.append((key, number))
        for key, number in reversed(newer):
            index.take(key, fleet.paces.get(key), number)
        for key, _number in newer:
            if key not in fleet.paces:
                del fleet.pace_changed[key]
        index.number = fleet.pace_number
    return index


def usual_ms(fleet: Fleet, tools: Iterable[str]) -> dict[str, int]:
    """Return the usual milliseconds of those tools that have a pace, at most `TOOLS_MOST` of them, by name."""
    if not fleet.paces:
        return {}
    index = index_of(fleet)
    known = ((tool, index.median(tool, 0)) for tool in sorted(set(tools)))
    found = {tool: power_of(log) for tool, log in known if log is not None}
    return dict(sorted(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:TOOLS_MOST]))
