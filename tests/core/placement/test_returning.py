"""A group over devices: those that are expected back are waited for, a while and no longer."""

from __future__ import annotations

from starloom.core.clock.timers import due_moments, is_stale
from starloom.core.placement.device_groups.returning import DROPPED_MS, TIMER
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import ForEach, Selector
from starloom_protocol.vocabulary import Attention, Need
from tests.builders import Driver, plan, task

EACH = ForEach(devices=Selector(), need=Need.BEST_EFFORT)


def restarted(*off: str) -> Driver:
    """Three devices whose hub ended; those of `off` had gone before."""
    driver = Driver("one", "two", "nas")
    for name in off:
        leave(driver, name, hub_ended=False)
    for name in {"one", "two", "nas"} - set(off):
        leave(driver, name, hub_ended=True)
    return driver


def leave(driver: Driver, name: str, *, hub_ended: bool) -> None:
    session = driver.shard.fleet.devices[f"d-{name}"].session
    reason = "gone"
    driver.do(
        i.DeviceDisconnected(
            id=driver.ident(), by="engine", device=f"d-{name}", hub_ended=hub_ended, reason=reason, session=session
        )
    )


def children(driver: Driver) -> list[str]:
    return sorted(driver.shard.constellations["c1"].children.get("look", {}))


def test_a_list_waits_for_the_devices_of_a_hub_that_ended() -> None:
    driver = restarted()
    driver.submit(plan(task("look", for_each=EACH)))
    group = driver.shard.constellations["c1"].groups["look"]
    assert (group.state, group.until_ms) == ("waiting", driver.now_ms + driver.shard.settings.return_ms)
    (told,) = [event for event in driver.events if event.kind == "group_waits"]
    assert told.note == "waits for nas, one, two to connect again, as the hub has just started"
    for name in ("one", "two"):
        driver.connect(name)
        assert children(driver) == [], "the list is made once, of all"
    driver.connect("nas")
    assert children(driver) == ["look.d-nas", "look.d-one", "look.d-two"]
    group = driver.shard.constellations["c1"].groups["look"]
    assert (group.state, group.until_ms) == ("expanded", 0)


def test_the_time_is_bounded() -> None:
    driver = restarted()
    driver.submit(plan(task("look", for_each=EACH)))
    driver.connect("one")
    (timer,) = [timer for timer in due_moments(driver.shard) if timer.kind == TIMER]
    assert not is_stale(driver.shard, timer)
    driver.now_ms = timer.due_ms
    driver.fire(timer)
    assert children(driver) == ["look.d-one"]
    assert is_stale(driver.shard, timer)


def test_a_group_without_any_device_fails_only_after_it() -> None:
    driver = restarted()
    driver.submit(plan(task("look", for_each=EACH)))
    (timer,) = [timer for timer in driver.timers if timer.kind == TIMER]
    driver.now_ms = timer.due_ms
    driver.fire(timer)
    assert driver.shard.constellations["c1"].head.state == "failed"


def test_nothing_is_waited_for_that_was_off_before() -> None:
    driver = restarted("nas", "one", "two")
    driver.connect("one")
    driver.submit(plan(task("look", for_each=EACH)))
    assert children(driver) == ["look.d-one"]


def test_a_group_that_waits_is_no_stall_and_can_be_cancelled() -> None:
    driver = restarted()
    driver.submit(plan(task("look", for_each=EACH)))
    head = driver.shard.constellations["c1"].head
    assert Attention.STALLED not in head.attention
    driver.control("cancel")
    assert driver.shard.constellations["c1"].head.state == "cancelled"
    (timer,) = [timer for timer in driver.timers if timer.kind == TIMER]
    driver.now_ms = timer.due_ms
    driver.fire(timer)
    assert children(driver) == []


ALL = ForEach(devices=Selector())


def dropped(for_each: ForEach) -> Driver:
    """Three devices, of which one has just lost its connection, and a plan over all of them."""
    driver = Driver("one", "two", "nas")
    leave(driver, "nas", hub_ended=False)
    driver.submit(plan(task("look", for_each=for_each)))
    return driver


def test_a_group_that_needs_all_waits_for_a_device_whose_connection_has_just_dropped() -> None:
    driver = dropped(ALL)
    group = driver.shard.constellations["c1"].groups["look"]
    assert (group.state, group.until_ms) == ("waiting", driver.now_ms + DROPPED_MS)
    (told,) = [event for event in driver.events if event.kind == "group_waits"]
    assert told.note == "waits for nas to connect again, since the connection has just dropped"
    driver.connect("nas")
    assert children(driver) == ["look.d-nas", "look.d-one", "look.d-two"]


def test_it_goes_on_without_a_device_that_stays_away_and_the_answer_names_it() -> None:
    driver = dropped(ALL)
    (timer,) = [timer for timer in due_moments(driver.shard) if timer.kind == TIMER]
    driver.now_ms = timer.due_ms
    driver.fire(timer)
    assert children(driver) == ["look.d-one", "look.d-two"]
    for dispatch in driver.take():
        driver.result(dispatch, 1)
    assert "not asked: nas" in driver.shard.constellations["c1"].tables["answer"][""].sentence


def test_a_group_that_takes_what_there_is_waits_for_nobody() -> None:
    assert children(dropped(EACH)) == ["look.d-one", "look.d-two"]
    assert children(dropped(ForEach(devices=Selector(), need=Need.ANY))) == ["look.d-one", "look.d-two"]
    reporting = dropped(ForEach(devices=Selector(), when_off="report"))
    assert children(reporting) == ["look.d-nas", "look.d-one", "look.d-two"]


def test_a_device_that_has_been_off_for_longer_is_not_waited_for() -> None:
    driver = Driver("one", "two", "nas")
    leave(driver, "nas", hub_ended=False)
    driver.now_ms += DROPPED_MS
    driver.submit(plan(task("look", for_each=ALL)))
    assert children(driver) == ["look.d-one", "look.d-two"]
