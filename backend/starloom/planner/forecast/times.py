"""The times of one play: those that paces lead to expect, off by what is not known and by chance. Places nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import log2, sqrt
from statistics import NormalDist
from typing import Final

from starloom.core.placement.pace import OCTAVE, key_of, power_of
from starloom.planner.forecast.known import Known
from starloom_protocol.records.fleet import Pace

_NORMAL: Final = NormalDist()
_SURE: Final = 1e-9
"""A smaller probability counts as none: a call that is later has outlasted every known one."""
LATE_PART: Final = 8
"""A call beyond its time is expected to need as long again as it is late, at least this part of its time."""


class Times:
    """The times of one play. Without `chance` each call takes exactly the time that is most likely."""

    def __init__(self, paces: Mapping[str, Pace], known_paces: Known, chance: random.Random | None = None) -> None:
        self._paces = paces
        self._known_paces = known_paces
        self._chance = chance
        self._errors: dict[tuple[str, str], float] = {}
        self._deviations: dict[str, float] = {}

    def takes_ms(self, tool: str, device: str, expects_ms: int) -> int:
        """Return a time: the expected one, off by what is not known of the pace, and by the chance of one call."""
        sure, chance = self._known_paces.sureness(tool, device), self._chance
        if chance is None:
            return _scaled(expects_ms, sure.middle)
        at = tool, device
        if at not in self._errors:
            self._errors[at] = chance.gauss(sure.middle, sure.unknown)
        return _scaled(expects_ms, self._errors[at] + chance.gauss(0, self._deviation(tool, chance)))

    def rest_ms(self, tool: str, device: str, expects_ms: int, gone_ms: int) -> int:
        """Return how much longer a call takes that has run for `gone_ms`: of the times above that, one by chance.

        That a call is late also tells something of its pace, which the calls after it in this play share.
        """
        sure, chance = self._known_paces.sureness(tool, device), self._chance
        likely_ms = _scaled(expects_ms, sure.middle)
        late_ms = max(1, gone_ms - likely_ms, likely_ms // LATE_PART)
        if chance is None:
            return likely_ms - gone_ms if likely_ms > gone_ms else late_ms
        spread = self._deviation(tool, chance)
        error = self._errors.get((tool, device))
        # Off by both, unless an earlier call of this play has drawn the one that they share.
        middle, whole = (sure.middle, sqrt(spread**2 + sure.unknown**2)) if error is None else (error, spread)
        least = (log2(max(1, gone_ms) / max(1, expects_ms)) * OCTAVE - middle) / whole
        above = _NORMAL.cdf(-least)
        if above < _SURE:
            return late_ms
        drawn = -_NORMAL.inv_cdf(min(1 - _SURE, above * (1 - chance.random())))
        if error is None:
            share = (sure.unknown / whole) ** 2
            shared = chance.gauss(0, sure.unknown * spread / whole)
            self._errors[tool, device] = sure.middle + whole * drawn * share + shared
        return max(1, _scaled(expects_ms, middle + whole * drawn) - gone_ms)

    def _deviation(self, tool: str, chance: random.Random) -> float:
        """Return the deviation of single calls in this play: few calls may have been alike by chance."""
        deviation = self._deviations.get(tool)
        if deviation is None:
            spread = self._known_paces.spread(tool)
            drawn = chance.gammavariate(spread.calls / 2, 2.0)
            deviation = self._deviations[tool] = spread.deviation * sqrt(spread.calls / drawn)
        return deviation

    def given_bytes(self, tool: str, device: str) -> int:
        """Return the bytes that a call gives."""
        row = self._paces.get(key_of(tool, device, 0))
        return power_of(row.byte_logs // row.count) if row is not None and row.count else 0


def _scaled(time_ms: int, log: float) -> int:
    """Return a time that is longer by a logarithm, at least 1."""
    return max(1, int(time_ms * 2 ** (log / OCTAVE))) if log else max(1, time_ms)
