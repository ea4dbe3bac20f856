"""An installation of two hubs on one shard with people: each has a view of access of its own, and the owner admits.

What reaches the other hub is passed on whole, as `edge/peers/relay.py` passes on a request with its token.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from starloom.edge.access.callers import AccessView
from starloom.store.port import StreamState, Unavailable
from starloom_protocol.stream.feed import ACCESS, Event
from tests.sim.pair import PairSite
from tests.sim.pair_hub import Hub
from tests.sim.people.door import Knock
from tests.sim.people.site import Admits, NobodyPlans, Peopled, Run

if TYPE_CHECKING:
    from starloom_protocol.records.entities import Token

ROUTE_WITHIN_S = 20.0


class PeopleHub(Hub):
    """A hub whose edge knows who may do what, from the log as this hub follows it."""

    site: PeoplePairSite

    def _wire(self) -> None:
        super()._wire()
        self.view = AccessView(self.site.clock.now_ms)

    def _edge(self) -> dict[str, Any]:
        return {"secrets": self.site.vault}

    async def _filled(self) -> None:
        """Load the view and subscribe it, as `edge.live.views.Views.fill` does."""
        fanout, view = self.viewers, self.view
        begins = not fanout.listeners
        early: list[Event] = []
        fanout.listeners[:] = [early.append]
        while True:
            try:
                found = (await self.store.live_entities([ACCESS])).get(ACCESS, StreamState(0, {}))
                break
            except Unavailable:
                await asyncio.sleep(0.2)
        view.reset(found.entities)
        for event in early:
            if event.stream == ACCESS and event.seq > found.seq:
                view.apply(event)
        fanout.listeners[:] = [view.apply]
        if begins and self.engine is not None:
            try:
                await self.site.vault.sweep(view.secrets.values())
            except Unavailable:
                self.site.note("the vault was not swept")

    async def _went_back(self) -> None:
        await super()._went_back()
        await self._filled()

    async def _decided(self, item: Any) -> Any:
        if not isinstance(item, Knock):
            return await super()._decided(item)
        admitted = item.admitted(self.view)
        return item.refusal if admitted is None else await super()._decided(admitted)

    async def carry_out(self, run: Run) -> str:
        engine = self.engine
        return "no hub owns the shard" if engine is None else await run(self.view, engine, self.seat.ask)


class PeoplePairSite(Peopled, PairSite):
    """Two hubs: either may be killed, stopped in time or cut off while people give and take rights."""

    make_hub: Callable[..., Hub] = PeopleHub

    def __init__(self, chance: random.Random, devices: Sequence[str]) -> None:
        super().__init__(chance, devices)
        self.jobs = NobodyPlans()
        self._inhabit()

    @property
    def view(self) -> AccessView | None:
        owner = self.owner
        return owner.view if isinstance(owner, PeopleHub) else None

    async def knock(self, knock: Admits) -> Any:
        return await self.ask(knock)

    async def route(self, run: Run) -> str:
        owner, loop = self.owner, asyncio.get_running_loop()
        if not isinstance(owner, PeopleHub):
            return "no hub owns the shard"
        told: asyncio.Future[str] = loop.create_future()
        owner.process.call(partial(_begin, owner.carry_out(run), told))
        until = loop.time() + ROUTE_WITHIN_S
        while not told.done() and owner.process.alive and loop.time() < until:
            await asyncio.wait({told}, timeout=0.5)
        return told.result() if told.done() else "the hub does not answer"

    def ended(self) -> list[str]:
        kept = self.history.whole(ACCESS).entities
        tokens = {key.removeprefix("token/"): raw for key, raw in kept.items() if key.startswith("token/")}
        odd = [hub for hub in self.hubs.values() if isinstance(hub, PeopleHub) and not _knows(hub.view.tokens, tokens)]
        return [*super().ended(), *[f"{hub.name} lets other tokens in than the log has" for hub in odd]]


def _knows(seen: dict[str, Token], kept: dict[str, bytes]) -> bool:
    return seen.keys() == kept.keys() and all(
        (b"revoked_ms" in kept[key]) == bool(seen[key].revoked_ms) for key in kept
    )


def _begin(work: Awaitable[str], told: asyncio.Future[str]) -> None:
    """Have a route carried out in the process in which this runs."""

    async def run() -> None:
        said = await work
        if not told.done():
            told.set_result(said)

    asyncio.get_running_loop().create_task(run())
