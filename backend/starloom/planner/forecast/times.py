"""The times of one play: those that paces lead to expect, off by what is not known and by chance. Places nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from math import log2, sqrt
from statistics import NormalDist
from typing import Final

from starloom.core.placement.pace.index import OCTAVE, key_of, power_of
from starloom_protocol.records.fleet import Pace

SPREAD_UNKNOWN: Final = 0.6 * OCTAVE
"""The spread of a call's time that is assumed at first; it weighs as much as `SPREAD_CALLS` calls."""
SPREAD_CALLS: Final = 3
DEVICE_UNKNOWN: Final = 0.8 * OCTAVE
_NORMAL: Final = NormalDist()
_SURE: Final = 1e-9
"""The least probability that counts; a call with less is later than every estimate allows."""
LATE_PART: Final = 8
"""A call beyond its time is expected to need as long again as it is late, at least this part of its time."""


class Times:
    """The times of one play. Without `chance` each call takes exactly the expected time."""

    def __init__(
        self, paces: Mapping[str, Pace], spreads: Mapping[str, float], chance: random.Random | None = None
    ) -> None:
        self._paces = paces
        self._spreads = spreads
        self._chance = chance
        self._errors: dict[tuple[str, str], float] = {}

    def takes_ms(self, tool: str, device: str, expects_ms: int) -> int:
        """Return a time: the expected one, off by what is not known of the pace, and by the chance of one call."""
        if self._chance is None:
            return max(1, expects_ms)
        spread, unknown = self._spread(tool), self._unknown(tool, device)
        at = tool, device
        if at not in self._errors:
            self._errors[at] = self._chance.gauss(0, unknown)
        return max(1, int(expects_ms * 2 ** ((self._errors[at] + self._chance.gauss(0, spread)) / OCTAVE)))

    def rest_ms(self, tool: str, device: str, expects_ms: int, gone_ms: int) -> int:
        """Return how much longer a call takes that has run for `gone_ms`: of the times above that, one by chance.

        That a call is late also tells something of its pace, which the calls after it in this play share.
        """
        late_ms = max(1, gone_ms - expects_ms, expects_ms // LATE_PART)
        if self._chance is None:
            return expects_ms - gone_ms if expects_ms > gone_ms else late_ms
        spread, unknown = self._spread(tool), self._unknown(tool, device)
        known = self._errors.get((tool, device))
        # Off by both, unless an earlier call of this play has drawn the one that they share.
        middle, whole = (0.0, sqrt(spread**2 + unknown**2)) if known is None else (known, spread)
        least = (log2(max(1, gone_ms) / max(1, expects_ms)) * OCTAVE - middle) / whole
        above = _NORMAL.cdf(-least)
        if above < _SURE:
            return late_ms
        drawn = -_NORMAL.inv_cdf(min(1 - _SURE, above * (1 - self._chance.random())))
        off = middle + whole * drawn
        if known is None:
            share = (unknown / whole) ** 2
            self._errors[tool, device] = off * share + self._chance.gauss(0, unknown * spread / whole)
        return max(1, int(expects_ms * 2 ** (off / OCTAVE)) - gone_ms)

    def _spread(self, tool: str) -> float:
        """Return the spread of single calls."""
        return self._spreads.get(tool, SPREAD_UNKNOWN)

    def _unknown(self, tool: str, device: str) -> float:
        """Return by how much the pace itself may be off."""
        row = self._paces.get(key_of(tool, device, 0))
        return self._spread(tool) / sqrt(row.count) if row is not None and row.count else DEVICE_UNKNOWN

    def given_bytes(self, tool: str, device: str) -> int:
        """Return the bytes that a call gives."""
        row = self._paces.get(key_of(tool, device, 0))
        return power_of(row.byte_logs // row.count) if row is not None and row.count else 0


def spreads_of(rows: Iterable[Pace]) -> dict[str, float]:
    """Return the spread of a call's logarithm by tool, over all devices, drawn towards the one assumed at first."""
    squares: dict[str, float] = {}
    freedom: dict[str, int] = {}
    for row in rows:
        if row.count > 1:
            squares[row.tool] = squares.get(row.tool, 0.0) + row.squares - row.logs * row.logs / row.count
            freedom[row.tool] = freedom.get(row.tool, 0) + row.count - 1
    assumed = SPREAD_CALLS * SPREAD_UNKNOWN**2
    return {tool: sqrt((max(0.0, squares[tool]) + assumed) / (freedom[tool] + SPREAD_CALLS)) for tool in squares}
