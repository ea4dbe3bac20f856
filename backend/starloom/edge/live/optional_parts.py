"""Runs whose plan leaves optional parts out to end in time: their chance is played, and held to the plan.

Owns when a run is looked at: after something happened in it, and at most every few seconds. Only the hub that owns the
shard looks. Decides nothing: the core takes one part at a time, and the next look plays the run without it. A run
without a forecast loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from starloom.core.clock.leaving_out import parts_to_leave_out
from starloom.core.placement.queue_position import Held
from starloom.core.state.inputs import PartLeftOut
from starloom.core.state.model import Constellation, Shard
from starloom.edge.access.credentials import new_id
from starloom.engine.ports import Inbox, Overloaded
from starloom.planner.forecast.runs import RunAsked
from starloom.store.port import ReadPort, Unavailable
from starloom_protocol.api.previews import RunWhatIf
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.vocabulary import ConstellationState

_log = logging.getLogger(__name__)
LOOK_MS: Final = 2_000
STALE_MS: Final = 10_000
"""A run in which nothing happens is looked at this seldom: time alone makes its chance smaller."""


class OptionalParts:
    """Looks at such runs; `shard` is that of the engine here, None while another hub has it.

    `forecast` returns the work, for another thread, that plays the rest of a run; `held` are the slots of others.
    """

    def __init__(
        self,
        shard: Callable[[], Shard | None],
        reads: ReadPort,
        inbox: Inbox,
        *,
        forecast: Callable[[RunAsked], Callable[[], RunWhatIf]],
        held: Callable[[str], list[Held]],
        now_ms: Callable[[], int],
    ) -> None:
        self._shard = shard
        self._reads = reads
        self._inbox = inbox
        self._forecast = forecast
        self._held = held
        self._now_ms = now_ms
        self._looked_at: dict[str, tuple[int, int]] = {}

    async def run(self, wait: Callable[[int], Awaitable[None]]) -> None:
        """Look until cancelled; a store that is away is waited for. `wait` takes milliseconds."""
        while True:
            await wait(LOOK_MS)
            try:
                await self.look()
            except (Overloaded, Unavailable) as error:
                _log.warning("event=optional_parts_unseen reason=%s", error)

    async def look(self) -> None:
        """Look once at each run that is due."""
        shard, now_ms = self._shard(), self._now_ms()
        runs = [] if shard is None else [run for name in shard.live if _declares(run := shard.constellations[name])]
        self._looked_at = {run.name: self._looked_at[run.name] for run in runs if run.name in self._looked_at}
        for run in runs:
            seq, seen_ms = self._looked_at.get(run.name, (-1, 0))
            if (run.seq != seq or now_ms - seen_ms >= STALE_MS) and parts_to_leave_out(run):
                self._looked_at[run.name] = run.seq, now_ms
                await self._look_at(run)

    async def _look_at(self, constellation: Constellation) -> None:
        name, below = constellation.name, constellation.head.policy.drop_below
        state = await self._reads.entities(name)
        if state is None:
            return
        request = RunAsked(name, state.seq, self._now_ms(), state.entities, self._held(name))
        course = (await asyncio.to_thread(self._forecast(request)))["now"]
        chance = course["chance"] if course is not None else None
        parts = parts_to_leave_out(constellation)
        if chance is None or chance * 100 >= below or not parts:
            return
        share = int(chance * 100)
        await self._inbox.ask(PartLeftOut(by=ENGINE, chance=share, constellation=name, id=new_id(), task=parts[0]))


def _declares(constellation: Constellation) -> bool:
    head = constellation.head
    active = head.state is ConstellationState.ACTIVE
    return active and bool(head.policy.drop_below and head.deadline_s)
