"""Items that an edit adds to a list that runs: their tasks in every group, their keys, and the lists that take none."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import AddItems, DropItems
from starloom_protocol.records.entities import ForEach, Policy, Selector, ToolOffer
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Approval, Code, Effect, Need, Repeatability
from tests.builders import TOOLS, plan, task
from tests.core.watched import WatchedDriver


def more(*values: Any, to: str = "g") -> AddItems:
    return AddItems(items=canonical(list(values)), to=to)


def codes(answer: Answer) -> list[Code]:
    return [item.code for item in answer.faults]


def family(*, in_turn: bool = False, args: str = '{"rate":{"each":"/rate"}}', first: int = 2) -> WatchedDriver:
    """A list of rows that two groups go through; the task that reads all of the second one comes last."""
    driver = WatchedDriver("one", slots=1)
    driver.submit(
        plan(
            task("list"),
            task("g", args=args, for_each=ForEach(source="list", output="/l", in_turn=in_turn)),
            task("h", "x=g", for_each=ForEach(same="g")),
            task("end", "rows=h"),
        )
    )
    driver.result(driver.take()[0], {"l": [{"rate": number} for number in range(first)]})
    return driver


def test_items_added_to_a_list_that_runs_go_through_the_whole_family() -> None:
    driver = family()
    assert driver.edit(more({"rate": 7}, {"rate": 8})).value == {"version": 3}
    constellation = driver.shard.constellations["c1"]
    assert list(constellation.children["g"]) == ["g.0", "g.1", "g.2", "g.3"]
    assert [parse(constellation.items[f"g/{key}"].value) for key in (2, 3)] == [{"rate": 7}, {"rate": 8}]
    assert (constellation.groups["g"].count, constellation.groups["h"].count) == (4, 4)
    assert driver.run() == "succeeded"
    assert driver.states()["h.3"] == "succeeded"
    assert constellation.tally["h"].succeeded == 4


def test_items_are_added_twice_in_one_edit_and_after_items_were_dropped() -> None:
    driver = family(first=3)
    assert not driver.edit(DropItems(keys="[2]", of="g")).faults
    assert not driver.edit(more({"rate": 7}), more({"rate": 8}, to="h")).faults
    constellation = driver.shard.constellations["c1"]
    assert list(constellation.children["g"]) == ["g.0", "g.1", "g.3", "g.4"]
    assert driver.run() == "succeeded"


def test_an_item_of_a_list_in_turn_waits_for_the_one_before_it() -> None:
    driver = family(in_turn=True)
    assert not driver.edit(more({"rate": 7})).faults
    constellation = driver.shard.constellations["c1"]
    assert {gate.source for gate in constellation.incoming["g.2"].values()} >= {"g.1", "h.1"}
    assert driver.run() == "succeeded"


def test_an_item_without_a_field_that_the_calls_read_is_refused() -> None:
    driver = family()
    refused = driver.edit(more({"rate": 1}, {"rat": 2}))
    assert [(item.code, item.place) for item in refused.faults] == [(Code.NO_VALUE, "operations[0].add_items.items[1]")]
    assert "/rate" in refused.faults[0].reason
    assert driver.shard.constellations["c1"].head.version == 2


@pytest.mark.parametrize(
    ("for_each", "code"),
    [
        (ForEach(devices=Selector()), Code.BAD_REQUEST),
        (ForEach(times=2), Code.BAD_REQUEST),
    ],
)
def test_a_list_of_other_things_than_values_takes_none(for_each: ForEach, code: Code) -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("g", for_each=for_each)))
    assert codes(driver.edit(more(1))) == [code]
    assert codes(driver.edit(more(1, to="no"))) == [Code.UNKNOWN_TASK]


def test_a_list_that_is_not_made_or_has_ended_takes_none() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/l", need=Need.ALL)), task("b")))
    assert codes(driver.edit(more(1))) == [Code.ILLEGAL_CONTROL]
    listing = next(item for item in driver.take() if item.at.task == "list")
    driver.result(listing, {"l": []})
    assert codes(driver.edit(more(1))) == [Code.ILLEGAL_CONTROL]


def test_a_model_adds_no_items() -> None:
    driver = family()
    assert codes(driver.edit(more({"rate": 1}), by="model")) == [Code.FORBIDDEN]


def test_more_items_than_a_plan_has_tasks_are_refused() -> None:
    driver = family()
    rows = [{"rate": number} for number in range(9_000)]
    assert codes(driver.edit(more(*rows))) == [Code.PLAN_TOO_BIG]
    assert "g.2" not in driver.shard.constellations["c1"].specs


def test_without_the_right_to_approve_no_items_reach_a_call_that_asks() -> None:
    driver = WatchedDriver("one", slots=1)
    remove = ToolOffer(name="t.remove", repeatability=Repeatability.NEVER, effects=[Effect.DESTROY])
    driver.add_device("two", tools=[*TOOLS, remove])
    rows = task("g", tool="t.remove", args='{"path":{"each":""}}', for_each=ForEach(source="list", output="/l"))
    driver.submit(plan(task("list"), rows, policy=Policy(approval=Approval.NEVER)))
    driver.result(driver.take()[0], {"l": [1]})
    assert codes(driver.edit(more(2), approves=False)) == [Code.FORBIDDEN]
    assert not driver.edit(more(2)).faults


def test_rows_of_two_operations_take_turns_too() -> None:
    """Both stood behind the last row that was there before, so that two ran at the same time."""
    driver = family(in_turn=True)
    assert not driver.edit(more({"rate": 7}), more({"rate": 8})).faults
    gates = driver.shard.constellations["c1"].incoming
    before = [{one.source for one in gates[name].values() if one.source.startswith("h.")} for name in ("g.2", "g.3")]
    assert before == [{"h.1"}, {"h.2"}]


@pytest.mark.parametrize(
    ("again", "again_run", "values"),
    [
        (2, ["end"], [0, 1, 7, 8]),
        (1, ["end"], [0, 7, 8]),
        (3, ["end", "g.2", "g.4", "h.2", "h.4"], [0, 1, 2, 8, 7]),
    ],
    ids=["as before", "shorter", "longer"],
)
def test_added_items_stay_when_the_list_is_made_again(again: int, again_run: list[str], values: list[int]) -> None:
    driver = family()
    driver.edit(more({"rate": 7}, {"rate": 8}))
    driver.run()
    constellation = driver.shard.constellations["c1"]
    for _ in range(2):
        before = {name: record.attempt for name, record in constellation.tasks.items()}
        assert not driver.control("retry_from", "list").faults
        driver.result(driver.take()[0], {"l": [{"rate": number} for number in range(again)]})
        driver.folded_equals_state()
        kept = sorted((int(item.key), parse(item.value)["rate"]) for item in constellation.items.values())
        assert [value for _, value in kept] == values
        assert constellation.groups["g"].count == len(values)
        driver.run()
        ran = [name for name, record in constellation.tasks.items() if record.attempt > before.get(name, 0)]
        assert sorted(ran) == [*again_run, "list"]
        again_run = ["end"]


def test_an_added_item_that_was_dropped_does_not_come_back() -> None:
    driver = family()
    driver.edit(more({"rate": 7}, {"rate": 8}))
    assert not driver.edit(DropItems(keys="[3]", of="g")).faults
    driver.run()
    driver.control("retry_from", "list")
    driver.result(driver.take()[0], {"l": [{"rate": 0}]})
    assert driver.run() == "succeeded"
    constellation = driver.shard.constellations["c1"]
    assert list(constellation.children["g"]) == ["g.0", "g.2"]
