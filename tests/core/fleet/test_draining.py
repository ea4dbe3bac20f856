"""A device that drains, sleeps, or has its battery low: what it gets, what is moved, what stands still."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.answer.why import explain
from starloom.core.run.timeouts import passed
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDrain, SendQuery
from starloom_protocol.records.entities import Device, OnAbsence, Timeouts
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import AttemptEnd, Attention, Code, DeviceLink, Outcome, Reason
from tests.builders import MAYBE, NONE, Driver, plan, task
from tests.core.watched import WatchedDriver


def control(driver: Driver, action: str, name: str = "one", **fields: object) -> object:
    item = i.DeviceControlled(id=driver.ident(), by="person:ann", device=f"d-{name}", action=action, **fields)  # type: ignore[arg-type]
    return driver.do(item)


def condition(driver: Driver, name: str = "one", **facts: str) -> None:
    device = driver.shard.fleet.devices[f"d-{name}"]
    driver.do(
        i.ConditionReceived(id=driver.ident(), by="d", device=device.id, facts=dict(facts), session=device.session)
    )


def device(driver: Driver, name: str = "one") -> Device:
    return driver.shard.fleet.devices[f"d-{name}"]


def test_a_drain_gives_nothing_new_and_lets_what_runs_go_on() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    driver.submit(plan(*(task(f"t{n}") for n in range(4))))
    on_one, on_two = sorted(driver.take(), key=lambda item: item.device)
    control(driver, "drain", reason="new disk")
    assert driver.sent == [SendDrain(device="d-one", draining=True, reason="new disk")]
    driver.result(on_one, 1)
    assert not driver.dispatched
    driver.result(on_two, 1)
    assert [item.device for item in driver.take()] == ["d-two"]
    control(driver, "resume")
    assert driver.sent[0] == SendDrain(device="d-one", draining=False, reason="")
    assert [item.device for item in driver.take()] == ["d-one"]


def test_at_its_deadline_what_may_be_repeated_is_moved_by_its_receipt_and_the_rest_is_not_cut() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(
        plan(
            task("off", device="two"),
            task("may"),
            task("must-not", tool="t.never"),
            task("only-there", device="one"),
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    mine = [item for item in by_task.values() if item.device == "d-one"]
    for item in by_task.values():
        driver.started(item)
    assert sorted(item.at.task for item in mine) == ["may", "must-not", "only-there"]
    control(driver, "drain", deadline_s=60)
    assert device(driver).drain_due_ms == driver.now_ms + 60_000
    (due,) = [timer for timer in driver.timers if timer.kind == "drain"]
    assert due.constellation == FLEET
    assert not driver.cancels
    driver.fire(due)
    run = driver.shard.constellations["c1"]
    assert [item.at.task for item in driver.cancels] == ["may"]
    assert run.tasks["may"].reason is Reason.MOVING
    assert not driver.dispatched
    driver.receipt(by_task["may"])
    (moved,) = driver.take()
    assert (moved.device, run.tasks["may"].started) == ("d-two", 1)
    assert driver.events[-1].kind in ("task_moved", "task_leased", "tasks_ready")
    assert [run.tasks[name].state for name in ("only-there", "must-not")] == ["running", "running"]
    driver.folded_equals_state()


def test_work_that_its_device_gave_up_goes_back_though_a_silence_came_between() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", on_absence=OnAbsence(after_s=0, then="wait"))))
    (dispatch,) = driver.take()
    name = dispatch.device[2:]
    control(driver, "drain", name=name, deadline_s=0)
    assert driver.cancels
    driver.expire(dispatch.at)
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].reason is Reason.MOVING, "what its device was told outlives a silence"
    assert run.tasks["a"].absent_since_ms
    control(driver, "resume", name=name)
    driver.receipt(dispatch)
    (again,) = driver.take()
    assert (again.at.task, again.at.attempt) == ("a", 2)
    assert run.attempts["a/1"].end is AttemptEnd.REVOKED
    assert run.tasks["a"].started == 1, "no try was used up"
    driver.folded_equals_state()


def test_a_receipt_that_nobody_waits_for_gives_repeatable_work_back() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.receipt(dispatch)
    (again,) = driver.take()
    run = driver.shard.constellations["c1"]
    assert (again.at.attempt, run.attempts["a/1"].end) == (2, AttemptEnd.REVOKED)
    assert run.tasks["a"].started == 1, "no try was used up"
    driver.folded_equals_state()


def test_a_receipt_that_nobody_waits_for_gives_no_begun_work_back_that_must_not_be_repeated() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.receipt(dispatch, effect=MAYBE)
    assert driver.states()["a"] == "unknown"
    assert not driver.dispatched
    driver.folded_equals_state()


def test_work_that_fetched_its_inputs_when_it_was_stopped_is_given_back() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.receipt(dispatch, effect=NONE)
    (again,) = driver.take()
    assert (again.at.attempt, driver.states()["a"]) == (2, "leased")
    driver.folded_equals_state()


def test_a_ledger_that_lacks_begun_work_proves_nothing_of_its_effect() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.control("cancel", "a")
    driver.receipt(dispatch, known=False)
    assert driver.states()["a"] == "cancelled"
    assert driver.control("retry", "a").faults[0].code is Code.NEEDS_CONFIRM


def test_cancelled_work_that_cannot_have_happened_runs_again_without_a_word() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", tool="t.never"), task("b")))
    dispatch = next(item for item in driver.take() if item.at.task == "a")
    driver.started(dispatch)
    driver.control("cancel", "a")
    driver.receipt(dispatch, effect=NONE)
    assert not driver.control("retry", "a").faults


def test_a_failure_during_a_cancel_proves_nothing_of_its_effect() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.control("cancel", "a")
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NETWORK, effect=NONE)
    assert driver.states()["a"] == "cancelled"
    assert driver.control("retry", "a").faults[0].code is Code.NEEDS_CONFIRM


def test_a_moved_task_whose_result_comes_first_is_done() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    control(driver, "drain", name=dispatch.device[2:], deadline_s=0)
    assert driver.cancels
    driver.result(dispatch, 5)
    assert driver.states()["a"] == "succeeded"
    driver.receipt(dispatch)
    assert not driver.dispatched


def test_an_early_or_stale_drain_timer_moves_nothing_and_a_restart_keeps_the_deadline() -> None:
    driver = WatchedDriver("one", "two")
    driver.submit(plan(task("a", device=None)))
    (dispatch,) = driver.take()
    name = dispatch.device[2:]
    control(driver, "drain", name=name, deadline_s=30)
    timer = driver.timers[-1]
    control(driver, "drain", name=name, deadline_s=90)
    driver.fire(timer)
    assert not driver.cancels
    driver.restart()
    again = next(item for item in driver.timers if item.kind == "drain")
    assert again.due_ms == timer.due_ms + 60_000
    control(driver, "resume", name=name)
    driver.fire(again)
    assert not driver.cancels


def test_a_drain_has_a_bound_and_is_said_again_to_a_device_that_comes_back() -> None:
    driver = Driver("one")
    assert control(driver, "drain", deadline_s=8 * 86_400).faults[0].code is Code.BAD_REQUEST  # type: ignore[attr-defined]
    control(driver, "drain", reason="move")
    driver.connect("one")
    assert SendDrain(device="d-one", draining=True, reason="move") in driver.sent


def test_while_a_device_sleeps_the_clocks_of_its_work_stand_still() -> None:
    driver = WatchedDriver("one")
    limits = Timeouts(schedule_to_close_s=100, start_to_close_s=1000)
    driver.submit(plan(task("a", timeouts=limits)))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.now_ms += 50_000
    condition(driver, suspending="true")
    assert (device(driver).link, device(driver).link_since_ms) == (DeviceLink.SUSPENDED, driver.now_ms)
    driver.now_ms += 600_000
    assert not list(passed(driver.shard, driver.now_ms))
    condition(driver, suspending="false")
    run = driver.shard.constellations["c1"]
    assert (device(driver).link, run.tasks["a"].stood_ms) == (DeviceLink.ONLINE, 600_000)
    assert not list(passed(driver.shard, driver.now_ms))
    driver.now_ms += 60_000
    for timer in list(passed(driver.shard, driver.now_ms)):
        driver.fire(timer)
    assert Attention.TAKES_LONG in run.head.attention


def test_sleep_that_ends_in_silence_counts_once() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    condition(driver, suspending="true")
    driver.now_ms += 30_000
    driver.expire(dispatch.at)
    driver.now_ms += 30_000
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-one", reason="", session=1))
    driver.connect("one")
    assert driver.shard.constellations["c1"].tasks["a"].stood_ms == 60_000


def test_a_task_that_waits_for_a_sleeping_device_does_not_wait_too_long() -> None:
    driver = WatchedDriver("one")
    condition(driver, suspending="true")
    driver.submit(plan(task("a")))
    run = driver.shard.constellations["c1"]
    timer = next(item for item in driver.timers if item.kind == "waits_long")
    driver.fire(timer)
    assert not run.head.attention
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-one", reason="", session=1))
    driver.fire(driver.timers[-1])
    assert Attention.WAITS_LONG in run.head.attention


def test_the_owners_machine_and_an_empty_battery_are_asked_last() -> None:
    driver = WatchedDriver("one", "two")
    condition(driver, "one", owner_present="true")
    driver.submit(plan(task("a")))
    assert driver.take()[0].device == "d-two"
    condition(driver, "one", owner_present="false", battery="50")
    condition(driver, "two", battery="10", charging="false")
    driver.submit(plan(task("a")), name="c2")
    assert driver.take()[0].device == "d-one"
    condition(driver, "one", battery="5 %")
    condition(driver, "two", charging="true")
    driver.submit(plan(task("a")), name="c3")
    assert driver.take()[0].device == "d-two"


def test_an_owner_of_an_earlier_session_spares_nobody() -> None:
    driver = WatchedDriver("one", "two")
    condition(driver, "one", owner_present="true")
    driver.connect("one")
    driver.submit(plan(task("a")))
    assert driver.take()[0].device == "d-one"


def test_only_the_ledger_that_was_there_can_say_that_work_never_began() -> None:
    for same, days, after in ((True, 1, "leased"), (False, 1, "unknown"), (True, 31, "unknown")):
        driver = WatchedDriver("one")
        driver.connect("one", ledger="old")
        driver.now_ms += 1
        driver.submit(plan(task("a", tool="t.never")))
        (dispatch,) = driver.take()
        driver.started(dispatch)
        driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
        assert driver.states()["a"] == "unknown"
        driver.now_ms += days * 86_400_000
        driver.connect("one", ledger="old" if same else "new")
        assert SendQuery(attempts=[dispatch.at], device="d-one") in driver.sent
        driver.do(i.LedgerReported(id="l", by="d", device="d-one", at=dispatch.at, state="unknown"))
        assert driver.states()["a"] == after


def test_work_that_was_asked_back_and_may_not_be_repeated_is_unknown_if_it_had_an_effect() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    control(driver, "drain", name=dispatch.device[2:], deadline_s=0)
    run = driver.shard.constellations["c1"]
    assert replace(run.tasks["a"], reason=None).state == "leased"
    driver.receipt(dispatch)
    assert (run.attempts["a/1"].effect, run.attempts["a/1"].end) == (NONE, "revoked")


def test_a_device_whose_disk_is_full_gets_no_work_until_it_has_room() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    condition(driver, disk="full", disk_folder="/agent")
    assert "is on one, which has a full disk (/agent): nothing begins there" in why_of(driver, "a", "c1")
    driver.submit(plan(task("b")), name="c2")
    assert driver.take() == []
    assert "one has a full disk (/agent): free some space there" in why_of(driver, "b", "c2")
    condition(driver, disk="ok")
    (second,) = driver.take()
    assert (dispatch.at.task, second.at.task) == ("a", "b")


def test_a_new_session_says_anew_whether_its_disk_is_full() -> None:
    driver = WatchedDriver("one")
    condition(driver, disk="full", disk_folder="/agent", battery="50")
    driver.connect("one")
    assert device(driver).condition == {"battery": "50"}
    driver.submit(plan(task("a")))
    assert len(driver.take()) == 1


def why_of(driver: Driver, name: str, constellation: str) -> str:
    return explain(driver.shard, constellation, name).sentence
