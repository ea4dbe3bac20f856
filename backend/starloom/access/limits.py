"""Rate limits for doors that anyone can knock on: sign-in, joining, handshakes. Decides; remembers little.

A token bucket for each (door, address), and one for each door as a whole, on an injected monotonic clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

ADDRESSES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` tries at once, then one each `every_s`."""

    burst: int
    every_s: float


DOORS: dict[str, Rate] = {
    "sign_in": Rate(10, 6.0),
    "join": Rate(10, 6.0),
    "join_poll": Rate(60, 0.5),
    "handshake": Rate(30, 2.0),
    "bad_token": Rate(30, 1.0),
}
_WHOLE_FACTOR = 20


class Limits:
    """Counts tries at the doors; an address that is not seen for long is forgotten."""

    def __init__(self, monotonic_s: Callable[[], float], doors: dict[str, Rate] | None = None) -> None:
        self._monotonic_s = monotonic_s
        chosen = DOORS if doors is None else doors
        self._doors = {
            door: (rate, Rate(rate.burst * _WHOLE_FACTOR, rate.every_s / _WHOLE_FACTOR))
            for door, rate in chosen.items()
        }
        self._levels: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def wait_s(self, door: str, address: str, *, count: bool = True) -> float:
        """Return 0 and count a try, or how many seconds to wait. `count` False only looks."""
        rate, whole = self._doors[door]
        now = self._monotonic_s()
        level, of_all = self._level((door, address), rate, now), self._level((door, "*"), whole, now)
        if level < 1 or of_all < 1:
            return max((1 - level) * rate.every_s, (1 - of_all) * whole.every_s)
        if count:
            self._keep((door, address), level - 1, now)
            self._keep((door, "*"), of_all - 1, now)
        return 0.0

    def _level(self, key: tuple[str, str], rate: Rate, now: float) -> float:
        level, seen = self._levels.get(key, (float(rate.burst), now))
        return min(float(rate.burst), level + (now - seen) / rate.every_s)

    def _keep(self, key: tuple[str, str], level: float, now: float) -> None:
        self._levels[key] = (level, now)
        self._levels.move_to_end(key)
        while len(self._levels) > ADDRESSES_MAX:
            self._levels.popitem(last=False)
