"""Schedules in the core: one request a moment, whoever fires it; overlap, catch-up, notices, rights."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.clock.schedules import DUE, TIMERS
from starloom.core.people.recipes.proposals import NOTICE_LABEL
from starloom.core.state import inputs as i
from starloom.core.state.apply import load, put, undo
from starloom.core.state.model import Fleet, Shard
from starloom.core.state.orders import ArmTimer
from starloom.core.state.settings import ShardSettings
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Condition, Principal, ResultSpec, SentenceSpec, decode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET, encode_event
from starloom_protocol.vocabulary import (
    CatchUp,
    Code,
    ConstellationState,
    NotifyWhen,
    Op,
    Outcome,
    Overlap,
    Role,
    ScheduleState,
)
from tests.builders import plan, task
from tests.core.clockwork import HOUR, MINUTE, Clockwork, at


def test_it_fires_at_each_moment_and_counts() -> None:
    clock = Clockwork()
    assert clock.save().due_ms == at("2026-06-01T01:00")
    for hour in (1, 2, 3):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        clock.run(clock.firings()[-1])
    assert len(clock.firings()) == 3
    assert (clock.schedule().fired, clock.schedule().skipped, clock.schedule().running) == (3, 0, {})
    last = clock.schedule().last
    assert last is not None
    assert (last.state, last.due_ms) == (ConstellationState.SUCCEEDED, at("2026-06-01T03:00"))
    clock.folded_equals_state()


def test_however_often_a_moment_is_fired_it_is_one_request() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.ALLOW)
    clock.now_ms = at("2026-06-01T01:00")
    due = ArmTimer(constellation=FLEET, due_ms=clock.now_ms, entity="s-one", kind=DUE)
    for _ in range(3):
        clock.fire(due)
        clock.settle()
    assert clock.firings() == [f"c-one-{at('2026-06-01T01:00') // 1000}"]
    assert clock.schedule().fired == 1


def test_a_day_off_fires_nothing_and_counts_as_nothing_missed() -> None:
    clock = Clockwork()
    assert clock.save(cron="0 8 * * *", except_days=["06-01", "2026-06-03/2026-06-04"]).due_ms == at("2026-06-02T08:00")
    clock.turn_to("2026-06-02T08:00")
    assert clock.schedule().due_ms == at("2026-06-05T08:00")
    clock.now_ms = at("2026-06-06T07:00")
    clock.wake_at("2026-06-06T07:00")
    assert (clock.notes("schedule_due")[-1][:20], clock.schedule().due_ms) == (
        "1 firing was missed ",
        at("2026-06-06T08:00"),
    )
    clock.folded_equals_state()


@pytest.mark.parametrize("days", [["01-01/12-31"], ["13-01"]])
def test_a_schedule_without_any_day_is_not_kept(days: list[str]) -> None:
    clock = Clockwork()
    refused = clock.ask_save(cron="0 8 * * *", except_days=days)
    assert [(one.code, one.place) for one in refused.faults] == [(Code.BAD_SCHEDULE, "except_days")]


def test_a_timer_before_the_moment_fires_nothing() -> None:
    clock = Clockwork()
    clock.save()
    clock.now_ms = at("2026-06-01T00:59")
    clock.fire(ArmTimer(constellation=FLEET, due_ms=clock.now_ms, entity="s-one", kind=DUE))
    clock.settle()
    assert clock.firings() == []


def test_the_last_moment_of_the_calendar_fires_and_none_is_due_after_it() -> None:
    clock = Clockwork()
    clock.now_ms = at("9999-12-31T22:30")
    assert clock.save().due_ms == at("9999-12-31T23:00")
    clock.turn_to("9999-12-31T23:00")
    assert (len(clock.firings()), clock.schedule().due_ms) == (1, 0)


def test_a_firing_that_is_there_already_is_not_made_again() -> None:
    """The log lost the schedule's own step, but not its constellation: the name says that it was fired."""
    clock = Clockwork()
    before = clock.save()
    clock.turn_to("2026-06-01T01:00")
    put(clock.shard, clock.shard.fleet, "schedule_course", "s-one", None)
    load(clock.shard, FLEET, clock.shard.fleet.seq, {"schedule/s-one": before})
    clock.wake_at("2026-06-01T01:00")
    assert len(clock.firings()) == 1
    assert clock.notes("schedule_fired")[-1].endswith("was there")


