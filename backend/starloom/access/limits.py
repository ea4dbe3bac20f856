"""Rate limits of failures at the public doors: tokens, sign-in, joining, handshakes.

A valid credential is never limited: the doors check the credential first and count failures only. The limits bound the
answers, log lines and notes that guesses cause, not the guesses: a token has 256 random bits and a join code 80.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

ADDRESSES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate: `burst` failures at once, then one each `every_s`."""

    burst: int
    every_s: float


DOORS: dict[str, Rate] = {
    "sign_in": Rate(10, 6.0),
    "join": Rate(10, 6.0),
    "join_poll": Rate(60, 0.5),
    "handshake": Rate(30, 2.0),
    "signed": Rate(10, 6.0),
    "bad_token": Rate(30, 1.0),
}


class Limits:
    """Counts failures by door and address on an injected monotonic clock; keeps the latest addresses only."""

    def __init__(self, monotonic_s: Callable[[], float], doors: dict[str, Rate] | None = None) -> None:
        self._monotonic_s = monotonic_s
        self._doors = DOORS if doors is None else doors
        self._levels: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def failed(self, door: str, address: str) -> float:
        """Count a failure; return 0, or how many seconds this address should wait before it tries again."""
        rate, key, now = self._doors[door], (door, address), self._monotonic_s()
        level, seen = self._levels.get(key, (float(rate.burst), now))
        level = min(float(rate.burst), level + (now - seen) / rate.every_s)
        over = level < 1
        self._levels[key] = (level if over else level - 1, now)
        self._levels.move_to_end(key)
        if len(self._levels) > ADDRESSES_MAX:
            self._levels.popitem(last=False)
        return (1 - level) * rate.every_s if over else 0.0
