"""Votes in the core: groups of a number of calls, calls on different devices, and the count that reads them."""

from __future__ import annotations

from typing import Any

from starloom.core.answer.why import explain
from starloom.core.state.orders import SendDispatch
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import ForEach, Selector
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import Driver, edge, plan, task
from tests.core.plan.test_inverse import undo
from tests.core.watched import WatchedDriver

VOTE = {"n": 3, "on": "/v"}


def made(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Vote", "tasks": list(tasks), **fields})
    assert check.plan is not None, check.faults
    return check.plan


def voted(**fields: Any) -> dict[str, Any]:
    return {"id": "q", "tool": "t.pure", "vote": VOTE, **fields}


def driver(*names: str) -> Driver:
    """Return a driver whose devices offer the tool that counts, too."""
    found = WatchedDriver()
    for name in names:
        found.add_device(name, tools=offers())
    return found


def offers() -> list[Any]:
    some = Driver("x").shard.fleet.offers["d-x"].tools
    pure = next(offer for offer in some if offer.name == "t.pure")
    return [*some, type(pure)(name="data.vote", repeatability=pure.repeatability)]


def texts(dispatch: SendDispatch, name: str) -> list[Any]:
    (found,) = [item for item in dispatch.inputs if item.name == name]
    return [parse(source.text) if source.text else source.task for source in found.sources]


def test_a_number_of_calls_is_a_group_with_their_numbers_as_items() -> None:
    one = WatchedDriver("one")
    one.submit(plan(task("g", for_each=ForEach(times=3))))
    sent = one.take()
    assert [item.at.task for item in sent] == ["g.1", "g.2", "g.3"]
    assert [parse(item.item or "") for item in sent] == [{"number": 1}, {"number": 2}, {"number": 3}]
    for item in sent:
        one.result(item, {})
    assert one.states()["g"] == "succeeded"
    one.folded_equals_state()


def test_calls_apart_go_to_as_many_different_devices() -> None:
    some = WatchedDriver("a", "b", "c")
    some.submit(plan(task("g", for_each=ForEach(times=2, devices=Selector(os="linux")))))
    assert [(item.at.task, item.device) for item in some.take()] == [("g.d-a", "d-a"), ("g.d-b", "d-b")]


def test_calls_apart_need_as_many_devices() -> None:
    few = WatchedDriver("a", "b")
    few.submit(plan(task("g", for_each=ForEach(times=3, devices=Selector(os="linux"))), task("after", "x=g")))
    run = few.shard.constellations["c1"]
    assert run.groups["g"].code is Code.NO_DEVICE
    assert few.states()["after"] == "skipped"
    assert few.state() == "failed"


def test_the_count_reads_each_ballot_with_its_voter() -> None:
    one = driver("one")
    one.submit(made(voted(), {"id": "use", "tool": "t.pure", "inputs": {"rows": {"from": "q", "output": "/winner"}}}))
    calls = one.take()
    one.result(calls[0], {"v": 1})
    one.result(calls[1], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    one.result(calls[2], {"v": 1})
    (count,) = one.take()
    assert (count.at.task, count.tool) == ("q", "data.vote")
    assert texts(count, "ballots") == ["q-calls.1", "q-calls.3"]
    assert texts(count, "voters") == [
        {"device": "one", "task": "q-calls.1"},
        {"device": "one", "task": "q-calls.3"},
    ]
    one.result(count, {"winner": 1})
    (use,) = one.take()
    assert use.inputs[0].sources[0].task == "q"
    one.result(use, {})
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_without_a_winner_later_tasks_are_skipped_for_it() -> None:
    one = driver("one")
    one.submit(made(voted(), {"id": "use", "tool": "t.pure", "inputs": {"rows": {"from": "q", "output": "/winner"}}}))
    for call in one.take():
        one.result(call, {"v": call.at.task})
    (count,) = one.take()
    one.result(count, None, Outcome.ERROR, code=Code.NO_WINNER, detail="no winner: 3 values have 1 each")
    run = one.shard.constellations["c1"]
    assert run.tasks["q"].code is Code.NO_WINNER
    assert (run.tasks["use"].cause, one.state()) == ("q", "failed")
    assert not one.take(), "a count that has no winner has none the second time"
    explanation = explain(one.shard, "c1", "q")
    assert "no winner: 3 values have 1 each" in explanation.sentence


def test_a_call_that_is_made_again_is_counted_again() -> None:
    one = driver("one")
    one.submit(made(voted()))
    for call in one.take():
        one.result(call, {"v": call.at.task})
    one.result(one.take()[0], None, Outcome.ERROR, code=Code.NO_WINNER)
    assert not one.control("retry_from", "q-calls.2").faults
    (again,) = one.take()
    assert again.at.task == "q-calls.2"
    one.result(again, {"v": "q-calls.1"})
    (count,) = one.take()
    assert count.at.task == "q"
    one.result(count, {"winner": "q-calls.1"})
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_an_edit_adds_a_vote_and_its_undo_takes_it_away() -> None:
    one = driver("one")
    one.submit(made({"id": "first", "tool": "t.pure"}, {"id": "last", "person": "Well?"}))
    faults, operations = check_edit([{"add_task": voted()}, {"add_dependency": {"from": "last", "to": "q"}}])
    assert not faults
    version = one.shard.constellations["c1"].head.version
    assert not one.edit(*operations).faults
    assert {"q", "q-calls"} <= one.states().keys()
    assert [item.at.task for item in one.take()] == ["first"], "the calls wait for what the vote waits for"
    assert not undo(one, version + 1).faults
    assert not {"q", "q-calls"} & one.states().keys()
    one.folded_equals_state()


def test_a_number_of_calls_is_made_when_they_may_begin() -> None:
    one = WatchedDriver("a")
    one.submit(plan(task("first"), task("g", for_each=ForEach(times=2, devices=Selector(os="linux"))), edge("first>g")))
    (first,) = one.take()
    assert [name for name in one.states() if name.startswith("g.")] == []
    one.add_device("b")
    one.result(first, {})
    assert [item.device for item in one.take()] == ["d-a", "d-b"]
    one.folded_equals_state()


def test_a_failure_before_a_vote_skips_all_of_it() -> None:
    one = driver("one")
    one.submit(made({"id": "first", "tool": "t.pure"}, voted(), dependencies=[{"from": "first", "to": "q"}]))
    one.result(one.take()[0], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert one.states() == {"first": "failed", "q": "skipped", "q-calls": "skipped"}