def test_skip_leaves_out_what_comes_while_the_one_before_goes_on() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.SKIP)
    clock.turn_to("2026-06-01T03:10")
    assert (len(clock.firings()), clock.schedule().skipped) == (1, 2)
    assert clock.notes("schedule_due")[-1] == "left out: the one before still runs"
    clock.run(clock.firings()[0])
    clock.turn_to("2026-06-01T04:00")
    assert len(clock.firings()) == 2


def test_queue_runs_them_one_after_the_other_and_is_bounded() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.QUEUE)
    clock.turn_to("2026-06-02T06:00")
    schedule = clock.schedule()
    assert (len(schedule.running), len(schedule.queued), schedule.skipped) == (1, 24, 5)
    for count in range(1, 26):
        assert len(clock.firings()) == count
        clock.run(clock.firings()[-1])
        clock.settle()
    assert (clock.schedule().queued, clock.schedule().running) == ([], {})
    assert clock.schedule().fired == 25


def test_allow_runs_them_beside_each_other_and_is_bounded() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.ALLOW)
    clock.do(i.DeviceDisconnected(id=clock.ident(), by="d", device="d-one", reason="gone", session=1))
    sizes = []
    for day in range(2, 5):
        before = len(clock.events)
        clock.turn_to(f"2026-06-0{day}T02:00")
        sizes.append(sum(len(encode_event(event)) for event in clock.events[before:] if event.stream == "fleet"))
    schedule = clock.schedule()
    assert (len(schedule.running), len(schedule.queued), schedule.skipped) == (25, 0, 49)
    assert clock.notes("schedule_due")[-1] == "left out: 25 of them run already"
    assert sizes[2] < sizes[1] + 100 < sizes[0], "each moment writes what the one before wrote"
    oldest = next(iter(schedule.running))
    assert (
        clock.news()
        == f"a firing was left out: 25 run already, and the oldest waits; starloom why {oldest} says for what"
    )
    clock.turn_to("2026-06-05T02:00")
    assert clock.news() == "", "once, while those of that time still run"
    refused = clock.order("run")
    assert [fault.code for fault in refused.faults] == [Code.CONFLICT]
    assert "25 firings" in refused.faults[0].reason
    clock.control("cancel", name=oldest)
    clock.turn_to("2026-06-05T03:00")
    assert oldest not in clock.schedule().running
    assert len(clock.schedule().running) == 25


def test_cancel_previous_waits_for_the_receipt_before_the_next_starts() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.CANCEL_PREVIOUS)
    clock.turn_to("2026-06-01T01:00")
    (dispatch,) = clock.take()
    clock.started(dispatch)
    clock.turn_to("2026-06-01T02:00")
    (first,) = clock.firings()
    assert clock.shard.constellations[first].head.state is ConstellationState.CANCELLING
    assert [cancel.at for cancel in clock.cancels] == [dispatch.at]
    clock.receipt(dispatch)
    clock.settle()
    assert [clock.shard.constellations[name].head.state for name in clock.firings()] == ["cancelled", "active"]


def test_allow_lets_them_run_beside_each_other() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.ALLOW)
    clock.turn_to("2026-06-01T03:00")
    assert len(clock.schedule().running) == 3


@pytest.mark.parametrize(
    ("catch_up", "fired", "skipped", "says"),
    [
        (CatchUp.NONE, 0, 5, "5 firings were missed while the hub was off; none is made up for"),
        (CatchUp.LAST, 1, 4, "5 firings were missed while the hub was off; the last of them runs now"),
        (CatchUp.ALL, 5, 0, "5 firings were missed while the hub was off; the last 5 of them run now"),
    ],
)
def test_what_was_missed_while_the_hub_was_off_is_made_up_for_and_said(
    catch_up: CatchUp, fired: int, skipped: int, says: str
) -> None:
    clock = Clockwork()
    clock.save(catch_up=catch_up, overlap=Overlap.ALLOW)
    clock.wake_at("2026-06-01T05:30")
    assert (clock.schedule().fired, clock.schedule().skipped) == (fired, skipped)
    assert clock.notes("schedule_due") == [says]
    notice = clock.schedule().notice
    assert notice is not None
    assert notice.text == says
    assert clock.schedule().due_ms == at("2026-06-01T06:00")


