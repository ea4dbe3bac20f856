"""A list that is made anew: what stays, runs again, goes and comes - and nothing is judged from old children."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.orders import SendDispatch
from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    DropItems,
    EditOperation,
    RemoveDependency,
    RemoveTask,
)
from starloom_protocol.records.entities import Choice, ForEach, ResultSpec, TaskSpec
from starloom_protocol.vocabulary import Code, Gate, Need, Outcome
from tests.builders import Driver, edge, plan, task
from tests.core.watched import WatchedDriver

LIST = ForEach(source="l", output="/l")


def edit(driver: Driver, *operations: EditOperation) -> Any:
    answer = driver.edit(*operations)
    assert not answer.faults, answer.faults
    return answer


def made(*more: Any, first: list[Any], slots: int = 20, **fields: Any) -> Driver:
    """A list `l`, the families g -> h over it, `end` after both; run to the end over `first`."""
    driver = WatchedDriver("one", slots=slots)
    driver.submit(
        plan(
            task("l", "x=top"),
            task("top"),
            task("g", for_each=LIST, **fields),
            task("h", "x=g", for_each=ForEach(same="g")),
            task("end", "rows=h"),
            *more,
        )
    )
    assert driver.run(value={"l": first}) in ("succeeded", "failed")
    return driver


def again(driver: Driver, items: Any, **fields: Any) -> Constellation:
    """Make the list anew; return where the constellation is once it is known."""
    answer = driver.control("retry_from", "l", **fields)
    assert not answer.faults, answer.faults
    (dispatch,) = driver.take()
    assert dispatch.at.task == "l"
    driver.result(dispatch, {"l": items})
    driver.folded_equals_state()
    return driver.shard.constellations["c1"]


def rounds(found: Constellation) -> dict[str, int]:
    return {name: record.round for name, record in found.tasks.items() if "." in name}


def runs(driver: Driver) -> list[str]:
    """Run to the end; return what ran, in order of names."""
    ran: list[str] = []

    def value(dispatch: SendDispatch) -> Any:
        ran.append(dispatch.at.task)
        return {"l": [], "of": dispatch.at.task}

    driver.run(value=value)
    return sorted(ran)


def test_same_items_keep_round_and_result_and_changed_missing_and_new_ones_do_not() -> None:
    driver = made(first=["a", "b", "c"])
    run = again(driver, ["a", "B"])
    assert rounds(run) == {"g.0": 1, "g.1": 2, "h.0": 1, "h.1": 2}
    version = run.versions[str(run.head.version)]
    assert version.author == "expand"
    assert version.removed == ["g.2", "h.2"]
    assert version.reason == "the list was made again: 2 kept, 2 again, 2 gone"
    assert runs(driver) == ["end", "g.1", "h.1"]
    assert run.head.state == "succeeded"
    assert run.items["g/1"].value == '"B"'
    run = again(driver, ["a", "B", "d"])
    assert rounds(run) == {"g.0": 1, "g.1": 2, "h.0": 1, "h.1": 2, "g.2": 2, "h.2": 2}
    assert run.tasks["g.2"].attempt == 2, "the attempts of a child that was here before go on"
    assert runs(driver) == ["end", "g.2", "h.2"]


def test_one_version_for_the_whole_family_and_a_list_that_is_the_same_runs_only_what_follows() -> None:
    driver = made(first=["a", "b"])
    before = driver.shard.constellations["c1"].head.version
    run = again(driver, ["a", "b"])
    assert run.head.version == before + 1
    assert runs(driver) == ["end"]
    assert run.head.state == "succeeded"


def test_children_that_have_not_started_wait_until_the_new_list_is_known() -> None:
    driver = made(first=["a"], slots=1)
    driver.control("retry_from", "l")
    (dispatch,) = driver.take()
    driver.result(dispatch, {"l": ["a", "b", "c"]})
    (running,) = driver.take()
    assert running.at.task == "g.1"
    driver.control("cancel", "g.1")
    driver.receipt(running)
    assert driver.take()[0].at.task == "g.2"


def test_what_runs_of_the_old_list_refuses_a_new_one() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("l"), task("g", for_each=LIST)))
    driver.result(driver.take()[0], {"l": ["a", "b"]})
    answer = driver.control("retry_from", "l")
    assert answer.faults[0].code is Code.DOWNSTREAM_STARTED
    assert "g.0" in answer.faults[0].reason
    driver.result(driver.take()[0], 1)
    driver.control("hold", "g.1")
    (second,) = driver.take()
    driver.control("cancel", "g.1")
    driver.receipt(second)
    assert not driver.control("retry_from", "l").faults


def test_a_ready_child_goes_back_to_waiting_while_the_list_is_made_anew() -> None:
    driver = WatchedDriver("one", slots=4)
    ask = task("ask", person="Well?", choices=[Choice(value="go", label="Go")], for_each=LIST)
    driver.submit(plan(task("l"), ask, task("w", device="nobody", for_each=ForEach(same="ask"))))
    driver.result(driver.take()[0], {"l": ["a", "b"]})
    run = driver.shard.constellations["c1"]
    assert driver.states()["w.0"] == driver.states()["ask.0"] == "ready"
    driver.control("retry_from", "l")
    assert {driver.states()[name] for name in ("w.0", "w.1", "ask.0", "ask.1")} == {"waiting"}
    assert not run.open_questions
    driver.result(driver.take()[0], {"l": ["a"]})
    assert list(run.open_questions) == ["ask.0-1-2"]
    assert sorted(run.tasks) == ["ask.0", "l", "w.0"]
    driver.folded_equals_state()


def test_work_that_may_not_be_repeated_needs_a_confirm_before_its_list_is_made_anew() -> None:
    driver = made(first=["a", "b"], tool="t.never")
    answer = driver.control("retry_from", "l")
    assert answer.faults[0].code is Code.NEEDS_CONFIRM
    assert "g.0, g.1" in answer.faults[0].reason
    run = again(driver, ["a", "B"], confirm=["g.0", "g.1"])
    assert (run.tasks["g.0"].round, run.tasks["g.1"].round) == (1, 2)
    assert run.tasks["g.1"].confirmed
    assert runs(driver) == ["end", "g.1", "h.1"]


def test_an_item_that_was_dropped_stays_dropped_unless_it_is_another() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("l"), task("g", for_each=LIST)))
    driver.result(driver.take()[0], {"l": ["a", "b", "c"]})
    edit(driver, DropItems(of="g", keys="[1,2]"))
    driver.run()
    run = again(driver, ["a", "b", "C"])
    assert sorted(run.tasks) == ["g.0", "g.2", "l"]
    assert runs(driver) == ["g.2"]
    assert run.head.state == "succeeded"


def test_what_was_made_only_from_a_missing_child_goes_with_it_and_others_lose_a_gate() -> None:
    driver = made(first=["a", "b"])
    driver.control("retry_from", "end")
    edit(
        driver,
        AddTask(spec=task("recheck", "x=h.1")),
        AddTask(spec=task("after", "x=recheck")),
        AddTask(spec=task("note", "x=l")),
        AddDependency(dependency=edge("g.1>note", Gate.FINISH)),
        AddDependency(dependency=edge("recheck>note", Gate.SUCCESS)),
    )
    driver.run(value={"l": ["a", "b"]})
    run = again(driver, ["a"])
    assert "recheck" not in run.specs
    assert "after" not in run.specs
    assert not [key for key in run.deps if "g.1" in key or "recheck" in key]
    assert runs(driver) == ["end", "note"]
    assert run.head.state == "succeeded"


def test_what_may_do_without_a_missing_child_does_without() -> None:
    driver = made(first=["a", "b"])
    optional = task("maybe", "x=g.1")
    inputs = [type(optional.inputs[0])(name="x", source="g.1", optional=True)]
    driver.control("retry_from", "end")
    edit(driver, AddTask(spec=TaskSpec(id="maybe", changed_in=1, tool="t.pure", inputs=inputs)))
    driver.run(value={"l": ["a", "b"]})
    run = again(driver, ["a"])
    assert run.specs["maybe"].inputs == []
    assert runs(driver) == ["end", "maybe"]


def test_a_group_made_from_a_child_that_goes_goes_whole() -> None:
    driver = made(first=["a", "b"])
    driver.control("retry_from", "end")
    edit(
        driver,
        AddTask(spec=task("k", for_each=ForEach(source="g.1", output="/l"))),
        AddTask(spec=task("m", for_each=ForEach(same="k"))),
    )
    driver.run(value={"l": ["a", "b"]})
    assert driver.states()["m.0"] == "succeeded"
    run = again(driver, ["a"])
    assert sorted(run.groups) == ["g", "h"]
    assert runs(driver) == ["end"]
    assert run.head.state == "succeeded"


def test_a_list_of_a_child_that_runs_again_is_a_new_list_too() -> None:
    driver = made(first=["a", "b"])
    driver.control("retry_from", "end")
    edit(driver, AddTask(spec=task("k", for_each=ForEach(source="g.1", output="/l"))))
    driver.run(value={"l": ["a", "b"]})
    again(driver, ["a", "B"])
    assert driver.states()["k.0"] == "succeeded"
    (inner,) = driver.take()
    assert inner.at.task == "g.1"
    driver.result(inner, {"l": ["a", "z", "y"]})
    run = driver.shard.constellations["c1"]
    assert (run.tasks["k.0"].round, run.tasks["k.1"].round) == (1, 2)
    assert runs(driver) == ["end", "h.1", "k.1", "k.2"]
    assert run.head.state == "succeeded"


@pytest.mark.parametrize("how", ["failed", "no list", "too long"])
def test_without_a_new_list_nothing_of_the_old_one_counts(how: str) -> None:
    settings = ShardSettings()
    driver = WatchedDriver("one", slots=9, settings=settings)
    result = [ResultSpec(source="g", title="All")]
    each = task("g", for_each=ForEach(source="l", output="/l", need=Need.BEST_EFFORT))
    driver.submit(plan(task("l"), each, task("end", "rows=g"), results=result))
    driver.run(value={"l": ["a", "b"]})
    settings.tasks_most = 5
    driver.control("retry_from", "l")
    (dispatch,) = driver.take()
    if how == "failed":
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    else:
        driver.result(dispatch, {"l": 7 if how == "no list" else [1, 2, 3, 4, 5, 6]})
    run = driver.shard.constellations["c1"]
    assert run.head.state == "failed"
    assert {run.tasks[name].state for name in ("g.0", "g.1", "end")} == {"skipped"}
    assert run.groups["g"].state == ("skipped" if how == "failed" else "failed")
    assert not run.relisting
    driver.folded_equals_state()
    run = again(driver, ["a", "b"])
    assert runs(driver) == ["end", "g.0", "g.1"]
    assert run.head.state == "succeeded"


def test_a_family_that_was_skipped_before_comes_along() -> None:
    driver = WatchedDriver("one", slots=9)
    driver.submit(
        plan(task("l"), task("bad"), task("g", for_each=LIST), task("h", for_each=ForEach(same="g")), edge("bad>h"))
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["bad"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.result(by_task["l"], {"l": ["a", "b"]})
    driver.run()
    run = again(driver, ["a", "c"])
    assert (run.groups["h"].state, driver.states()["g.1"]) == ("skipped", "leased")
    assert runs(driver) == ["g.1"]
    driver.control("retry", "bad")
    assert runs(driver) == ["bad", "h.0", "h.1"]


def test_an_empty_list_and_back() -> None:
    driver = made(first=["a"])
    run = again(driver, [])
    assert runs(driver) == ["end"]
    assert (run.groups["g"].state, run.groups["g"].count, list(run.children["g"])) == ("succeeded", 0, [])
    run = again(driver, ["b"])
    assert runs(driver) == ["end", "g.0", "h.0"]
    assert run.head.state == "succeeded"


def test_a_child_taken_out_by_itself_stays_out() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(
        plan(
            task("l"),
            task("g", for_each=LIST),
            task("h", "x=g", for_each=ForEach(same="g")),
            task("w", device="nobody"),
        )
    )
    driver.result(driver.take()[0], {"l": ["a", "b"]})
    edit(driver, RemoveDependency(id="g.1>h.1:x"), RemoveTask(id="h.1"))
    driver.run()
    run = again(driver, ["a", "b"])
    assert sorted(run.tasks) == ["g.0", "g.1", "h.0", "l", "w"]
    edit(driver, AddTask(spec=task("k", "x=h", for_each=ForEach(same="g"))))
    run = driver.shard.constellations["c1"]
    assert [name for name in run.tasks if name.startswith("k.")] == ["k.0"]


def test_a_restart_in_the_middle_goes_on_as_if_there_was_none() -> None:
    driver = made(first=["a", "b"])
    assert isinstance(driver, WatchedDriver)
    driver.control("retry_from", "l")
    driver.restart()
    run = driver.shard.constellations["c1"]
    assert list(run.relisting) == ["g"]
    driver.result(driver.take()[0], {"l": ["a", "B"]})
    assert runs(driver) == ["end", "g.1", "h.1"]


def test_a_task_may_not_be_put_before_the_list_that_makes_it() -> None:
    driver = made(first=["a"])
    driver.control("retry_from", "top")
    version = driver.shard.constellations["c1"].head.version
    item = i.EditProposed(
        id=driver.ident(),
        by="person:ann",
        constellation="c1",
        base_version=version,
        operations=[AddDependency(dependency=edge("g.0>l"))],
    )
    assert driver.do(item).faults[0].code is Code.PLAN_CYCLE


def test_without_a_new_list_what_had_not_begun_is_skipped_too() -> None:
    driver = WatchedDriver("one", slots=4)
    driver.submit(
        plan(
            task("l"),
            task("bad"),
            task("w", device="nobody", for_each=LIST),
            task("h", for_each=ForEach(same="w")),
            edge("bad>h"),
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["bad"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.result(by_task["l"], {"l": ["a"]})
    driver.control("retry_from", "l")
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    run = driver.shard.constellations["c1"]
    assert (driver.states()["w.0"], run.tasks["w.0"].round, run.tasks["w.0"].cause) == ("skipped", 1, "l")
    assert (run.head.state, driver.states()["h"]) == ("failed", "skipped")
    driver.folded_equals_state()


def test_a_member_that_comes_along_follows_only_siblings_that_stand() -> None:
    driver = WatchedDriver("one", slots=2)
    driver.submit(
        plan(
            task("bad"),
            task("l"),
            task("g", for_each=LIST),
            task("h", "x=g", for_each=ForEach(same="g")),
            task("k", "x=h", for_each=ForEach(same="g")),
            edge("bad>k"),
            task("stay", device="nobody"),
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["bad"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.result(by_task["l"], {"l": ["a", "b"]})
    edit(driver, RemoveDependency(id="g.1>h.1:x"), RemoveTask(id="h.1"))
    driver.run()
    assert driver.states()["k"] == "skipped"
    driver.control("retry_from", "l")
    driver.control("retry", "bad")
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["l"], {"l": ["a", "b"]})
    assert sorted(name for name in driver.states() if name.startswith("k.")) == ["k.0"]
    driver.result(by_task["bad"], 1)
    assert runs(driver) == ["k.0"]
    assert driver.states()["k"] == "succeeded"


def test_items_that_go_in_turn_go_in_turn_over_a_new_list() -> None:
    driver = WatchedDriver("one", slots=9)
    each = ForEach(source="l", output="/l", in_turn=True)
    driver.submit(plan(task("l"), task("g", for_each=each)))
    driver.run(value={"l": ["a", "b"]})
    run = again(driver, ["a", "b", "c", "d"])
    assert "g.1>g.2:unless_failed" in run.deps
    (only,) = driver.take()
    assert only.at.task == "g.2"
    driver.result(only, 1)
    assert runs(driver) == ["g.3"]
