"""The index of paces: their records, and the expected times that follow by tool, size class and device. Emits nothing.

Owns the keys of the records, a sample more, and the bound on their number. Times are kept as logarithms in whole
numbers, so that paces are the same bytes on every machine. A doubling is `OCTAVE`. Between powers of two they are
straight lines; `power_of` is the exact inverse, so the mean of like times is that time.

Expected times are a pure function of the records, brought up to date when read. A device without calls of a tool is
expected to take the median of all devices, times its own factor over the tools that it is known for; each of its first
calls replaces a part of that. The median, because one device that lies or stalls must not move what is expected of the
others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Final

from msgspec.structs import replace

from starloom.core.state.model import Fleet
from starloom_protocol.records.fleet import PACE_CALLS_LEAST, PACE_OCTAVE, Pace

OCTAVE: Final = PACE_OCTAVE
_BITS: Final = 10


def log_of(value: int) -> int:
    """Return the logarithm of a number; of anything below 1, that of 1."""
    value = max(value, 1)
    exponent = value.bit_length() - 1
    return exponent * OCTAVE + ((value << _BITS) >> exponent) - OCTAVE


def power_of(log: int) -> int:
    """Return the number with a logarithm, at least 1."""
    log = max(log, 0)
    return ((OCTAVE + (log & (OCTAVE - 1))) << (log >> _BITS)) >> _BITS


def spread_of(count: int, logs: int, squares: int) -> int:
    """Return the standard deviation of `count` logarithms, from their sum and that of their squares; 0 below two."""
    if count < 2:
        return 0
    return isqrt(max(0, (squares * count - logs * logs) // (count * (count - 1))))


TRANSFER: Final = ""
"""The tool of a device's row for transfers; no tool is called so."""
LONGEST_MS: Final = 86_400_000
"""A longer time counts as this one, so that a single end cannot move a mean without bound."""
COUNT_MOST: Final = 64
"""At so many calls all sums lose half of their weight: what a device does now counts more than what it did."""
SMALL_BYTES: Final = 65_536
SIZES_MOST: Final = 5


