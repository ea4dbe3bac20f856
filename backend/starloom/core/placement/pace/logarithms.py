"""Logarithms in whole numbers, so that paces are the same bytes on every machine. A doubling is `OCTAVE`.

Between powers of two they are straight lines; `power_of` is the exact inverse, so the mean of like times is that time.
"""

from __future__ import annotations

from math import isqrt
from typing import Final

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
