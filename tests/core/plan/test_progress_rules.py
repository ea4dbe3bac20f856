"""Rules on progress: a task whose program reports that nothing good comes of it is stopped by its plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.core.answer.why import explain
from starloom.core.plan.progress_rules import APART_MS, POINTS_MOST
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.vocabulary import Code, Reason, Repeatability
from tests.core.watched import WatchedDriver

KNOWN = {"t.pure": Repeatability.PURE, "t.never": Repeatability.NEVER, "t.idem": Repeatability.IDEMPOTENT}


def checked(*tasks: dict[str, Any], **fields: Any) -> Any:
    return check_plan({"starloom": 1, "name": "Train", "tasks": list(tasks), **fields}, known_tools=KNOWN)


def made(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = checked(*tasks, **fields)
    assert check.plan is not None, check.faults
    plan: LoweredPlan = check.plan
    return plan


def arms(stop_when: dict[str, Any], times: int = 3, **fields: Any) -> dict[str, Any]:
    return {"id": "arm", "tool": "t.pure", "for_each": {"times": times}, "stop_when": stop_when, **fields}


def alone(stop_when: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "a", "tool": "t.pure", "stop_when": stop_when, **fields}


HIGH = {"progress": "/loss", "op": "gt", "value": 2}


def report(one: WatchedDriver, sent: SendDispatch, value: str, lines: int = 1, **fields: Any) -> None:
    one.now_ms += 1_000
    device = fields.pop("device", sent.device)
    item = i.ProgressReported(
        id=one.ident(), by=f"device:{device}", device=device, at=sent.at, lines=lines, value=value, **fields
    )
    answer = one.do(item)
    assert not answer.faults


def begun(one: WatchedDriver, plan: LoweredPlan, **fields: Any) -> list[SendDispatch]:
    one.submit(plan, **fields)
    sent = sorted(one.take(), key=lambda item: item.at.task)
    for item in sent:
        one.started(item)
    return sent


def test_a_task_ends_once_what_it_reports_is_hopeless_and_counts_for_nothing() -> None:
    one = WatchedDriver("one")
    plan = made(
        alone(HIGH, optional=False),
        {"id": "b", "tool": "t.pure"},
        {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "a", "output": "/x"}}},
    )
    first, second = begun(one, plan)
    report(one, first, "1.5")
    assert not one.cancels
    report(one, first, "2.5")
    (order,) = one.cancels
    assert (order.at, one.states()["a"]) == (first.at, "cancelling")
    report(one, first, "9")
    assert len(one.cancels) == 1
    one.receipt(first)
    run = one.shard.constellations["c1"]
    record = run.tasks["a"]
    assert (record.state, record.reason, run.tasks["use"].reason) == ("cancelled", Reason.HOPELESS, Reason.NOT_CHOSEN)
    one.result(second, {})
    assert one.state() == "succeeded"
    answer = run.tables["answer"][""]
    assert "Stopped as hopeless: a" in answer.sentence
    assert "stopped as hopeless by its plan: loss was 2.5 after 2 reports" in explain(one.shard, "c1", "a").sentence
    one.folded_equals_state()


def test_arms_are_measured_by_the_best_after_as_many_reports() -> None:
    one = WatchedDriver("one")
    plan = made(
        arms({"progress": "/loss", "worse_than_best_by": 0.2, "after": {"n": 3}}),
        {"id": "best", "tool": "t.pure", "inputs": {"rows": {"from": "arm", "all": True}}},
    )
    good, fair, bad = begun(one, plan)
    report(one, good, "0.9", 2)
    report(one, good, "0.1", 8)
    report(one, bad, "1.0", 2)
    assert not one.cancels, "it has not reported three times"
    report(one, bad, "0.95", 2)
    assert not one.cancels, "the good one had 0.9 after so many reports"
    report(one, fair, "0.25", 12)
    assert not one.cancels
    report(one, bad, "0.8", 8)
    assert [item.at.task for item in one.cancels] == ["arm.3"]
    one.receipt(bad)
    one.result(good, {"loss": 0.1})
    one.result(fair, {"loss": 0.2})
    (best,) = one.take()
    assert [source.task for source in best.inputs[0].sources] == ["arm.1", "arm.2"]
    one.result(best, {})
    assert (one.states()["arm"], one.state()) == ("succeeded", "succeeded")


def test_an_arm_that_begins_later_is_measured_by_what_the_first_had_then() -> None:
    one = WatchedDriver("one", slots=1)
    one.submit(made(arms({"progress": "/loss", "worse_than_best_by": 0, "best": "low"}, times=2)))
    (first,) = one.take()
    one.started(first)
    for step, value in enumerate(("0.9", "0.5", "0.1")):
        report(one, first, value, 1 + step)
    one.result(first, {})
    (second,) = one.take()
    one.started(second)
    report(one, second, "0.8")
    assert not one.cancels
    report(one, second, "0.6", 2)
    assert [item.at.task for item in one.cancels] == ["arm.2"]


def test_a_list_of_which_nothing_is_left_has_failed() -> None:
    one = WatchedDriver("one")
    for sent in begun(one, made(arms(HIGH))):
        report(one, sent, "3")
        one.receipt(sent)
    run = one.shard.constellations["c1"]
    assert (run.groups["arm"].state, run.groups["arm"].code, one.state()) == ("failed", Code.GROUP_NEED, "failed")


def test_a_result_that_comes_before_the_stop_counts() -> None:
    one = WatchedDriver("one")
    (sent,) = begun(one, made(alone(HIGH)))
    report(one, sent, "3")
    one.result(sent, {})
    assert (one.states()["a"], one.state()) == ("succeeded", "succeeded")


def test_time_may_have_to_pass_first() -> None:
    one = WatchedDriver("one")
    (sent,) = begun(one, made(alone({**HIGH, "after": {"s": 5}})))
    for _ in range(4):
        report(one, sent, "3")
    assert not one.cancels
    report(one, sent, "3")
    assert len(one.cancels) == 1


def test_work_that_may_not_be_repeated_is_never_cut() -> None:
    refused = checked(alone(HIGH, tool="t.never"))
    assert [fault.code for fault in refused.faults] == [Code.NOT_REPEATABLE]
    one = WatchedDriver("one")
    unchecked = check_plan({"starloom": 1, "name": "x", "tasks": [alone(HIGH, tool="t.never")]})
    assert unchecked.plan is not None
    (sent,) = begun(one, unchecked.plan)
    report(one, sent, "3")
    assert not one.cancels


def test_a_report_of_another_device_an_old_attempt_or_too_often_counts_for_nothing() -> None:
    one = WatchedDriver("one", "two")
    (sent,) = begun(one, made(alone(HIGH)))
    events = len(one.events)
    other = next(name for name in ("d-one", "d-two") if name != sent.device)
    report(one, sent, "9", device=other)
    old = sent.at
    report(one, SendDispatch(**{**_fields(sent), "at": type(old)(**{**_at(old), "attempt": 7})}), "9")
    report(one, SendDispatch(**{**_fields(sent), "at": type(old)(**{**_at(old), "incarnation": 9})}), "9")
    assert (len(one.events), one.cancels) == (events, [])
    report(one, sent, "1")
    one.now_ms -= 1_000
    before = len(one.events)
    one.now_ms += APART_MS - 1 - 1_000
    report(one, sent, "9")
    assert (len(one.events), one.cancels) == (before, [])


def _fields(sent: SendDispatch) -> dict[str, Any]:
    return {name: getattr(sent, name) for name in sent.__struct_fields__}


def _at(at: Any) -> dict[str, Any]:
    return {name: getattr(at, name) for name in at.__struct_fields__}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "[1]", "{}", "true", "null", "", '"' + "x" * 400 + '"'])
def test_what_is_no_value_changes_nothing(value: str) -> None:
    one = WatchedDriver("one")
    (sent,) = begun(one, made(alone({"progress": "/loss", "op": "ne", "value": 1})))
    before = len(one.events)
    report(one, sent, value)
    assert (len(one.events), one.cancels) == (before, [])


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100)), min_size=1, max_size=120))
def test_what_is_kept_is_bounded_and_holds_the_newest(reports: list[tuple[int, int]]) -> None:
    one = WatchedDriver("one", whole=False)
    (sent,) = begun(one, made(alone({"progress": "/loss", "op": "gt", "value": 1000})))
    for lines, value in reports:
        report(one, sent, str(value), lines)
    progress = one.shard.constellations["c1"].attempt("a", 1).progress
    assert progress is not None
    counts = [point.lines for point in progress.points]
    assert len(counts) <= POINTS_MOST
    assert counts == sorted(counts)
    assert (progress.lines, progress.points[-1].value) == (sum(lines for lines, _ in reports), str(reports[-1][1]))


@pytest.mark.parametrize(
    ("stop_when", "fields", "place"),
    [
        ({"progress": "/a/b", "op": "gt", "value": 1}, {}, "tasks[0].stop_when.progress"),
        ({"progress": "", "op": "gt", "value": 1}, {}, "tasks[0].stop_when.progress"),
        ({"progress": "/" + "x" * 65, "op": "gt", "value": 1}, {}, "tasks[0].stop_when.progress"),
        ({"progress": "/loss"}, {}, "tasks[0].stop_when"),
        ({"progress": "/loss", "op": "gt"}, {}, "tasks[0].stop_when.value"),
        ({"progress": "/loss", "worse_than_best_by": 1}, {}, "tasks[0].stop_when.worse_than_best_by"),
        ({"progress": "/loss", "worse_than_best_by": -1}, {}, "tasks[0].stop_when.worse_than_best_by"),
        ({**HIGH, "best": "middle"}, {}, "tasks[0].stop_when.best"),
        ({**HIGH, "after": {"n": 0}}, {}, "tasks[0].stop_when.after.n"),
        (HIGH, {"repeat": {"max": 3, "every_s": 5}}, "tasks[0].stop_when"),
    ],
)
def test_a_rule_that_says_nothing_sound_is_refused_with_its_place(
    stop_when: dict[str, Any], fields: dict[str, Any], place: str
) -> None:
    assert place in [fault.place for fault in checked(alone(stop_when, **fields)).faults]
