"""A log that is older than what its devices remember: nothing that may not be repeated is handed out a second time."""

from __future__ import annotations

from typing import Any

from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_protocol.vocabulary import Attention, EffectSeen, Outcome
from starloom_protocol.wire.frames import BEGUN, LeaseRef
from tests.builders import Driver, plan, task
from tests.core.plan.goals.pursued import Pursued, call
from tests.core.watched import WatchedDriver


def at(name: str, attempt: int = 1, incarnation: int = 1) -> LeaseRef:
    return LeaseRef(constellation="c1", task=name, attempt=attempt, incarnation=incarnation)


def begun(driver: Driver, ref: LeaseRef, device: str = "one") -> None:
    """A device says that it began an attempt."""
    driver.do(i.LedgerReported(id=driver.ident(), by=f"device:d-{device}", device=f"d-{device}", at=ref, state=BEGUN))


def restored(*parts: Any, devices: tuple[str, ...] = ("one",), slots: int = 4) -> Driver:
    """A shard of incarnation 2 whose constellation was made in the first."""
    driver = WatchedDriver(*devices, slots=slots)
    driver.shard.incarnation = 2
    driver.submit(plan(*parts))
    return driver


def note_of(driver: Driver) -> str:
    return driver.shard.fleet.devices["d-one"].remembers


def test_a_lease_of_begun_work_is_taken_up_as_in_doubt() -> None:
    driver = restored(task("a", tool="t.never"))
    (handed_out,) = driver.take()
    assert handed_out.at == at("a", incarnation=2)
    begun(driver, at("a"))
    run = driver.shard.constellations["c1"]
    assert driver.states() == {"a": "unknown"}
    assert (run.attempts["a/1"].incarnation, run.attempts["a/1"].effect) == (1, EffectSeen.MAYBE)
    assert run.head.attention == [Attention.TASK_UNKNOWN]
    assert "remembers" in note_of(driver)
    (asked,) = [effect for effect in driver.sent if isinstance(effect, SendDispatch)]
    assert asked.at == at("a"), "its ledger answers for the attempt that it began"
    driver.folded_equals_state()


def test_the_result_that_a_device_kept_counts() -> None:
    driver = restored(task("a", tool="t.never"), task("b", "x=a"))
    (handed_out,) = driver.take()
    begun(driver, at("a"))
    driver.result(handed_out, outcome=Outcome.INTERRUPTED, effect=EffectSeen.MAYBE)
    assert driver.states()["a"] == "unknown", "the answer for the closed lease changes nothing"
    (asked,) = driver.take()
    driver.result(asked, {"done": 1})
    assert driver.states()["a"] == "succeeded"
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_a_later_attempt_than_the_leased_one_is_taken_up() -> None:
    driver = restored(task("a", tool="t.never"))
    driver.take()
    begun(driver, at("a", attempt=3))
    run = driver.shard.constellations["c1"]
    assert (driver.states()["a"], run.tasks["a"].attempt, run.attempts["a/1"].end) == (
        "unknown",
        3,
        "never_started",
    )
    answer = driver.control("retry", "a", confirm=["a"])
    assert not answer.faults
    assert [item.at for item in driver.take()][-1] == at("a", attempt=4, incarnation=2)


def test_ready_work_is_taken_up_before_another_device_has_it() -> None:
    driver = restored(task("f", tool="t.never"), task("a", tool="t.never"), devices=("one", "two"), slots=1)
    driver.submit(plan(task("c", tool="t.never")), name="c2")
    assert driver.states("c2") == {"c": "ready"}
    ref = LeaseRef(constellation="c2", task="c", attempt=1, incarnation=1)
    begun(driver, ref)
    assert driver.states("c2") == {"c": "unknown"}
    assert driver.shard.constellations["c2"].tasks["c"].device == "d-one"


def test_waiting_work_that_others_could_do_is_held() -> None:
    driver = restored(task("a", tool="t.never"), task("b", "x=a", tool="t.never"), devices=("one", "two"))
    begun(driver, at("b"))
    driver.result(driver.take()[0], 1)
    run = driver.shard.constellations["c1"]
    assert (driver.states()["b"], run.tasks["b"].reason) == ("ready", "held")


def test_waiting_work_of_one_device_is_left_to_its_answer() -> None:
    driver = restored(task("a", tool="t.never"), task("b", "x=a", tool="t.never", device="one"), devices=("one", "two"))
    begun(driver, at("b"))
    driver.result(driver.take()[0], 1)
    assert driver.states()["b"] == "leased"
    begun(driver, at("b"))
    assert driver.states()["b"] == "unknown"


def test_the_owner_is_told_once_until_it_was_seen() -> None:
    driver = restored(task("a", tool="t.never"), task("b", tool="t.never"))
    begun(driver, at("a"))
    begun(driver, at("b"))
    assert [event.kind for event in driver.events if event.stream == "fleet"] == ["history_older"]
    driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-one", action="seen"))
    assert note_of(driver) == ""


def test_what_the_log_has_changes_nothing() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b")))
    by_task = {item.at.task: item for item in driver.take()}
    begun(driver, at("a"))
    driver.result(by_task["a"], 1)
    begun(driver, at("a"))
    assert driver.states()["a"] == "succeeded"
    assert note_of(driver) == ""


def test_a_device_has_no_say_about_work_of_others() -> None:
    driver = restored(
        task("a", tool="t.never", device="two"), task("p", tool="t.pure"), devices=("one", "two"), slots=1
    )
    driver.submit(plan(task("held", tool="t.never")), name="c2", hold=True)
    begun(driver, at("a"))
    begun(driver, at("p"))
    begun(driver, LeaseRef(constellation="c2", task="held", attempt=1, incarnation=1))
    assert driver.states() == {"a": "leased", "p": "leased"}
    assert driver.state("c2") == "awaiting_approval"
    assert driver.states("c2") == {"held": "ready"}


def test_a_device_that_was_reserved_since_is_told_of_and_is_given_nothing() -> None:
    driver = restored(task("a", tool="t.never"), devices=("one", "two"), slots=1)
    driver.submit(plan(task("c", tool="t.never")), name="c2")
    driver.take()
    driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-one", action="reserve"))
    begun(driver, LeaseRef(constellation="c2", task="c", attempt=1, incarnation=1))
    assert "it has begun c" in note_of(driver)
    assert "unknown" not in driver.states("c2").values()
    assert not [work for work in driver.take() if work.device == "d-one"]


def test_a_step_of_a_goal_is_not_answered_by_what_another_call_of_its_name_gave() -> None:
    """The model asks again, maybe for another call: only a person knows whether it is the same."""
    driver = Pursued(goal={"may": {"tools": ["svc.restart"]}}, policy={"approval": "never"})
    driver.shard.incarnation = 2
    driver.step(call("svc.restart", "one", name="nginx"))
    driver.reply("allow")
    (sent,) = driver.take()
    begun(driver, at(sent.at.task))
    assert driver.states()[sent.at.task] == "unknown"
    assert driver.take() == [], "what the device kept may be the result of another call"
    driver.control("mark", sent.at.task, value="{}")
    assert driver.states()[sent.at.task] == "succeeded"
