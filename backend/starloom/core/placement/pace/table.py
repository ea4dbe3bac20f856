"""The records of paces: their keys, a sample more, and the bound on their number. Emits nothing.

Times are kept as logarithms in whole numbers, so that paces are the same bytes on every machine. A doubling is
`OCTAVE`. Between powers of two they are straight lines; `power_of` is the exact inverse, so the mean of like times is
that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Final

from msgspec.structs import replace

from starloom_protocol.records.fleet import Pace

OCTAVE: Final = 1024
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
