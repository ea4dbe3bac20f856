"""Waits for better devices that are over: the sweep over leases asks for them, as for timeouts. Ends none itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.core.state.effects import ArmTimer
from starloom.core.state.model import Shard
from starloom_protocol.stream.feed import FLEET

TIMER: Final = "pace_wait"


def passed(shard: Shard, now_ms: int) -> Iterator[ArmTimer]:
    """Yield one timer if a device for which tasks wait should have been free by now."""
    if any(demand.lines and demand.rested and demand.rests_until_ms <= now_ms for demand in shard.demands.values()):
        yield ArmTimer(constellation=FLEET, due_ms=now_ms, entity="", kind=TIMER)