def size_of(count: int) -> int:
    """Return the size class of so many bytes of inputs: below 64 KiB, then eight times as much for each class."""
    return min(SIZES_MOST, ((count // SMALL_BYTES).bit_length() + 2) // 3)


def key_of(tool: str, device: str, size: int) -> str:
    """Return the key of a row."""
    return f"{tool}/{device}/{size}"


def with_sample(row: Pace, took_ms: int, given_bytes: int, at_ms: int) -> Pace:
    """Return a row with one call more."""
    time, size = log_of(min(took_ms, LONGEST_MS)), log_of(given_bytes)
    row = faded(row)
    return Pace(
        byte_logs=row.byte_logs + size,
        byte_squares=row.byte_squares + size * size,
        count=row.count + 1,
        device=row.device,
        failures=row.failures,
        last_ms=at_ms,
        logs=row.logs + time,
        size=row.size,
        squares=row.squares + time * time,
        tool=row.tool,
    )


def with_failure(row: Pace, at_ms: int) -> Pace:
    """Return a row with one end more by a fault of the device."""
    row = faded(row)
    return replace(row, failures=row.failures + 1, last_ms=at_ms)


def faded(row: Pace) -> Pace:
    """Return a row with half of its weight if it has all that it may have."""
    if row.count + row.failures < COUNT_MOST:
        return row
    # The kept share is that of the counts, so that means stay exact when a count is odd.
    kept = row.count // 2
    share = (kept, max(row.count, 1))
    return replace(
        row,
        byte_logs=row.byte_logs * share[0] // share[1],
        byte_squares=row.byte_squares * share[0] // share[1],
        count=kept,
        failures=row.failures // 2,
        logs=row.logs * share[0] // share[1],
        squares=row.squares * share[0] // share[1],
    )


def oldest(rows: Mapping[str, Pace], most: int) -> list[str]:
    """Return the keys that give way before a new row: none, or a sixteenth at once, the least recently used ones."""
    if len(rows) < most:
        return []
    by_age = sorted(rows, key=lambda key: (rows[key].last_ms, key))
    return by_age[: len(rows) - most + most // 16 + 1]


SAMPLES_LEAST: Final = PACE_CALLS_LEAST
"""A device with fewer calls of a tool is judged by the other devices, and taken whenever it is free."""
TOOLS_LEAST: Final = 3
"""A device that is known for so many tools has a factor by which a task may wait for a better one."""
TRANSFERS_LEAST: Final = 32
_NONE = (0, 0)
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

    `sure` are the devices with enough calls, and how many; `changed` has, by tool, the number of each device's last
    change in order.
    """

    __slots__ = ("_devices", "_sorted", "changed", "logs", "number", "rates", "rows", "sizes", "sure")

    def __init__(self) -> None:
        self.number = 0
        self.rows: dict[str, Pace] = {}
        self.logs: dict[_Key, dict[str, int]] = {}
        self.sure: dict[_Key, dict[str, int]] = {}
        self.sizes: dict[str, dict[int, int]] = {}
        self.rates: dict[str, tuple[int, int]] = {}
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
        if usual is None:
            return 0
        log, count = self._known(tool, size, device)
        return power_of((log * count + (usual + self.factor(device)) * (SAMPLES_LEAST - count)) // SAMPLES_LEAST)

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
        beside = self._beside(device)
        return max(-FACTOR_MOST, min(FACTOR_MOST, sum(beside) // len(beside))) if beside else 0

    def least(self, tool: str, size: int, device: str) -> int:
        """Return the milliseconds that a call takes at least where a device is known by its factor; 0 if it is not.

        The spread of the factor over its tools is taken off.
        """
        beside, usual = self._beside(device), self.median(tool, size)
        if usual is None or len(beside) < TOOLS_LEAST:
            return 0
        total = sum(beside)
        spread = spread_of(len(beside), total, sum(one * one for one in beside))
        factor = max(-FACTOR_MOST, min(FACTOR_MOST, total // len(beside)))
        log, count = self._known(tool, size, device)
        return power_of((log * count + (usual + factor - spread) * (SAMPLES_LEAST - count)) // SAMPLES_LEAST)

    def _known(self, tool: str, size: int, device: str) -> tuple[int, int]:
        """Return the mean logarithm of the few calls of a device, and their number."""
        row = self.rows.get(key_of(tool, device, size))
        return (expected_log(row), min(row.count, SAMPLES_LEAST)) if row is not None and row.count else (0, 0)

    def _beside(self, device: str) -> list[int]:
        found = []
        for at, log in self._devices.get(device, {}).items():
            ordered = self._sorted[at]
            found.append(log - (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2)
        return found

    def transfer_ms(self, device: str, count: int) -> int:
        """Return the milliseconds for so many bytes to a device."""
        own, count_own = self.rates.get(device, _NONE)
        if count_own < TRANSFERS_LEAST:
            # Transfers pass the same hub, so the first ones to any device tell of all.
            calls = sum(calls for _logs, calls in self.rates.values())
            if calls < SAMPLES_LEAST:
                return count * MIB_MS // MIB
            own, count_own = sum(logs for logs, _calls in self.rates.values()), calls
        return count * power_of(own // count_own) // MIB

    def _join(self, row: Pace) -> None:
        if not row.count:
            return
        if row.tool == TRANSFER:
            self.rates[row.device] = row.logs, row.count
            return
        at, log = (row.tool, row.size), expected_log(row)
        self.logs.setdefault(at, {})[row.device] = log
        insort(self._sorted.setdefault(at, []), log)
        self._devices.setdefault(row.device, {})[at] = log
        sizes = self.sizes.setdefault(row.tool, {})
        sizes[row.size] = sizes.get(row.size, 0) + 1
        if row.count >= SAMPLES_LEAST:
            self.sure.setdefault(at, {})[row.device] = row.count

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


def index_over(paces: Mapping[str, Pace]) -> PaceIndex:
    """Return an index over paces that nobody keeps up to date."""
    index = PaceIndex()
    for number, (key, row) in enumerate(paces.items(), start=1):
        index.take(key, row, number)
    return index


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
