"""A constellation in which nothing can go on says so in the step that made it so, and takes it back."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.answer.why import shard_of
from starloom.core.clock.expiry import due_moment
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.edge.routes.work.why import explain_all
from starloom_protocol.records.entities import ForEach, encode_entity
from starloom_protocol.vocabulary import Attention, TaskState
from tests.builders import Driver, plan, task


def stalled() -> Driver:
    """`a` waits though no gate holds it, as a bug of the core would leave it."""
    driver = Driver("one", whole=False)
    run = driver.submit(plan(task("a", device="away"), task("b", "x=a")))
    put(driver.shard, run, "task", "a", replace(run.tasks["a"], state=TaskState.WAITING))
    driver.shard.touched.clear()
    driver.shard.journal.clear()
    return driver


def attention(driver: Driver) -> list[Attention]:
    return driver.shard.constellations["c1"].head.attention


def test_the_step_that_stalls_a_constellation_tells_it() -> None:
    driver = stalled()
    driver.do(i.FaultNoted(id=driver.ident(), by="lab", constellation="c1", note="anything"))
    assert Attention.STALLED in attention(driver)
    (told,) = [event for event in driver.events if event.about == Attention.STALLED]
    assert (told.kind, "a, b cannot start" in told.note) == ("attention_raised", True)


def test_a_stall_that_the_log_brought_is_told_by_the_first_look() -> None:
    driver = stalled()
    driver.fire(due_moment(driver.now_ms))
    assert Attention.STALLED in attention(driver)


def test_a_stall_is_taken_back_when_something_moves() -> None:
    driver = stalled()
    driver.fire(due_moment(driver.now_ms))
    driver.shard.touched[("c1", "a")] = None
    driver.do(i.FaultNoted(id=driver.ident(), by="lab", constellation="c1", note="anything"))
    assert driver.states()["a"] == "ready"
    assert Attention.STALLED not in attention(driver)


def test_why_names_the_tasks_of_a_stall() -> None:
    driver = stalled()
    driver.fire(due_moment(driver.now_ms))
    run = driver.shard.constellations["c1"]
    entities = {f"{kind}/{key}".rstrip("/"): encode_entity(record) for kind, key, record in run.records()}
    explanation = explain_all(shard_of({}, "c1", entities), "c1", {})
    assert explanation is not None
    assert [
        "a, b cannot start" in item["sentence"] for item in explanation["attention"] if item["reason"] == "stalled"
    ] == [True]


def test_why_names_a_group_that_waits_for_its_list() -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/l"))))
    explanation = explain_all(driver.shard, run.name, {})
    assert explanation is not None
    assert [item["task"] for item in explanation["items"]] == ["l", "g"]
