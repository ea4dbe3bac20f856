"""Groups over devices that only look: what is off is told of, soon; what changes things waits as before."""

from __future__ import annotations

from typing import Any

import msgspec

from starloom.core.clock.timers import due_moments, is_stale
from starloom.core.placement.device_groups.off_devices import TIMER, since_words
from starloom.core.state.apply import load
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import ForEach, Input, Selector, TaskSpec
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import DeviceLink, Need, Reason
from tests.builders import Driver, plan, task

DAY_MS = 24 * 3600 * 1000
REPORT = ForEach(devices=Selector(), need=Need.BEST_EFFORT, when_off="report", after_s=10)


def gone(driver: Driver, name: str, since_ms: int, link: DeviceLink = DeviceLink.OFFLINE) -> None:
    """Put a device that is off since then."""
    device = driver.shard.fleet.devices[f"d-{name}"]
    off = msgspec.structs.replace(device, link=link, link_since_ms=since_ms)
    load(driver.shard, FLEET, 0, {f"device/{device.id}": off})


def joined() -> TaskSpec:
    return TaskSpec(
        id="joined",
        changed_in=1,
        tool="t.pure",
        inputs=[Input(name="rows", source="look", all=True), Input(name="off", source="look", all=True, off=True)],
        device=Selector(name="one"),
    )


def looking(*more: TaskSpec, each: ForEach = REPORT, off_since_ms: int = 0) -> Driver:
    driver = Driver("one", "two", "nas")
    driver.now_ms = 30 * DAY_MS
    gone(driver, "nas", off_since_ms or driver.now_ms - 3 * DAY_MS)
    driver.submit(plan(task("look", for_each=each), task("more", for_each=ForEach(same="look")), joined(), *more))
    return driver


def fire(driver: Driver) -> None:
    """Let every timer of this kind that is due fire, as the loop would."""
    due = [timer for timer in driver.timers if timer.kind == TIMER and timer.due_ms <= driver.now_ms]
    driver.timers = [timer for timer in driver.timers if timer not in due]
    for timer in due:
        driver.fire(timer)


def finish(driver: Driver) -> None:
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch, {"device": dispatch.device})


def test_a_device_that_is_expected_back_is_told_of_only_after_that() -> None:
    driver = looking()
    nas = driver.shard.fleet.devices["d-nas"]
    expected = msgspec.structs.replace(nas, expected_until_ms=driver.now_ms + 10_000)
    load(driver.shard, FLEET, 0, {f"device/{nas.id}": expected})
    fire(driver)
    assert driver.shard.constellations["c1"].tasks["look.d-nas"].state == "ready"
    driver.now_ms += 10_000
    fire(driver)
    assert driver.shard.constellations["c1"].tasks["look.d-nas"].state == "skipped"


def test_a_device_that_is_off_is_told_of_at_once_and_its_row_is_handed_on() -> None:
    driver = looking()
    fire(driver)
    record = driver.shard.constellations["c1"].tasks["look.d-nas"]
    assert (record.state, record.reason, record.cause) == ("skipped", Reason.DEVICE_AWAY, "not_chosen")
    while dispatches := driver.take():
        for dispatch in dispatches:
            if dispatch.at.task == "joined":
                (row,) = [parse(source.text or "") for source in dispatch.inputs[1].sources]
                assert row == {
                    "device": "nas",
                    "off": True,
                    "off_since": "1970-01-28T00:00:00Z",
                    "os": "linux",
                    "why": "off since 28 January 1970, 00:00 UTC",
                }
                assert [source.task for source in dispatch.inputs[0].sources] == ["look.d-one", "look.d-two"]
            driver.result(dispatch, 1)
    head = driver.shard.constellations["c1"]
    sentence = head.tables["answer"][""].sentence
    assert head.head.state == "succeeded"
    assert sentence.endswith("; not asked: nas (off since Wednesday).")
    assert "not needed" not in sentence
    driver.folded_equals_state()


def test_a_device_that_has_just_gone_has_its_time_to_come_back() -> None:
    driver = looking(off_since_ms=30 * DAY_MS - 4000)
    gone(driver, "nas", 30 * DAY_MS - 4000, DeviceLink.SUSPENDED)
    for passed_ms in (0, 5000):
        driver.now_ms = 30 * DAY_MS + passed_ms
        fire(driver)
        assert driver.states()["look.d-nas"] == "ready"
    gone(driver, "nas", driver.now_ms)
    driver.now_ms += 9000
    fire(driver)
    assert driver.states()["look.d-nas"] == "ready"
    driver.now_ms += 2000
    fire(driver)
    assert driver.states()["look.d-nas"] == "skipped"


def test_a_device_that_comes_back_in_time_is_asked() -> None:
    driver = looking(off_since_ms=30 * DAY_MS - 4000)
    gone(driver, "nas", driver.now_ms, DeviceLink.ONLINE)
    driver.now_ms += 20_000
    fire(driver)
    finish(driver)
    assert driver.states()["look.d-nas"] == "succeeded"
    assert "not asked" not in driver.shard.constellations["c1"].tables["answer"][""].sentence


