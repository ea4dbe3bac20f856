"""The estimates behind the draws of a play: how single calls spread, and how sure each device's pace is.

Owns what past calls tell of the next ones. Pure, and places nothing. A device is often chosen because its few calls
happened to be short, so its next ones take longer than their mean. Paces are therefore drawn towards those of the other
devices, by as much as chance alone moves them: far where devices are alike, hardly where they differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

from starloom.core.placement.pace import OCTAVE, SAMPLES_LEAST, TRANSFER
from starloom_protocol.records.fleet import Pace

SPREAD_UNKNOWN: Final = 0.6 * OCTAVE
"""The spread of a call's time that is assumed at first; it weighs as much as `SPREAD_CALLS` calls."""
SPREAD_CALLS: Final = 3
DEVICE_UNKNOWN: Final = 0.8 * OCTAVE
"""How far devices are assumed to be apart at first; it weighs as much as one device."""
_Group = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of a call's logarithm, and of how many calls it tells."""

    deviation: float = SPREAD_UNKNOWN
    calls: int = SPREAD_CALLS


@dataclass(frozen=True, slots=True)
class Sureness:
    """By how much a device's pace is off its mean: by `middle`, and by chance with the deviation `unknown`."""

    middle: float = 0.0
    unknown: float = DEVICE_UNKNOWN


@dataclass(frozen=True, slots=True)
class Known:
    """The estimates by tool, and by tool and device; without an entry nothing is known."""

    spreads: Mapping[str, Spread]
    devices: Mapping[tuple[str, str], Sureness]

    def spread(self, tool: str) -> Spread:
        """Return how the calls of a tool spread on one device."""
        return self.spreads.get(tool) or Spread()

    def sureness(self, tool: str, device: str) -> Sureness:
        """Return how sure the pace of a device is."""
        return self.devices.get((tool, device)) or Sureness()


def known_of(real: Iterable[Pace], paces: Iterable[Pace]) -> Known:
    """Return what the rows tell: of chance the real ones alone, since a copy of a device tells nothing new about it."""
    groups: dict[_Group, list[Pace]] = {}
    for row in real:
        if row.count and row.tool != TRANSFER:
            groups.setdefault((row.tool, row.size), []).append(row)
    spreads = _spreads_of(groups)
    apart = _apart(groups, spreads)
    middles = {at: _middle_of(rows, spreads, apart) for at, rows in groups.items()}
    most: dict[tuple[str, str], Pace] = {}
    for row in paces:
        at = row.tool, row.device
        # A row of failures alone has no time to tell of.
        if row.count and (row.tool, row.size) in groups and (at not in most or row.count > most[at].count):
            most[at] = row
    devices = {
        at: _sureness_of(row, _chance_of(row, spreads), apart, *middles[row.tool, row.size]) for at, row in most.items()
    }
    return Known(spreads, devices)


def _spreads_of(groups: Mapping[_Group, list[Pace]]) -> dict[str, Spread]:
    """Return the spread by tool, over all devices, drawn towards the one assumed at first."""
    squares: dict[str, float] = {}
    calls: dict[str, int] = {}
    for (tool, _size), rows in groups.items():
        for row in rows:
            squares[tool] = squares.get(tool, 0.0) + max(0.0, row.squares - row.logs * row.logs / row.count)
            calls[tool] = calls.get(tool, 0) + row.count - 1
    assumed = SPREAD_CALLS * SPREAD_UNKNOWN**2
    return {
        tool: Spread(sqrt((square + assumed) / (calls[tool] + SPREAD_CALLS)), calls[tool] + SPREAD_CALLS)
        for tool, square in squares.items()
    }


def _chance_of(row: Pace, spreads: Mapping[str, Spread]) -> float:
    """Return the variance of the mean of a row's calls."""
    return spreads[row.tool].deviation ** 2 / row.count


def _apart(groups: Mapping[_Group, list[Pace]], spreads: Mapping[str, Spread]) -> float:
    """Return the variance of true paces between devices: that of their means, without what chance makes of it."""
    variance, devices = DEVICE_UNKNOWN**2, 1
    for rows in groups.values():
        means = [row.logs / row.count for row in rows]
        middle = sum(means) / len(means)
        chance = sum(_chance_of(row, spreads) for row in rows) / len(rows)
        variance += sum((mean - middle) ** 2 for mean in means) - (len(rows) - 1) * chance
        devices += len(rows) - 1
    return max(0.0, variance / devices)


def _middle_of(rows: list[Pace], spreads: Mapping[str, Spread], apart: float) -> tuple[float, float]:
    """Return the mean of the devices' paces, each by how sure it is, and the variance of that mean."""
    weights = [1 / (apart + _chance_of(row, spreads)) for row in rows]
    whole = sum(weights)
    return sum(weight * row.logs / row.count for weight, row in zip(weights, rows, strict=True)) / whole, 1 / whole


def _sureness_of(row: Pace, chance: float, apart: float, middle: float, doubt: float) -> Sureness:
    """Return the sureness of one device's pace, beside the mean of all and the variance of that."""
    if row.count < SAMPLES_LEAST:
        # The expected time itself is drawn towards the other devices then.
        return Sureness(0.0, sqrt(chance))
    share = chance / (chance + apart)
    return Sureness(share * (middle - row.logs / row.count), sqrt((1 - share) * chance + share**2 * doubt))
