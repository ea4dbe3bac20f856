"""Devices that are slow beside their peers over all runs, in figures and words. Excludes none; placement weighs."""

from __future__ import annotations

from typing import Final

from starloom.core.placement.pace.index import (
    OCTAVE,
    SAMPLES_LEAST,
    TRANSFER,
    PaceIndex,
    expected_log,
    key_of,
    power_of,
    spread_of,
)

SLOW_LEAST: Final = OCTAVE
"""Twice the median of its peers; less is within what tools and inputs vary by."""
PEERS_LEAST: Final = 2
_TENTHS: Final = 10
SURE: Final = SAMPLES_LEAST + 2
"""Below five calls a spread says little."""
_P90: Final = 1_282
"""Thousandths of a standard deviation above the mean, below which nine of ten are."""
_AT_LEAST: Final = OCTAVE // 4
"""A fifth more than usual is no delay, however alike the calls were so far."""


def slow_at(index: PaceIndex, tool: str, device: str) -> int:
    """Return how many tenths of its peers' time a call takes on a device, in the size class where it is slowest.

    0 if it is not slow, or too little is known: of the device itself, or of two others.
    """
    most = 0
    for size in index.sizes.get(tool, ()):
        sure, logs = index.sure.get((tool, size), {}), index.logs.get((tool, size), {})
        if device not in sure:
            continue
        peers = sorted(logs[other] for other in sure if other != device)
        if len(peers) < PEERS_LEAST:
            continue
        usual = (peers[(len(peers) - 1) // 2] + peers[len(peers) // 2]) // 2
        if logs[device] - usual >= SLOW_LEAST:
            most = max(most, power_of(logs[device]) * _TENTHS // power_of(usual))
    return most


def slow_tools(index: PaceIndex, device: str) -> list[tuple[str, int]]:
    """Return the tools for which a device is slow with the tenths of its peers' time, the slowest first."""
    tools = {row.tool for row in index.rows.values() if row.device == device and row.tool != TRANSFER}
    found = ((tool, slow_at(index, tool, device)) for tool in sorted(tools))
    return sorted(((tool, tenths) for tool, tenths in found if tenths), key=lambda item: (-item[1], item[0]))


def slow_words(tenths: int, tool: str) -> str:
    """Return the sentence part on one tool."""
    return f"takes {tenths // _TENTHS}.{tenths % _TENTHS} times as long as others for {tool}"


def sentence(index: PaceIndex, device: str) -> str:
    """Return what the page of devices says of a device; empty if it is not slow."""
    found = slow_tools(index, device)
    if not found:
        return ""
    more = f", and is slow for {len(found) - 1} more tool{'s' if len(found) > 2 else ''}" if len(found) > 1 else ""
    return f"It {slow_words(found[0][1], found[0][0])} over past runs{more}. It is still used where it is free."


def p90_ms(index: PaceIndex, tool: str, device: str, size: int) -> int:
    """Return the time within which nine of ten calls end on a device; 0 below `SURE` calls of its own."""
    row = index.rows.get(key_of(tool, device, size))
    if row is None or row.count < SURE:
        return 0
    spread = spread_of(row.count, row.logs, row.squares)
    return power_of(expected_log(row) + max(_P90 * spread // 1_000, _AT_LEAST))
