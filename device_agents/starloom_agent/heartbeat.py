"""The heartbeat of an agent: the times to send `alive`, and the loss of the hub. Pure; knows no socket and no clock."""

from __future__ import annotations

from typing import Final

SILENT_INTERVALS: Final = 4
SILENT_LEAST_S: Final = 10.0


class Heartbeat:
    """The rhythm of one connection, checked once in each interval of the welcome.

    `idle_s` is the longer interval that the hub of a large fleet asks of an idle agent; 0: it does not ask.
    """

    def __init__(self, interval_s: float, now_s: float) -> None:
        self.idle_s = 0.0
        self._interval_s = interval_s
        self._said_s = now_s

    def lost_after_s(self, *, running: bool) -> float:
        """Return how long the hub may be silent: four missed answers, or two if they are asked for seldom."""
        return max(SILENT_LEAST_S, SILENT_INTERVALS * self._interval_s, 2 * self._pause_s(running) + self._interval_s)

    def due(self, now_s: float, *, running: bool) -> bool:
        """Return whether `alive` must be sent now, and count it as sent."""
        if now_s - self._said_s < self._pause_s(running) - self._interval_s / 2:
            return False
        self._said_s = now_s
        return True

    def _pause_s(self, running: bool) -> float:
        return self._interval_s if running else max(self.idle_s, self._interval_s)
