"""The other hubs of the shard: the address of the owner, and the messages beside the log between the hubs.

Answers `Ownership` for the edge: the owner, and how much of the log this hub has seen. Announces this hub's own card
every `CARD_EVERY_MS`; follows the owner of the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from starloom.edge.live.fanout import Fanout
from starloom.edge.web.hub_seals import HubSeals
from starloom.engine.ports import Clock
from starloom.engine.succession import Succession
from starloom.process.ending import end_tasks
from starloom.store.port import HubsPort, Unavailable
from starloom_protocol.stream.feed import Beside

CARD_EVERY_MS = 1_000
CARD_TTL_MS = 10_000
"""Ten cards: a hub that pauses for some seconds stays known, and one that died is forgotten after ten."""
STALE_MS = 5_000
"""Ten reads of the log, each of which waits half a second: after that nothing is answered from what is known here."""
CARRY_EVERY_MS = 100
"""Pages at the other hub show progress with this delay; less would cost a message for nearly every line."""
CARRY_MOST = 512
"""Messages beside the log that wait for 100 ms; of more the oldest are dropped, since the newest tells the state."""
ALONE_MS = 2_000
"""With no second hub in sight nothing waits; one that joins hears messages beside the log after this time."""
_log = logging.getLogger(__name__)
_beside = msgspec.json.Decoder(list[Beside])


class Neighbours:
    """`Ownership`, kept up to date by `run`; the functions in `on_moved` are called when another hub becomes the owner.

    `changed` must be called at once when this hub begins or ceases to own the shard.
    """

    def __init__(
        self, hubs: HubsPort, succession: Succession, seals: HubSeals, fanout: Fanout, clock: Clock, own_url: str
    ) -> None:
        self._hubs = hubs
        self._succession = succession
        self._seals = seals
        self._fanout = fanout
        self._clock = clock
        self._own_url = own_url
        self._owner = ""
        self._owner_url: str | None = None
        self._carried: deque[bytes] = deque(maxlen=CARRY_MOST)
        self._hearing: asyncio.Task[None] | None = None
        self.on_moved: list[Callable[[], None]] = []

    @property
    def owns(self) -> bool:
        return self._succession.engine is not None

    @property
    def owner_url(self) -> str | None:
        holder = self._succession.holder
        return self._owner_url if holder and holder == self._owner else None

    @property
    def stale(self) -> bool:
        return not self.owns and self._clock.now_ms() - self._succession.follower.heard_ms > STALE_MS

    @property
    def pos(self) -> int:
        return self._fanout.pos if self.owns else self._succession.follower.pos

    async def caught_up(self, pos: int) -> None:
        if not self.owns:
            await self._succession.follower.until(pos)

    async def run(self) -> None:
        """Announce the address of this hub and learn that of the owner, until cancelled."""
        while True:
            try:
                await self._hubs.announce(self._seals.hub, self._seals.card(self._own_url), CARD_TTL_MS)
                await self._learn()
            except Unavailable as error:
                _log.warning("event=neighbours_unavailable reason=%s", error)
            for _ in range(4):
                await self._clock.wait(CARD_EVERY_MS // 4)
                if not self.owns and (self._succession.holder or self._owner) != self._owner:
                    break

    async def _learn(self) -> None:
        holder = self._succession.holder
        if self.owns or not holder:
            return
        raw = await self._hubs.card(holder)
        url = self._seals.read_card(raw, holder) if raw is not None else None
        if raw is not None and url is None:
            _log.error("alarm: the card of hub %s was not written by a hub that has this shard's key", holder)
        if url == self._own_url:
            url = None  # an owner that has ended: this hub listens in its place, and nobody answers for the lease
        has_moved = holder != self._owner
        self._owner, self._owner_url = holder, url
        if has_moved:
            for tell in self.on_moved:
                tell()

    async def changed(self) -> None:
        """Note that this hub has begun or ceased to own the shard."""
        self._owner, self._owner_url = "", None
        for tell in self.on_moved:
            tell()
        await self._stop_hearing()
        if not self.owns:
            self._hearing = asyncio.create_task(self._hear(), name="hear-beside")

    async def close(self) -> None:
        await self._stop_hearing()

    async def carry(self) -> None:
        """Send messages beside the log to the following hubs, until cancelled; without any, retry every `ALONE_MS`."""
        while True:
            if not self.owns:
                self._fanout.carry = None
                await self._clock.wait(ALONE_MS)
                continue
            items = [self._carried.popleft() for _ in range(len(self._carried))]
            hearers = 0
            if items or self._fanout.carry is None:
                with contextlib.suppress(Unavailable):
                    hearers = await self._hubs.say_beside(b"[" + b",".join(items) + b"]")
                self._fanout.carry = self._carried.append if hearers else None
            await self._clock.wait(CARRY_EVERY_MS if self._fanout.carry is not None else ALONE_MS)

    async def _hear(self) -> None:
        while True:
            try:
                async for raw in self._hubs.hear_beside():
                    for item in _beside.decode(raw):
                        self._fanout.beside(item)
            except (Unavailable, msgspec.MsgspecError) as error:
                _log.warning("event=beside_unheard reason=%s", error)
            await self._clock.wait(CARD_EVERY_MS)

    async def _stop_hearing(self) -> None:
        task, self._hearing = self._hearing, None
        if task is not None:
            await end_tasks([task])


class Ownership(Protocol):
    """The owner of the shard, as this hub knows it."""

    @property
    def owns(self) -> bool:
        """Whether this hub owns the shard."""
        ...

    @property
    def owner_url(self) -> str | None:
        """The address of the owner, if that is another hub and it is known."""
        ...

    @property
    def stale(self) -> bool:
        """Whether this hub's view of the log is too old to judge by."""
        ...

    @property
    def pos(self) -> int:
        """The last commit that this hub has published."""
        ...

    async def caught_up(self, pos: int) -> None:
        """Wait until a commit was published here."""
        ...
