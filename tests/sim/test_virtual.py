"""Virtual time: what cannot come to its end is told, and does not hang."""

from __future__ import annotations

import asyncio

import pytest

from tests.sim import virtual
from tests.sim.virtual import Deadlock, Endless, run


async def _for_ever(pause_s: float) -> None:
    waiting = asyncio.Event()

    def look_again() -> None:
        asyncio.get_running_loop().call_later(pause_s, look_again)

    look_again()
    try:
        await waiting.wait()
    finally:
        await asyncio.sleep(1.0)


def test_a_schedule_that_waits_for_ever_is_ended() -> None:
    with pytest.raises(Endless, match="not at its end"):
        run(_for_ever(0.5))


def test_a_schedule_that_goes_round_at_one_moment_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "STILL_MOST", 1_000)
    with pytest.raises(Endless, match="1000 turns at"):
        run(_for_ever(0.0))


def test_a_schedule_in_which_nothing_is_left_to_happen_is_told() -> None:
    async def stuck() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock):
        run(stuck())


def test_time_jumps_to_the_next_timer() -> None:
    async def wait() -> float:
        await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time()

    assert run(wait()) == (3_600.0, [])