def test_the_last_is_not_made_up_for_when_the_next_is_due_anyway() -> None:
    clock = Clockwork()
    clock.save(catch_up=CatchUp.LAST)
    clock.wake_at("2026-06-01T03:00:10")
    assert clock.firings() == [f"c-one-{at('2026-06-01T03:00') // 1000}"]
    says = "2 firings were missed while the hub was off; the one that is due now takes their place"
    assert clock.notes("schedule_due") == [says]


def test_a_late_second_is_on_time_and_what_was_missed_before_it_is_not() -> None:
    clock = Clockwork()
    clock.save(catch_up=CatchUp.NONE)
    clock.wake_at("2026-06-01T03:00:59")
    assert clock.firings() == [f"c-one-{at('2026-06-01T03:00') // 1000}"]
    assert clock.schedule().skipped == 2
    assert clock.notes("schedule_due") == ["2 firings were missed while the hub was off; none is made up for"]


def test_making_up_for_all_is_bounded_to_the_newest() -> None:
    clock = Clockwork()
    clock.save(catch_up=CatchUp.ALL, overlap=Overlap.QUEUE, cron="* * * * *")
    clock.wake_at("2026-06-11T00:30:30")
    schedule = clock.schedule()
    assert len(schedule.running) + len(schedule.queued) == 24
    assert clock.notes("schedule_due")[0].startswith("1000 or more firings were missed")
    assert max(schedule.queued) == at("2026-06-11T00:29")


def test_a_change_of_the_clock_neither_loses_nor_doubles_a_night() -> None:
    for zone, night in (("Europe/Vienna", "2026-03-29"), ("Europe/Vienna", "2026-10-25")):
        clock = Clockwork(f"{night}T00:00")
        clock.save(cron="30 2 * * *", zone=zone)
        clock.turn_to(f"{night}T12:00", zone)
        assert len(clock.firings()) == 1
    for night in ("2026-03-08", "2026-11-01"):
        clock = Clockwork()
        clock.now_ms = at(f"{night}T00:00", "America/New_York")
        clock.save(cron="30 1,2 * * *", zone="America/New_York", overlap=Overlap.ALLOW)
        clock.turn_to(f"{night}T12:00", "America/New_York")
        assert len(clock.firings()) == 2


def fail(clock: Clockwork) -> None:
    (dispatch,) = clock.take()
    clock.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")


def test_a_failure_is_told_until_it_is_seen() -> None:
    clock = Clockwork()
    clock.save()
    for hour in (1, 2):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        fail(clock)
    notice = clock.schedule().notice
    assert notice is not None
    assert notice.count == 2
    assert "First cause: a" in notice.text
    assert notice.constellation == clock.firings()[-1]
    clock.order("seen")
    assert clock.news() == ""


@pytest.mark.parametrize(
    ("notify", "told"),
    [
        (NotifyWhen.NEVER, [False, False, False]),
        (NotifyWhen.FAILURE, [False, False, False]),
        (NotifyWhen.CHANGE, [False, False, True]),
        (NotifyWhen.ALWAYS, [True, True, True]),
    ],
)
def test_a_change_is_an_answer_that_differs_from_the_last_one(notify: NotifyWhen, told: list[bool]) -> None:
    clock = Clockwork()
    clock.save(notify=notify)
    found = []
    for hour, value in ((1, "up"), (2, "up"), (3, "down")):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        clock.run(clock.firings()[-1], value)
        found.append(clock.news() != "")
    assert found == told


def check_of_a_site() -> LoweredPlan:
    """Return a plan whose answer names the row, compares whether it is up, and calls a site that is down an alarm."""
    down = SentenceSpec(
        alarm=True,
        condition=Condition(op=Op.EQ, output="/rows/0/up", value="false"),
        source="a",
        text="It does not answer.",
    )
    return replace(
        plan(task("a"), name="Look"),
        results=[
            ResultSpec(compare=["up"], show="table", source="a", title="Seen"),
            ResultSpec(compare=[], output="/rows/0/ms", source="a", title="After"),
        ],
        sentences=[down, SentenceSpec(text="It is up.")],
    )


