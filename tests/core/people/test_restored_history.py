"""A history put back from a backup: nothing that may not be repeated begins until a person lets it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from starloom.core.people.restored_history import WHY
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import ForEach, RuleRecord, TaskSpec
from starloom_protocol.records.schedules import Consent
from starloom_protocol.records.specs import Repeat
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Attention, DeviceLink, Effect, Repeatability, ScheduleState
from starloom_protocol.wire.frames import BEGUN, LeaseRef
from tests.builders import plan, task
from tests.core.clockwork import Clockwork, at
from tests.core.plan.goals.pursued import Pursued
from tests.core.watched import WatchedDriver

RESTORED = Attention.HISTORY_RESTORED


def put_back(driver: WatchedDriver) -> None:
    """Go on from the state as it is, in a newer life, on a hub that was told of the restore."""
    driver.restart()
    driver.shard.incarnation = 1002
    driver.do(i.HistoryRestored(id="r", by="engine", made_ms=1))


class PursuedAndWatched(Pursued, WatchedDriver):
    """A goal on a hub that can be started again."""


def offline(driver: WatchedDriver, *names: str) -> None:
    for name in names:
        driver.do(i.DeviceDisconnected(id=driver.ident(), by="d", device=f"d-{name}", reason="x", session=1))


def test_another_device_does_not_get_what_one_that_is_away_began() -> None:
    driver = WatchedDriver("one", "two")
    offline(driver, "one", "two")
    driver.submit(plan(task("a", tool="t.never")))
    put_back(driver)
    run = driver.shard.constellations["c1"]
    assert (run.head.state, run.head.attention) == ("paused", [RESTORED])
    driver.add_device("two", slots=4)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-two", action="resume"))
    assert driver.take() == [], "the device that remembers has not connected"

    driver.add_device("one", slots=4)
    at = LeaseRef(constellation="c1", task="a", attempt=1, incarnation=1)
    driver.do(i.LedgerReported(id=driver.ident(), by="device:d-one", device="d-one", at=at, state=BEGUN))
    assert driver.states() == {"a": "unknown"}
    driver.control("resume")
    assert RESTORED not in run.head.attention
    assert [item.device for item in driver.take()] == ["d-one"], "its ledger is asked, and nothing begins elsewhere"


@pytest.mark.parametrize(
    ("part", "state"),
    [
        (task("a"), "active"),
        (task("a", tool="t.idem"), "active"),
        (task("a", tool="t.never"), "paused"),
        (task("a", tool="t.nobody"), "paused"),
        (task("a", tool="t.nobody", repeatability=Repeatability.PURE), "active"),
        (task("a", tool="t.never", repeatability=Repeatability.IDEMPOTENT), "active"),
        (task("a", person="Go on?"), "active"),
    ],
)
def test_only_what_may_not_be_repeated_is_stopped(part: TaskSpec, state: str) -> None:
    driver = WatchedDriver("one")
    offline(driver, "one")
    driver.submit(plan(task("before"), part, task("after", "x=before")))
    put_back(driver)
    run = driver.shard.constellations["c1"]
    assert run.head.state == state
    assert (RESTORED in run.head.attention) == (state == "paused")


def test_a_list_that_is_not_known_yet_counts() -> None:
    driver = WatchedDriver("one")
    offline(driver, "one")
    driver.submit(plan(task("l"), task("g", tool="t.never", for_each=ForEach(source="l", output="/l"))))
    put_back(driver)
    assert driver.shard.constellations["c1"].head.state == "paused"


@pytest.mark.parametrize(("may", "state"), [("svc.restart", "paused"), ("fs.read", "active")])
def test_a_goal_whose_steps_may_not_be_repeated_is_stopped(may: str, state: str) -> None:
    driver = PursuedAndWatched(goal={"may": {"tools": [may]}}, policy={"approval": "never"})
    assert driver.made.groups["why"].state == "expanded"
    put_back(driver)
    head = driver.shard.constellations["c1"].head
    assert (head.state, RESTORED in head.attention) == (state, state == "paused")


@pytest.mark.parametrize(("tool", "state"), [("t.never", "paused"), ("t.idem", "active")])
def test_what_a_rule_or_a_further_turn_may_call_counts(tool: str, state: str) -> None:
    driver = WatchedDriver("one")
    added = canonical(msgspec.to_builtins([AddTask(spec=task("mail", tool=tool))]))
    rule = RuleRecord(name="r", task="a", event="succeeded", operations=added, order=0, reason="")
    driver.submit(plan(task("a"), rules=[rule]))
    driver.submit(plan(task("more", tool=tool, for_each=ForEach(repeat=Repeat(most=5, every_s=1)))), name="c2")
    (question,) = driver.shard.constellations["c2"].open_questions
    driver.answer_question(question, "allow", name="c2")
    for order in driver.take():
        driver.started(order)
    assert driver.states("c2") == {"more": "expanded", "more.1": "running"}
    put_back(driver)
    assert {name: one.head.state for name, one in driver.shard.constellations.items()} == {"c1": state, "c2": state}


def test_a_rule_that_has_fired_counts_no_more() -> None:
    driver = WatchedDriver("one")
    added = canonical(msgspec.to_builtins([AddTask(spec=task("mail", tool="t.never"))]))
    rule = RuleRecord(name="r", task="a", event="succeeded", operations=added, order=0, reason="")
    driver.submit(plan(task("a"), task("b", tool="t.idem"), rules=[rule]))
    first, _second = driver.take()
    driver.result(first, 1)
    (mail,) = driver.take()
    driver.result(mail, 1)
    put_back(driver)
    assert driver.shard.constellations["c1"].head.state == "active"


def test_a_request_that_is_being_planned_waits_before_its_first_task() -> None:
    driver = WatchedDriver("one")
    driver.do(i.RequestReceived(id="q", by="person:ann", constellation="c1", request="do it"))
    put_back(driver)
    head = driver.shard.constellations["c1"].head
    assert (head.state, head.hold, head.attention) == ("planning", True, [RESTORED])


def test_a_second_word_of_the_same_restore_changes_nothing() -> None:
    driver = WatchedDriver("one")
    offline(driver, "one")
    driver.submit(plan(task("a", tool="t.never")))
    put_back(driver)
    before = len(driver.events)
    driver.do(i.HistoryRestored(id="r", by="engine", made_ms=1))
    assert len(driver.events) == before
    assert [event.note for event in driver.events if event.kind == "paused"] == [WHY]


def test_what_runs_or_has_ended_is_left_alone() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", tool="t.never")))
    driver.submit(plan(task("a", tool="t.never")), name="c2")
    first, _second = driver.take()
    driver.result(first, 1)
    put_back(driver)
    assert [driver.shard.constellations[name].head.state for name in ("c1", "c2")] == ["succeeded", "active"]
    assert driver.shard.fleet.devices["d-one"].link is DeviceLink.ONLINE


@pytest.mark.parametrize(
    ("part", "when", "state"),
    [
        (task("a", tool="t.never"), "2026-06-01T01:10", ScheduleState.PAUSED),
        (task("a", tool="t.never"), "2026-06-01T00:50", ScheduleState.ACTIVE),
        (task("a"), "2026-06-01T01:10", ScheduleState.ACTIVE),
        (task("a", tool="t.never", repeatability=Repeatability.IDEMPOTENT), "2026-06-01T01:10", ScheduleState.ACTIVE),
    ],
    ids=["missed", "not due", "repeatable", "said to be"],
)
def test_a_missed_firing_that_may_have_run_waits_for_a_person(part: TaskSpec, when: str, state: ScheduleState) -> None:
    clock = Clockwork()
    clock.save(plan(part, name="Newsletter"), plan_hash="h")
    clock.now_ms = at(when)
    clock.do(i.HistoryRestored(id="r", by="engine", made_ms=1))
    assert clock.schedule().state is state
    clock.wake_at(when)
    assert len(clock.firings()) == (state is ScheduleState.ACTIVE and when > "2026-06-01T01")
    if state is ScheduleState.PAUSED:
        assert clock.notes("schedule_paused") == [WHY]
        clock.order("resume")
        assert clock.schedule().due_ms == at("2026-06-01T02:00"), "what passed meanwhile is not made up for"
    clock.folded_equals_state()


@pytest.mark.parametrize("consented", [True, False])
def test_of_a_recipe_on_a_clock_its_consent_decides(consented: bool) -> None:
    clock = Clockwork()
    clock.save(keep=False, recipe="fleet-health")
    consent = Consent(at_ms=1, by="person:ann", effects=[Effect.WRITE], hash="h") if consented else None
    load(clock.shard, FLEET, clock.shard.fleet.seq, {"schedule/s-one": replace(clock.schedule(), consent=consent)})
    clock.now_ms = at("2026-06-01T01:10")
    clock.do(i.HistoryRestored(id="r", by="engine", made_ms=1))
    assert (clock.schedule().state is ScheduleState.PAUSED) == consented
