"""A device that fails more than its peers: suspect, set aside, probed, restored."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Retry
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import AGENT_STOPPED, TAB_STOPPED, Code, EffectSeen, Outcome
from tests.builders import Driver, plan, task
from tests.core.watched import WatchedDriver


def fails(driver: Driver, name: str, times: int, start: int = 0) -> None:
    """Let a device be interrupted on so many tasks that are for it alone."""
    for number in range(start, start + times):
        driver.submit(plan(task("a", tool="t.never", device=name)), name=f"f-{name}-{number}")
        (dispatch,) = driver.take()
        driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=EffectSeen.MAYBE)


def state(driver: Driver, name: str) -> str:
    health = driver.shard.fleet.health.get(f"d-{name}")
    return health.state if health is not None else "sound"


def test_an_outlier_becomes_suspect_then_is_set_aside_and_told_why() -> None:
    driver = WatchedDriver("one", "two", "three", slots=1)
    fails(driver, "one", 3)
    assert state(driver, "one") == "suspect"
    # A suspect is asked only where nobody else is free.
    driver.submit(plan(*(task(f"t{n}") for n in range(3))), name="c2")
    assert [item.device for item in driver.take()] == ["d-three", "d-two", "d-one"]
    driver.control("cancel", name="c2")
    other = WatchedDriver("one", "two", slots=2)
    fails(other, "one", 6)
    device = other.shard.fleet.devices["d-one"]
    assert (state(other, "one"), device.quarantined) == ("quarantined", True)
    assert "its peers do better" in device.aside
    assert [event.kind for event in other.events if event.stream == FLEET and event.note] == [
        "device_suspected",
        "device_quarantined",
    ]
    other.submit(plan(task("a"), task("b"), task("c")), name="c2")
    assert [item.device for item in other.take()] == ["d-two", "d-two"]


def test_a_device_without_peers_and_one_whose_peers_fail_alike_is_not_set_aside() -> None:
    alone = WatchedDriver("one")
    fails(alone, "one", 8)
    assert state(alone, "one") == "ok"
    driver = WatchedDriver("one", "two", "three")
    for number in range(8):
        for name in ("one", "two", "three"):
            fails(driver, name, 1, number)
    assert {state(driver, name) for name in ("two", "three")} == {"ok"}
    assert not any(device.quarantined for device in driver.shard.fleet.devices.values())


@pytest.mark.parametrize("why", [AGENT_STOPPED, TAB_STOPPED])
def test_a_stop_that_was_asked_for_is_no_fault_of_the_device(why: str) -> None:
    driver = WatchedDriver("one", "two")
    for number in range(8):
        driver.submit(plan(task("a", tool="t.never", device="one")), name=f"s-{number}")
        detail = f"t.never was ended: {why}"
        driver.result(driver.take()[0], outcome=Outcome.INTERRUPTED, effect=EffectSeen.MAYBE, detail=detail)
    assert state(driver, "one") == "sound"


def test_success_takes_faults_back_one_by_one() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 2)
    for number in range(2):
        driver.submit(plan(task("a", device="one")), name=f"g{number}")
        driver.result(driver.take()[0], 1)
    assert state(driver, "one") == "sound"
    assert driver.shard.fleet.faults == 0


def test_probes_restore_a_device_or_wait_twice_as_long() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 6)
    probe = next(timer for timer in driver.timers if timer.kind == "probe")
    driver.restart()
    assert [timer.due_ms for timer in driver.timers if timer.kind == "probe"] == [probe.due_ms]
    parts = [task(name, device="one") for name in ("p", "q", "r")]
    driver.submit(plan(task("n", tool="t.never", device="one"), *parts))
    assert not driver.dispatched
    driver.fire(probe)
    # One task, and one that may be repeated.
    (tried,) = driver.take()
    assert tried.at.task == "p"
    driver.result(tried, outcome=Outcome.TIMEOUT)
    second = next(timer for timer in reversed(driver.timers) if timer.kind == "probe")
    assert second.due_ms - driver.now_ms == 60_000
    driver.fire(second)
    (tried,) = driver.take()
    driver.result(tried, 1)
    (tried,) = driver.take()
    assert state(driver, "one") == "quarantined"
    driver.result(tried, 1)
    assert (state(driver, "one"), driver.shard.fleet.devices["d-one"].quarantined) == ("sound", False)
    assert "n" in {item.at.task for item in driver.take()}


def test_a_probe_of_which_nothing_is_heard_is_made_again() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 6)
    driver.fire(next(timer for timer in driver.timers if timer.kind == "probe"))
    driver.submit(plan(task("p", device="one")))
    (tried,) = driver.take()
    again = driver.timers[-1] if driver.timers[-1].kind == "probe" else None
    again = again or next(timer for timer in reversed(driver.timers) if timer.kind == "probe")
    driver.fire(again)
    assert not driver.shard.fleet.devices["d-one"].probing
    driver.control("cancel", "p")
    driver.receipt(tried)
    driver.fire(next(timer for timer in reversed(driver.timers) if timer.kind == "probe"))
    assert driver.shard.fleet.devices["d-one"].probing


def test_what_a_device_broke_over_is_no_probe_of_it() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 5)
    driver.submit(plan(task("poison", device="one", retry=Retry(max_attempts=5))), name="poison")
    (first,) = driver.take()
    driver.result(first, outcome=Outcome.INTERRUPTED)
    assert state(driver, "one") == "quarantined"
    driver.submit(plan(task("good", device="one")), name="good")
    driver.fire(next(timer for timer in reversed(driver.timers) if timer.kind == "probe"))
    (probe,) = driver.take()
    assert probe.at.task == "good"
    # Where there is nothing else it has its turn once the device is asked last again.
    driver.result(probe, outcome=Outcome.TIMEOUT)
    driver.control("cancel", name="good")
    for _ in range(2):
        driver.fire(next(timer for timer in reversed(driver.timers) if timer.kind == "probe"))
    (again,) = driver.take()
    assert (again.at.task, state(driver, "one")) == ("poison", "suspect")


def test_a_device_that_nobody_has_a_probe_for_is_asked_last_again_and_waits_longer_the_next_time() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 6)
    driver.submit(plan(task("n", tool="t.never", device="one")))
    driver.fire(next(timer for timer in driver.timers if timer.kind == "probe"))
    assert not driver.dispatched
    assert driver.shard.fleet.devices["d-one"].probing
    driver.restart()
    opened = next(timer for timer in reversed(driver.timers) if timer.kind == "probe")
    driver.now_ms = opened.due_ms
    driver.fire(opened)
    (tried,) = driver.take()
    assert (tried.at.task, state(driver, "one")) == ("n", "suspect")
    driver.fire(opened)
    driver.result(tried, outcome=Outcome.TIMEOUT)
    health = driver.shard.fleet.health["d-one"]
    assert (health.state, health.probe_ms) == ("quarantined", 60_000)
    driver.folded_equals_state()


def test_a_person_takes_it_back_and_what_an_owner_decided_is_no_fault() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 6)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-one", action="resume"))
    assert (state(driver, "one"), driver.shard.fleet.devices["d-one"].quarantined) == ("sound", False)
    for number in range(7):
        driver.submit(plan(task("a", device="two")), name=f"r{number}")
        driver.result(driver.take()[0], outcome=Outcome.REFUSED, code=Code.POLICY_REFUSED)
    assert state(driver, "two") == "sound"


def test_work_that_a_fence_ended_while_the_hub_was_away_is_no_fault_of_its_device() -> None:
    driver = WatchedDriver("one", "two")
    for number in range(4):
        driver.submit(plan(task("a", device="one")), name=f"w{number}")
        driver.result(driver.take()[0], outcome=Outcome.INTERRUPTED, code=Code.FENCED)
    assert state(driver, "one") == "sound"
    assert not any(row.failures for row in driver.shard.fleet.paces.values())


def test_a_device_without_a_desktop_is_as_sound_as_its_peers() -> None:
    driver = WatchedDriver("one", "two")
    for number in range(4):
        driver.submit(plan(task("tell", tool="t.never", device="one", optional=True)), name=f"n{number}")
        driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_UNAVAILABLE, effect=EffectSeen.NONE)
    assert state(driver, "one") == "sound"


def test_a_full_folder_is_no_fault_of_the_device_that_has_it() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    for number in range(7):
        driver.submit(plan(task("write", tool="t.never", device="one")), name=f"w{number}")
        driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NO_SPACE, effect=EffectSeen.MAYBE)
    assert (state(driver, "one"), driver.shard.fleet.devices["d-one"].quarantined) == ("sound", False)
    # Other work has the device as before.
    driver.submit(plan(task("a"), task("b")), name="other")
    assert sorted(item.device for item in driver.take()) == ["d-one", "d-two"]


def test_a_call_that_found_no_room_on_a_device_is_no_probe_of_it() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 5)
    driver.submit(plan(task("full", device="one", retry=Retry(max_attempts=5))), name="full")
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NO_SPACE, effect=EffectSeen.NONE)
    backoff = next(timer for timer in driver.timers if timer.kind == "backoff")
    fails(driver, "one", 2, start=5)
    assert state(driver, "one") == "quarantined"
    driver.submit(plan(task("good", device="one")), name="good")
    driver.fire(backoff)
    driver.fire(next(timer for timer in reversed(driver.timers) if timer.kind == "probe"))
    (probe,) = driver.take()
    assert probe.at.task == "good"


def test_revoking_a_device_forgets_its_faults() -> None:
    driver = WatchedDriver("one", "two")
    fails(driver, "one", 2)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-one", action="revoke"))
    assert driver.shard.fleet.faults == 0
