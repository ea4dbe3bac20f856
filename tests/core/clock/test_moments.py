"""Moments that a result names: a task waits for its time without a slot, and hostile times are bounded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.core.answer.why import explain
from starloom.core.state.orders import ArmTimer
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.vocabulary import Code, Outcome, Reason
from tests.core.plan.test_inverse import undo
from tests.core.plan.test_review import claim, propose
from tests.core.watched import WatchedDriver


def made(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Moment", "tasks": list(tasks), **fields})
    assert check.plan is not None, check.faults
    return check.plan


def waits(**fields: Any) -> dict[str, Any]:
    return {"id": "w", "tool": "t.pure", "not_before": {"from": "note", "output": "/at", **fields}}


NOTE = {"id": "note", "tool": "t.pure"}


def text_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def noted(value: Any, **fields: Any) -> WatchedDriver:
    """Return a driver after the note has given a value as its time."""
    one = WatchedDriver("one", slots=1)
    one.now_ms = 1_790_000_000_000
    one.submit(made(NOTE, waits(**fields)))
    (sent,) = one.take()
    one.result(sent, {"at": value(one.now_ms) if callable(value) else value})
    return one


def moments(one: WatchedDriver) -> list[ArmTimer]:
    return [timer for timer in one.timers if timer.kind == "moment"]


def begun(one: WatchedDriver) -> list[str]:
    return [sent.at.task for sent in one.take()]


def test_a_task_begins_at_the_time_that_a_result_names() -> None:
    one = noted(lambda now: text_of(now + 60_000))
    assert begun(one) == []
    record = one.shard.constellations["c1"].tasks["w"]
    assert (str(record.state), record.reason, record.not_before_ms) == ("ready", Reason.MOMENT, one.now_ms + 60_000)
    assert one.shard.fleet.used.get("d-one", 0) == 0
    assert "waits for its time" in explain(one.shard, "c1", "w").sentence
    one.restart()
    one.fire(moments(one)[-1])
    assert begun(one) == ["w"]
    one.folded_equals_state()


def test_a_task_begins_at_the_time_that_is_written() -> None:
    one = WatchedDriver("one", slots=2)
    one.now_ms = 1_790_000_000_000
    at = {"at": text_of(one.now_ms + 60_000)}
    one.submit(made(NOTE, {"id": "w", "tool": "t.pure", "not_before": at}))
    assert begun(one) == ["note"]
    assert "waits for its time" in explain(one.shard, "c1", "w").sentence
    one.restart()
    one.fire(moments(one)[-1])
    assert begun(one) == ["w"]
    one.folded_equals_state()


def test_a_time_that_has_passed_begins_at_once_or_fails_as_the_plan_says() -> None:
    assert begun(noted(lambda now: text_of(now - 60_000))) == ["w"]
    one = noted(lambda now: text_of(now - 60_000), past="fail")
    assert one.shard.constellations["c1"].tasks["w"].code is Code.MOMENT_OUTSIDE
    assert "has passed" in explain(one.shard, "c1", "w").sentence
    assert one.state() == "failed"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("2099-01-01 00:00Z", "ahead"),
        (4_070_908_800, "ahead"),
        (1e300, "no number of seconds"),
        (-1e300, "no number of seconds"),
        (True, "is no time"),
        (None, "is no time"),
        (["2026-11-26 12:00Z"], "is no time"),
        ("soon", "no time such as"),
        ("2026-11-26", "no time such as"),
        ("2026-13-40 12:00Z", "no time of the calendar"),
        ("9999-12-31 23:59-23:59", "ahead"),
        ("2026-11-26 12:00\x1b[2K", "no time such as"),
        ("1" * 100_000, "no time such as"),
        ("2026-11-26 12:30", "names no zone"),
    ],
)
def test_a_result_that_names_no_allowed_time_fails_the_task(value: Any, words: str) -> None:
    one = noted(value)
    assert begun(one) == []
    assert one.shard.constellations["c1"].tasks["w"].code is Code.MOMENT_OUTSIDE
    sentence = explain(one.shard, "c1", "w").sentence
    assert words in sentence
    assert sentence.isprintable()
    assert len(sentence) < 500
    one.folded_equals_state()


def test_a_time_without_an_offset_is_one_of_the_zone() -> None:
    one = noted("2026-09-21 16:30", zone="Europe/Berlin")
    record = one.shard.constellations["c1"].tasks["w"]
    assert record.not_before_ms == int(datetime(2026, 9, 21, 14, 30, tzinfo=UTC).timestamp() * 1000)


def test_the_bound_is_that_of_the_plan() -> None:
    late = noted(lambda now: text_of(now + 3_600_000), within_s=60)
    assert late.shard.constellations["c1"].tasks["w"].code is Code.MOMENT_OUTSIDE
    assert begun(noted(lambda now: text_of(now + 59_000), within_s=60)) == []


def test_each_child_of_a_group_waits_for_the_time() -> None:
    one = WatchedDriver("a", "b")
    one.now_ms = 1_790_000_000_000
    one.submit(made(NOTE, {**waits(), "for_each": {"devices": {"os": "linux"}}}))
    (sent,) = one.take()
    one.result(sent, {"at": (one.now_ms + 5_000) / 1000})
    assert begun(one) == []
    for timer in moments(one):
        one.fire(timer)
    assert begun(one) == ["w.d-a", "w.d-b"]
    one.folded_equals_state()


def test_a_new_result_sets_a_new_time() -> None:
    one = noted(lambda now: text_of(now + 60_000))
    assert not one.control("retry_from", "note").faults
    (sent,) = one.take()
    assert one.states()["w"] == "waiting"
    one.result(sent, {"at": text_of(one.now_ms + 5_000)})
    due = one.shard.constellations["c1"].tasks["w"].not_before_ms
    assert due == one.now_ms + 5_000
    one.fire(moments(one)[-1])
    assert begun(one) == ["w"]


@pytest.mark.parametrize(("action", "state"), [("skip", "skipped"), ("cancel", "cancelled")])
def test_a_task_that_waits_for_its_time_can_be_stopped(action: str, state: str) -> None:
    one = noted(lambda now: text_of(now + 60_000))
    assert not one.control(action, "w").faults
    assert one.states()["w"] == state
    one.fire(moments(one)[-1])
    assert one.ignored["the timer is stale"] == 1
    assert begun(one) == []


def test_a_failed_note_skips_what_waits_for_its_time() -> None:
    one = WatchedDriver("one")
    one.submit(made(NOTE, waits()))
    (sent,) = one.take()
    one.result(sent, None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert one.states()["w"] == "skipped"


def test_an_edit_adds_a_task_with_a_time_and_its_undo_removes_it() -> None:
    one = WatchedDriver("one")
    one.now_ms = 1_790_000_000_000
    one.submit(made(NOTE, {"id": "last", "person": "Well?"}))
    (sent,) = one.take()
    one.result(sent, {"at": text_of(one.now_ms + 60_000)})
    faults, operations = check_edit([{"add_task": waits()}])
    assert not faults
    assert not one.edit(*operations).faults
    assert one.shard.constellations["c1"].tasks["w"].reason is Reason.MOMENT
    faults, removal = check_edit([{"remove_dependency": {"id": "note>w:$moment"}}])
    assert not faults
    assert "is the time of w" in one.edit(*removal).faults[0].reason
    assert not undo(one, 2).faults
    assert "w" not in one.states()
    one.folded_equals_state()


@given(ahead_s=st.integers(-100, 100), within_s=st.integers(1, 50), past=st.sampled_from(["go", "fail"]))
def test_a_task_waits_begins_or_fails_by_its_time(ahead_s: int, within_s: int, past: str) -> None:
    one = noted(lambda now: (now // 1000) + ahead_s, within_s=within_s, past=past)
    state = one.states()["w"]
    if ahead_s > within_s or (ahead_s < 0 and past == "fail"):
        assert (state, begun(one)) == ("failed", [])
    elif ahead_s > 0:
        assert begun(one) == []
        one.fire(moments(one)[-1])
        assert begun(one) == ["w"]
    else:
        assert begun(one) == ["w"]
    one.folded_equals_state()


def test_a_review_does_not_let_a_task_begin_before_its_time() -> None:
    one = WatchedDriver("one")
    one.now_ms = 1_790_000_000_000
    one.submit(made(NOTE, waits(), policy={"review": "always"}))
    (sent,) = one.take()
    one.result(sent, {"at": text_of(one.now_ms + 3_600_000)})
    record = one.shard.constellations["c1"].tasks["w"]
    assert record.reason is Reason.REVIEW
    claim(one)
    assert not propose(one).faults
    record = one.shard.constellations["c1"].tasks["w"]
    assert (record.reason, record.not_before_ms) == (Reason.MOMENT, one.now_ms + 3_600_000)
    assert begun(one) == []
    one.fire(moments(one)[-1])
    assert begun(one) == ["w"]
    one.folded_equals_state()