@pytest.mark.parametrize("notify", [NotifyWhen.FAILURE, NotifyWhen.CHANGE])
def test_a_check_tells_once_when_it_turns_bad_and_once_when_good(notify: NotifyWhen) -> None:
    clock = Clockwork()
    clock.save(check_of_a_site(), notify=notify)
    found = []
    for hour, up in enumerate((True, True, False, False, True, True), start=1):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        clock.run(clock.firings()[-1], {"rows": [{"ms": hour, "up": up}]})
        found.append(clock.news().partition(". ")[0])
    assert found == ["", "", "It does not answer", "", "it is well again", ""]


def test_a_check_that_is_bad_from_the_start_is_told() -> None:
    clock = Clockwork()
    clock.save(check_of_a_site(), notify=NotifyWhen.CHANGE)
    clock.turn_to("2026-06-01T01:00")
    clock.run(clock.firings()[-1], {"rows": [{"ms": 1, "up": False}]})
    notice = clock.schedule().notice
    assert notice is not None
    assert notice.text.startswith("It does not answer.")


def test_a_firing_that_fails_forgets_no_trouble() -> None:
    clock = Clockwork()
    clock.save(check_of_a_site())
    found = []
    for hour, up in enumerate((False, None, False, True), start=1):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        if up is None:
            fail(clock)
        else:
            clock.run(clock.firings()[-1], {"rows": [{"ms": hour, "up": up}]})
        found.append(clock.news() != "")
    assert found == [True, True, False, True]


def test_the_chosen_device_is_asked_to_show_it_once() -> None:
    clock = Clockwork("2026-06-01T00:30", "one", "desk")
    clock.save(plan(task("a", device="one")), notify=NotifyWhen.ALWAYS, notify_device="d-desk")
    clock.turn_to("2026-06-01T01:00")
    clock.run(clock.firings()[0])
    clock.settle()
    told = [name for name in clock.shard.constellations if name.endswith("-told")]
    assert len(told) == 1
    spec = clock.shard.constellations[told[0]].specs["tell"]
    assert spec.tool == "notify"
    assert spec.device is not None
    assert spec.device.id == "d-desk"
    assert '"title":"s-one"' in spec.args
    head = clock.shard.constellations[told[0]].head
    assert head.labels == {NOTICE_LABEL: "schedule"}
    clock.wake_at("2026-06-01T01:10")
    assert [name for name in clock.shard.constellations if name.endswith("-told")] == told


def test_a_firing_that_cannot_be_planned_is_told_and_the_next_one_fires() -> None:
    clock = Clockwork()
    clock.save(keep=False, recipe="gone")
    clock.turn_to("2026-06-01T01:00")
    (first,) = clock.firings()
    missing = i.PlanProposed(
        by="worker:w",
        constellation=first,
        fault=replace(clock.order("fly").faults[0], reason="there is no recipe gone"),
        id="x",
        job="plan-1",
        worker="w",
    )
    claimed = i.JobClaimed(by="worker:w", constellation=first, id="y", job="plan-1", ttl_ms=15_000, worker="w")
    clock.do(claimed)
    clock.do(missing)
    notice = clock.schedule().notice
    assert notice is not None
    assert notice.text == "there is no recipe gone"
    clock.turn_to("2026-06-01T02:00")
    assert len(clock.firings()) == 2


def test_a_plan_that_the_engine_refuses_spoils_no_later_firing() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.QUEUE)
    clock.shard.settings.tasks_most = 0
    clock.turn_to("2026-06-01T01:00")
    assert clock.firings() == []
    notice = clock.schedule().notice
    assert notice is not None
    assert "could not start" in notice.text
    clock.shard.settings.tasks_most = 10
    clock.turn_to("2026-06-01T02:00")
    assert len(clock.firings()) == 1


def test_a_hub_that_starts_again_arms_what_state_implies() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.QUEUE)
    clock.now_ms = at("2026-06-01T01:00")
    (due,) = [timer for timer in clock.timers if timer.kind == DUE]
    clock.fire(due)
    assert clock.schedule().queued == [at("2026-06-01T01:00")]
    assert clock.firings() == []
    clock.wake_at("2026-06-01T01:00:30")
    assert len(clock.firings()) == 1
    clock.wake_at("2026-06-01T01:00:40")
    assert len(clock.firings()) == 1
    assert clock.schedule().due_ms - clock.now_ms < HOUR + MINUTE


