"""Hub time goes by what truly passes; a date that is set is taken over only where nothing is counted by it."""

from __future__ import annotations

import asyncio
import time

import pytest

from starloom.process.clock import STEP_MS, HubClock, follow_dates
from tests.waiting import PATIENCE_S

HOUR_NS = 3_600_000_000_000


class Machine:
    """A machine whose date and whose passing time a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed_ns = 5 * HOUR_NS
        self.ahead_ns = 400 * HOUR_NS
        monkeypatch.setattr(time, "time_ns", lambda: self.passed_ns + self.ahead_ns)
        self.clock = HubClock(lambda: self.passed_ns)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.mark.parametrize("set_by_ns", [24 * HOUR_NS, -24 * HOUR_NS])
def test_a_date_that_is_set_moves_hub_time_by_nothing(machine: Machine, set_by_ns: int) -> None:
    before = machine.clock.now_ms()
    machine.ahead_ns += set_by_ns
    machine.passed_ns += 7_000_000
    assert machine.clock.now_ms() == before + 7
    assert machine.clock.step_ms() == set_by_ns // 1_000_000
    assert machine.clock.wall_ms() == machine.clock.now_ms() + machine.clock.step_ms()


def test_less_than_a_second_is_no_step(machine: Machine) -> None:
    machine.ahead_ns += STEP_MS * 1_000_000
    assert machine.clock.step_ms() == 0


async def looks(machine: Machine, idle: list[bool]) -> list[int]:
    """Let the follower look as often as `idle` has answers; return hub time at each date that was followed."""
    done = asyncio.Event()
    followed: list[int] = []

    def asked() -> bool:
        answer = idle.pop(0)
        if not idle:
            done.set()
        return answer

    task = asyncio.create_task(
        follow_dates(machine.clock, asked, lambda: followed.append(machine.clock.now_ms()), look_ms=1)
    )
    async with asyncio.timeout(PATIENCE_S):
        await done.wait()
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return followed


async def test_a_date_set_forward_is_followed_once_nothing_is_under_way(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.ahead_ns += 2 * HOUR_NS
    assert await looks(machine, [False, False, False]) == []
    assert machine.clock.step_ms() == 2 * HOUR_NS // 1_000_000
    assert caplog.text.count("event=date_was_set") == 1
    assert await looks(machine, [True]) == [machine.clock.wall_ms()]
    assert machine.clock.step_ms() == 0
    assert "event=date_followed" in caplog.text


async def test_hub_time_never_goes_back(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    before = machine.clock.now_ms()
    machine.ahead_ns -= 2 * HOUR_NS
    task = asyncio.create_task(follow_dates(machine.clock, lambda: True, lambda: None, look_ms=1))
    async with asyncio.timeout(PATIENCE_S):
        while "event=date_was_set" not in caplog.text:
            await machine.clock.wait(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert machine.clock.now_ms() >= before
    assert "when the hub is started again" in caplog.text
