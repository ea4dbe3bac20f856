"""Which device takes a task: feasible, free, ranked - and which task a device takes first."""

from __future__ import annotations

import random

from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom.core.state.tasks.graph import END_RANK
from starloom_protocol.records.entities import ForEach, Selector
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from tests.builders import TOOLS, Driver, plan, task
from tests.core.watched import WatchedDriver


def test_no_device_takes_more_than_its_slots_and_each_free_one_is_used() -> None:
    driver = WatchedDriver("one", "two", slots=2)
    driver.submit(plan(*(task(f"t{n}") for n in range(7))))
    dispatches = driver.take()
    assert sorted(item.device for item in dispatches) == ["d-one", "d-one", "d-two", "d-two"]
    driver.result(dispatches[0], 1)
    assert [item.device for item in driver.take()] == [dispatches[0].device]
    # Two devices with room for two each, one of them full: the other fills up, not over.
    other = WatchedDriver("one", "two", slots=1)
    other.submit(plan(task("a", device="one")))
    other.submit(plan(*(task(f"t{n}") for n in range(3))), name="c2")
    assert sorted(item.device for item in other.take()) == ["d-one", "d-two"]


def test_the_longest_way_goes_first() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("short"), task("a"), task("b", "x=a"), task("c", "x=b")))
    assert driver.take()[0].at.task == "a"
    driver.restart()
    assert driver.shard.constellations["c1"].rank == {
        "short": END_RANK,
        "a": END_RANK + 2,
        "b": END_RANK + 1,
        "c": END_RANK,
    }


def test_work_goes_where_its_inputs_are_and_says_why() -> None:
    driver = WatchedDriver("one", "two", "three")
    driver.submit(plan(task("a", device="two"), task("b", "x=a")))
    driver.result(driver.take()[0], 1)
    (dispatch,) = driver.take()
    attempt = driver.shard.constellations["c1"].attempts["b/1"]
    assert (dispatch.device, attempt.why) == ("d-two", "its inputs are there")
    assert attempt.others == ["d-one", "d-three"]
    assert driver.shard.constellations["c1"].attempts["a/1"].why == "the plan names it"


def test_a_device_that_failed_it_is_avoided_while_there_is_another() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    driver.submit(plan(task("busy", device="two"), task("a", device=None)))
    by_task = {item.at.task: item for item in driver.take()}
    assert by_task["a"].device == "d-one"
    driver.result(by_task["a"], outcome=Outcome.ERROR, code=Code.NO_SPACE, effect=EffectSeen.NONE)
    driver.fire(next(timer for timer in driver.timers if timer.kind == "backoff"))
    assert not driver.dispatched
    driver.result(by_task["busy"], 1)
    assert driver.take()[0].device == "d-two"


def test_a_device_whose_fence_ended_it_is_not_left_idle_for_a_busy_one() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    driver.submit(plan(task("busy", device="two"), task("a", device=None)))
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["a"], outcome=Outcome.INTERRUPTED, code=Code.FENCED, effect=EffectSeen.MAYBE)
    again = driver.take()[0]
    assert again.device == "d-one"
    driver.result(by_task["busy"], 1)
    driver.result(again, outcome=Outcome.INTERRUPTED, code=Code.FENCED, effect=EffectSeen.MAYBE)
    assert driver.take()[0].device == "d-two"


def test_where_every_device_failed_it_one_that_answers_comes_before_one_that_was_silent() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", device=None)))
    (first,) = driver.take()
    assert first.device == "d-one"
    driver.expire(first.at)
    (second,) = driver.take()
    assert second.device == "d-two"
    driver.result(second, outcome=Outcome.INTERRUPTED, code=Code.FENCED, effect=EffectSeen.MAYBE)
    (third,) = driver.take()
    assert third.device == "d-two"


def test_selectors_choose_by_labels_os_tools_and_any() -> None:
    driver = WatchedDriver("one")
    driver.add_device("two", labels=["gpu"], tools=TOOLS[:1])
    for number, (selector, device) in enumerate(
        [
            (Selector(labels=["gpu"]), "d-two"),
            (Selector(tools=["t.never"]), "d-one"),
            (Selector(any=[Selector(name="no"), Selector(id="d-two")]), "d-two"),
        ]
    ):
        driver.submit(plan(task("a", device=selector)), name=f"c{number}")
        assert driver.take()[0].device == device
    driver.submit(plan(task("a", device=Selector(os="plan9"))), name="c9")
    assert not driver.dispatched


