"""When an agent says `alive`, and when it takes the hub for lost. Pure; knows no socket and no clock."""

from __future__ import annotations

from typing import Final

SILENT_INTERVALS: Final = 4
SILENT_LEAST_S: Final = 10.0


class Heartbeat:
    """The rhythm of one connection, looked at once each interval of the welcome.

    `idle_s` is how seldom the hub of a large fleet asks an agent to speak that runs nothing; 0: it does not ask.
    """

    def __init__(self, interval_s: float, now_s: float) -> None:
        self.idle_s = 0.0
        self._interval_s = interval_s
        self._said_s = now_s

    def lost_after_s(self, *, running: bool) -> float:
        """Return how long the hub may be silent: four answers missed, or two where they are asked for seldom."""
        return max(SILENT_LEAST_S, SILENT_INTERVALS * self._interval_s, 2 * self._pause_s(running) + self._interval_s)

    def due(self, now_s: float, *, running: bool) -> bool:
        """Say whether `alive` is to be said now, and count it as said."""
        if now_s - self._said_s < self._pause_s(running) - self._interval_s / 2:
            return False
        self._said_s = now_s
        return True

    def _pause_s(self, running: bool) -> float:
        return self._interval_s if running else max(self.idle_s, self._interval_s)
