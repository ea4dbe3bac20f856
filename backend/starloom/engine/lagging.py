"""Whether the history keeps up with what is committed; where it does not, new work is refused.

A history that fails says so by itself. One that is stopped, or behind a line that swallows everything, says nothing:
so the lag is looked at by the clock too, not only when the history has moved.
"""

from __future__ import annotations

from starloom.engine.inbox import EngineInbox
from starloom.engine.ports import Clock, Obstacle
from starloom.store.port import CommitPort, Corrupt, Unavailable
from starloom_protocol.vocabulary import Code

LAG_MOST_MS = 2_000
LOOK_MS = 250


class Lag:
    """Tells the inbox how far the history is behind."""

    def __init__(self, store: CommitPort, clock: Clock, inbox: EngineInbox) -> None:
        self._store = store
        self._clock = clock
        self._inbox = inbox

    def failed(self, error: Unavailable) -> None:
        """The history could not be written; `moved` takes it back."""
        self._inbox.behind = obstacle_of(error, "the history does not answer")

    def moved(self) -> None:
        """The history has more than it had: it answers, however far behind it is."""
        self._inbox.behind = self._too_much()

    async def watch(self) -> None:
        """Notice a history that has not moved for too long, for ever."""
        while True:
            await self._clock.wait(LOOK_MS)
            self._inbox.behind = self._too_much() or self._inbox.behind

    def _too_much(self) -> Obstacle | None:
        if damage := self._store.damage:
            # What is accepted now would be lost with the history that a backup replaces.
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
    """Return why no new work is taken after a failure of the store; `otherwise` is said of one that has no name."""
    return Obstacle(otherwise) if type(error) is Unavailable else Obstacle(str(error), error.code)
