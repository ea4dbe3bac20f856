"""Publishes the shard's log on a hub that does not own it, commit by commit and without a gap, as the owner does.

The log can go back, if a Redis loses its tail together with its only owner. The last published commits are void then:
viewers are reset by `cut` and start over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starloom.engine.ports import Clock, LiveSink
from starloom.store.port import Followed, LogPort, Unavailable
from starloom_protocol.stream.feed import decode_event

log = logging.getLogger("starloom.engine")
WAIT_MS = 500
"""The read blocks in Redis and returns with a commit at once; it ends so that a following hub can stop."""
PAUSE_MS = 200
"""An outage is seen to end within this time; five tries a second cost nothing."""


class Follower:
    """Follows from `pos` on; `run` is ended by cancelling it, between two commits."""

    def __init__(self, source: LogPort, live: LiveSink, clock: Clock, cut: Callable[[], Awaitable[None]]) -> None:
        self._source = source
        self._live = live
        self._clock = clock
        self._cut = cut
        self._incarnation = 0
        self._last: list[bytes] | None = None
        self._published = asyncio.Event()
        self.pos = 0
        self.heard_ms = 0

    def begin(self, pos: int, incarnation: int, last: list[bytes] | None = None) -> None:
        """Continue after a commit of this incarnation that was published elsewhere; `last` are its events, if known."""
        if last is None and pos == self.pos:
            last = self._last
        self.pos = pos
        self._incarnation, self._last = incarnation, last
        self.heard_ms = self._clock.now_ms()

    async def until(self, pos: int) -> None:
        """Wait until the commit at `pos` was published."""
        while self.pos < pos:
            self._published.clear()
            if self.pos < pos:
                await self._published.wait()

    async def end_at(self, pos: int) -> None:
        """Start over unless the last published commit is the log's at `pos`, after which this hub owns the shard.

        Raises:
            Unavailable: the store does not answer.
        """
        if self.pos > pos:
            await self.begin_again("its tail is lost, and so is the owner that had it")
        elif not await self._goes_on():
            await self.begin_again("it ends otherwise than what was seen")

    async def run(self) -> None:
        """Publish new commits until cancelled; wait through outages of the store."""
        while True:
            try:
                commits = await self._source.read_on(self.pos, WAIT_MS)
                if commits:
                    await self._publish(commits)
                else:
                    await self._look_back()
            except Unavailable as error:
                log.warning("event=follow_unavailable pos=%d reason=%s", self.pos, error)
                await self._clock.wait(PAUSE_MS)
                continue
            self.heard_ms = self._clock.now_ms()

    async def _publish(self, commits: list[Followed]) -> None:
        for commit in commits:
            if commit.incarnation != self._incarnation:
                if not await self._goes_on():
                    await self.begin_again("it goes on otherwise than what was seen")
                    return
                self._incarnation = commit.incarnation
            self._live.publish(commit.pos, [(decode_event(raw), raw) for raw in commit.events])
            self.pos, self._last = commit.pos, commit.events
            self._published.set()

    async def _look_back(self) -> None:
        """Check a log without new commits; a shorter one is of a replaced Redis."""
        pos, incarnation = await self._source.end()
        if incarnation in (0, self._incarnation) or pos > self.pos:
            return
        if pos < self.pos:
            await self.begin_again("it ends before what was seen")
        elif await self._goes_on():
            self._incarnation = incarnation
        else:
            await self.begin_again("it ends otherwise than what was seen")

    async def _goes_on(self) -> bool:
        """Tell whether the log of another incarnation of Redis still has the last published commit."""
        if self._last is None:
            return True
        commit = await self._source.commit_at(self.pos)
        return commit is not None and commit.events == self._last

    async def begin_again(self, why: str) -> None:
        """Continue from the end of a log that has lost published commits, and reset the viewers."""
        pos, incarnation = await self._source.end()
        log.warning("event=log_went_back pos=%d end=%d reason=%s", self.pos, pos, why)
        self._last = None
        self.begin(pos, incarnation)
        await self._cut()
        self._published.set()