def test_a_revoked_token_stops_its_schedules_at_once_and_says_why() -> None:
    clock = Clockwork()
    clock.save()
    clock.do(i.TokenRevoked(by="person:ann", id="r", token="k1"))
    schedule = clock.schedule()
    assert (schedule.state, schedule.due_ms) == ("stopped", 0)
    assert schedule.stopped is not None
    assert schedule.stopped.code is Code.RIGHTS_LOST
    assert "was revoked" in schedule.stopped.reason
    clock.turn_to("2026-06-01T09:00")
    assert clock.firings() == []
    assert not clock.order("resume", owner="p-ann").faults
    clock.turn_to("2026-06-01T10:00")
    assert len(clock.firings()) == 1


def test_an_owner_who_may_only_look_fires_nothing() -> None:
    clock = Clockwork()
    clock.save(token=None)
    ann = Principal(created_ms=0, id="p-ann", name="ann", role=Role.VIEWER)
    load(clock.shard, ACCESS, 0, {"principal/p-ann": ann})
    clock.turn_to("2026-06-01T01:00")
    assert clock.firings() == []
    assert clock.notes("schedule_stopped") == ["ann, who made it, is viewer now and may not run work"]
    assert clock.order("resume", owner="p-ann").faults[0].code is Code.RIGHTS_LOST


def reloaded(clock: Clockwork) -> Fleet:
    """Return the fleet that a new owner loads from the log."""
    shard = Shard(clock.shard.settings)
    entities = dict(clock.folded[FLEET])
    load(shard, FLEET, clock.shard.fleet.seq, {key: decode_entity(key, raw) for key, raw in entities.items()})
    return shard.fleet


def overlapping(**fields: Any) -> Clockwork:
    """Return an hourly schedule of ann with a firing that runs and four that wait; bob is an owner, too."""
    clock = Clockwork()
    bob = Principal(created_ms=0, id="p-bob", name="bob", role=Role.OWNER)
    token = replace(clock.shard.access.tokens["k1"], expires_ms=at("2026-06-01T05:30"))
    load(clock.shard, ACCESS, 0, {"principal/p-bob": bob, "token/k1": token})
    clock.save(overlap=Overlap.QUEUE, **fields)
    clock.turn_to("2026-06-01T05:10")
    assert (len(clock.schedule().running), len(clock.schedule().queued)) == (1, 4)
    return clock


def to_viewer(clock: Clockwork) -> None:
    clock.do(i.RoleGiven(by="person:bob", id="r", principal="p-ann", role=Role.VIEWER, scope=Role.OWNER))


@pytest.mark.parametrize("token", [None, "k1"])
def test_t318_a_smaller_role_stops_the_schedule_and_its_waiting_firings(token: str | None) -> None:
    clock = overlapping(token=token)
    to_viewer(clock)
    schedule = clock.schedule()
    assert (schedule.state, schedule.queued, schedule.skipped) == ("stopped", [], 4)
    assert clock.news().startswith("stopped: ann, who made it, is viewer now")
    clock.run(clock.firings()[0])
    clock.settle()
    assert len(clock.firings()) == 1


def test_t318_a_token_that_expires_while_firings_wait_runs_none_of_them() -> None:
    clock = overlapping()
    clock.turn_to("2026-06-01T05:50")
    clock.run(clock.firings()[0])
    clock.settle()
    assert len(clock.firings()) == 1
    assert clock.notes("schedule_stopped") == ["the token k1, with which it was made, has expired"]


def test_t318_nobody_fires_with_rights_that_are_lost_and_a_resume_takes_them_over() -> None:
    clock = Clockwork()
    token = replace(clock.shard.access.tokens["k1"], expires_ms=at("2026-06-01T00:45"))
    load(clock.shard, ACCESS, 0, {"token/k1": token})
    clock.save(cron="0 0 1 * *")
    clock.turn_to("2026-06-01T00:50")
    (refused,) = clock.order("run").faults
    assert refused.code is Code.RIGHTS_LOST
    assert "resume" in refused.hint
    assert clock.firings() == []
    assert not clock.order("resume").faults
    assert not clock.order("run").faults
    clock.settle()
    assert len(clock.firings()) == 1


def test_t318_the_last_firings_of_a_clock_that_has_ended_need_rights_too() -> None:
    clock = overlapping()
    put(
        clock.shard,
        clock.shard.fleet,
        "schedule",
        "s-one",
        replace(clock.schedule(), due_ms=0, state=ScheduleState.STOPPED),
    )
    to_viewer(clock)
    assert clock.schedule().queued == []


