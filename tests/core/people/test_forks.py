"""Forks: results of that moment are kept, byte for byte, the rest begins anew, and the origin stands still."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.run.timeouts import passed
from starloom.core.state import inputs as i
from starloom.core.state.invariants import check
from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import AddTask, RemoveTask
from starloom_protocol.records.entities import Budget, ForEach, Origin, UndoCall, encode_entity
from starloom_protocol.stream.feed import Event, fold
from starloom_protocol.vocabulary import Code, Outcome, Priority
from tests.builders import Driver, edge, plan, task
from tests.core.watched import WatchedDriver

CHAIN = (task("a"), task("b"), task("c"), edge("a>b"), edge("b>c"))


def moment(driver: Driver, *, version: int | None = None) -> tuple[int, dict[str, bytes]]:
    """The state of c1 now, or right after a version was made."""
    events: list[Event] = [event for event in driver.events if event.stream == "c1"]
    if version is not None:
        upto = next(at for at, event in enumerate(events) if f"version/{version}" in event.puts)
        events = events[: upto + 1]
    return events[-1].seq, fold({}, events)


def fork(driver: Driver, *, version: int | None = None, name: str = "c2", **fields: Any) -> Answer:
    seq, records = moment(driver, version=version)
    number = version if version is not None else driver.shard.constellations["c1"].head.version
    return driver.do(
        i.ForkRequested(
            id=driver.ident(),
            by=fields.pop("by", "person:ann"),
            constellation=name,
            origin="c1",
            records={key: msgspec.Raw(raw) for key, raw in records.items()},
            seq=seq,
            version=number,
            **fields,
        )
    )


def finished(*parts: Any, value: Any = None) -> Driver:
    driver = Driver("one")
    driver.submit(plan(*parts))
    assert driver.run(value=value) == "succeeded"
    return driver


def test_from_a_task_on_what_is_before_it_keeps_its_result() -> None:
    driver = finished(*CHAIN, value={"n": 1})
    origin = {key: encode_entity(record) for key, record in driver.shard.constellations["c1"].tasks.items()}
    assert not fork(driver, task="b").faults
    run = driver.shard.constellations["c2"]
    assert encode_entity(run.tasks["a"]) == origin["a"]
    assert (run.attempts["a/1"].value, run.attempts["a/1"].origin) == ('{"n":1}', "c1")
    assert [dispatch.at.task for dispatch in driver.take()] == ["b"]
    assert run.head.origin == Origin(constellation="c1", seq=driver.shard.constellations["c1"].seq, task="b", version=1)
    assert {key: encode_entity(record) for key, record in driver.shard.constellations["c1"].tasks.items()} == origin


def test_a_fork_runs_to_its_own_end() -> None:
    driver = finished(*CHAIN)
    fork(driver, task="c")
    assert driver.run("c2") == "succeeded"
    assert (driver.states("c1")["c"], driver.states("c2")["c"]) == ("succeeded", "succeeded")
    assert driver.shard.constellations["c2"].tasks["c"].round == 2
    driver.folded_equals_state()


def test_from_a_version_it_stands_as_at_that_moment() -> None:
    driver = Driver("one")
    driver.submit(plan(*CHAIN))
    driver.result(driver.take()[0])
    driver.edit(AddTask(spec=task("d")), base=1)
    driver.run()
    _, then = moment(driver, version=2)
    assert not fork(driver, version=2).faults
    run = driver.shard.constellations["c2"]
    kept = [key for key in then if key.startswith(("spec/", "dep/", "version/", "task/a"))]
    now = driver.folded["c2"]
    assert {key: now[key] for key in kept} == {key: then[key] for key in kept}
    assert (run.head.version, sorted(run.versions)) == (2, ["1", "2"])
    assert sorted(dispatch.at.task for dispatch in driver.take()) == ["b", "d"]
    assert not fork(driver, version=1, name="c3").faults
    assert [dispatch.at.task for dispatch in driver.take()] == ["a"]
    assert "d" not in driver.shard.constellations["c3"].specs


def test_what_would_happen_again_needs_a_person_to_confirm_it() -> None:
    driver = finished(task("a", tool="t.never"), task("b", tool="t.never"), edge("a>b"))
    refused = fork(driver, version=1)
    assert [item.code for item in refused.faults] == [Code.NEEDS_CONFIRM]
    assert "a, b" in refused.faults[0].reason
    assert "c2" not in driver.shard.constellations
    assert fork(driver, version=1, confirm=["a", "b"], by="rule:x").faults[0].code is Code.NEEDS_CONFIRM
    assert not fork(driver, task="b", confirm=["b"]).faults
    assert driver.run("c2") == "succeeded"


def test_a_cancelled_constellation_goes_on_in_a_fork() -> None:
    driver = Driver("one")
    driver.submit(plan(*CHAIN))
    driver.result(driver.take()[0])
    dispatch = driver.take()[0]
    driver.control("cancel")
    driver.receipt(dispatch)
    assert driver.shard.constellations["c1"].head.state == "cancelled"
    assert not fork(driver, task="b").faults
    assert driver.run("c2") == "succeeded"
    assert driver.shard.constellations["c2"].tasks["a"].round == 1


def test_other_arguments_are_a_version_of_their_own() -> None:
    driver = finished(*CHAIN)
    assert not fork(driver, task="b", args={"b": '{"n":2}'}, reason="try two").faults
    run = driver.shard.constellations["c2"]
    version = run.versions["2"]
    assert (run.specs["b"].args, version.author, version.trigger, version.reason) == (
        '{"n":2}',
        "person:ann",
        "fork",
        "try two",
    )
    refused = fork(driver, name="c3", task="b", args={"a": "{}"})
    assert refused.faults[0].code is Code.TASK_STARTED
    assert "c3" not in driver.shard.constellations


def test_a_family_keeps_its_finished_children_and_makes_its_list_anew() -> None:
    driver = Driver("one")
    driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/l"))))
    list_dispatch = driver.take()[0]
    driver.result(list_dispatch, {"l": [1, 2]}, facts={"/l": "[1,2]"})
    driver.run()
    assert not fork(driver, task="g").faults
    assert sorted(dispatch.at.task for dispatch in driver.take()) == ["g.0", "g.1"]
    assert not fork(driver, name="c3", task="list").faults
    again = driver.take()[0]
    assert again.at.task == "list"
    driver.result(again, {"l": [1, 3]}, facts={"/l": "[1,3]"})
    assert [dispatch.at.task for dispatch in driver.take()] == ["g.1"]


def test_what_cannot_be_forked_says_why() -> None:
    driver = finished(*CHAIN)
    assert fork(driver, task="nobody").faults[0].code is Code.UNKNOWN_TASK
    driver.submit(plan(*CHAIN), name="c9")
    assert fork(driver, name="c9", task="a").faults[0].code is Code.CONFLICT


def test_one_key_makes_one_fork() -> None:
    driver = finished(*CHAIN)
    first = fork(driver, task="b", idempotency=("k", "h"), caller="p")
    again = fork(driver, name="c3", task="b", idempotency=("k", "h"), caller="p")
    assert (first.value["id"], again.value["id"]) == ("c2", "c2")
    assert "c3" not in driver.shard.constellations


def test_a_failure_before_the_moment_stays_what_it_was() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b"), edge("b>c"), task("c")))
    for dispatch in driver.take():
        outcome = Outcome.ERROR if dispatch.at.task == "a" else Outcome.OK
        driver.result(dispatch, outcome=outcome)
    driver.run()
    assert not fork(driver, task="c").faults
    assert driver.run("c2") == "failed"
    assert driver.states("c2") == {"a": "failed", "b": "succeeded", "c": "succeeded"}


def with_a_hedge(*, ended: str) -> Driver:
    """One of seven tasks runs long: its first try has ended by now, or the second beside it, or none."""
    driver = WatchedDriver("one", "two", slots=8)
    driver.submit(plan(*(task(f"t{n}") for n in range(7))))
    first, *others = driver.take()
    driver.started(first)
    for dispatch in others:
        driver.started(dispatch)
    driver.now_ms += 2_000
    for dispatch in others:
        driver.result(dispatch, 1)
    driver.now_ms += 58_000
    for timer in [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]:
        driver.fire(timer)
    (second,) = driver.take()
    driver.started(second)
    if ended != "none":
        driver.result(second if ended == "hedge" else first, outcome=Outcome.INTERRUPTED)
    return driver


@pytest.mark.parametrize("ended", ["hedge", "first", "none"])
def test_a_task_that_ran_twice_at_once_at_that_moment_begins_anew(ended: str) -> None:
    driver = with_a_hedge(ended=ended)
    assert not fork(driver).faults
    run = driver.shard.constellations["c2"]
    check(driver.shard)
    running = [name for name, record in run.tasks.items() if record.state == "leased"]
    assert running == ["t0"]
    assert run.tasks["t0"].attempt == 3, "numbers go on from what the origin used"
    add = i.EditProposed(
        id=driver.ident(),
        by="person:ann",
        constellation="c2",
        base_version=run.head.version,
        operations=[RemoveTask(id="t1"), AddTask(spec=task("t1"))],
    )
    driver.do(add)
    check(driver.shard)


BACK = UndoCall(args="{}", tool="t.pure")


def undone(*, ends: bool = True) -> Driver:
    """`look` leads to `a` and `b`, which were done and are undone, or are about to be."""
    parts = (task("look"), task("a", undo=BACK), task("b", undo=BACK), task("apart", undo=BACK))
    driver = finished(*parts, edge("look>a"), edge("a>b"))
    request = i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", reason="not wanted")
    assert not driver.do(request).faults
    if ends:
        driver.run()
    return driver


def test_what_is_done_again_is_not_taken_back_by_the_undo_of_the_origin() -> None:
    driver = undone()
    assert not fork(driver, task="look").faults
    assert {name for name in driver.shard.constellations["c2"].specs if name.startswith("undo-")} == {"undo-apart"}
    assert driver.run(name="c2") == "succeeded"
    assert driver.states("c2") == dict.fromkeys(("look", "a", "b", "apart", "undo-apart"), "succeeded")
    check(driver.shard)


def test_a_fork_carries_on_no_undo_that_had_not_ended() -> None:
    driver = undone(ends=False)
    assert not fork(driver).faults
    assert not [name for name in driver.shard.constellations["c2"].specs if name.startswith("undo-")]
    check(driver.shard)


def test_a_fork_has_the_bounds_of_its_origin() -> None:
    driver = Driver("one")
    driver.submit(
        plan(*CHAIN, task("d"), edge("c>d")), budget=Budget(attempts=2), deadline_s=600, priority=Priority.HIGH
    )
    assert driver.run() == "paused"
    driver.now_ms += 3_600_000
    assert not fork(driver).faults
    head = driver.shard.constellations["c2"].head
    assert (head.budget, head.deadline_s, head.priority) == (Budget(attempts=2), 600, Priority.HIGH)
    (timer,) = [one for one in driver.timers if one.kind == "deadline" and one.constellation == "c2"]
    assert timer.due_ms == driver.now_ms + 600_000
    assert driver.run("c2") == "succeeded", "it begins two attempts of its own"
    assert not fork(driver, name="c3", task="a").faults
    assert driver.run("c3") == "paused"


def test_a_fork_of_held_work_waits_for_a_person() -> None:
    driver = Driver("one")
    driver.submit(plan(*CHAIN), hold=True)
    assert fork(driver).value["state"] == "awaiting_approval"
    assert driver.take() == []
