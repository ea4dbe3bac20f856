"""Notices of schedules about firings that their deadline cuts, that nobody answers, or that hold up the next ones."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.stream.authors import MODEL
from starloom_protocol.vocabulary import ConstellationState, NotifyWhen, Overlap
from tests.builders import plan, task
from tests.core.clock.test_schedule_changes import EVERYWHERE, clock_answer, risky
from tests.core.clockwork import DAY, Clockwork, at

HEARD = [NotifyWhen.FAILURE, NotifyWhen.CHANGE, NotifyWhen.ALWAYS]
BACKUP = plan(task("a", tool="t.idem"), name="Backup", hash="h")


def cut_at_its_deadline(clock: Clockwork) -> None:
    (timer,) = [one for one in clock.timers if one.kind == "deadline" and one.constellation == clock.firings()[-1]]
    clock.timers.remove(timer)
    clock.now_ms = timer.due_ms
    clock.fire(timer)
    clock.settle()


def away(notify: NotifyWhen = NotifyWhen.FAILURE, overlap: Overlap = Overlap.SKIP, deadline_s: int = 0) -> Clockwork:
    """Return a nightly schedule whose only device is away."""
    clock = Clockwork()
    clock.save(BACKUP, plan_hash="h", cron="0 2 * * *", notify=notify, overlap=overlap, deadline_s=deadline_s)
    clock.do(i.DeviceDisconnected(by="d", device="d-one", id=clock.ident(), reason="gone", session=1))
    return clock


def news_by_night(clock: Clockwork, nights: int) -> dict[int, str]:
    told: dict[int, str] = {}
    for night in range(1, nights + 1):
        clock.turn_to(f"2026-06-{night:02}T02:00")
        if text := clock.news():
            told[night] = text
    return told


@pytest.mark.parametrize("notify", [*HEARD, NotifyWhen.NEVER])
def test_a_firing_that_its_deadline_ends_is_told(notify: NotifyWhen) -> None:
    clock = away(notify, deadline_s=600)
    clock.turn_to("2026-06-01T02:00")
    cut_at_its_deadline(clock)
    assert clock.shard.constellations[clock.firings()[0]].head.state is ConstellationState.CANCELLED
    assert ("Its deadline of 600 s had passed" in clock.news()) is (notify is not NotifyWhen.NEVER)


@pytest.mark.parametrize("notify", HEARD)
def test_a_firing_that_nobody_answers_is_told_with_its_reason(notify: NotifyWhen) -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.save(EVERYWHERE, plan_hash="h-restart", notify=notify, cron="0 2 * * *")
    risky(clock, "nas")
    clock.turn_to("2026-06-01T02:00")
    (timer,) = [one for one in clock.timers if one.kind == "approval"]
    clock.now_ms = timer.due_ms - 1
    clock.news()
    clock.now_ms = timer.due_ms
    clock.fire(timer)
    assert clock.news().endswith("the plan was denied: nobody answered within 24 hours, which is a no")


@pytest.mark.parametrize("denied", [False, True])
def test_a_firing_that_a_person_ends_is_no_failure(denied: bool) -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.save(EVERYWHERE, plan_hash="h-restart", cron="0 2 * * *")
    risky(clock, "nas")
    clock.turn_to("2026-06-01T02:00")
    (name,) = clock.firings()
    if denied:
        clock.do(clock_answer(clock, name, "deny"))
    else:
        clock.do(i.ControlRequested(action="cancel", by="person:ann", constellation=name, id=clock.ident()))
    assert clock.shard.constellations[name].head.state is ConstellationState.CANCELLED
    assert clock.news() == ""


def test_a_firing_that_its_successor_replaces_is_no_failure() -> None:
    clock = away(overlap=Overlap.CANCEL_PREVIOUS)
    assert news_by_night(clock, 4) == {}
    assert len(clock.firings()) == 4


def test_a_firing_that_a_model_gives_up_is_a_failure() -> None:
    clock = Clockwork()
    clock.save()
    clock.turn_to("2026-06-01T01:00")
    (name,) = clock.firings()
    clock.do(i.ControlRequested(action="cancel", by=MODEL, constellation=name, id=clock.ident()))
    for dispatch in clock.take():
        clock.receipt(dispatch)
    assert clock.news() != ""


@pytest.mark.parametrize("notify", HEARD)
def test_a_schedule_that_a_waiting_firing_blocks_tells_once(notify: NotifyWhen) -> None:
    clock = away(notify)
    told = news_by_night(clock, 30)
    assert list(told) == [2]
    (name,) = clock.firings()
    assert told[2] == f"a firing was left out: the one before waits; starloom why {name} says for what"
    assert clock.schedule().skipped == 29


def test_each_firing_that_blocks_a_schedule_is_told_of() -> None:
    clock = away()
    assert list(news_by_night(clock, 3)) == [2]
    (name,) = clock.firings()
    clock.do(i.ControlRequested(action="cancel", by="person:ann", constellation=name, id=clock.ident()))
    for night, is_told in ((4, False), (5, True), (6, False)):
        clock.turn_to(f"2026-06-{night:02}T02:00")
        assert bool(clock.news()) is is_told, night


def test_a_queue_behind_a_waiting_firing_is_told_once() -> None:
    assert news_by_night(away(overlap=Overlap.QUEUE), 9).keys() == {2}
    assert news_by_night(away(NotifyWhen.NEVER), 9) == {}


def test_a_slow_firing_is_told_of_at_the_second_moment_that_is_left_out() -> None:
    clock = Clockwork()
    clock.save()
    clock.turn_to("2026-06-01T01:00")
    (dispatch,) = clock.take()
    clock.started(dispatch)
    told = []
    for hour in (2, 3, 4):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        told.append(clock.news())
    assert told == ["", "a firing was left out: the one before has not ended", ""]


def test_a_firing_that_asks_blocks_its_schedule_with_that_reason() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.save(EVERYWHERE, plan_hash="h-restart")
    risky(clock, "nas")
    clock.turn_to("2026-06-01T02:00")
    assert clock.news() == "a firing was left out: the one before waits for the answer of a person"
    assert clock.now_ms - at("2026-06-01T02:00") < DAY
