"""The rate at which a device changes its offer and its condition: each change becomes an event of the log.

Counted by device, over all of its connections. A report that says what the one before said is free: each connection
begins with the whole offer, and a link that breaks again and again is no fault of the device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from starloom.edge.access.rate_limits import Limits, Rate
from starloom_protocol.wire.frames import ConditionFrame, OfferFrame


class Changing(StrEnum):
    """A report of a device that may change."""

    OFFER = "offer"
    CONDITION = "condition"


OFFERS: Final = Rate(120, 10.0)
"""Its owner changes grants, and servers start and end."""
CONDITIONS: Final = Rate(60, 1.0)
"""A disk that fills up now and then sends a few."""
RATES: Final[dict[str, Rate]] = {Changing.OFFER: OFFERS, Changing.CONDITION: CONDITIONS}
_encode = msgspec.json.Encoder(order="deterministic").encode


class ChangeRates:
    """Counts the changes of each device, on an injected monotonic clock."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._limits = Limits(monotonic_s, RATES)
        self._last: dict[tuple[Changing, str], bytes] = {}

    def exceeded(self, kind: Changing, device: str, frame: OfferFrame | ConditionFrame) -> bool:
        """Count a report if it differs from the one before it; return whether they change too often."""
        said = hashlib.sha256(_encode(frame)).digest()
        if self._last.get((kind, device)) == said:
            return False
        if self._limits.failed(kind, device):
            return True
        self._last[kind, device] = said
        return False

    def forget(self, device: str) -> None:
        """Forget a device that was revoked."""
        for kind in Changing:
            self._last.pop((kind, device), None)