@pytest.mark.parametrize("narrowed", [{"scopes": ["read"]}, {"role": Role.APPROVER}])
def test_a_token_that_may_not_run_work_fires_nothing(narrowed: dict[str, Any]) -> None:
    clock = Clockwork()
    clock.save()
    load(clock.shard, ACCESS, 0, {"token/k1": replace(clock.shard.access.tokens["k1"], **narrowed)})
    clock.turn_to("2026-06-01T01:00")
    assert clock.firings() == []
    assert clock.notes("schedule_stopped") == ["the token k1, with which it was made, may not run work"]


def test_a_session_that_has_ended_stops_nothing_but_an_expired_token_does() -> None:
    clock = Clockwork()
    clock.save(name="s-page", token=None)
    token = replace(clock.shard.access.tokens["k1"], expires_ms=at("2026-06-01T00:45"))
    clock.save(name="s-program")
    load(clock.shard, ACCESS, 0, {"token/k1": token})
    clock.turn_to("2026-06-01T01:00")
    assert [clock.shard.constellations[name].head.schedule for name in clock.firings()] == ["s-page"]
    assert clock.schedule("s-program").state == "stopped"


def test_stale_timers_find_nothing_to_do() -> None:
    clock = Clockwork()
    clock.save()
    for kind in TIMERS:
        clock.fire(ArmTimer(constellation=FLEET, due_ms=clock.now_ms, entity="s-one", kind=kind))
        clock.fire(ArmTimer(constellation=FLEET, due_ms=clock.now_ms, entity="s-gone", kind=kind))
    assert clock.firings() == []
    assert clock.ignored == {
        "no firing of the schedule may start": 1,
        "the schedule is gone": 3,
        "the schedule is not due": 1,
        "there is nothing to tell": 1,
    }


def test_a_cancel_that_is_under_way_is_not_asked_for_again() -> None:
    clock = Clockwork()
    clock.save(overlap=Overlap.CANCEL_PREVIOUS)
    clock.turn_to("2026-06-01T01:00")
    (dispatch,) = clock.take()
    clock.started(dispatch)
    clock.turn_to("2026-06-01T03:00")
    assert len(clock.cancels) == 1
    assert (clock.schedule().queued, clock.schedule().skipped) == ([at("2026-06-01T03:00")], 1)


def test_who_wants_to_hear_nothing_hears_nothing() -> None:
    clock = Clockwork()
    clock.save(notify=NotifyWhen.NEVER)
    clock.shard.settings.tasks_most = 0
    clock.wake_at("2026-06-01T05:30")
    assert clock.notes("schedule_refused") != []
    assert clock.schedule().notice is None


def test_a_hub_that_starts_again_tells_what_was_not_told_and_a_paused_one_waits() -> None:
    clock = Clockwork("2026-06-01T00:30", "one", "desk")
    clock.save(plan(task("a", device="one")), notify=NotifyWhen.ALWAYS, notify_device="d-desk")
    clock.turn_to("2026-06-01T01:00")
    clock.order("pause")
    clock.run(clock.firings()[0])
    clock.timers.clear()
    clock.shard.settings.tasks_most = 0
    clock.wake_at("2026-06-01T02:30")
    (note,) = clock.notes("schedule_told")
    assert note.startswith("not on the device: ")
    notice = clock.schedule().notice
    assert notice is not None
    assert notice.told


def test_an_owner_who_is_gone_fires_nothing_and_another_owners_schedule_goes_on() -> None:
    clock = Clockwork()
    clock.save(token=None)
    clock.save(name="s-two")
    del clock.shard.access.principals["p-ann"]
    clock.turn_to("2026-06-01T01:00")
    assert clock.notes("schedule_stopped")[0] == "ann, who made it, is not known here any more"
    again = Clockwork()
    again.save(token=None)
    again.save(name="s-two")
    again.do(i.TokenRevoked(by="person:ann", id="r", token="k1"))
    assert [again.schedule(name).state for name in ("s-one", "s-two")] == ["active", "stopped"]
    again.do(i.TokenRevoked(by="person:ann", id="r2", token="k1"))
    assert len(again.notes("schedule_stopped")) == 1


