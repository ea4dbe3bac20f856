"""One commit through every outage, and the shard taken again where nobody else has it.

Decides what a refusal means: a replaced Redis is taken anew, a later term of another hub ends this engine. What is
held in memory is the loop's; it is asked for through `Holding`.
"""

from __future__ import annotations

import logging
from typing import Protocol

from msgspec.structs import replace

from starloom.core.state.effects import DURABLE
from starloom.core.state.work import Work
from starloom.engine.counts import Counts
from starloom.engine.inbox import EngineInbox
from starloom.engine.lagging import obstacle_of
from starloom.engine.owning import Owning
from starloom.engine.ports import Clock
from starloom.store.port import Commit, CommitPort, Ownership, Refused, Unavailable
from starloom_protocol.entities import Fault
from starloom_protocol.vocabulary import Code

log = logging.getLogger("starloom.engine")
RETRY_MS = 200
TAKEN_OVER = Fault(
    code=Code.STORE_UNAVAILABLE,
    reason="this hub lost the shard before this was safe; it may or may not have been done",
    hint="Ask again with the same Idempotency-Key.",
)


class Holding(Protocol):
    """What the loop holds in memory, and what becomes of it."""

    def held(self) -> list[str]:
        """Return the constellations in memory; a rebuilt Redis must have them."""
        ...

    def retaken(self, own: Ownership) -> None:
        """Go on with what is held under a new term."""
        ...

    def lose(self, reason: str = ...) -> None:
        """Another hub has the shard, or the log is not what is held: nothing of it counts any more."""
        ...


class Committing:
    """The engine's way to the store; one call at a time, under the loop's turn."""

    def __init__(
        self,
        store: CommitPort,
        clock: Clock,
        owner: str,
        owning: Owning,
        inbox: EngineInbox,
        counts: Counts,
        holding: Holding,
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._owning = owning
        self._inbox = inbox
        self._counts = counts
        self._holding = holding

    async def commit(self, commit: Commit) -> bool:
        """Commit, through outages; False if the shard was lost, and this batch with it."""
        while True:
            try:
                await self._store.commit(commit)
            except Unavailable as error:
                self._inbox.refusing = obstacle_of(error, "the store does not answer")
                log.warning("event=commit_unavailable pos=%d reason=%s", commit.pos, error)
                if await self._was_applied(commit):
                    self._inbox.refusing = None
                    return True
            except Refused as refused:
                log.warning("event=commit_refused pos=%d reason=%s", commit.pos, refused)
                retaken = await self._retake(commit)
                if retaken is None:
                    return False
                commit = retaken
            else:
                self._inbox.refusing = None
                return True

    async def _was_applied(self, commit: Commit) -> bool:
        while True:
            await self._clock.wait(RETRY_MS)
            try:
                pos, term, _run = await self._store.position()
            except Unavailable:
                continue
            # Under another's term the position tells nothing of ours; the next try is refused and finds out.
            return term == commit.term and pos >= commit.pos

    async def _retake(self, commit: Commit) -> Commit | None:
        """Take the shard again after a refusal; return the commit under the new term, or None if it was lost.

        A replaced Redis was rebuilt from the history, which has every commit that this owner was told of: the
        refused one follows on it.
        """
        own = await self.regain(commit.pos - 1)
        if own is None:
            return None
        return replace(commit, incarnation=own.incarnation, term=own.term)

    async def look(self, pos_here: int, *, renewed: bool) -> None:
        """Find out between commits what a commit would: that another hub has the shard, or that Redis is another."""
        own = self._owning.own
        if renewed and own is not None:
            try:
                _pos, _term, run = await self._store.position()
            except Unavailable:
                return
            if run == own.run_id:
                return
        await self.regain(pos_here)

    async def regain(self, pos_here: int) -> Ownership | None:
        """Take the shard again; None, and it is lost, if another hub has it or the log does not end at `pos_here`."""
        self._counts.retaken += 1
        assert self._owning.own is not None  # noqa: S101 - only an owner commits
        while True:
            try:
                own = await self._store.take(
                    self._owner, self._clock.now_ms(), self._holding.held(), over=self._owning.own.term
                )
                pos, _term, _run = await self._store.position()
                break
            except (Unavailable, Refused) as error:
                if isinstance(error, Refused) and error.why == "held":
                    self._holding.lose()
                    return None
                # `Damaged` is not caught: Redis and history do not belong together, and only a person can say which.
                log.warning("event=retake_failed reason=%s", error)
                await self._clock.wait(RETRY_MS)
        if pos != pos_here:
            # Who looks on has seen something else than the log has: whoever begins anew tells them.
            self._holding.lose(f"the log ends at commit {pos}, what is held at {pos_here}")
            return None
        self._owning.own = own
        self._holding.retaken(own)
        return own


def is_waited_for(work: Work) -> bool:
    """Whether anything of this batch is held back until the history has it."""
    return any(effect.after == DURABLE for effect in work.effects) or any(
        answer.after == DURABLE and not answer.faults for answer in work.answers
    )
