"""Whether the history keeps up with what is committed; where it does not, new work is refused.

A history that fails says so by itself. One that is stopped, or behind a line that swallows everything, says nothing:
so the lag is looked at by the clock too, not only when the history has moved.
"""

from __future__ import annotations

from starloom.engine.inbox import EngineInbox
from starloom.engine.ports import Clock
from starloom.store.port import CommitPort

LAG_MOST_MS = 2_000
LOOK_MS = 250


class Lag:
    """Tells the inbox how far the history is behind."""

    def __init__(self, store: CommitPort, clock: Clock, inbox: EngineInbox) -> None:
        self._store = store
        self._clock = clock
        self._inbox = inbox

    def failed(self) -> None:
        """The history could not be written; `moved` takes it back."""
        self._inbox.behind = "the history does not answer"

    def moved(self) -> None:
        """The history has more than it had: it answers, however far behind it is."""
        self._inbox.behind = self._too_much()

    async def watch(self) -> None:
        """Notice a history that has not moved for too long, for ever."""
        while True:
            await self._clock.wait(LOOK_MS)
            self._inbox.behind = self._too_much() or self._inbox.behind

    def _too_much(self) -> str | None:
        lag_ms = self._store.lag_ms(self._clock.now_ms())
        return f"the history is {lag_ms} ms behind" if lag_ms > LAG_MOST_MS else None
