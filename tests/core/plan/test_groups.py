"""Families: expansion, what a group needs, and how its end counts downstream."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import SendFetch
from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import Choice, ForEach, Selector
from starloom_protocol.vocabulary import Code, Gate, Need, Outcome
from starloom_protocol.wire.frames import FactsFrame, ResultFrame
from tests.builders import IDEMPOTENT, MAYBE, Driver, edge, plan, task
from tests.core.watched import WatchedDriver


def grown(need: Need, count: int = 0, slots: int = 4, items: int = 3) -> Driver:
    driver = WatchedDriver("one", slots=slots)
    each = ForEach(source="l", output="/l", need=need, need_count=count)
    driver.submit(plan(task("l"), task("g", for_each=each), task("end", "rows=g")))
    driver.result(driver.take()[0], {"l": list(range(items))})
    return driver


@pytest.mark.parametrize(
    ("need", "count", "failures", "state"),
    [
        (Need.ALL, 0, 0, "succeeded"),
        (Need.ALL, 0, 1, "failed"),
        (Need.ANY, 0, 2, "succeeded"),
        (Need.ANY, 0, 3, "failed"),
        (Need.AT_LEAST, 2, 1, "succeeded"),
        (Need.AT_LEAST, 2, 2, "failed"),
        (Need.BEST_EFFORT, 0, 3, "succeeded"),
    ],
)
def test_what_a_group_needs(need: Need, count: int, failures: int, state: str) -> None:
    driver = grown(need, count)
    dispatches = driver.take()
    for number, dispatch in enumerate(dispatches):
        if number < failures:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    for dispatch in dispatches[failures:]:
        driver.result(dispatch, number)
    for dispatch in dispatches[failures:]:
        driver.receipt(dispatch)
    assert driver.states()["g"] == state
    if state == "failed":
        assert driver.shard.constellations["c1"].groups["g"].code is Code.GROUP_NEED
    driver.folded_equals_state()


def test_enough_stops_the_running_and_skips_the_rest() -> None:
    driver = grown(Need.ANY, slots=2)
    first, second = driver.take()
    driver.started(second)
    driver.result(first, 1)
    states = driver.states()
    assert (states["g.0"], states["g.1"], states["g.2"]) == ("succeeded", "cancelling", "skipped")
    driver.receipt(second)
    assert driver.run() == "succeeded"


def test_dropped_and_unchosen_children_do_not_count_and_upstream_failures_skip() -> None:
    driver = grown(Need.ALL)
    driver.control("cancel", "g.0")
    dispatches = driver.take()
    driver.receipt(dispatches[0])
    for dispatch in dispatches[1:]:
        driver.result(dispatch, 1)
    assert driver.states()["g"] == "cancelled"
    assert driver.states()["end"] == "skipped"


def test_a_child_skipped_by_an_upstream_failure_skips_its_group_with_the_first_cause() -> None:
    driver = WatchedDriver("one", slots=8)
    each = ForEach(source="l", output="/l")
    driver.submit(
        plan(task("l"), task("bad"), task("g", for_each=each), task("h", for_each=ForEach(same="g")), edge("bad>g"))
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["l"], {"l": [1]})
    assert driver.states()["g"] == "expanded"
    driver.result(by_task["bad"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    run = driver.shard.constellations["c1"]
    assert (driver.states()["g"], run.groups["g"].cause, run.tasks["g.0"].cause) == ("skipped", "bad", "bad")
    assert driver.run() == "failed"


def test_a_family_without_its_list_is_skipped_whole() -> None:
    driver = WatchedDriver("one")
    driver.submit(
        plan(
            task("l"),
            task("g", for_each=ForEach(source="l", output="/l")),
            task("h", for_each=ForEach(same="g")),
        )
    )
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    run = driver.shard.constellations["c1"]
    assert driver.states() == {"l": "failed", "g": "skipped", "h": "skipped"}
    assert run.groups["h"].cause == "l"
    assert run.head.state == "failed"


def test_members_expand_though_their_root_is_over_before_the_list_is_known() -> None:
    driver = WatchedDriver("one")
    driver.submit(
        plan(
            task("l"),
            task("bad"),
            task("g", for_each=ForEach(source="l", output="/l")),
            task("h", for_each=ForEach(same="g")),
            edge("bad>g"),
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["bad"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert driver.states()["g"] == "skipped"
    driver.result(by_task["l"], {"l": [1, 2]})
    assert driver.run() == "failed"
    states = driver.states()
    assert (states["g"], states["h"], states["h.1"], "g.0" in states) == ("skipped", "succeeded", "succeeded", False)


def test_a_group_skipped_before_its_family_expanded_expands_later_from_the_stored_list() -> None:
    driver = WatchedDriver("one", slots=8)
    driver.submit(
        plan(
            task("l"),
            task("bad"),
            task("g", for_each=ForEach(source="l", output="/l")),
            task("h", "x=g", for_each=ForEach(same="g")),
            edge("bad>h"),
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["bad"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.result(by_task["l"], {"l": [1, 2]})
    driver.run()
    assert driver.states()["h"] == "skipped"
    driver.control("retry", "bad")
    assert driver.run() == "succeeded"
    run = driver.shard.constellations["c1"]
    assert run.specs["h.0"].inputs[0].source == "g.0"
    assert "g.1>h.1:x" in run.deps
    assert run.tasks["g.0"].round == 1


def test_a_group_stays_open_while_its_list_is_made_anew() -> None:
    driver = grown(Need.ALL)
    driver.run()
    driver.control("retry_from", "l")
    assert driver.states()["g"] == "expanded"
    assert driver.run(value={"l": [0, 1, 2]}) == "succeeded"


def test_no_device_and_devices_that_only_demonstrate() -> None:
    driver = WatchedDriver("one")
    driver.add_device("demo", demo=True)
    driver.submit(
        plan(
            task("none", for_each=ForEach(devices=Selector(os="plan9"))),
            task("all", for_each=ForEach(devices=Selector())),
        )
    )
    run = driver.shard.constellations["c1"]
    assert run.groups["none"].code is Code.NO_DEVICE
    assert list(run.tasks) == ["all.d-one"]
    assert run.specs["all.d-one"].device == Selector(id="d-one")


def test_every_device_leaves_out_those_that_do_not_offer_the_tool() -> None:
    driver = WatchedDriver("one")
    driver.add_device("phone", tools=[])
    strict = ForEach(devices=Selector(os="linux"))
    driver.submit(plan(task("all", for_each=ForEach(devices=Selector())), task("linux", for_each=strict)))
    assert list(driver.shard.constellations["c1"].tasks) == ["all.d-one", "linux.d-one", "linux.d-phone"]


def test_a_list_too_long_fails_the_family() -> None:
    settings = ShardSettings()
    settings.tasks_most = 5
    driver = WatchedDriver("one", settings=settings)
    each = ForEach(source="l", output="/l")
    driver.submit(plan(task("l"), task("g", for_each=each), task("h", for_each=ForEach(same="g"))))
    driver.result(driver.take()[0], {"l": list(range(9))})
    run = driver.shard.constellations["c1"]
    assert {group.code for group in run.groups.values()} == {Code.PLAN_TOO_BIG}


def test_a_missing_list_says_so() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/no"))))
    driver.result(driver.take()[0], {"l": 1})
    assert driver.shard.constellations["c1"].groups["g"].code is Code.NOT_A_LIST
    assert "finds nothing" in next(event.note for event in driver.events if event.kind == "group_failed")


def test_people_can_be_asked_for_each_item_and_are_asked_no_more_than_needed() -> None:
    driver = WatchedDriver("one")
    each = ForEach(source="l", output="/l", need=Need.ANY)
    ask = task("ask", person="Well?", choices=[Choice(value="go", label="Go")], for_each=each)
    driver.submit(plan(task("l"), ask))
    driver.result(driver.take()[0], {"l": [1, 2]})
    run = driver.shard.constellations["c1"]
    assert list(run.open_questions) == ["ask.0-1", "ask.1-1"]
    driver.control("cancel", "ask.1")
    assert list(run.open_questions) == ["ask.0-1"]


def test_all_makes_a_child_wait_for_the_whole_group() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(
        plan(
            task("l"),
            task("g", for_each=ForEach(source="l", output="/l")),
            task("h", for_each=ForEach(same="g")),
            edge("g>h", Gate.FINISH, all=True),
        )
    )
    driver.result(driver.take()[0], {"l": [1, 2]})
    run = driver.shard.constellations["c1"]
    assert "g>h.0:finish" in run.deps
    assert driver.run() == "succeeded"


def test_an_input_of_a_group_is_the_list_of_its_children_in_order() -> None:
    driver = WatchedDriver("one", slots=20)
    each = ForEach(source="l", output="/l")
    driver.submit(
        plan(task("l"), task("g", for_each=each, tool="t.idem", repeatability=IDEMPOTENT), task("e", "r=g/n"))
    )
    driver.result(driver.take()[0], {"l": list(range(11))})
    for dispatch in reversed(driver.take()):
        if dispatch.at.task == "g.3":
            driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
        else:
            driver.result(dispatch, {"n": dispatch.at.task})
    (again,) = driver.take()
    driver.result(again, {"n": 3})
    (end,) = driver.take()
    (rows,) = end.inputs
    assert [source.task for source in rows.sources] == [f"g.{n}" for n in range(11)]
    assert (rows.many, rows.sources[3].attempt) == (True, 2)


def over_a_group(first: list[Any], **fields: Any) -> Driver:
    """A list `l`, a group `m` over it, and `n` over what the children of `m` give under `/value`."""
    driver = WatchedDriver("one", slots=20)
    driver.submit(
        plan(
            task("l"),
            task("m", for_each=ForEach(source="l", output="/l", need=fields.pop("need", Need.ALL))),
            task("n", for_each=ForEach(source="m", output="/value", **fields)),
            task("end", "rows=n"),
        )
    )
    driver.result(driver.take()[0], {"l": first})
    return driver


def items_of_n(driver: Driver) -> list[str]:
    items = driver.shard.constellations["c1"].items
    return [item.value for key, item in items.items() if key.startswith("n/")]


def test_a_list_over_a_group_has_an_item_for_each_child() -> None:
    driver = over_a_group([4, 5, 6])
    taken = {item.at.task: item for item in driver.take()}
    for name, value in (("m.2", "c"), ("m.0", "a"), ("m.1", ["b"])):
        assert driver.states()["n"] == "waiting"
        driver.result(taken[name], {"value": value})
    assert items_of_n(driver) == ['"a"', '["b"]', '"c"']
    assert [item.item for item in driver.dispatched] == ['"a"', '["b"]', '"c"']
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_a_flattened_list_over_a_group_joins_the_lists() -> None:
    driver = over_a_group([1, 2, 3], flatten=True)
    for dispatch, value in zip(driver.take(), ([1, 2], [], [3]), strict=True):
        driver.result(dispatch, {"value": value})
    assert items_of_n(driver) == ["1", "2", "3"]
    assert driver.run() == "succeeded"


def test_a_list_over_a_group_counts_only_its_successes() -> None:
    driver = over_a_group([1, 2, 3], need=Need.BEST_EFFORT)
    dispatches = driver.take()
    driver.result(dispatches[1], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.result(dispatches[2], {"value": "c"})
    driver.result(dispatches[0], {"value": "a"})
    assert items_of_n(driver) == ['"a"', '"c"']


def test_a_list_over_a_failed_group_is_skipped() -> None:
    driver = over_a_group([1])
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert driver.states()["n"] == driver.states()["end"] == "skipped"
    assert driver.state() == "failed"


@pytest.mark.parametrize(
    ("value", "flatten", "code"),
    [({"other": 1}, False, Code.NO_VALUE), ({"value": 7}, True, Code.NOT_A_LIST)],
)
def test_a_list_over_a_group_names_the_child_without_one(value: Any, flatten: bool, code: Code) -> None:
    driver = over_a_group([1], flatten=flatten)
    driver.result(driver.take()[0], value)
    group = driver.shard.constellations["c1"].groups["n"]
    assert (group.state, group.code) == ("failed", code)
    assert any("/value of m.0" in event.note for event in driver.events)


def test_a_list_over_a_nested_plan_reads_its_leaves() -> None:
    driver = WatchedDriver("one")
    nested = task("p", tool=None, nested=True)
    parts = [task("p.a", group="p"), task("p.b", "x=p.a", group="p")]
    driver.submit(plan(nested, *parts, task("n", for_each=ForEach(source="p", output="/v"))))
    assert driver.run(value=lambda dispatch: {"v": dispatch.at.task}) == "succeeded"
    assert items_of_n(driver) == ['"p.a"', '"p.b"']


def test_a_list_over_a_group_is_made_again_with_it() -> None:
    driver = over_a_group([1, 2])
    for dispatch in driver.take():
        driver.result(dispatch, {"value": dispatch.at.task})
    assert driver.run() == "succeeded"
    answer = driver.control("retry_from", "m.1")
    assert not answer.faults, answer.faults
    (again,) = driver.take()
    assert again.at.task == "m.1", "n waits for the new list"
    run = driver.shard.constellations["c1"]
    driver.result(again, {"value": "other"})
    assert items_of_n(driver) == ['"m.0"', '"other"']
    assert (run.tasks["n.0"].round, run.tasks["n.1"].round) == (1, 2), "only the changed item runs again"
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_children_bring_the_facts_that_a_list_reads() -> None:
    driver = over_a_group([1, 2])
    assert [item.wants for item in driver.take()] == [["/value"], ["/value"]]


def test_a_list_over_finished_results_asks_their_devices() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("l"), task("m", for_each=ForEach(source="l", output="/l")), task("open")))
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["l"], {"l": [1, 2]})
    for number, dispatch in enumerate(driver.take()):
        frame = ResultFrame(at=dispatch.at, report=1, outcome=Outcome.OK, artifact=str(number) * 64, bytes=99_999)
        driver.do(i.ResultReported(id=driver.ident(), by="device:d-one", device="d-one", frame=frame))
    version = driver.shard.constellations["c1"].head.version
    added = AddTask(spec=task("n", for_each=ForEach(source="m", output="/v")))
    edit = i.EditProposed(
        id=driver.ident(), by="person:ann", constellation="c1", base_version=version, operations=[added]
    )
    assert not driver.do(edit).faults
    asked = [effect for effect in driver.sent if isinstance(effect, SendFetch)]
    assert [(item.at.task, item.wants) for item in asked] == [("m.0", ["/v"]), ("m.1", ["/v"])]
    for number, item in enumerate(asked):
        assert driver.states()["n"] == "waiting"
        facts = FactsFrame(at=item.at, facts={"/v": str(number)})
        driver.do(i.FactsReported(id=driver.ident(), by="device:d-one", device="d-one", frame=facts))
        driver.folded_equals_state()
    assert items_of_n(driver) == ["0", "1"]
