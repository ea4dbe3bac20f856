"""The faults of the lab: targets, kinds, the pairs that fit, and the longest duration. Words only; breaks nothing."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

FAULT_MAX_S: Final = 60.0
"""The longest duration of one fault."""


class FaultTarget(StrEnum):
    """The target of a fault."""

    DEVICE = "device"
    LINK = "link"
    HUB = "hub"
    WORKER = "worker"
    REDIS = "redis"


class FaultKind(StrEnum):
    """The kind of a fault: its effect on the target."""

    KILL = "kill"
    FREEZE = "freeze"
    CUT = "cut"
    DELAY = "delay"
    DROP = "drop"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    CORRUPT = "corrupt"
    CLOCK_SKEW = "clock_skew"
    DISK_FULL = "disk_full"


class FaultState(StrEnum):
    """The life of a requested fault; the last two are final."""

    ASKED = "asked"
    ACTIVE = "active"
    OVER = "over"
    FAILED = "failed"


OPEN_FAULT_STATES: Final = frozenset({FaultState.ASKED, FaultState.ACTIVE})

CAN: Final[dict[FaultTarget, tuple[FaultKind, ...]]] = {
    FaultTarget.DEVICE: (FaultKind.KILL, FaultKind.FREEZE, FaultKind.CLOCK_SKEW, FaultKind.DISK_FULL),
    FaultTarget.LINK: (
        FaultKind.CUT,
        FaultKind.FREEZE,
        FaultKind.DELAY,
        FaultKind.DROP,
        FaultKind.DUPLICATE,
        FaultKind.REORDER,
        FaultKind.CORRUPT,
    ),
    FaultTarget.HUB: (FaultKind.KILL, FaultKind.FREEZE),
    FaultTarget.WORKER: (FaultKind.KILL, FaultKind.FREEZE),
    FaultTarget.REDIS: (FaultKind.KILL, FaultKind.FREEZE),
}
"""The faults that can hit each target."""

ANY_DEVICE: Final = "any"
"""Instead of a name: a device drawn at random."""

BY_S: Final = {FaultKind.CLOCK_SKEW: 3_600.0, FaultKind.DELAY: 0.2}
"""The faults that have a size, in seconds, and their default sizes."""
