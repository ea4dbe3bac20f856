"""Stop everything: what is cancelled, which devices have to confirm, and when they have."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Overlap
from tests.builders import Driver, plan, task
from tests.core.clockwork import Clockwork
from tests.core.watched import WatchedDriver


def stop(driver: Driver) -> dict[str, Any]:
    answer = driver.do(i.StopAllRequested(id=driver.ident(), by="person:ann", reason="fire"))
    assert not answer.faults
    assert isinstance(answer.value, dict)
    return answer.value


def test_each_device_confirms_with_its_last_receipt_and_one_that_is_away_stays_named() -> None:
    driver = WatchedDriver("one", "two", "idle")
    driver.submit(plan(task("a", device="one"), task("b", device="two"), task("z", "x=a")))
    driver.submit(plan(task("c", device="one", tool="t.never")), name="c2")
    by_task = {item.at.task: item for item in driver.take()}
    for item in by_task.values():
        driver.started(item)
    told = stop(driver)
    assert (told["constellations"], told["devices"]) == (["c1", "c2"], ["d-one", "d-two"])
    rows = driver.shard.fleet.stopping
    assert rows["d-one"].attempts == ["c1/a/1", "c2/c/1"]
    assert (rows["d-one"].asked, rows["d-one"].reason, rows["d-one"].by) == (2, "fire", "person:ann")
    driver.now_ms += 5
    driver.receipt(by_task["a"])
    assert (rows["d-one"].attempts, rows["d-one"].confirmed_ms) == (["c2/c/1"], 0)
    driver.restart()
    driver.receipt(by_task["c"])
    rows = driver.shard.fleet.stopping
    assert (rows["d-one"].attempts, rows["d-one"].confirmed_ms) == ([], driver.now_ms)
    assert rows["d-two"].confirmed_ms == 0
    assert driver.events[-1].kind in ("device_stopped", "ended")
    driver.receipt(by_task["b"])
    assert rows["d-two"].confirmed_ms == driver.now_ms


def test_nothing_to_stop_says_so_and_a_new_stop_forgets_the_old_one() -> None:
    driver = WatchedDriver("one")
    assert stop(driver) == {"constellations": [], "devices": [], "left_out": 0, "schedules": []}
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    stop(driver)
    stop(driver)
    assert list(driver.shard.fleet.stopping) == ["d-one"]
    driver.receipt(dispatch)
    assert stop(driver)["devices"] == []
    assert not driver.shard.fleet.stopping
    assert [event.kind for event in driver.events if event.stream == FLEET][-1] == "stop_all"


def test_what_may_have_happened_is_owed_until_somebody_decides() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-one", action="revoke"))
    assert driver.states()["a"] == "unknown"
    assert stop(driver)["devices"] == ["d-one"]
    driver.control("mark", "a", state="failed")
    assert driver.shard.fleet.stopping["d-one"].confirmed_ms


@pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.CANCEL_PREVIOUS])
def test_the_firings_that_wait_are_left_out(overlap: Overlap) -> None:
    clock = Clockwork()
    clock.save(overlap=overlap)
    clock.save(name="s-paused")
    clock.order("pause", "s-paused")
    clock.turn_to("2026-06-01T01:00")
    (dispatch,) = clock.take()
    clock.started(dispatch)
    clock.turn_to("2026-06-01T03:10")
    waiting = len(clock.schedule().queued)
    skipped = clock.schedule().skipped
    told = stop(clock)
    assert (told["left_out"], told["schedules"]) == (waiting, ["s-one"])
    assert (clock.schedule().queued, clock.schedule().skipped) == ([], skipped + waiting)
    clock.receipt(dispatch)
    clock.settle()
    assert (clock.take(), clock.schedule().running) == ([], {})
    (firing,) = clock.firings()
    assert clock.shard.constellations[firing].head.state == "cancelled"
    clock.turn_to("2026-06-01T04:00")
    assert len(clock.take()) == 1, "the schedule goes on with its next moment"
    clock.folded_equals_state()
