"""Hub time: the date at which this process began, and from then on what has truly passed.

Leases, fences and deadlines are durations. A date that somebody sets while the hub runs must neither end them all at
once nor keep them for a day, so hub time does not jump with it. It goes on through the sleep of the machine.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

STEP_MS: Final = 1_000
"""What dates and hub time may be apart; less is nobody's concern."""
LOOK_MS: Final = 2_000
log = logging.getLogger(__name__)


def passed_ns() -> int:
    """Return nanoseconds on a clock that nobody sets and that runs while the machine sleeps."""
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
        """Return what this machine says the date is: for what is compared with another machine's."""
        return time.time_ns() // 1_000_000

    def step_ms(self) -> int:
        """Return by how much the machine's date was set forward (or back) since, 0 if by next to nothing."""
        step = self.wall_ms() - self.now_ms()
        return step if abs(step) > STEP_MS else 0

    def follow(self) -> None:
        """Take the machine's date over, where nothing under way is counted by this clock."""
        self._offset_ns = time.time_ns() - self._passed()


async def follow_dates(
    clock: HubClock, idle: Callable[[], bool], followed: Callable[[], None], *, look_ms: int = LOOK_MS
) -> None:
    """Take a date over that was set forward once nothing is under way, for ever: schedules go by the date.

    `followed` is called each time, for who waits for a moment has reckoned from another now. A date that was set back
    is never taken over by a hub that runs: what it has decided would lie in the future.
    """
    told = 0
    while True:
        await clock.wait(look_ms)
        step = clock.step_ms()
        if step > 0 and idle():
            clock.follow()
            followed()
            log.warning("event=date_followed step_ms=%d", step)
            told = 0
        elif abs(step - told) > STEP_MS:
            told = step
            way = "once nothing is under way" if step > 0 else "when the hub is started again"
            log.warning("event=date_was_set step_ms=%d followed=%r", step, way)
