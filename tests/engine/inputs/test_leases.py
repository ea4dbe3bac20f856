"""Leases and what else a sweep over them finds, on a clock that the test turns."""

from __future__ import annotations

from starloom.core.state import inputs as i
from starloom.engine.inputs.leases import Leases
from starloom_protocol.records.entities import Timeouts
from tests.builders import Driver, plan, task


class StillClock:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def now_ms(self) -> int:
        return self._driver.now_ms

    async def wait(self, ms: int) -> None:
        raise AssertionError(f"nothing here waits {ms} ms")


def swept(driver: Driver, leases: Leases, ms: int, *, talks: bool) -> list[str]:
    """Let time pass second by second; a device that talks names nothing. Return the kinds of what was found."""
    found = []
    for _ in range(ms // 1000):
        driver.now_ms += 1000
        if talks:
            leases.alive("d-one", [], 0)
        found.extend(leases.expired())
    return [item.kind if isinstance(item, i.TimerFired) else "expired" for item in found]


def leased() -> tuple[Driver, Leases]:
    driver = Driver("one")
    leases = Leases(StillClock(driver), ttl_ms=15_000, grace_ms=5_000)
    leases.shard = driver.shard
    driver.submit(plan(task("a", timeouts=Timeouts(heartbeat_s=10))))
    (dispatch,) = driver.take()
    leases.begin(dispatch.at)
    return driver, leases


def test_an_attempt_that_goes_unnamed_is_asked_after_once_before_its_lease_runs_out() -> None:
    driver, leases = leased()
    assert swept(driver, leases, 9_000, talks=True) == []
    assert swept(driver, leases, 9_000, talks=True) == ["heartbeat"]
    assert swept(driver, leases, 9_000, talks=True) == ["expired"]


def test_a_device_that_is_silent_is_not_asked() -> None:
    driver, leases = leased()
    assert swept(driver, leases, 19_000, talks=False) == []
    assert swept(driver, leases, 9_000, talks=False) == ["expired"]


def test_an_attempt_that_is_named_again_may_go_unnamed_again() -> None:
    driver, leases = leased()
    assert swept(driver, leases, 12_000, talks=True) == ["heartbeat"]
    (at,) = [dispatch.at for dispatch in driver.sent if hasattr(dispatch, "at") and dispatch.at.task == "a"]
    leases.alive("d-one", [at], 0)
    assert swept(driver, leases, 9_000, talks=True) == []
    assert swept(driver, leases, 3_000, talks=True) == ["heartbeat"]


def test_work_past_its_time_is_found_by_the_sweep() -> None:
    driver, leases = leased()
    (dispatch,) = [item for item in driver.sent if hasattr(item, "at") and item.at.task == "a"]
    driver.started(dispatch)
    for _ in range(619):
        driver.now_ms += 1_000
        leases.alive("d-one", [dispatch.at], 0)
        assert leases.expired() == []
    driver.now_ms += 1_000
    assert [item.kind for item in leases.expired() if isinstance(item, i.TimerFired)] == ["start_to_close"]


def test_a_loop_that_stood_still_hears_results_before_it_ends_work() -> None:
    driver, leases = leased()
    (dispatch,) = [item for item in driver.sent if hasattr(item, "at") and item.at.task == "a"]
    driver.started(dispatch)
    for found in ([], ["start_to_close"]):
        driver.now_ms += 700_000
        leases.alive("d-one", [dispatch.at], 0)
        assert [item.kind for item in leases.expired() if isinstance(item, i.TimerFired)] == found


def test_only_a_device_that_sends_nothing_is_silent() -> None:
    driver, leases = leased()
    swept(driver, leases, 19_000, talks=True)
    driver.now_ms += 1_000
    assert [item.silent for item in leases.expired() if isinstance(item, i.LeaseExpired)] == [False]
    driver, leases = leased()
    swept(driver, leases, 19_000, talks=False)
    driver.now_ms += 1_000
    assert [item.silent for item in leases.expired() if isinstance(item, i.LeaseExpired)] == [True]
