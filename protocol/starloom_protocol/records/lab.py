"""The faults of the lab: targets, kinds, the pairs that fit, the longest duration, and the record of a requested one.

`LabFault` is an entity of `fleet`. Breaks nothing and holds no judgement: the lab carries the faults out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from starloom_protocol.records.record import Record

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


class LabFault(Record, frozen=True, kw_only=True):
    """One fault of a simulated device, from the request to its end.

    `constellations` are those with work on the device when it began. `healing`: a person asked to end it early.
    `note` reports what was done, or why it was not; `size_ms` is the delay, or the error of the clock.
    """

    asked_ms: int
    began_ms: int = 0
    by: str
    constellations: list[str] = []
    device: str
    ended_ms: int = 0
    for_ms: int
    healing: bool = False
    id: str
    kind: FaultKind
    note: str = ""
    size_ms: int = 0
    state: FaultState = FaultState.ASKED
    target: FaultTarget
