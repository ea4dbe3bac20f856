"""An edit that retries: failed tasks get their new round and their changes in one step, with the checks of both."""

from __future__ import annotations

import msgspec

from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import UpdateTask
from starloom_protocol.records.entities import Choice, ForEach
from starloom_protocol.vocabulary import Code, Need, Outcome
from tests.builders import plan, task
from tests.core.watched import WatchedDriver


def longer(name: str, seconds: int = 60) -> UpdateTask:
    return UpdateTask(id=name, changes={"timeouts": msgspec.Raw(b'{"start_to_close_s":%d}' % seconds)})


def codes(answer: Answer) -> list[Code]:
    return [item.code for item in answer.faults]


def failed(tool: str = "t.pure") -> WatchedDriver:
    """A list of which two of three failed, and what reads it: the constellation has ended."""
    driver = WatchedDriver("one", slots=3)
    driver.submit(
        plan(
            task("list"),
            task("g", tool=tool, for_each=ForEach(source="list", output="/l", need=Need.ALL)),
            task("end", "rows=g"),
        )
    )
    driver.result(driver.take()[0], {"l": [1, 2, 3]})
    for dispatch in driver.take():
        if dispatch.at.task == "g.1":
            driver.result(dispatch, 1)
        else:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.EXIT_CODE)
    assert driver.shard.constellations["c1"].head.state == "failed"
    return driver


def test_an_edit_that_retries_opens_what_has_ended_and_changes_it() -> None:
    driver = failed()
    assert codes(driver.edit(longer("g.0"), retry=[])) == [Code.ILLEGAL_CONTROL]
    assert driver.edit(longer("g.0"), longer("g.2"), retry=["g.0", "g.2"]).value == {"version": 3}
    dispatches = driver.take()
    constellation = driver.shard.constellations["c1"]
    assert [item.at.task for item in dispatches] == ["g.0", "g.2"]
    assert [constellation.specs[name].timeouts.start_to_close_s for name in ("g.0", "g.1", "g.2")] == [60, 600, 60]
    assert constellation.head.state == "active"
    for dispatch in dispatches:
        driver.result(dispatch, 2)
    assert driver.run() == "succeeded"
    assert constellation.tasks["g.1"].round == 1


def test_an_edit_names_a_list_to_retry_its_failed_items() -> None:
    driver = failed()
    assert driver.edit(retry=["g"]).value == {"version": 2}
    assert [item.at.task for item in driver.take()] == ["g.0", "g.2"]


def test_a_refused_edit_that_retries_leaves_all_as_it_was() -> None:
    driver = failed()
    before = driver.shard.constellations["c1"].tasks["g.0"]
    assert codes(driver.edit(longer("g.1"), retry=["g.0"])) == [Code.TASK_STARTED]
    assert codes(driver.edit(longer("g.0"), retry=["no"])) == [Code.UNKNOWN_TASK]
    assert codes(driver.edit(longer("g.0"), retry=["g.1"])) == [Code.ILLEGAL_CONTROL]
    assert codes(driver.edit(longer("g.0"), retry=["end"])) == [Code.ILLEGAL_CONTROL]
    constellation = driver.shard.constellations["c1"]
    assert (constellation.tasks["g.0"], constellation.head.state) == (before, "failed")
    assert not driver.take()


def test_an_edit_repeats_unsafe_work_only_with_a_persons_word() -> None:
    driver = failed("t.never")
    refused = driver.edit(longer("g.0"), retry=["g"])
    assert (codes(refused), refused.value) == ([Code.NEEDS_CONFIRM], {"repeats": ["g.0", "g.2"]})
    assert codes(driver.edit(retry=["g"], confirm=["g.0", "g.2"], by="planner")) == [Code.NEEDS_CONFIRM]
    assert not driver.edit(longer("g.0"), retry=["g"], confirm=["g.0", "g.2"]).faults
    assert [item.at.task for item in driver.take()] == ["g.0", "g.2"]


def test_an_edit_asked_for_twice_opens_one_round() -> None:
    driver = failed()
    for _ in range(2):
        asked = driver.edit(longer("g.0"), retry=["g"], idempotency=("key", "hash"), caller="t")
        assert asked.value == {"version": 3}
    assert driver.shard.constellations["c1"].tasks["g.0"].round == 2


def test_no_edit_retries_what_was_cancelled_as_a_whole() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b", "x=a")))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE)
    driver.submit(plan(task("a"), task("ask", person="Go?", choices=[Choice(value="go", label="Go")])), name="c2")
    driver.control("cancel", name="c2")
    refused = driver.edit(base=1, name="c2", retry=["a"])
    assert codes(refused) == [Code.ILLEGAL_CONTROL]


def test_who_may_not_approve_edits_nothing_around_a_question() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("ask", "x=a", person="Go?", choices=[Choice(value="go", label="Go")])))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE)
    assert codes(driver.edit(longer("a"), retry=["a"], approves=False)) == [Code.FORBIDDEN]
    assert not driver.edit(longer("a"), retry=["a"]).faults
