"""The lag of the history behind the commits: new work is refused while it is too large.

A failing history raises errors. One that is stopped, or behind a connection that drops everything, raises none, so the
lag is also checked by the clock, not only when the history moves.
"""

from __future__ import annotations

from starloom.engine.inbox import EngineInbox
from starloom.engine.ports import Clock, Obstacle
from starloom.store.port import CommitPort, Corrupt, Unavailable
from starloom_protocol.vocabulary import Code

LAG_MOST_MS = 2_000
LOOK_MS = 250


class Lag:
    """Sets the inbox's obstacle while the history is too far behind."""

    def __init__(self, store: CommitPort, clock: Clock, inbox: EngineInbox) -> None:
        self._store = store
        self._clock = clock
        self._inbox = inbox

    def failed(self, error: Unavailable) -> None:
        """Note that the history could not be written; `moved` clears it."""
        self._inbox.behind = obstacle_of(error, "the history does not answer")

    def moved(self) -> None:
        """Note that the history was written: it answers, however far behind it is."""
        self._inbox.behind = self._too_much()

    async def watch(self) -> None:
        """Check regularly for a history that has not moved for too long, until cancelled."""
        while True:
            await self._clock.wait(LOOK_MS)
            self._inbox.behind = self._too_much() or self._inbox.behind

    def _too_much(self) -> Obstacle | None:
        if damage := self._store.damage:
            # Work accepted now would be lost when a backup replaces the history.
            return Obstacle(damage, Corrupt.code)
        lag_ms = self._store.lag_ms(self._clock.now_ms())
        if lag_ms <= LAG_MOST_MS:
            return None
        known = self._inbox.behind
        return (
            known
            if known is not None and known.code is not Code.OVERLOADED
            else Obstacle(f"the history is {lag_ms} ms behind")
        )


def obstacle_of(error: Unavailable, otherwise: str) -> Obstacle:
    """Return why no new work is accepted after a failure of the store; `otherwise` is the reason of an unnamed one."""
    return Obstacle(otherwise) if type(error) is Unavailable else Obstacle(str(error), error.code)
