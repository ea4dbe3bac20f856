"""What people do to schedules: limits with plain errors, changes, pauses, and what is approved once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from starloom.core.clock.schedules import PLAN_BYTES_MOST, work_digest
from starloom.core.rights.consent import beyond
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.core.state.model import Constellation
from starloom.core.state.orders import Answer
from starloom.core.state.settings import ShardSettings
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.plan import plan_hash
from starloom_protocol.records.edits import LoweredPlan, RemoveTask
from starloom_protocol.records.entities import ForEach, Policy, Selector, ToolOffer
from starloom_protocol.records.schedules import Pause
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    NO_NOTICES,
    NOTICES,
    Approval,
    CatchUp,
    Code,
    ConstellationState,
    Effect,
    NotifyWhen,
    Overlap,
    Repeatability,
    ScheduleState,
)
from tests.builders import TOOLS, plan, task
from tests.core.clockwork import LOOK, Clockwork, at

RESTART = ToolOffer(
    name="t.restart", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.CHANGE], grant="service:restart"
)


def risky(clock: Clockwork, *names: str) -> None:
    for name in names:
        clock.add_device(name, tools=[*TOOLS, RESTART])
        offer = clock.shard.fleet.offers[f"d-{name}"]
        offer.grants.append("service:restart")


EVERYWHERE = plan(
    task("all", tool="t.restart", for_each=ForEach(devices=Selector(tools=["t.restart"]))),
    name="Restart",
    hash="h-restart",
)


BOTH = plan(*EVERYWHERE.specs, task("b", tool="t.idem", device="srv"), name="Both", hash="h-both")


@pytest.mark.parametrize(
    ("fields", "code", "place", "says"),
    [
        ({"cron": "0 9 * *"}, Code.BAD_SCHEDULE, "cron", "4 fields"),
        ({"zone": "Mars/Base"}, Code.BAD_SCHEDULE, "zone", "Mars/Base"),
        ({"cron": "* * * * *"}, Code.BAD_SCHEDULE, "cron", "every 60 s; firings are at least 300 s apart"),
        ({"catch_up": CatchUp.ALL}, Code.BAD_SCHEDULE, "catch_up", "does not go with overlap skip"),
        ({"notify_device": "d-none"}, Code.UNKNOWN_DEVICE, "notify_device", "d-none"),
        ({"owner": "p-none"}, Code.RIGHTS_LOST, "", "not known"),
    ],
)
def test_what_cannot_be_kept_says_where_and_why(fields: dict[str, Any], code: Code, place: str, says: str) -> None:
    clock = Clockwork(settings=ShardSettings(schedule_apart_ms=300_000))
    owner = fields.pop("owner", None)
    if owner:
        del clock.shard.access.principals["p-ann"]
    (found,) = clock.ask_save(**fields).faults
    assert (found.code, found.place) == (code, place)
    assert says in found.reason
    assert found.hint


def test_a_device_without_a_screen_is_not_chosen_for_notices_but_may_stay() -> None:
    clock = Clockwork()
    clock.add_device("tv")
    clock.save(notify_device="d-tv")
    clock.shard.fleet.offers["d-tv"].facts[NOTICES] = NO_NOTICES
    (found,) = clock.ask_save(name="s-two", notify_device="d-tv").faults
    assert (found.code, found.place) == (Code.TOOL_UNAVAILABLE, "notify_device")
    assert "tv has nothing to show a notice on" in found.reason
    assert not clock.ask_save(change=True, notify_device="d-tv", cron="0 4 * * *").faults


def test_all_faults_are_told_at_once() -> None:
    faults = Clockwork().ask_save(cron="x", catch_up=CatchUp.ALL, notify_device="d-none").faults
    assert [fault.place for fault in faults] == ["cron", "catch_up", "notify_device"]


def test_there_is_a_limit_to_their_number_and_to_a_plan() -> None:
    clock = Clockwork(settings=ShardSettings(schedules_most=2))
    clock.save(name="s-1")
    clock.save(name="s-2")
    assert clock.ask_save(name="s-3").faults[0].code is Code.TOO_MANY_SCHEDULES
    clock.order("remove", "s-1")
    big = plan(task("a", args=canonical({"text": "x" * PLAN_BYTES_MOST})))
    assert clock.ask_save(big, name="s-3").faults[0].code is Code.PLAN_TOO_BIG
    clock.save(name="s-3")
    assert clock.ask_save(name="s-2", change=True, cron="0 1 * * *").faults == []
    assert clock.ask_save(name="s-2", change=True).faults == []


def test_a_change_keeps_its_history_and_winds_the_clock_anew() -> None:
    clock = Clockwork()
    clock.save()
    clock.turn_to("2026-06-01T01:00")
    clock.run(clock.firings()[0])
    changed = clock.save(change=True, cron="30 4 * * *", zone="Europe/Vienna")
    assert (changed.fired, changed.due_ms) == (1, at("2026-06-01T04:30", "Europe/Vienna"))
    assert changed.last is not None
    clock.turn_to("2026-06-01T04:30", "Europe/Vienna")
    assert len(clock.firings()) == 2
    assert clock.ask_save(name="s-none", change=True).faults[0].code is Code.NOT_FOUND


def test_a_paused_one_fires_nothing_and_makes_up_for_nothing() -> None:
    clock = Clockwork()
    clock.save(catch_up=CatchUp.LAST)
    assert not clock.order("pause", reason="holiday").faults
    assert clock.order("pause").faults[0].code is Code.ILLEGAL_CONTROL
    paused = Pause(at_ms=at("2026-06-01T00:30"), by="person:ann", reason="holiday")
    assert clock.schedule().paused == paused
    clock.turn_to("2026-06-01T05:30")
    assert clock.firings() == []
    assert clock.save(change=True, cron="30 * * * *").paused == paused
    clock.save(change=True)
    clock.order("resume", owner="p-ann")
    assert clock.schedule().paused is None
    assert clock.order("resume").faults[0].code is Code.ILLEGAL_CONTROL
    clock.settle()
    assert (clock.firings(), clock.schedule().due_ms) == ([], at("2026-06-01T06:00"))


def test_a_pause_of_an_earlier_release_is_decided_as_it_was() -> None:
    settings = settings_of(ShardSettings())
    del settings["names_pauses"]
    clock = Clockwork(settings=with_settings(settings))
    clock.save()
    assert not clock.order("pause").faults
    assert (clock.schedule().state, clock.schedule().paused) == (ScheduleState.PAUSED, None)


def test_a_removed_one_fires_nothing_and_what_runs_goes_on() -> None:
    clock = Clockwork()
    clock.save()
    clock.turn_to("2026-06-01T01:00")
    (running,) = clock.firings()
    assert clock.order("remove").value["running"] == [running]
    assert clock.shard.fleet.scheduled_plans == {}
    clock.turn_to("2026-06-01T03:00")
    assert clock.firings() == [running]
    assert clock.run(running) == "succeeded"


def test_it_can_be_run_now_beside_its_clock() -> None:
    clock = Clockwork()
    due = clock.save().due_ms
    clock.order("run")
    clock.settle()
    assert len(clock.firings()) == 1
    assert clock.schedule().due_ms == due
    clock.order("pause")
    clock.run(clock.firings()[0])
    clock.now_ms += 1000
    clock.order("run")
    clock.settle()
    assert len(clock.firings()) == 2


def test_a_risky_plan_is_approved_once_when_it_is_saved() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    (refused,) = clock.ask_save(EVERYWHERE).faults
    assert refused.code is Code.NEEDS_APPROVAL
    assert "may change" in refused.reason
    assert clock.ask_save(EVERYWHERE, plan_hash="other").faults[0].code is Code.PLAN_HASH_MISMATCH
    consent = clock.save(EVERYWHERE, plan_hash="h-restart").consent
    assert consent is not None
    assert (consent.devices, consent.grants, consent.effects) == (["d-srv"], ["service:restart"], [Effect.CHANGE])
    for hour in (1, 2):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        assert clock.run(clock.firings()[-1]) == "succeeded"


def test_a_device_more_asks_again_and_the_answer_holds_for_later_firings() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.save(EVERYWHERE, plan_hash="h-restart")
    risky(clock, "nas")
    clock.turn_to("2026-06-01T01:00")
    (first,) = clock.firings()
    found = clock.shard.constellations[first]
    assert found.head.state is ConstellationState.AWAITING_APPROVAL
    assert "it may now use nas" in found.questions["approve-plan"].text
    assert found.questions["approve-plan"].once_because == ""  # its answer holds for later firings
    clock.turn_to("2026-06-01T02:00")
    assert (clock.firings(), clock.schedule().skipped) == ([first], 1)
    clock.do(clock_answer(clock, first, "allow"))
    assert clock.run(first) == "succeeded"
    clock.turn_to("2026-06-01T03:00")
    assert clock.run(clock.firings()[-1]) == "succeeded"
    assert len(clock.firings()) == 2


def test_an_edit_of_one_firing_leaves_the_approval_of_its_schedule() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    before = clock.save(BOTH, plan_hash="h-both").consent
    risky(clock, "nas")
    clock.turn_to("2026-06-01T01:00")
    (first,) = clock.firings()
    edit = i.EditProposed(
        approves=True,
        base_version=1,
        by="person:ann",
        constellation=first,
        id=clock.ident(),
        operations=[RemoveTask(id="b")],
        reason="not tonight",
    )
    assert not clock.do(edit).faults
    found = clock.shard.constellations[first]
    (asked,) = found.open_questions
    assert found.questions[asked].text.endswith("Allowing it allows this firing alone.")
    assert not clock.do(clock_answer(clock, first, "allow", asked)).faults
    assert clock.run(first) == "succeeded"
    assert clock.schedule().consent == before
    put(clock.shard, clock.shard.fleet, "device", "d-nas", replace(clock.shard.fleet.devices["d-nas"], revoked=True))
    clock.turn_to("2026-06-01T02:00")
    assert clock.shard.constellations[clock.firings()[-1]].head.state is ConstellationState.ACTIVE


SORT = ToolOffer(name="data.sort", repeatability=Repeatability.PURE)
SORTED = plan(
    task("all", tool="t.restart", for_each=ForEach(devices=Selector(tools=["t.restart"]))),
    task("sort", tool="data.sort"),
    name="Restart and sort",
    hash="h-sort",
)


def test_devices_that_only_compute_are_told_apart_and_bound() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.add_device("sala-12", tools=[*TOOLS, SORT])
    consent = clock.save(SORTED, plan_hash="h-sort").consent
    assert consent is not None
    assert (consent.devices, consent.computing) == (["d-sala-12", "d-srv"], ["d-sala-12"])
    writes = ToolOffer(name="data.sort", repeatability=Repeatability.PURE, effects=[Effect.WRITE])
    clock.add_device("sala-13", tools=[*TOOLS, writes])
    clock.turn_to("2026-06-01T01:00")
    (first,) = clock.firings()
    assert "it may now use sala-13" in clock.shard.constellations[first].questions["approve-plan"].text


def test_another_device_of_an_approved_name_is_told_as_another() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.save(EVERYWHERE, plan_hash="h-restart")
    consent = clock.schedule().consent
    assert consent is not None
    fleet = clock.shard.fleet
    fleet.devices["d-gone"] = replace(fleet.devices["d-srv"], id="d-gone", revoked=True)
    given, now = replace(consent, devices=["d-gone"]), replace(consent, devices=["d-srv"])
    assert beyond(given, now, fleet) == ["the name srv now belongs to another device than the one that was approved"]


READS = plan(task("a", device=Selector(name="srv")), name="Look")


def newcomer(clock: Clockwork) -> None:
    """The device `srv` leaves, and another joins under its name."""
    fleet = clock.shard.fleet
    put(clock.shard, fleet, "device", "d-srv", replace(fleet.devices["d-srv"], revoked=True))
    clock.add_device("new")
    put(clock.shard, fleet, "device", "d-new", replace(fleet.devices["d-new"], name="srv"))


def test_a_schedule_that_only_reads_asks_before_it_goes_to_a_newcomer() -> None:
    clock = Clockwork()
    clock.add_device("srv")
    saved = clock.save(READS)
    assert (saved.consent, saved.devices) == (None, {"srv": "d-srv"})
    newcomer(clock)
    clock.turn_to("2026-06-01T01:00")
    (first,) = clock.firings()
    asked = clock.shard.constellations[first].questions["approve-plan"]
    assert "the name srv now belongs to another device than the one that was approved" in asked.text
    assert not clock.take()
    clock.do(clock_answer(clock, first, "allow"))
    assert clock.run(first) == "succeeded"
    assert clock.schedule().devices == {"srv": "d-new"}
    clock.turn_to("2026-06-01T02:00")
    assert clock.run(clock.firings()[-1]) == "succeeded"


def test_a_renamed_device_keeps_its_schedule() -> None:
    clock = Clockwork()
    clock.add_device("srv")
    clock.save(READS)
    fleet = clock.shard.fleet
    renamed = replace(fleet.devices["d-srv"], former_names=["srv"], name="nas")
    put(clock.shard, fleet, "device", "d-srv", renamed)
    clock.turn_to("2026-06-01T01:00")
    assert clock.run(clock.firings()[-1]) == "succeeded"


@pytest.mark.parametrize("change", [{"cron": "0 */2 * * *"}, {"notify_device": "d-one"}])
def test_a_change_of_other_terms_binds_a_schedule_to_no_newcomer(change: dict[str, Any]) -> None:
    clock = Clockwork()
    clock.add_device("srv")
    clock.save(READS)
    newcomer(clock)
    assert clock.save(READS, change=True, **change).devices == {"srv": "d-srv"}
    assert clock.save(READS, change=True, plan_hash=READS.hash).devices == {"srv": "d-new"}


def test_a_schedule_of_an_earlier_release_is_bound_by_its_next_firing() -> None:
    clock = Clockwork()
    clock.add_device("srv")
    put(clock.shard, clock.shard.fleet, "schedule", "s-one", replace(clock.save(READS), devices={}))
    clock.turn_to("2026-06-01T01:00")
    assert clock.run(clock.firings()[-1]) == "succeeded"
    assert clock.schedule().devices == {"srv": "d-srv"}


def test_a_plan_that_writes_is_approved_when_it_is_saved() -> None:
    clock = Clockwork()
    noting = ToolOffer(name="t.note", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.READ, Effect.WRITE])
    clock.add_device("srv", tools=[*TOOLS, noting])
    note = plan(task("note", tool="t.note"), name="Note", hash="h-note")
    (refused,) = clock.ask_save(note).faults
    assert (refused.code, "h-note" in refused.reason) == (Code.NEEDS_APPROVAL, True)
    assert clock.save(note, plan_hash="h-note").consent is not None
    clock.turn_to("2026-06-01T01:00")
    assert clock.run(clock.firings()[-1]) == "succeeded"
    clock.add_device("nas", tools=[*TOOLS, noting])
    clock.turn_to("2026-06-01T02:00")
    asked = clock.shard.constellations[clock.firings()[-1]].questions["approve-plan"]
    assert "it may now use nas" in asked.text


def clock_answer(clock: Clockwork, constellation: str, value: str, question: str = "approve-plan") -> Any:
    return i.QuestionAnswered(
        by="person:ann", constellation=constellation, id=clock.ident(), question=question, value=value
    )


def test_a_plan_that_became_risky_since_asks_though_nobody_was_asked_before() -> None:
    clock = Clockwork()
    clock.save(plan(task("a", tool="t.pure")))
    for device, offer in list(clock.shard.fleet.offers.items()):
        worse = ToolOffer(name="t.pure", repeatability=Repeatability.PURE, effects=[Effect.DESTROY])
        tools = [worse if tool.name == "t.pure" else tool for tool in offer.tools]
        put(clock.shard, clock.shard.fleet, "offer", device, replace(offer, tools=tools))
    clock.turn_to("2026-06-01T01:00")
    asked = clock.shard.constellations[clock.firings()[0]].questions["approve-plan"]
    assert "nobody has approved it for this schedule" in asked.text


def test_a_change_of_the_clock_alone_keeps_what_was_approved() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    consent = clock.save(EVERYWHERE, plan_hash="h-restart").consent
    assert clock.save(EVERYWHERE, change=True, cron="0 5 * * *").consent == consent
    other = plan(*EVERYWHERE.specs, name="Restart", hash="h-other")
    assert clock.ask_save(other, change=True).faults[0].code is Code.NEEDS_APPROVAL


def test_a_plan_that_always_asks_is_asked_for_when_saved() -> None:
    clock = Clockwork()
    always = plan(task("a"), policy=Policy(approval=Approval.ALWAYS))
    assert clock.ask_save(always).faults[0].code is Code.NEEDS_APPROVAL
    assert clock.save(always, plan_hash="h", overlap=Overlap.SKIP).state is ScheduleState.ACTIVE


def test_a_name_or_an_id_that_is_taken_is_refused() -> None:
    clock = Clockwork()
    clock.save()
    assert clock.ask_save().faults[0].code is Code.CONFLICT
    clock.save(name="s-two")
    taken = clock.do(
        i.ScheduleSaved(
            by="person:ann",
            id="t",
            keep_plan=True,
            plan=plan(task("a")),
            schedule=replace(clock.drawn("s-3"), name="s-one"),
        )
    )
    assert taken.faults[0].place == "name"


def test_a_paused_one_that_is_changed_stays_paused_and_may_lose_its_plan() -> None:
    clock = Clockwork()
    clock.save()
    clock.order("pause")
    changed = clock.save(change=True, keep=False, recipe="fleet-health")
    assert (changed.state, changed.due_ms) == (ScheduleState.PAUSED, 0)
    assert clock.shard.fleet.scheduled_plans == {}
    assert not clock.order("remove").faults


def test_controls_that_mean_nothing_are_refused() -> None:
    clock = Clockwork()
    assert clock.order("pause", "s-none").faults[0].code is Code.NOT_FOUND
    clock.save()
    assert clock.order("dance").faults[0].code is Code.ILLEGAL_CONTROL
    assert not clock.order("seen").faults
    clock.order("run")
    assert clock.order("run").faults[0].reason == "s-one has just been fired"
    clock.settle()
    assert clock.order("run").faults[0].reason == "s-one has just been fired"
    for _ in range(24):
        clock.now_ms += 1000
        clock.order("run")
    clock.now_ms += 1000
    assert clock.order("run").faults[0].reason == "24 firings of s-one wait already"
    clock.do(i.TokenRevoked(by="person:ann", id="r", token="k1"))
    refused = clock.order("run").faults[0]
    assert refused.code is Code.ILLEGAL_CONTROL
    assert "was revoked" in refused.reason


def test_what_goes_beyond_is_told_in_full() -> None:
    clock = Clockwork()
    risky(clock, "srv")
    clock.save(EVERYWHERE, plan_hash="h-restart")
    schedule = clock.schedule()
    assert schedule.consent is not None
    now = replace(
        schedule.consent, effects=[Effect.CHANGE, Effect.REACH], grants=["net:out"], hash="h", devices=["d-srv", "d-x"]
    )
    assert beyond(schedule.consent, now, clock.shard.fleet) == [
        "the plan has changed",
        "it may now use d-x",
        "it now needs net:out",
        "it may now reach",
    ]
    narrower = replace(schedule.consent, devices=[], effects=[], grants=[])
    assert beyond(schedule.consent, narrower, clock.shard.fleet) == []


def said_to(*devices: str, path: str = "in") -> LoweredPlan:
    """A plan as words make it: devices by the names that they have now, in the order of these."""
    those = [Selector(name=name) for name in sorted(devices)]
    where = those[0] if len(those) == 1 else Selector(any=those)
    params = canonical({"where": to_builtins(where)})
    note = task("note", tool="t.idem", device=where, args=canonical({"path": path}))
    new_plan = plan(note, name="Note", params=params, hash="")
    return replace(new_plan, hash=plan_hash(new_plan))


def fire_with(clock: Clockwork, moment: str, made: LoweredPlan) -> Constellation:
    """Let a firing of a schedule of words come, and give it the plan that its words make then."""
    clock.turn_to(moment)
    name = clock.firings()[-1]
    job: dict[str, Any] = {"by": "worker:w", "constellation": name, "job": "plan-1", "worker": "w"}
    clock.do(i.JobClaimed(id=clock.ident(), ttl_ms=15_000, **job))
    clock.do(i.PlanProposed(id=clock.ident(), plan=made, **job))
    return clock.shard.constellations[name]


def renamed(clock: Clockwork, device: str, name: str) -> None:
    answer = clock.do(i.DeviceControlled(action="rename", by="person:ann", device=device, id=clock.ident(), value=name))
    assert not answer.faults


@pytest.mark.parametrize("others", [(), ("nas",)])
def test_a_new_name_of_a_device_leaves_its_approval(others: tuple[str, ...]) -> None:
    clock = Clockwork()
    for device in ("kontor", *others):
        clock.add_device(device)
    made = said_to("kontor", *others)
    clock.save(made, keep=False, request="note on kontor", plan_hash=made.hash)
    renamed(clock, "d-kontor", "studio")
    run = fire_with(clock, "2026-06-01T01:00", said_to("studio", *others))
    assert (run.head.state, clock.run(run.name)) == (ConstellationState.ACTIVE, "succeeded")
    # Nor does a change of what it is called make it ask, and what was approved is kept for the next firing.
    later = said_to("studio", *others)
    clock.save(later, change=True, keep=False, request="note on kontor", name="s-one")
    renamed(clock, "d-kontor", "atelier")
    run = fire_with(clock, "2026-06-01T02:00", said_to("atelier", *others))
    assert run.head.state is ConstellationState.ACTIVE


def test_a_new_name_of_a_device_hides_no_other_plan() -> None:
    clock = Clockwork()
    for device in ("kontor", "nas"):
        clock.add_device(device)
    made = said_to("kontor")
    clock.save(made, keep=False, request="note on kontor", plan_hash=made.hash)
    renamed(clock, "d-kontor", "studio")
    for hour, other in enumerate((said_to("studio", path="out"), said_to("nas")), start=1):
        run = fire_with(clock, f"2026-06-01T0{hour}:00", other)
        assert "the plan has changed" in run.questions["approve-plan"].text
        clock.do(clock_answer(clock, run.name, "deny"))
    renamed(clock, "d-nas", "kontor")
    run = fire_with(clock, "2026-06-01T03:00", said_to("kontor"))
    assert "the name kontor now belongs to another device" in run.questions["approve-plan"].text


def changed_by(clock: Clockwork, base: str | None = None, of: str = "s-one", **fields: Any) -> Answer:
    """Send a change of these fields, drawn on the schedule as it was made."""
    return clock.do(
        i.ScheduleSaved(
            base=base,
            by="person:ann",
            change=True,
            given=sorted(fields),
            id=clock.ident(),
            keep_plan=True,
            plan=LOOK,
            schedule=replace(clock.drawn(of), **fields),
        )
    )


def test_a_change_sets_the_given_fields_and_leaves_those_of_others() -> None:
    clock = Clockwork()
    clock.save()
    assert not changed_by(clock, cron="30 4 * * *").faults
    assert not changed_by(clock, notify=NotifyWhen.NEVER).faults
    found = clock.schedule()
    assert (found.cron, found.notify, found.due_ms) == ("30 4 * * *", NotifyWhen.NEVER, at("2026-06-01T04:30"))


def test_a_change_drawn_on_work_that_was_replaced_is_refused_whole() -> None:
    clock = Clockwork()
    clock.save()
    base = work_digest(clock.schedule(), clock.shard.fleet.scheduled_plans["s-one"])
    assert not changed_by(clock, base, cron="30 4 * * *").faults
    clock.save(plan(task("b"), name="Other"), change=True, cron="30 5 * * *")
    (refused,) = changed_by(clock, base, cron="30 6 * * *").faults
    assert (refused.code, refused.reason[:16]) == (Code.CONFLICT, "what 's-one' run")
    assert clock.schedule().cron == "30 5 * * *"


def test_a_name_that_is_the_id_of_another_is_refused() -> None:
    clock = Clockwork()
    clock.save()
    clock.save(name="s-two")
    assert not changed_by(clock, name="Nightly").faults
    (taken,) = changed_by(clock, of="s-two", name="s-one").faults
    assert (taken.place, taken.reason) == ("name", "another schedule is called 's-one'")


def test_a_key_makes_one_schedule_and_a_refused_one_uses_none() -> None:
    clock = Clockwork()

    def asked(key: str, body: str, name: str, **fields: Any) -> Answer:
        drawn = clock.drawn(name, **fields)
        save = i.ScheduleSaved(
            by="person:ann", caller="k1", id=clock.ident(), idempotency=(key, body), plan=LOOK, schedule=drawn
        )
        return clock.do(save)

    assert asked("k", "bad", "s-bad", cron="soon").faults
    assert asked("k", "body", "s-first").value == {"id": "s-first"}
    assert asked("k", "body", "s-second").value == {"id": "s-first"}
    assert asked("k", "other", "s-third").faults[0].code is Code.IDEMPOTENCY_MISMATCH
    assert list(clock.shard.fleet.schedules) == ["s-first"]
    clock.order("remove", "s-first")
    (gone,) = asked("k", "body", "s-fourth").faults
    assert (gone.code, "removed since" in gone.reason) == (Code.CONFLICT, True)