def test_demonstration_devices_step_back_for_real_ones() -> None:
    driver = WatchedDriver("real", slots=1)
    driver.add_device("demo", demo=True)
    driver.submit(plan(task("a"), task("b"), task("c", device="demo")))
    assert {item.at.task: item.device for item in driver.take()} == {"a": "d-real", "c": "d-demo"}


def test_a_group_runs_as_many_at_once_as_it_may() -> None:
    driver = WatchedDriver("one", slots=9)
    driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/l", max_parallel=2))))
    driver.result(driver.take()[0], {"l": [1, 2, 3, 4]})
    first, second = driver.take()
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert [item.at.task for item in driver.take()] == ["g.2"]
    driver.control("skip", "g.3")
    driver.result(second, 1)
    assert not driver.dispatched


def test_a_restart_arms_what_state_says_is_due() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b"), task("n", tool="t.never"), task("w", device="nobody")), deadline_s=900)
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["a"], outcome=Outcome.ERROR, code=Code.NETWORK)
    for name in ("b", "n"):
        driver.control("cancel", name)
    due = {(timer.entity, timer.kind) for timer in due_moments(driver.shard)}
    assert due == {("", "deadline"), ("", "tidy"), ("a", "backoff"), ("b", "fence"), ("w", "waits_long")}
    driver.restart()
    assert {(timer.entity, timer.kind) for timer in driver.timers} == due


def test_a_task_that_nobody_can_take_is_looked_at_again_when_a_device_comes() -> None:
    driver = Driver()
    driver.submit(plan(task("a")))
    driver.add_device("late")
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-late", action="resume"))
    assert driver.run() == "succeeded"


def test_principals_share_devices_fairly() -> None:
    driver = WatchedDriver("one", slots=4)
    many = plan(*(task(f"t{n}") for n in range(20)))
    driver.submit(many, name="a")
    first = driver.take()
    assert len(first) == 4
    # Another principal comes late with other work: each slot that becomes free is theirs until both hold as many.
    work = plan(*(task(f"u{n}", tool="t.idem") for n in range(20)))
    driver.do(i.RequestReceived(id="r", by="person:bob", constellation="b", plan=work))
    for dispatch in first[:2]:
        driver.result(dispatch, 1)
    assert [item.at.constellation for item in driver.take()] == ["b", "b"]
    assert driver.shard.shares == {"person:ann": 2, "person:bob": 2}
    driver.restart()
    assert driver.shard.shares == {"person:ann": 2, "person:bob": 2}


def test_principals_take_turns_at_a_single_slot() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(*(task(f"t{n}") for n in range(4))), name="a")
    for name in ("bob", "cat"):
        new_plan = plan(*(task(f"t{n}") for n in range(4)))
        driver.do(i.RequestReceived(id=name, by=f"person:{name}", constellation=name, plan=new_plan))
    order = []
    while dispatches := driver.take():
        order.append(dispatches[0].at.constellation)
        driver.result(dispatches[0], 1)
    assert order == ["a", "bob", "cat"] * 4


def test_of_equal_devices_the_least_busy_goes_first_then_the_first_by_name() -> None:
    draw = random.Random(7)
    for _ in range(30):
        driver = Driver(whole=False)
        room = {f"n{number}": draw.randint(1, 5) for number in draw.sample(range(20), 5)}
        for name, slots in room.items():
            driver.add_device(name, slots=slots)
        busy = {name: draw.randint(0, slots) for name, slots in room.items()}
        pinned = [task(f"p{name}-{n}", device=name) for name, count in busy.items() for n in range(count)]
        if pinned:
            driver.submit(plan(*pinned))
        run = driver.submit(plan(task("a")), name="c2")
        order = sorted((busy[name] * 1000 // room[name], name) for name in room if busy[name] < room[name])
        names = [f"d-{name}" for _load, name in order]
        if names:
            attempt = run.attempts["a/1"]
            assert [attempt.device, *attempt.others] == names[:3]
        else:
            assert not run.attempts


def test_a_full_fleet_is_asked_again_when_it_has_room_again() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(*(task(f"t{n}") for n in range(4))))
    (first,) = driver.take()
    driver.submit(plan(task("other")), name="c2")
    assert driver.take() == []
    driver.add_device("two", slots=1)
    driver.submit(plan(task("more")), name="c3")
    assert [item.device for item in driver.take()] == ["d-two"]
    driver.result(first, 1)
    assert [item.device for item in driver.take()] == ["d-one"]
    assert driver.take() == []
