"""Ownership of the shard: renews its lease, and proves it for messages that leave without a commit.

A lease that runs out in Redis only lets another hub begin; correctness rests on the term alone. A commit proves the
term. The renewal of an attempt's lease is no commit: it waits for a check of the term that began after the agent was
heard, because a hub that was suspended may have been replaced meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starloom.core.state.inputs import DeviceDisconnected
from starloom.core.state.model import Shard
from starloom.engine.ports import Clock
from starloom.engine.settings import EngineSettings
from starloom.store.port import CommitPort, Ownership, Unavailable
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.vocabulary import DeviceLink

log = logging.getLogger("starloom.engine")
RETRY_MS = 200
"""Far below the time to live of the ownership, so that several tries fit before another hub takes over."""


class Owning:
    """The ownership of one engine; `lost` is set permanently once another hub has the shard."""

    def __init__(self, store: CommitPort, clock: Clock, settings: EngineSettings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._waiting: dict[str, Callable[[], object]] = {}
        self._wanted = asyncio.Event()
        self.own: Ownership | None = None
        self.lost = asyncio.Event()

    def when_proved(self, key: str, on_proved: Callable[[], object]) -> None:
        """Call `on_proved` once the shard is proved to be ours after this call; of one key only the last is called."""
        self._waiting[key] = on_proved
        self._wanted.set()

    async def prove(self) -> None:
        """Check the term for all waiting calls together, until the shard is lost."""
        while not self.lost.is_set():
            await self._wanted.wait()
            self._wanted.clear()
            waiting, self._waiting = self._waiting, {}
            try:
                proved = self.own is not None and await self._store.owns(self.own.term)
            except Unavailable:
                # No other hub can take the shard while Redis is away: the calls wait; of one key the later wins.
                self._waiting = {**waiting, **self._waiting}
                await self._clock.wait(RETRY_MS)
                self._wanted.set()
                continue
            if proved:
                for on_proved in waiting.values():
                    on_proved()

    async def keep(self, well: Callable[[], bool], look: Callable[[bool], Awaitable[None]]) -> None:
        """Renew the lease while the engine is `well`; `look` gets whether it was renewed, and checks the shard."""
        pause_ms = self._settings.renew_ms
        while not self.lost.is_set():
            await self._clock.wait(pause_ms)
            pause_ms = self._settings.renew_ms
            if self.own is None:
                continue
            try:
                if not well():
                    # Another hub may take the shard; this hub must notice it, because its sockets end here.
                    if not await self._store.owns(self.own.term):
                        await look(False)
                    continue
                renewed = await self._store.renew(self._settings.owner, self.own.term, self._clock.now_ms())
            except Unavailable as error:
                log.warning("event=owner_renew_unavailable reason=%s", error)
                pause_ms = RETRY_MS
                continue
            if not renewed:
                log.warning("event=owner_doubted term=%d", self.own.term)
            await look(renewed)


def gone_with_their_hub(shard: Shard, term: int) -> list[DeviceDisconnected]:
    """Return a disconnection for each connected device: at an owner's start their sockets were another process's."""
    return [
        DeviceDisconnected(
            by=ENGINE,
            device=device.id,
            hub_ended=True,
            id=f"gone-{term}-{device.id}",
            reason="the hub that held its socket has ended",
            session=device.session,
        )
        for device in shard.fleet.devices.values()
        if device.link is DeviceLink.ONLINE
    ]
