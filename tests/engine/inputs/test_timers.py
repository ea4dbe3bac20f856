"""The heap of due moments drops those that the state no longer has, and fires the others in order."""

from __future__ import annotations

import asyncio

from starloom.core.state.inputs import TimerFired
from starloom.core.state.orders import ArmTimer
from starloom.engine.inputs.timers import HELD_LEAST, Timers
from tests.engine.test_loop import TurningClock, settle


def test_moments_that_nobody_waits_for_are_dropped_and_the_others_stay() -> None:
    waiting: dict[str, None] = {}
    timers = Timers(TurningClock(), lambda _fired: None, lambda timer: timer.entity not in waiting)
    for number in range(20 * HELD_LEAST):
        name = f"t{number}"
        if number % 50 == 0:
            waiting[name] = None
        timers.arm(ArmTimer(constellation="c", due_ms=2_000_000 + number, entity=name, kind="waits_long"))
        assert len(timers) <= max(HELD_LEAST, 2 * len(waiting)) + 1
    assert len(timers) >= len(waiting)


async def test_what_is_kept_still_fires_in_order() -> None:
    fired: list[TimerFired] = []
    clock = TurningClock()
    timers = Timers(clock, fired.append, lambda timer: timer.entity.startswith("old"))
    timers.arm(ArmTimer(constellation="c", due_ms=clock.ms - 1, entity="second", kind="k"))
    for number in range(3 * HELD_LEAST):
        timers.arm(ArmTimer(constellation="c", due_ms=clock.ms - 2, entity=f"old{number}", kind="k"))
    timers.arm(ArmTimer(constellation="c", due_ms=clock.ms - 3, entity="first", kind="k"))
    running = asyncio.create_task(timers.run())
    await settle()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    kept = [item.entity for item in fired if not item.entity.startswith("old")]
    assert kept == ["first", "second"]
    assert len(fired) < HELD_LEAST + 2


class JumpingClock(TurningClock):
    """One whose time a test sets without that anybody has waited so long."""

    def jump(self, ms: int) -> None:
        self.ms += ms


DAY_MS = 86_400_000


async def test_a_clock_that_goes_over_to_another_date_keeps_nobody_waiting_for_what_is_due_by_it() -> None:
    fired: list[TimerFired] = []
    clock = JumpingClock()
    timers = Timers(clock, fired.append)
    timers.arm(ArmTimer(constellation="c", due_ms=clock.ms + DAY_MS, entity="tomorrow", kind="k"))
    timers.arm(ArmTimer(constellation="c", due_ms=clock.ms + DAY_MS + 6_000, entity="later", kind="k"))
    running = asyncio.create_task(timers.run())
    await settle()
    clock.jump(DAY_MS + 1_000)
    timers.look()
    await settle()
    assert [item.entity for item in fired] == ["tomorrow"]
    await clock.turn(5_000)
    assert [item.entity for item in fired] == ["tomorrow", "later"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_was_slept_through_does_not_hide_what_is_armed_after_it() -> None:
    fired: list[TimerFired] = []
    clock = JumpingClock()
    timers = Timers(clock, fired.append)
    timers.arm(ArmTimer(constellation="c", due_ms=clock.ms + 20_000, entity="slept", kind="k"))
    running = asyncio.create_task(timers.run())
    await settle()
    clock.jump(DAY_MS)
    timers.arm(ArmTimer(constellation="c", due_ms=clock.ms + 6_000, entity="new", kind="k"))
    await settle()
    assert [item.entity for item in fired] == ["slept"]
    await clock.turn(6_000)
    assert [item.entity for item in fired] == ["slept", "new"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
