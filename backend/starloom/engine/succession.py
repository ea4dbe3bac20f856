"""The succession of owners on one hub: it owns the shard, or follows and takes over when the owner is gone.

Makes a new engine for each ownership and ends it when another hub has taken the shard. Time decides when to try, the
store decides whether it succeeds, and the term refuses late writes of an earlier owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from starloom.core.placement.queue_position import Held, Position
from starloom.core.state.inputs import AnyInput
from starloom.engine.following import Follower
from starloom.engine.loop import Engine
from starloom.engine.ports import Clock, Inbox, LiveSink, Overloaded, Reply
from starloom.process.ending import end_tasks
from starloom.store.port import Damaged, LogPort, Refused, Unavailable
from starloom_protocol.stream.authors import is_principal
from starloom_protocol.wire.frames import LeaseRef, Renew

log = logging.getLogger("starloom.engine")


class OwnerInbox:
    """The inbox of the shard's owner, as this hub reaches it; implements `ports.Inbox`.

    Without an engine here, requests go through the store to the owner, and reports of devices are dropped: their
    sockets are being closed, and they repeat the reports to the owner.
    """

    def __init__(self, remote: Inbox) -> None:
        self._remote = remote
        self.engine: Engine | None = None

    async def ask(self, item: AnyInput) -> Reply:
        if self.engine is None and item.by.startswith("device:"):
            # The device's socket would be on this hub and its session on the owner.
            raise Overloaded("another hub owns the shard", 1)
        if self.engine is None:
            return await self._remote.ask(item)
        inbox = self.engine.inbox
        # Devices and the hub itself wait for the end of an outage; their inputs are not to be lost or made twice.
        return await (inbox.ask_in_time(item) if is_principal(item.by) else inbox.ask(item))

    def post(self, item: AnyInput) -> None:
        if self.engine is not None:
            self.engine.inbox.post(item)
        elif not item.by.startswith("device:"):
            self._remote.post(item)

    def room(self) -> asyncio.Future[None] | None:
        return None if self.engine is None else self.engine.inbox.room()

    def alive(self, device: str, running: Sequence[LeaseRef], sent_ms: int) -> Renew:
        if self.engine is None:
            return Renew(granted=[], sent_ms=sent_ms)
        return self.engine.inbox.alive(device, running, sent_ms)

    def when_proved(self, device: str, on_proved: Callable[[], object]) -> None:
        if self.engine is not None:
            self.engine.inbox.when_proved(device, on_proved)

    def received(self, device: str) -> int:
        """Return the highest report number of a device that is durable, as far as this hub knows."""
        return 0 if self.engine is None else self.engine.received(device)

    def position(self, constellation: str, task: str) -> Position | None:
        """Return where a ready task stands in the queues; None if it waits in none, or another hub has them."""
        return None if self.engine is None else self.engine.position(constellation, task)

    def held_by_others(self, constellation: str) -> list[Held]:
        """Return the slots that other constellations hold; none are known if another hub has the shard."""
        return [] if self.engine is None else self.engine.held_by_others(constellation)


@dataclass(frozen=True, slots=True)
class TakeoverTimings:
    """The period of checks of the owner, and the time that it must be unseen before this hub takes over.

    The latter gives precedence to an owner whose lease was lost with a replaced Redis: it alone has the last commits.
    """

    look_ms: int = 250
    unseen_ms: int = 1_500


class Succession:
    """Owns or follows from `start` to `stop`; `inbox` reaches the owner in either case."""

    def __init__(
        self,
        *,
        hub: str,
        source: LogPort,
        remote: Inbox,
        live: LiveSink,
        clock: Clock,
        make: Callable[[], Engine],
        cut: Callable[[], Awaitable[None]],
        changed: Callable[[], Awaitable[None]],
        timings: TakeoverTimings | None = None,
    ) -> None:
        """Take `make`, which returns an engine that was not started.

        `changed` is awaited when this hub begins or ceases to own the shard, `cut` when the log went back.
        """
        self._hub = hub
        self._source = source
        self._clock = clock
        self._make = make
        self._changed = changed
        self._timings = timings or TakeoverTimings()
        self._unseen_since_ms: int | None = None
        self._following: asyncio.Task[None] | None = None
        self.follower = Follower(source, live, clock, cut)
        self.inbox = OwnerInbox(remote)
        self.holder: str | None = None
        self.takeovers = 0

    @property
    def engine(self) -> Engine | None:
        """The engine while this hub owns the shard."""
        return self.inbox.engine

    async def start(self) -> None:
        """Take the shard if no other hub owns it, else follow.

        Raises:
            Unavailable: the store does not answer.
            Damaged: Redis and the history do not belong together.
        """
        self.follower.begin(*await self._source.end())
        if not await self._take():
            self._follow()

    async def run(self) -> None:
        """Take over when the owner is gone and step down when the shard is lost, until cancelled.

        A fault of the follower or of a change of owners is raised: it leaves this hub neither owner nor follower.
        """
        while True:
            engine = self.engine
            if engine is not None:
                await engine.lost.wait()
                await self._step_down(engine)
            else:
                await self._clock.wait(self._timings.look_ms)
                if self._following is not None and self._following.done():
                    self._following.result()
                await self._look()

    async def stop(self) -> None:
        """Stop the engine or the follower; the shard is released, so that another hub can take it at once."""
        await self._stop_following()
        engine, self.inbox.engine = self.engine, None
        if engine is not None:
            await engine.stop()

    def _follow(self) -> None:
        self._unseen_since_ms = None
        self._following = asyncio.get_running_loop().create_task(self.follower.run(), name="follow-log")

    async def _stop_following(self) -> None:
        task, self._following = self._following, None
        if task is not None:
            await end_tasks([task])

    async def _look(self) -> None:
        """Take over if nobody has owned the shard for `unseen_ms`, or its owner has released it."""
        now = self._clock.now_ms()
        try:
            self.holder = await self._source.holder()
        except Unavailable as error:
            log.warning("event=owner_unknown reason=%s", error)
            self._unseen_since_ms = None
            return
        if self.holder is None:
            if self._unseen_since_ms is None:
                self._unseen_since_ms = now
            may_take = now - self._unseen_since_ms >= self._timings.unseen_ms
        else:
            # Our own id here belongs to a copy of this hub or to a failed try; its lease runs out like any other.
            self._unseen_since_ms = None
            may_take = self.holder == ""
        if not may_take:
            return
        try:
            await self._take()
        except (Unavailable, Damaged) as error:
            log.warning("event=takeover_failed reason=%s", error)

    async def _take(self) -> bool:
        engine = self._make()
        followed = self._following is not None
        try:
            await engine.start(self._caught_up)
        except Refused as refused:
            log.info("event=shard_held reason=%s", refused)
            self._unseen_since_ms = None
            await engine.stop()
            return False
        except BaseException:
            await engine.stop()
            if followed and self._following is None:
                self._follow()
            raise
        self.inbox.engine, self.holder = engine, self._hub
        self.takeovers += 1
        await self._changed()
        return True

    async def _caught_up(self, pos: int) -> None:
        """Publish the last commits of the former owner before the first of this one."""
        following = self._following
        if following is None:
            return
        reached = asyncio.ensure_future(self.follower.until(pos))
        try:
            await asyncio.wait((reached, following), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks([reached])
        if following.done():
            following.result()
        await self._stop_following()
        await self.follower.end_at(pos)

    async def _step_down(self, engine: Engine) -> None:
        log.warning("event=stepped_down term=%d pos=%d", engine.term, engine.pos)
        self.inbox.engine = None
        self.follower.begin(engine.pos, engine.shard.incarnation, engine.last)
        await engine.stop()
        self._follow()
        await self._changed()
