"""Plans within plans as they run: what the whole needs, what it tells downstream, controls and edits of it."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state.orders import SendDispatch
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.vocabulary import Code, Op, Outcome
from tests.builders import Driver
from tests.core.watched import WatchedDriver


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "tool": "t.pure", **fields}


def started(*tasks: dict[str, Any], slots: int = 9, **fields: Any) -> Driver:
    checked = check_plan({"starloom": 1, "name": "Test", "tasks": list(tasks), **fields})
    assert checked.plan is not None, checked.faults
    driver = WatchedDriver("one", slots=slots)
    driver.submit(checked.plan)
    return driver


def edit(driver: Driver, *operations: dict[str, Any]) -> Any:
    found, lowered = check_edit(list(operations))
    assert not found, found
    version = driver.shard.constellations["c1"].head.version
    return driver.edit(*lowered, base=version)


def outer(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "o", "plan": {"tasks": list(tasks), **fields}}


def test_it_waits_as_a_whole_and_is_waited_for_as_a_whole() -> None:
    driver = started(
        tool("a"),
        outer(tool("x"), tool("y", inputs={"v": {"from": "x"}})),
        tool("b", inputs={"rows": {"from": "o", "output": "/n"}}),
        dependencies=[{"from": "a", "to": "o"}],
    )
    assert driver.states() == {
        "a": "leased", "o.x": "waiting", "o.y": "waiting", "b": "waiting", "o": "expanded",
    }  # fmt: skip
    order: list[str] = []

    def value(dispatch: SendDispatch) -> Any:
        order.append(dispatch.at.task)
        if dispatch.at.task == "b":
            (rows,) = dispatch.inputs
            assert [source.task for source in rows.sources] == ["o.x", "o.y"]
        return {"n": 1}

    assert driver.run(value=value) == "succeeded"
    assert order == ["a", "o.x", "o.y", "b"]
    assert driver.states()["o"] == "succeeded"
    driver.folded_equals_state()


@pytest.mark.parametrize(
    ("fields", "state", "after"), [({}, "failed", "skipped"), ({"optional": True}, "succeeded", "succeeded")]
)
def test_it_needs_all_that_is_not_optional(fields: dict[str, Any], state: str, after: str) -> None:
    driver = started(outer(tool("x", **fields), tool("y")), tool("b"), dependencies=[{"from": "o", "to": "b"}])
    for dispatch in driver.take():
        if dispatch.at.task == "o.x":
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        else:
            driver.result(dispatch, 1)
    driver.run()
    run = driver.shard.constellations["c1"]
    assert (driver.states()["o"], driver.states()["b"]) == (state, after)
    assert run.groups["o"].code == (Code.GROUP_NEED if state == "failed" else None)
    if state == "failed":
        assert run.tasks["b"].cause == "o"
        driver.control("retry", "o")
        assert driver.run() == "succeeded"


def test_what_is_not_chosen_is_not_chosen_as_a_whole() -> None:
    branch = [{"from": "a", "to": "o", "when": {"output": "/go", "op": Op.EQ, "value": True}}]
    driver = started(
        tool("a"),
        outer(tool("x"), tool("y")),
        tool("b"),
        dependencies=[*branch, {"from": "o", "to": "b", "when": "unless_failed"}],
    )
    driver.result(driver.take()[0], {"go": False})
    run = driver.shard.constellations["c1"]
    assert (run.groups["o"].state, run.groups["o"].cause) == ("skipped", "not_chosen")
    assert driver.run() == "succeeded"
    assert driver.states()["b"] == "succeeded"


def test_a_failure_before_it_skips_it_with_the_first_cause() -> None:
    driver = started(tool("a"), outer(tool("x"), tool("y")), dependencies=[{"from": "a", "to": "o"}])
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    run = driver.shard.constellations["c1"]
    assert (run.groups["o"].state, run.groups["o"].cause) == ("skipped", "a")
    assert run.head.state == "failed"


def test_families_inside_expand_and_count() -> None:
    driver = started(
        tool("l"),
        outer(
            tool("g", for_each={"from": "l", "output": "/l"}),
            {"id": "p", "plan": {"tasks": [tool("z", inputs={"r": {"from": "g"}})]}},
        ),
        result=[{"title": "All", "from": "o", "output": "/n"}],
    )
    assert driver.run(value={"l": [1, 2], "n": 3}) == "succeeded"
    run = driver.shard.constellations["c1"]
    assert sorted(run.tasks) == ["l", "o.g.0", "o.g.1", "o.p.z"]
    answer = run.tables["answer"][""]
    assert [item.task for item in answer.items] == ["o.g.0", "o.g.1", "o.p.z"]
    driver.folded_equals_state()


def test_a_cancel_of_the_whole_stops_what_runs_and_what_has_not_begun() -> None:
    driver = started(
        tool("l"), outer(tool("x"), tool("g", for_each={"from": "l", "output": "/l"})), tool("b", device={"name": "no"})
    )
    running = {item.at.task: item for item in driver.take()}
    driver.control("cancel", "o")
    assert (driver.states()["o.x"], driver.states()["o.g"]) == ("cancelling", "cancelled")
    driver.receipt(running["o.x"])
    assert driver.states()["o"] == "cancelled"


def test_a_skip_of_the_whole_skips_all_that_has_not_begun() -> None:
    driver = started(tool("a"), outer(tool("x"), tool("y")), dependencies=[{"from": "a", "to": "o"}])
    assert not driver.control("skip", "o").faults
    assert driver.states()["o"] == "skipped"
    assert driver.run() == "succeeded"


def test_edits_add_gate_and_remove_a_plan_as_a_whole() -> None:
    driver = started(tool("a"), tool("wait", device={"name": "no"}))
    body = outer(tool("x"), {"id": "p", "plan": {"tasks": [tool("z")]}})
    after = {"add_dependency": {"from": "wait", "to": "o", "when": "finish"}}
    assert not edit(driver, {"add_task": body}, after).faults
    run = driver.shard.constellations["c1"]
    gates = sorted(key for key in run.deps if key.startswith("wait>"))
    assert gates == ["wait>o.p.z:finish", "wait>o.p:finish", "wait>o.x:finish", "wait>o:finish"]
    assert driver.states()["o.p.z"] == "waiting"
    assert not edit(driver, {"remove_dependency": {"id": "wait>o:finish"}}).faults
    assert not [key for key in run.deps if key.startswith("wait>")]
    assert driver.states()["o.x"] == "leased"
    assert edit(driver, {"remove_task": {"id": "o"}}).faults[0].code is Code.TASK_STARTED
    assert not edit(driver, {"add_task": {"id": "q", "plan": {"tasks": [tool("z", device={"name": "no"})]}}}).faults
    assert not edit(driver, {"remove_task": {"id": "q"}}).faults
    assert "q.z" not in run.specs
    driver.folded_equals_state()
