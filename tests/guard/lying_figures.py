"""Figures that a joined device may lie with: sound ones, impossible ones, broken ones, by seed."""

from __future__ import annotations

import random
from typing import Final

from starloom_protocol.wire.frames import VitalsFrame

FIELDS: Final = ("battery_percent", "disk_percent", "load_percent", "memory_percent")
IMPOSSIBLE: Final = ("-2", "-9007199254740993", "10001", "65535", "65536", "1000000000000000000000000000000")
BROKEN: Final = ("NaN", "Infinity", "-Infinity", "1e999", "1.5", '"50"', "null", "true", "[50]", "{}")
FLOOD: Final = 400
"""Frames of one message."""


def impossible(chance: random.Random) -> str:
    """Return a frame that is one of the protocol and whose figures no machine has."""
    field, value = chance.choice(FIELDS), chance.choice(IMPOSSIBLE)
    return f'{{"t":"vitals","{field}":{value}}}'


def broken(chance: random.Random) -> str:
    """Return a frame that is none of the protocol."""
    field, value = chance.choice((*FIELDS, "latency_ms", "device")), chance.choice(BROKEN)
    return f'{{"t":"vitals","{field}":{value}}}'


def flood() -> list[VitalsFrame]:
    """Return more figures at once than an hour has."""
    return [VitalsFrame(load_percent=number) for number in range(FLOOD)]
