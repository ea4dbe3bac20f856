"""What passes its time: a deaf device, a task that takes long over all its attempts, an attempt nobody names."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.run.timeouts import KINDS, UNNAMED, passed
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendCancel, SendDispatch, SendResume
from starloom_protocol.records.entities import OnAbsence, Retry, Timeouts
from starloom_protocol.vocabulary import Attention, Code, DeviceLink, EffectSeen, Outcome, Reason
from starloom_protocol.wire.frames import Receipt
from tests.builders import NONE, Driver, plan, task
from tests.core.watched import WatchedDriver

MARGIN_MS = 20_000


def later(driver: Driver, ms: int) -> list[str]:
    """Let time pass and give the core what a sweep finds; return the kinds of what it found."""
    driver.now_ms += ms
    found = list(passed(driver.shard, driver.now_ms))
    for timer in found:
        driver.fire(timer)
    return [timer.kind for timer in found]


def running(*devices: str, **fields: Any) -> tuple[Driver, SendDispatch]:
    driver = WatchedDriver(*(devices or ("one",)))
    driver.submit(plan(task("a", **fields)))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    return driver, dispatch


def kinds(driver: Driver) -> list[str]:
    return [event.kind for event in driver.events]


def receipt(driver: Driver, dispatch: SendDispatch, effect: EffectSeen = NONE) -> None:
    frame = Receipt(at=dispatch.at, report=1, effect=effect)
    by = f"device:{dispatch.device}"
    driver.do(i.ReceiptReported(id=driver.ident(), by=by, device=dispatch.device, frame=frame))


def test_work_that_its_device_does_not_end_in_time_is_told_to_stop_and_its_receipt_is_a_timeout() -> None:
    driver, dispatch = running(timeouts=Timeouts(start_to_close_s=60))
    assert later(driver, 60_000 + MARGIN_MS - 1) == []
    assert later(driver, 1) == ["start_to_close"]
    record = driver.shard.constellations["c1"].tasks["a"]
    assert (record.state, record.reason) == ("running", Reason.OVERDUE)
    assert [(item.at, item.device) for item in driver.sent if isinstance(item, SendCancel)] == [(dispatch.at, "d-one")]
    assert later(driver, 1_000) == []
    receipt(driver, dispatch)
    attempt = driver.shard.constellations["c1"].attempts["a/1"]
    assert (attempt.end, attempt.code) == ("timeout", Code.TIMED_OUT)
    assert driver.states()["a"] == "ready"
    driver.fire(driver.timers[-1])
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_a_receipt_after_a_silence_in_between_is_a_timeout_all_the_same() -> None:
    driver, dispatch = running(
        timeouts=Timeouts(start_to_close_s=60), retry=Retry(max_attempts=1), on_absence=OnAbsence(then="wait")
    )
    later(driver, 60_000 + MARGIN_MS)
    driver.expire(dispatch.at)
    record = driver.shard.constellations["c1"].tasks["a"]
    assert (record.reason, bool(record.absent_since_ms)) == (Reason.OVERDUE, True)
    answer = driver.connect("one")
    assert [entry["action"] for entry in answer.value["entries"]] == ["cancel"]
    record = driver.shard.constellations["c1"].tasks["a"]
    assert (record.reason, record.absent_since_ms) == (Reason.OVERDUE, 0)
    receipt(driver, dispatch)
    attempt = driver.shard.constellations["c1"].attempts["a/1"]
    assert (attempt.end, attempt.code) == ("timeout", Code.TIMED_OUT)
    assert driver.states()["a"] == "failed", "it was its one try"
    driver.folded_equals_state()


def test_an_ok_after_a_timeout_is_no_success() -> None:
    driver, dispatch = running(timeouts=Timeouts(start_to_close_s=60), retry=Retry(max_attempts=1))
    later(driver, 60_000 + MARGIN_MS)
    driver.result(dispatch, 1)
    attempt = driver.shard.constellations["c1"].attempts["a/1"]
    assert (driver.states()["a"], attempt.end, attempt.code) == ("failed", "timeout", Code.TIMED_OUT)
    assert "ended well after it was told to stop" in attempt.detail
    assert (attempt.late or "").startswith("ok:")
    assert attempt.value is None
    driver.folded_equals_state()


def test_a_late_ok_of_pure_work_is_tried_again() -> None:
    driver, dispatch = running(timeouts=Timeouts(start_to_close_s=60))
    later(driver, 60_000 + MARGIN_MS)
    driver.result(dispatch, 1)
    assert driver.states()["a"] == "ready"
    driver.fire(driver.timers[-1])
    assert driver.run() == "succeeded"


def test_a_late_ok_of_work_with_an_effect_is_not_run_again() -> None:
    driver, dispatch = running(tool="t.never", timeouts=Timeouts(start_to_close_s=60), retry=Retry(max_attempts=3))
    later(driver, 60_000 + MARGIN_MS)
    driver.result(dispatch, 1)
    attempt = driver.shard.constellations["c1"].attempts["a/1"]
    assert (driver.states()["a"], attempt.effect) == ("failed", EffectSeen.MAYBE)


def test_an_ok_from_a_device_that_was_away_counts() -> None:
    driver, dispatch = running(timeouts=Timeouts(start_to_close_s=60))
    driver.do(i.DeviceDisconnected(id=driver.ident(), by="device:d-one", device="d-one", reason="cut", session=1))
    later(driver, 500_000)
    driver.connect("one")
    assert later(driver, 1_000) == ["start_to_close"]
    driver.result(dispatch, 1)
    assert driver.states()["a"] == "succeeded"


@pytest.mark.parametrize(("tool", "state"), [("t.pure", "ready"), ("t.never", "unknown")])
def test_what_is_told_to_stop_and_does_not_goes_on_elsewhere_or_may_have_happened(tool: str, state: str) -> None:
    driver, _dispatch = running(tool=tool, timeouts=Timeouts(start_to_close_s=60))
    later(driver, 60_000 + MARGIN_MS)
    assert later(driver, MARGIN_MS - 1) == []
    assert later(driver, 1) == ["stop_overdue"]
    assert driver.states()["a"] == state
    assert (Attention.TASK_UNKNOWN in driver.shard.constellations["c1"].head.attention) == (state == "unknown")


def test_what_had_ended_well_before_it_heard_that_it_was_stopped_leaves_a_trace() -> None:
    driver, dispatch = running(timeouts=Timeouts(start_to_close_s=60))
    later(driver, 60_000 + MARGIN_MS)
    later(driver, MARGIN_MS)
    driver.result(dispatch, 1)
    attempt = driver.shard.constellations["c1"].attempts["a/1"]
    assert attempt.end == "timeout"
    assert (attempt.late or "").startswith("ok:")
    assert kinds(driver)[-1] == "result_late"
    driver.result(dispatch, 1)
    assert kinds(driver).count("result_late") == 1


def test_work_with_an_effect_that_was_stopped_late_is_not_run_again_by_itself() -> None:
    driver, dispatch = running(tool="t.never", timeouts=Timeouts(start_to_close_s=60), retry=Retry(max_attempts=3))
    later(driver, 60_000 + MARGIN_MS)
    receipt(driver, dispatch, EffectSeen.MAYBE)
    assert driver.states()["a"] == "failed"


def test_a_device_that_cannot_hear_is_not_told_and_is_told_when_it_is_back() -> None:
    driver, dispatch = running(tool="t.never", timeouts=Timeouts(start_to_close_s=60))
    device = driver.shard.fleet.devices["d-one"]
    driver.do(i.DeviceDisconnected(id=driver.ident(), by="device:d-one", device="d-one", reason="cut", session=1))
    assert driver.shard.fleet.devices["d-one"].link is DeviceLink.OFFLINE
    assert later(driver, 500_000) == []
    answer = driver.connect("one")
    assert answer.value["entries"][0]["action"] == "continue"
    assert later(driver, 0) == ["start_to_close"]
    assert driver.connect("one").value["entries"][0]["action"] == "cancel"
    driver.now_ms += 5
    assert device.name == "one"
    receipt(driver, dispatch)
    assert driver.states()["a"] == "failed"


def test_a_long_absence_that_policy_waits_for_does_not_count_as_taken() -> None:
    limits = Timeouts(schedule_to_close_s=100, start_to_close_s=10_000)
    driver, dispatch = running(tool="t.never", timeouts=limits)
    driver.now_ms += 50_000
    driver.expire(dispatch.at)
    assert later(driver, 900_000) == []
    driver.connect("one")
    assert later(driver, 49_999) == []
    assert later(driver, 1) == ["schedule_to_close"]
    assert driver.shard.constellations["c1"].head.attention == [Attention.TAKES_LONG]
    assert later(driver, 1_000) == []
    driver.result(dispatch, 1)
    assert driver.shard.constellations["c1"].head.attention == []


def test_the_time_of_all_attempts_of_a_round_counts_and_the_attention_ends_with_it() -> None:
    limits = Timeouts(schedule_to_close_s=100)
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", timeouts=limits), task("b", "x=a"), task("other", tool="t.never")))
    first = next(item for item in driver.take() if item.at.task == "a")
    driver.started(first)
    driver.now_ms += 60_000
    driver.result(first, outcome=Outcome.ERROR, code=Code.NETWORK)
    driver.now_ms += 600_000
    driver.fire(next(timer for timer in driver.timers if timer.kind == "backoff"))
    (second,) = driver.take()
    driver.started(second)
    assert later(driver, 39_999) == []
    assert later(driver, 1) == ["schedule_to_close"]
    driver.result(second, 1)
    head = driver.shard.constellations["c1"].head
    assert Attention.TAKES_LONG in head.attention
    assert later(driver, 1) == ["schedule_to_close"]
    assert driver.shard.constellations["c1"].head.attention == []
    assert kinds(driver).count("attention_raised") == kinds(driver).count("attention_cleared") == 1
    driver.folded_equals_state()


def test_a_pause_does_not_count_as_taken() -> None:
    driver, dispatch = running(timeouts=Timeouts(schedule_to_close_s=100, start_to_close_s=10_000))
    driver.now_ms += 50_000
    driver.control("pause")
    assert later(driver, 900_000) == []
    driver.control("resume")
    assert driver.shard.constellations["c1"].tasks["a"].stood_ms == 900_000
    assert later(driver, 49_999) == []
    assert later(driver, 1) == ["schedule_to_close"]
    driver.result(dispatch, 1)
    driver.folded_equals_state()


def test_what_was_absent_before_it_was_tried_again_does_not_count() -> None:
    limits = Timeouts(schedule_to_close_s=100)
    driver, dispatch = running("one", "two", timeouts=limits, on_absence=OnAbsence(after_s=300, then="reassign"))
    driver.expire(dispatch.at)
    driver.fire(next(timer for timer in driver.timers if timer.kind == "absence"))
    (second,) = driver.take()
    driver.started(second)
    assert driver.shard.constellations["c1"].tasks["a"].stood_ms == 300_000
    assert later(driver, 99_999) == []


@pytest.mark.parametrize(("stage", "order"), [("leased", SendDispatch), ("running", SendResume), ("stop", SendCancel)])
def test_an_attempt_that_its_device_does_not_name_is_told_to_it_again(stage: str, order: type) -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    if stage != "leased":
        driver.started(dispatch)
    if stage == "stop":
        driver.control("cancel", "a")
    fired = named(driver, dispatch)
    seen = len(driver.events)
    driver.do(fired)
    assert [type(effect) for effect in driver.sent] == [order]
    assert driver.sent[0].device == "d-one"
    assert driver.sent[0].at == dispatch.at
    assert len(driver.events) == seen


def fired(driver: Driver, kind: str, name: str = "c1", attempt: int = 1) -> i.TimerFired:
    return i.TimerFired(
        id=driver.ident(), by="engine", constellation=name, entity="a", kind=kind, attempt=attempt, round=1
    )


def named(driver: Driver, dispatch: SendDispatch) -> Any:
    return fired(driver, UNNAMED, attempt=dispatch.at.attempt)


def test_a_moment_that_state_has_left_behind_changes_nothing() -> None:
    driver, dispatch = running(timeouts=Timeouts(start_to_close_s=60))
    seen = len(driver.events)
    for kind in sorted(KINDS - {UNNAMED}):
        driver.do(
            i.TimerFired(id=driver.ident(), by="engine", constellation="c1", entity="a", kind=kind, attempt=1, round=1)
        )
    assert len(driver.events) == seen
    driver.result(dispatch, 1)
    seen = len(driver.events)
    for kind in sorted(KINDS):
        driver.do(
            i.TimerFired(id=driver.ident(), by="engine", constellation="c1", entity="a", kind=kind, attempt=1, round=1)
        )
        driver.do(
            i.TimerFired(id=driver.ident(), by="engine", constellation="c1", entity="a", kind=kind, attempt=9, round=1)
        )
        driver.do(fired(driver, kind, name="gone"))
    assert len(driver.events) == seen


def test_only_the_attempts_of_this_round_count() -> None:
    driver, dispatch = running(timeouts=Timeouts(schedule_to_close_s=100))
    driver.now_ms += 90_000
    driver.result(dispatch, 1)
    driver.control("retry_from", "a")
    (second,) = driver.take()
    driver.started(second)
    assert later(driver, 99_999) == []
    assert later(driver, 1) == ["schedule_to_close"]


def test_a_silence_during_a_pause_is_counted_out_once() -> None:
    driver, dispatch = running(tool="t.never", timeouts=Timeouts(schedule_to_close_s=100, start_to_close_s=10_000))
    driver.expire(dispatch.at)
    driver.control("pause")
    driver.now_ms += 500_000
    driver.control("resume")
    driver.connect("one")
    assert driver.shard.constellations["c1"].tasks["a"].stood_ms == 500_000
    assert later(driver, 99_999) == []


def test_the_attention_stays_while_anything_takes_long() -> None:
    driver, dispatch = running(timeouts=Timeouts(schedule_to_close_s=100, start_to_close_s=10_000))
    later(driver, 100_000)
    over = i.TimerFired(id=driver.ident(), by="engine", constellation="c1", entity="", kind="schedule_to_close")
    driver.do(over)
    assert driver.shard.constellations["c1"].head.attention == [Attention.TAKES_LONG]
    driver.result(dispatch, 1)


def test_a_deadline_that_a_person_has_left_behind_does_not_come_back() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")), deadline_s=50)
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.now_ms += 60_000
    driver.control("retry", "a")
    assert driver.shard.constellations["c1"].head.deadline_s == 0
    driver.restart()
    assert not [timer for timer in driver.timers if timer.kind == "deadline"]
    assert driver.run() in ("active", "succeeded")
