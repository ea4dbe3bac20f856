"""Which constellations may leave the shard, what is left of them there, and which inputs are about one that left."""

from __future__ import annotations

import pytest

from starloom.core.clock.retirement import may_retire, missing, prune_demands, retire
from starloom.core.clock.timers import is_stale
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import LeaseRef, ResultFrame
from tests.builders import Driver, plan, task


def finished(driver: Driver, name: str = "c1") -> None:
    driver.submit(plan(task("a"), task("b", "x=a")), name=name)
    for _ in range(2):
        (dispatch,) = driver.take()
        driver.result(dispatch, 1)
    assert driver.shard.constellations[name].head.state == "succeeded"


def result(name: str) -> i.ResultReported:
    at = LeaseRef(attempt=1, constellation=name, incarnation=1, task="a")
    frame = ResultFrame(at=at, report=1, outcome=Outcome.OK, value="1")
    return i.ResultReported(id="x", by="device:d", device="d", frame=frame)


def test_only_what_is_over_may_leave() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    running = driver.shard.constellations["c1"]
    assert not may_retire(driver.shard, running)
    with pytest.raises(ValueError, match="cannot leave"):
        retire(driver.shard, "c1")
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    assert may_retire(driver.shard, running)
    retire(driver.shard, "c1")
    assert not driver.shard.constellations


def test_what_left_and_comes_back_is_the_same_and_goes_on() -> None:
    driver = Driver("one")
    finished(driver)
    seq = driver.shard.constellations["c1"].seq
    retire(driver.shard, "c1")
    records = {key: decode_entity(key, raw) for key, raw in driver.folded["c1"].items()}
    load(driver.shard, "c1", seq, records)
    driver.shard.touched.clear()
    driver.shard.settled.clear()
    driver.control("retry_from", "b")
    (dispatch,) = driver.take()
    assert dispatch.at.attempt == 2
    driver.result(dispatch, 2)
    assert driver.shard.constellations["c1"].head.state == "succeeded"


def test_inputs_name_what_they_are_about_once() -> None:
    driver = Driver("one")
    finished(driver)
    driver.submit(plan(task("p", person="Well?")), name="c2", idempotency=("k", "h"), caller="ann")
    control = i.ControlRequested(id="1", by="p", action="cancel", constellation="c1")
    again = i.RequestReceived(id="2", by="p", constellation="c9", idempotency=("k", "h"), caller="ann")
    new = i.RequestReceived(id="3", by="p", constellation="c8", idempotency=("other", "h"), caller="ann")
    asked: list[i.AnyInput] = [control, again, new, result("c1"), result("c7")]
    assert missing(driver.shard, asked) == ["c7"]
    retire(driver.shard, "c1")
    assert missing(driver.shard, asked) == ["c1", "c7"]


def test_moments_of_what_is_over_are_stale() -> None:
    driver = Driver()
    driver.submit(plan(task("a")), deadline_s=60)
    waits = next(timer for timer in driver.timers if timer.kind == "waits_long")
    deadline = next(timer for timer in driver.timers if timer.kind == "deadline")
    assert not is_stale(driver.shard, waits)
    assert not is_stale(driver.shard, deadline)
    driver.add_device("one")
    driver.submit(plan(task("x")), name="c2")
    assert is_stale(driver.shard, waits)
    for dispatch in driver.take():
        driver.result(dispatch, 1)
    assert is_stale(driver.shard, deadline)
    retire(driver.shard, "c1")
    assert is_stale(driver.shard, deadline)


def test_queues_forget_what_waits_no_more() -> None:
    driver = Driver()
    driver.submit(plan(task("a"), task("b")))
    driver.submit(plan(task("c")), name="c2")
    driver.control("cancel", name="c1")
    (demand,) = driver.shard.demands.values()
    assert {name: {entry[2] for entry in line} for name, line in demand.lines.items()} == {
        "c1": {"a", "b"},
        "c2": {"c"},
    }
    prune_demands(driver.shard)
    assert {name: [entry[2] for entry in line] for name, line in demand.lines.items()} == {"c2": ["c"]}
    driver.control("cancel", name="c2")
    prune_demands(driver.shard)
    assert not driver.shard.demands


def test_work_that_may_not_be_repeated_is_confirmed_though_its_task_was_marked_since() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    assert not driver.control("mark", "a", value="2").faults
    assert driver.control("retry", "a").faults[0].code in ("needs_confirm", "illegal_control")
    assert driver.control("retry_from", "a").faults[0].code == "needs_confirm"
    assert not driver.control("retry_from", "a", confirm=["a"]).faults
    (again,) = driver.take()
    assert again.at.attempt == 2
