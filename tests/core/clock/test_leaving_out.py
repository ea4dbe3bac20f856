"""Optional parts that are left out: by the plan's own word alone, before they begin, and never under other work."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.clock.leaving_out import parts_to_leave_out
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom.planner.recipes.plan_document import document_of
from starloom_protocol.plan import check_plan
from starloom_protocol.vocabulary import Code
from tests.builders import Driver

FIRST: dict[str, Any] = {"id": "first", "tool": "t.pure"}
EXTRA: dict[str, Any] = {"id": "extra", "tool": "t.pure", "optional": True, "inputs": {"seen": {"from": "first"}}}
LAST: dict[str, Any] = {
    "id": "last",
    "tool": "t.pure",
    "inputs": {"seen": {"from": "first"}, "more": {"from": "extra", "optional": True}},
}
EACH: dict[str, Any] = {
    "id": "each",
    "for_each": {"from": "first", "output": ""},
    "tool": "t.pure",
    "args": {"n": {"each": ""}},
    "optional": True,
}


def run(*tasks: dict[str, Any], below: float | None = 0.3) -> Driver:
    one = Driver("one")
    policy = {} if below is None else {"drop_optional_below": below}
    check = check_plan({"starloom": 1, "name": "Parts", "tasks": list(tasks), "policy": policy})
    assert check.plan is not None, check.faults
    one.submit(check.plan)
    return one


def leave_out(one: Driver, task: str, *, chance: int = 12, by: str = "engine") -> Answer:
    return one.do(i.PartLeftOut(by=by, chance=chance, constellation="c1", id=one.ident(), task=task))


def end(one: Driver, value: Any = 1) -> list[str]:
    sent = one.take()
    for work in sent:
        one.result(work, value)
    return [work.at.task for work in sent]


def test_a_part_is_left_out_with_its_reason_and_the_work_after_it_goes_on() -> None:
    one = run(FIRST, EXTRA, LAST)
    current = one.shard.constellations["c1"]
    assert parts_to_leave_out(current) == ["extra"]
    assert leave_out(one, "extra").value == {"left_out": "extra"}
    (event,) = [event for event in one.events if event.kind == "task_skipped"]
    assert (event.by, event.note) == (
        "engine",
        "the chance to end in time was 12 %, and the plan leaves optional parts out below 30 %",
    )
    assert (end(one), end(one)) == (["first"], ["last"])
    assert (one.state(), str(current.tasks["extra"].reason)) == ("succeeded", "left_out")
    answer = current.tables["answer"][""]
    assert "Skipped to end in time, as its plan says: extra" in answer.sentence
    one.folded_equals_state()


@pytest.mark.parametrize("chance", [30, 31, 100])
def test_nothing_is_left_out_at_the_chance_of_the_plan_or_above(chance: int) -> None:
    one = run(FIRST, EXTRA, LAST)
    assert leave_out(one, "extra", chance=chance).faults[0].code is Code.ILLEGAL_CONTROL


def test_a_plan_that_does_not_say_so_keeps_all_parts() -> None:
    one = run(FIRST, EXTRA, LAST, below=None)
    assert leave_out(one, "extra", chance=0).faults[0].code is Code.ILLEGAL_CONTROL


def test_a_part_that_has_begun_or_is_no_optional_one_stays() -> None:
    one = run(FIRST, EXTRA, LAST)
    for task in ("first", "last", "nowhere"):
        assert leave_out(one, task).faults[0].code is Code.ILLEGAL_CONTROL
    assert end(one) == ["first"]
    assert "extra" in [work.at.task for work in one.dispatched]
    assert leave_out(one, "extra").faults[0].code is Code.ILLEGAL_CONTROL


def test_a_part_that_other_work_needs_stays() -> None:
    needs = {"id": "needs", "tool": "t.pure", "inputs": {"more": {"from": "extra"}}}
    one = run(FIRST, EXTRA, needs)
    assert parts_to_leave_out(one.shard.constellations["c1"]) == []
    assert leave_out(one, "extra").faults


def test_a_group_that_has_not_begun_is_left_out_whole() -> None:
    one = run(FIRST, EACH)
    assert leave_out(one, "each").value == {"left_out": "each"}
    current = one.shard.constellations["c1"]
    assert (str(current.groups["each"].state), str(current.groups["each"].reason)) == ("skipped", "left_out")
    assert end(one, [1, 2]) == ["first"]
    assert (one.state(), end(one)) == ("succeeded", [])
    one.folded_equals_state()


def test_a_group_that_has_its_tasks_stays() -> None:
    one = run(FIRST, EACH)
    assert end(one, [1, 2]) == ["first"]
    assert leave_out(one, "each").faults[0].code is Code.ILLEGAL_CONTROL


@pytest.mark.parametrize("by", ["person:ann", "model", "device:d-one", "assistant:ann"])
def test_only_the_hub_leaves_parts_out(by: str) -> None:
    one = run(FIRST, EXTRA, LAST)
    assert leave_out(one, "extra", by=by).faults[0].code is Code.ILLEGAL_CONTROL


def test_the_first_to_go_is_the_part_with_the_least_work_after_it() -> None:
    after = {"id": "after", "tool": "t.pure", "optional": True, "inputs": {"more": {"from": "extra"}}}
    one = run(FIRST, EXTRA, after, LAST)
    assert parts_to_leave_out(one.shard.constellations["c1"]) == ["after", "extra"]


def test_a_part_that_a_person_brings_back_stays() -> None:
    one = run(FIRST, EXTRA, LAST)
    assert leave_out(one, "extra").value
    assert not one.control("retry", "extra").faults
    assert leave_out(one, "extra").faults[0].code is Code.ILLEGAL_CONTROL
    assert (end(one), sorted(end(one))) == (["first"], ["extra"])


@pytest.mark.parametrize("below", [0, 1, -0.2, "half"])
def test_a_policy_has_a_chance_between_none_and_certain(below: Any) -> None:
    document = {"starloom": 1, "name": "Parts", "tasks": [FIRST], "policy": {"drop_optional_below": below}}
    (fault,) = check_plan(document).faults
    assert fault.place == "policy.drop_optional_below"


def test_the_policy_is_written_as_it_was_read() -> None:
    document = {"starloom": 1, "name": "Parts", "tasks": [FIRST], "policy": {"drop_optional_below": 0.29}}
    check = check_plan(document)
    assert check.plan is not None
    assert check.plan.policy.drop_below == 29
    assert document_of(check.plan)["policy"] == {"drop_optional_below": 0.29}
