"""The bounds of what a device says of itself: the form of its offer, how often it comes, and how often that changes.

Each change becomes an event, part of the state of the fleet, and is read for each preview. Judges form and rate alone:
what a tool may do is the device's word, and what its owner allowed is cut by the core.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from starloom.edge.access.rate_limits import Limits, Rate
from starloom_protocol.plan.language.models import NAME
from starloom_protocol.records.fleet import Offer
from starloom_protocol.text.wording import quoted
from starloom_protocol.wire.frames import AsksFrame, ConditionFrame, OfferFrame

SLOTS_MOST: Final = 4_096
"""The most that an agent takes from its owner. The device with the most free slots is the least busy one."""
_SHOWN: Final = 40


class Changing(StrEnum):
    """A report of a device that may change, or that it came."""

    OFFER = "offer"
    ASKS = "asks"
    CONDITION = "condition"
    LINK = "link"


OFFERS: Final = Rate(120, 10.0)
"""Its owner changes grants, and servers start and end."""
CONDITIONS: Final = Rate(60, 1.0)
"""A disk that fills up now and then sends a few."""
ASKS: Final = Rate(240, 1.0)
"""Each call that asks, is answered or gives up changes them; a device with many slots asks for many at once."""
CONNECTIONS: Final = Rate(360, 10.0)
"""A link that breaks is tried again after a second at the least, and more and more seldom."""
RATES: Final[dict[str, Rate]] = {
    Changing.ASKS: ASKS,
    Changing.CONDITION: CONDITIONS,
    Changing.LINK: CONNECTIONS,
    Changing.OFFER: OFFERS,
}
_encode = msgspec.json.Encoder(order="deterministic").encode


def offer_fault(offer: Offer) -> str:
    """Return why an offer is refused, for the device; empty if it is taken."""
    if not 0 <= offer.slots <= SLOTS_MOST:
        return f"its offer has {offer.slots} slots; a device has 0 to {SLOTS_MOST}"
    names = Counter(tool.name for tool in offer.tools)
    for name, count in names.items():
        if not NAME.fullmatch(name):
            return f"its offer has a tool {quoted(name[:_SHOWN])}, which no plan can name"
        if count > 1:
            return f"its offer has the tool {name} {count} times"
    return ""


def _compared(frame: AsksFrame | ConditionFrame | OfferFrame) -> object:
    """Return what of a report makes another event; the time that is left to a question changes all the time."""
    return [frame.answers, [ask.action for ask in frame.open]] if isinstance(frame, AsksFrame) else frame


class ChangeRates:
    """Counts the changes of each device over all of its connections, on an injected monotonic clock.

    A report that says what the one before said is free: each connection begins with the whole offer, and a link that
    breaks again and again is no fault of the device.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._limits = Limits(monotonic_s, RATES)
        self._last: dict[tuple[Changing, str], bytes] = {}

    def exceeded(self, kind: Changing, device: str, frame: AsksFrame | ConditionFrame | OfferFrame) -> bool:
        """Count a report if it differs from the one before it; return whether they change too often."""
        digest = hashlib.sha256(_encode(_compared(frame))).digest()
        if self._last.get((kind, device)) == digest:
            return False
        if self._limits.failed(kind, device):
            return True
        self._last[kind, device] = digest
        return False

    def comes_too_often(self, device: str) -> float:
        """Count a connection, of which each is two events; return 0, or after how many seconds the next is taken."""
        return self._limits.failed(Changing.LINK, device)

    def forget(self, device: str) -> None:
        """Forget a device that was revoked."""
        for kind in Changing:
            self._last.pop((kind, device), None)