def test_what_waits_is_waited_for_and_what_is_off_is_no_item() -> None:
    driver = looking(each=msgspec.structs.replace(REPORT, when_off="wait", after_s=0))
    assert sorted(name for name in driver.states() if name.startswith("look.")) == ["look.d-one", "look.d-two"]
    gone(driver, "two", driver.now_ms)
    driver.now_ms += DAY_MS
    fire(driver)
    assert not [timer for timer in driver.timers if timer.kind == TIMER]
    driver.folded_equals_state()


def test_the_moment_is_armed_again_by_a_new_owner_and_let_go_when_over() -> None:
    driver = looking()
    armed = [timer for timer in due_moments(driver.shard) if timer.kind == TIMER]
    assert {timer.entity for timer in armed} == {"look.d-nas", "more.d-nas"}
    assert not any(is_stale(driver.shard, timer) for timer in armed)
    fire(driver)
    assert all(is_stale(driver.shard, timer) for timer in armed)


def test_a_person_may_try_again_when_it_is_back() -> None:
    driver = looking()
    fire(driver)
    finish(driver)
    gone(driver, "nas", driver.now_ms, DeviceLink.ONLINE)
    assert not driver.control("retry", "look.d-nas").faults
    finish(driver)
    assert driver.states()["look.d-nas"] == "succeeded"
    driver.folded_equals_state()


def test_a_pause_and_a_moment_that_found_the_task_begun_change_nothing() -> None:
    driver = looking(off_since_ms=30 * DAY_MS - 1000)
    driver.control("pause")
    driver.now_ms += 60_000
    fire(driver)
    assert driver.states()["look.d-nas"] == "ready"
    driver.control("resume")
    driver.now_ms += 60_000
    fire(driver)
    assert driver.states()["look.d-nas"] == "skipped"


def test_many_that_are_off_are_counted() -> None:
    names = [f"n{number}" for number in range(6)]
    driver = Driver("one", *names)
    driver.now_ms = 30 * DAY_MS
    for name in names:
        gone(driver, name, 1000)
    driver.submit(plan(task("look", for_each=REPORT)))
    fire(driver)
    finish(driver)
    sentence = driver.shard.constellations["c1"].tables["answer"][""].sentence
    assert sentence.split(". ")[0].rstrip(".").endswith("; not asked: n0, n1, n2, n3 and 2 more (off since 1 January)")


def test_since_is_told_as_exactly_as_is_of_use() -> None:
    now = 400 * DAY_MS + 3_600_000
    assert since_words(now - 1000, now) == "since 00:59 UTC"
    assert since_words(now - 2 * DAY_MS, now) == "since Wednesday"
    assert since_words(now - 30 * DAY_MS, now) == "since 6 January"
    assert since_words(now - 100 * DAY_MS, now) == "since 28 October 1970"


def faults(*tasks: Any) -> list[tuple[str, str]]:
    return [(fault.place, fault.reason) for fault in check_plan({"starloom": 1, "tasks": list(tasks)}).faults]


def test_the_words_of_the_language() -> None:
    each = {"devices": {}, "when_off": "report"}
    look = {"id": "look", "tool": "x", "for_each": each}
    more = {"id": "more", "tool": "x", "for_each": {"same": "look"}}
    told = {"id": "told", "tool": "x", "inputs": {"off": {"from": "more", "off": True, "all": True}}}
    made = check_plan({"starloom": 1, "tasks": [look, more, told]})
    assert not made.faults
    assert made.plan is not None
    assert made.plan.specs[0].for_each == ForEach(devices=Selector(), when_off="report", after_s=10)
    assert made.plan.specs[2].inputs[0].off

    waits = {**look, "for_each": {"devices": {}}}
    assert faults(waits, told | {"inputs": {"off": {"from": "look", "off": True}}}) == [
        ("tasks[1].inputs.off.off", "`look` does not tell of devices that are off")
    ]
    assert faults(look, {**more, "for_each": {"same": "look", "when_off": "wait"}}) == [
        ("tasks[1].for_each.when_off", "`when_off` belongs to `devices`")
    ]
    assert faults({**look, "for_each": {"devices": {}, "after_s": 5}}) == [
        ("tasks[0].for_each.after_s", "`after_s` belongs to `when_off: report`")
    ]
    assert faults({**look, "for_each": {"devices": {}, "when_off": "skip"}})[0][0] == "tasks[0].for_each.when_off"


def test_an_answer_of_no_device_is_no_success_in_words() -> None:
    driver = Driver("one", "nas")
    driver.now_ms = 30 * DAY_MS
    gone(driver, "nas", driver.now_ms - 3 * DAY_MS)
    each = msgspec.structs.replace(REPORT, devices=Selector(name="nas"))
    driver.submit(plan(task("look", for_each=each), joined(), name="Find a file"))
    fire(driver)
    finish(driver)
    sentence = driver.shard.constellations["c1"].tables["answer"][""].sentence
    assert sentence.startswith("Find a file could ask no device; not asked: nas (off since Wednesday).")