def test_each_of_two_notices_of_one_second_is_shown_on_the_device() -> None:
    clock = Clockwork("2026-06-01T00:30", "one", "desk")
    new_plan = plan(task("a", device="one"))
    clock.save(new_plan, notify=NotifyWhen.ALWAYS, notify_device="d-desk", overlap=Overlap.ALLOW)
    clock.turn_to("2026-06-01T01:00")
    clock.now_ms += 5_000
    clock.order("run")
    clock.settle()
    for dispatch in clock.take():
        clock.result(dispatch, None)
        clock.settle()
    shown = [found for name, found in clock.shard.constellations.items() if "-told" in name]
    assert len(shown) == 2
    assert {found.head.created_ms for found in shown} == {clock.now_ms}
    assert clock.notes("schedule_told") == ["", ""]


def test_a_clock_without_a_further_time_is_told_and_stops_its_schedule() -> None:
    clock = Clockwork()
    clock.save(cron="0 1 * * *", except_days=["2026-06-02/2090-01-01"])
    clock.turn_to("2026-06-01T01:00")
    (last,) = clock.firings()
    assert clock.run(last) == "succeeded"
    assert (clock.schedule().state, clock.schedule().due_ms) == ("stopped", 0)
    assert clock.news() == "its clock has no further time"
    assert clock.order("resume").faults[0].reason == "its clock has no further time"
    clock.save(change=True, cron="0 1 * * *")
    assert not clock.order("resume").faults
    assert clock.schedule().due_ms == at("2026-06-02T01:00")


def test_an_hourly_schedule_goes_on_behind_a_day_left_out_that_ends_twice() -> None:
    clock = Clockwork("2026-10-28T18:30")
    clock.save(zone="Africa/Cairo", except_days=["10-29"])
    for moment in ("2026-10-28T19:00", "2026-10-28T20:00", "2026-10-29T22:00", "2026-10-29T23:00"):
        clock.turn_to(moment)
        assert clock.run(clock.firings()[-1]) == "succeeded"
    assert (clock.schedule().state, clock.schedule().fired) == ("active", 4)


def test_a_firing_writes_the_course_of_its_schedule_and_repeats_no_terms() -> None:
    clock = Clockwork()
    days = [f"{month:02}-{day:02}" for month in (7, 8, 9) for day in range(1, 29)]
    made = clock.save(except_days=days)
    seen = len(clock.events)
    clock.turn_to("2026-06-01T01:00")
    clock.run(clock.firings()[0])
    fired = [event for event in clock.events[seen:] if event.about == made.id]
    assert [event.kind for event in fired] == ["schedule_due", "schedule_fired", "schedule_ended"]
    assert [list(event.puts) for event in fired] == [["schedule_course/s-one"]] * 3
    assert max(len(encode_event(event)) for event in fired) < 600
    schedule = clock.schedule()
    assert (schedule.fired, schedule.except_days, schedule.running) == (1, days, {})
    assert schedule.last is not None
    assert reloaded(clock).schedules == clock.shard.fleet.schedules
    clock.order("pause", reason="holiday")
    assert reloaded(clock).schedules["s-one"].paused is not None
    assert (clock.schedule().fired, clock.shard.fleet.schedule_courses) == (1, {})
    clock.order("resume")
    clock.turn_to("2026-06-01T02:00")
    assert clock.shard.fleet.schedule_courses
    clock.order("remove")
    assert (reloaded(clock).schedules, clock.shard.fleet.schedule_courses) == ({}, {})


def test_a_refused_change_takes_no_course_away() -> None:
    clock = Clockwork()
    clock.save()
    clock.turn_to("2026-06-01T01:00")
    before = clock.schedule()
    mark = len(clock.shard.journal)
    put(clock.shard, clock.shard.fleet, "schedule_course", "s-one", None)
    assert clock.schedule() != before
    undo(clock.shard, mark)
    assert clock.schedule() == before


def test_a_firing_of_an_earlier_release_is_decided_as_it_was() -> None:
    settings = settings_of(ShardSettings())
    del settings["keeps_courses"]
    clock = Clockwork(settings=with_settings(settings))
    clock.save()
    clock.turn_to("2026-06-01T01:00")
    assert (clock.schedule().fired, clock.shard.fleet.schedule_courses) == (1, {})
