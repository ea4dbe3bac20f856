"""Repeats in the core: turns that follow each other until a condition on their results holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from starloom.core.answer.why import explain
from starloom.core.state.orders import ArmTimer
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.edits import AddTask, EditOperation, LoweredPlan
from starloom_protocol.records.entities import ForEach
from starloom_protocol.records.specs import Repeat
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome, Reason
from tests.builders import task
from tests.core.people.test_forks import fork
from tests.core.plan.test_inverse import undo
from tests.core.plan.test_review import claim, failed, propose
from tests.core.watched import WatchedDriver


def made(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Repeat", "tasks": list(tasks), **fields})
    assert check.plan is not None, check.faults
    return check.plan


def until(value: Any = True, **fields: Any) -> dict[str, Any]:
    return {"max": 4, "until": {"output": "/done", "op": "eq", "value": value}, **fields}


def repeated(repeat: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "r", "tool": "t.pure", "repeat": repeat, **fields}


def answer(one: WatchedDriver, value: Any) -> str:
    (sent,) = one.take()
    one.result(sent, value)
    return sent.at.task


def moments(one: WatchedDriver) -> list[ArmTimer]:
    return [timer for timer in one.timers if timer.kind == "moment"]


def test_turns_follow_until_the_condition_holds() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until()), {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "r", "output": "/n"}}}))
    assert [answer(one, {"done": False, "n": 1}), answer(one, {"done": True, "n": 2})] == ["r.1", "r.2"]
    assert one.states()["r"] == "succeeded"
    (use,) = one.take()
    assert (use.at.task, [source.task for source in use.inputs[0].sources], use.inputs[0].many) == (
        "use",
        ["r.2"],
        False,
    )
    one.result(use, {})
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_all_turns_are_read_as_a_list_with_all() -> None:
    one = WatchedDriver("one")
    one.submit(
        made(
            repeated(until()),
            {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "r", "output": "/n", "all": True}}},
        )
    )
    answer(one, {"done": False, "n": 1})
    answer(one, {"done": True, "n": 2})
    (use,) = one.take()
    assert [source.task for source in use.inputs[0].sources] == ["r.1", "r.2"]
    assert use.inputs[0].many


def test_a_turn_takes_what_the_one_before_it_gave() -> None:
    one = WatchedDriver("one")
    repeat = {"max": 5, "until": {"output": "/next", "op": "empty"}, "carry": {"url": "/next"}}
    one.submit(made(repeated(repeat, args={"url": "first", "keep": 1})))
    (first,) = one.take()
    assert (parse(first.args), first.inputs) == ({"keep": 1, "url": "first"}, [])
    one.result(first, {"next": "second"})
    (second,) = one.take()
    assert parse(second.args) == {"keep": 1}
    (carried,) = second.inputs
    assert (carried.name, carried.sources[0].task, carried.sources[0].output) == ("url", "r.1", "/next")
    one.result(second, {"next": None})
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_unmet_after_the_last_turn_fails_with_a_code() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(max=2)), {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "r"}}}))
    answer(one, {"done": False})
    answer(one, {})
    group = one.shard.constellations["c1"].groups["r"]
    assert (str(group.state), group.code, group.count) == ("failed", Code.CONDITION_UNMET, 2)
    assert (one.states()["use"], one.state()) == ("skipped", "failed")
    assert "2 turns" in explain(one.shard, "c1", "r").sentence


def test_an_unmet_repeat_fails_although_its_turns_succeeded() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(max=2))))
    answer(one, {"done": False})
    answer(one, {})
    sentence = one.shard.constellations["c1"].tables["answer"][""].sentence
    assert sentence.startswith("Repeat failed, although 2 of its 2 tasks succeeded on one.")


def test_while_ends_the_turns_once_the_condition_no_longer_holds() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated({"max": 3, "while": {"output": "/more", "op": "eq", "value": True}})))
    answer(one, {"more": True})
    answer(one, {"more": False})
    assert one.state() == "succeeded"


def test_without_a_condition_all_turns_are_made() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated({"max": 2, "every_s": 1})))
    answer(one, {})
    one.fire(moments(one)[-1])
    answer(one, {})
    assert one.state() == "succeeded"


def test_in_a_row_counts_turns_without_a_gap() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(max=9, in_a_row=2))))
    for value in (True, False, True):
        answer(one, {"done": value})
    assert one.states()["r"] == "expanded"
    answer(one, {"done": True})
    assert (one.state(), one.states()["r.4"]) == ("succeeded", "succeeded")


def test_every_s_is_a_timer_and_holds_no_slot() -> None:
    one = WatchedDriver("one", slots=1)
    one.submit(made(repeated(until(every_s=30))))
    (first,) = one.take()
    one.now_ms += 10_000
    one.result(first, {"done": False})
    assert not one.take()
    record = one.shard.constellations["c1"].tasks["r.2"]
    assert (str(record.state), record.reason) == ("ready", Reason.MOMENT)
    assert record.not_before_ms == first_leased(one) + 30_000
    assert one.shard.fleet.used.get("d-one", 0) == 0
    assert "begins at" in explain(one.shard, "c1", "r.2").sentence
    one.restart()
    (timer,) = moments(one)
    one.fire(timer)
    assert answer(one, {"done": True}) == "r.2"
    assert one.state() == "succeeded"


def first_leased(one: WatchedDriver) -> int:
    return one.shard.constellations["c1"].attempt("r.1", 1).leased_ms


def test_a_turn_later_than_its_moment_goes_at_once() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=5))))
    (first,) = one.take()
    one.now_ms += 60_000
    one.result(first, {"done": False})
    assert answer(one, {"done": True}) == "r.2"


def test_a_failed_turn_ends_the_repeat() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until())))
    answer(one, {"done": False})
    (second,) = one.take()
    one.result(second, None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    group = one.shard.constellations["c1"].groups["r"]
    assert (str(group.state), group.code, group.cause) == ("failed", Code.GROUP_NEED, "r.2")


@pytest.mark.parametrize(("action", "state"), [("cancel", "cancelled"), ("skip", "skipped")])
def test_a_turn_that_waits_for_its_moment_can_be_stopped(action: str, state: str) -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    assert not one.control(action, "r").faults
    assert one.states()["r"] == state
    assert one.ignored.get("the timer is stale") is None
    one.fire(moments(one)[-1])
    assert one.ignored["the timer is stale"] == 1
    one.folded_equals_state()


def test_cancel_ends_a_constellation_between_turns() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    one.control("cancel")
    assert one.state() == "cancelled"


def test_a_held_turn_waits_beyond_its_moment() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    one.control("hold", "r.2")
    one.fire(moments(one)[-1])
    assert (one.take(), one.shard.constellations["c1"].tasks["r.2"].reason) == ([], Reason.HELD)
    one.control("release", "r.2")
    assert answer(one, {"done": True}) == "r.2"


def test_retry_of_an_unmet_repeat_makes_its_last_turn_again() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(max=2))))
    answer(one, {"done": False})
    answer(one, {"done": False})
    assert one.state() == "failed"
    assert not one.control("retry", "r").faults
    assert answer(one, {"done": True}) == "r.2"
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_turns_after_one_that_now_meets_the_condition_are_not_needed() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(max=3))))
    for _ in range(3):
        answer(one, {"done": False})
    assert not one.control("retry_from", "r.1").faults
    assert answer(one, {"done": True}) == "r.1"
    assert (one.states()["r.2"], one.states()["r.3"], one.state()) == ("skipped", "skipped", "succeeded")
    one.folded_equals_state()


@pytest.mark.parametrize("result", [[{"title": "Seen", "from": "r", "output": "/n"}], []])
def test_the_answer_has_the_last_turn_alone(result: list[dict[str, str]]) -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until()), result=result))
    answer(one, {"done": False, "n": 1})
    answer(one, {"done": True, "n": 2})
    (item,) = one.shard.constellations["c1"].tables["answer"][""].items
    assert (item.task, item.title) == ("r.2", "Seen" if result else "r")


def test_the_answer_of_a_plan_of_an_older_hub_keeps_each_turn() -> None:
    one = WatchedDriver("one")
    plan = made(repeated(until()), result=[{"title": "Seen", "from": "r"}])
    (spec,) = plan.specs
    assert spec.for_each is not None
    assert spec.for_each.repeat is not None
    older = replace(spec, for_each=replace(spec.for_each, repeat=replace(spec.for_each.repeat, last_answers=False)))
    one.submit(replace(plan, specs=[older]))
    answer(one, {"done": False})
    answer(one, {"done": True})
    items = one.shard.constellations["c1"].tables["answer"][""].items
    assert [item.title for item in items] == ["Seen, r.1", "Seen, r.2"]


def test_a_condition_on_a_repeat_reads_its_last_turn() -> None:
    one = WatchedDriver("one")
    one.submit(
        made(
            repeated(until()),
            {"id": "yes", "tool": "t.pure"},
            dependencies=[{"from": "r", "to": "yes", "when": {"output": "/n", "op": "eq", "value": 2}}],
        )
    )
    answer(one, {"done": False, "n": 1})
    answer(one, {"done": True, "n": 2})
    assert [sent.at.task for sent in one.take()] == ["yes"]


def test_the_condition_of_a_large_result_is_read_on_its_device() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until())))
    (sent,) = one.take()
    assert "/done" in sent.wants


@given(
    results=st.lists(st.booleans(), min_size=1, max_size=12),
    most=st.integers(1, 8),
    in_a_row=st.integers(1, 3),
    every_s=st.sampled_from([0, 7]),
)
def test_turns_are_bounded_and_end_as_their_results_say(
    results: list[bool], most: int, in_a_row: int, every_s: int
) -> None:
    in_a_row = min(in_a_row, most)
    one = WatchedDriver("one")
    fields = {"every_s": every_s} if every_s else {}
    one.submit(made(repeated(until(max=most, in_a_row=in_a_row, **fields))))
    given_so_far: list[bool] = []
    for _ in range(20):
        if one.state() != "active":
            break
        dispatches = one.take()
        if not dispatches:
            one.fire(moments(one)[-1])
            continue
        (sent,) = dispatches
        value = results[len(given_so_far) % len(results)]
        given_so_far.append(value)
        one.result(sent, {"done": value})
    ends = range(in_a_row, len(given_so_far) + 1)
    met = next((end for end in ends if all(given_so_far[end - in_a_row : end])), None)
    assert len(given_so_far) == (met or most)
    assert one.state() == ("succeeded" if met else "failed")
    one.folded_equals_state()


def operations(*raw: dict[str, Any]) -> list[EditOperation]:
    faults, found = check_edit(list(raw))
    assert not faults, faults
    return found


def asked(one: WatchedDriver) -> list[str]:
    run = one.shard.constellations["c1"]
    return [run.questions[key].text for key in run.open_questions]


@pytest.mark.parametrize("approval", ["never", "risky"])
def test_turns_of_a_call_that_writes_are_approved_with_their_number(approval: str) -> None:
    one = WatchedDriver("one")
    call = {"id": "r", "tool": "t.never", "repeat": until(max=3)}
    one.submit(made(call, policy={"approval": approval}))
    assert one.state() == "awaiting_approval"
    (text,) = asked(one)
    assert "t.never up to 3 times" in text
    assert not one.take()


def test_turns_of_a_call_that_reads_need_no_approval() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until()), policy={"approval": "never"}))
    assert one.state() == "active"


def test_a_claim_of_the_plan_does_not_make_a_call_harmless() -> None:
    one = WatchedDriver("one")
    one.submit(made({"id": "r", "tool": "t.never", "repeatability": "pure", "repeat": until()}))
    assert one.state() == "awaiting_approval"


def test_turns_are_no_items_to_drop() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    refused = one.edit(*operations({"drop_items": {"of": "r", "keys": [2]}}))
    assert "skip one" in refused.faults[0].reason


def test_an_edit_adds_a_repeat_and_its_undo_removes_it() -> None:
    one = WatchedDriver("one")
    one.submit(made({"id": "a", "tool": "t.pure"}))
    add = operations({"add_task": {**repeated(until()), "inputs": {"x": {"from": "a"}}}})
    assert not one.edit(*add).faults
    assert not undo(one, 2).faults
    assert "r" not in one.states()
    assert not one.edit(*add).faults
    answer(one, {})
    answer(one, {"done": True})
    assert one.state() == "succeeded"


def test_a_reviewer_adds_no_turns_of_a_call_that_does_more_than_read() -> None:
    driver, found = failed()
    claim(driver)
    spec = task("more", tool="t.idem", for_each=ForEach(repeat=Repeat(most=5, every_s=1)))
    refused = propose(driver, AddTask(spec=spec))
    assert any("up to 5 times" in fault.reason for fault in refused.faults), refused.faults
    assert "more" not in found.specs


def test_a_repeat_within_a_plan_of_its_own_is_one_task_there() -> None:
    one = WatchedDriver("one")
    inner = [repeated(until(carry={"at": "/next"})), {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "r"}}}]
    one.submit(made({"id": "g", "plan": {"tasks": inner}}))
    assert answer(one, {"done": False, "next": 1}) == "g.r.1"
    (second,) = one.take()
    assert (second.at.task, second.inputs[0].sources[0].task) == ("g.r.2", "g.r.1")
    one.result(second, {"done": True})
    assert answer(one, {}) == "g.use"
    assert (one.states()["g"], one.state()) == ("succeeded", "succeeded")
    one.folded_equals_state()


def test_a_fork_goes_on_with_the_turn_that_is_next() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    assert not fork(one).faults
    run = one.shard.constellations["c2"]
    assert (run.tasks["r.2"].reason, run.attempts["r.1/1"].origin) == (Reason.MOMENT, "c1")
    one.fire(next(timer for timer in moments(one) if timer.constellation == "c2"))
    assert answer(one, {"done": True}) == "r.2"
    assert (one.state("c2"), one.state("c1")) == ("succeeded", "active")


def test_a_turn_that_is_removed_is_made_again() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    assert not one.edit(*operations({"remove_task": {"id": "r.2"}})).faults
    assert one.states()["r.2"] == "ready"
    one.fire(moments(one)[-1])
    assert answer(one, {"done": True}) == "r.2"
    one.folded_equals_state()


def test_a_pause_holds_the_next_turn_beyond_its_time() -> None:
    one = WatchedDriver("one")
    one.submit(made(repeated(until(every_s=30))))
    answer(one, {"done": False})
    one.control("pause")
    one.fire(moments(one)[-1])
    assert one.take() == []
    one.control("resume")
    assert answer(one, {"done": True}) == "r.2"


def test_a_rule_on_a_repeat_fires_for_a_turn_or_for_the_whole() -> None:
    one = WatchedDriver("one")
    when = {"task": "r", "event": "failed", "whole": True}
    rule = {"name": "tell", "when": when, "edit": [{"add_task": {"id": "t", "tool": "t.pure"}}], "reason": "in vain"}
    one.submit(made(repeated(until(max=1)), rules=[rule]))
    answer(one, {"done": False})
    assert answer(one, {}) == "t"
