"""Hub time: the date at the start of this process plus the time elapsed since.

Leases, fences and deadlines are durations. A change of the machine's date while the hub runs must neither end them all
at once nor extend them by a day, so hub time does not jump with it. It continues while the machine sleeps.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

STEP_MS: Final = 1_000
"""The tolerated difference between the machine's date and hub time."""
LOOK_MS: Final = 2_000
log = logging.getLogger(__name__)


def passed_ns() -> int:
    """Return nanoseconds on a clock that cannot be set and that runs while the machine sleeps."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class HubClock:
    """The clock of one hub process; implements `engine.ports.Clock`."""

    def __init__(self, passed: Callable[[], int] = passed_ns) -> None:
        self._passed = passed
        self._offset_ns = time.time_ns() - passed()

    def now_ms(self) -> int:
        return (self._passed() + self._offset_ns) // 1_000_000

    async def wait(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)

    @staticmethod
    def wall_ms() -> int:
        """Return the machine's date, for comparison with another machine's."""
        return time.time_ns() // 1_000_000

    def step_ms(self) -> int:
        """Return by how much the machine's date was set forward (negative: back), 0 up to `STEP_MS`."""
        step = self.wall_ms() - self.now_ms()
        return step if abs(step) > STEP_MS else 0

    def follow(self) -> None:
        """Adopt the machine's date; only while nothing under way is measured by this clock."""
        self._offset_ns = time.time_ns() - self._passed()


async def follow_dates(
    clock: HubClock, idle: Callable[[], bool], followed: Callable[[], None], *, look_ms: int = LOOK_MS
) -> None:
    """Adopt a date that was set forward once nothing is under way, since schedules go by the date; run until cancelled.

    `followed` is called each time, because pending waits were computed from the earlier time. A date that was set back
    is never adopted by a running hub: its decisions would be in the future.
    """
    logged_step_ms = 0
    while True:
        await clock.wait(look_ms)
        step = clock.step_ms()
        if step > 0 and idle():
            clock.follow()
            followed()
            log.warning("event=date_followed step_ms=%d", step)
            logged_step_ms = 0
        elif abs(step - logged_step_ms) > STEP_MS:
            logged_step_ms = step
            way = "once nothing is under way" if step > 0 else "when the hub is started again"
            log.warning("event=date_was_set step_ms=%d followed=%r", step, way)
