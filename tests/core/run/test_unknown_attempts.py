"""A log that is older than what its devices remember: nothing that may not be repeated is handed out a second time."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from starloom.core.run.attempts import digest_of
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_protocol.vocabulary import Attention, EffectSeen, Outcome
from starloom_protocol.wire.frames import BEGUN, LeaseRef
from tests.builders import Driver, plan, task
from tests.core.plan.goals.pursued import Pursued, call
from tests.core.watched import WatchedDriver


def at(name: str, attempt: int = 1, incarnation: int = 1) -> LeaseRef:
    return LeaseRef(constellation="c1", task=name, attempt=attempt, incarnation=incarnation)


def begun(driver: Driver, ref: LeaseRef, device: str = "one", call: str = "") -> None:
    """A device says that it began an attempt."""
    by = f"device:d-{device}"
    driver.do(i.LedgerReported(id=driver.ident(), by=by, device=f"d-{device}", at=ref, call=call, state=BEGUN))


def call_of(driver: Driver, order: SendDispatch) -> str:
    """Return the digest that a device which gets this order notes."""
    return digest_of(driver.shard.constellations[order.at.constellation], order)


def another_call_begun() -> tuple[Driver, SendDispatch]:
    """A lease of `a`, under whose name its device has another call in its ledger."""
    driver = restored(task("a", tool="t.never", args='{"to":"bank"}'))
    (handed_out,) = driver.take()
    begun(driver, at("a"), call=call_of(driver, replace(handed_out, args='{"to":"chat"}')))
    return driver, handed_out


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


def test_the_kept_result_of_the_same_call_counts() -> None:
    driver = restored(task("b"), task("a", "x=b", tool="t.never", args='{"to":{"secret":"bank"}}'))
    driver.result(driver.take()[0], {"name": "ann"})
    (handed_out,) = driver.take()
    begun(driver, at("a"), call=call_of(driver, handed_out))
    (asked,) = driver.take()
    driver.result(asked, {"done": 1})
    assert driver.states()["a"] == "succeeded"
    driver.folded_equals_state()


def test_the_kept_result_of_another_call_does_not_count() -> None:
    driver, handed_out = another_call_begun()
    run = driver.shard.constellations["c1"]
    assert (driver.states(), driver.take()) == ({"a": "unknown"}, []), "the device is asked for no result"
    assert run.head.attention == [Attention.TASK_UNKNOWN]
    assert "one began another call under the name a" in [event for event in driver.events if event.note][-1].note
    driver.result(handed_out, {"paid": False}, at=at("a"))
    assert driver.states() == {"a": "unknown"}, "its report of the other call was still on the way"
    driver.folded_equals_state()


def test_a_call_that_reads_another_value_is_another_one() -> None:
    driver = restored(task("b"), task("a", "x=b", tool="t.never"))
    driver.result(driver.take()[0], {"name": "ann"})
    (handed_out,) = driver.take()
    run = driver.shard.constellations["c1"]
    ours = call_of(driver, handed_out)
    before = run.attempts["b/1"]
    run.attempts["b/1"] = replace(before, value='{"name":"bob"}')
    theirs = call_of(driver, handed_out)
    run.attempts["b/1"] = before
    assert ours != theirs
    begun(driver, at("a"), call=theirs)
    assert (driver.states()["a"], driver.take()) == ("unknown", [])


def test_a_person_has_the_new_call_carried_out_although_another_one_began() -> None:
    driver, _ = another_call_begun()
    assert not driver.control("retry", "a", confirm=["a"]).faults
    (again,) = driver.take()
    assert again.at == at("a", attempt=2, incarnation=2)
    driver.result(again, {"paid": True})
    assert driver.state() == "succeeded"
    driver.folded_equals_state()


def test_a_device_that_comes_back_is_not_asked_for_the_result_of_another_call() -> None:
    driver, _ = another_call_begun()
    device = driver.shard.fleet.devices["d-one"]
    driver.do(
        i.DeviceDisconnected(id=driver.ident(), by="device:d-one", device="d-one", reason="", session=device.session)
    )
    answer = driver.connect("one")
    assert answer.value["entries"] == []
    driver.do(i.LedgerReported(id=driver.ident(), by="device:d-one", device="d-one", at=at("a"), state="unknown"))
    assert driver.states() == {"a": "unknown"}


def test_repeatable_work_begins_although_another_call_had_its_name() -> None:
    driver = restored(task("a", tool="t.pure"))
    (handed_out,) = driver.take()
    begun(driver, at("a"), call="another")
    driver.result(handed_out, 1)
    assert driver.states() == {"a": "succeeded"}


def test_a_step_of_a_goal_is_answered_by_what_the_same_call_gave() -> None:
    driver = Pursued(goal={"may": {"tools": ["svc.restart"]}}, policy={"approval": "never"})
    driver.shard.incarnation = 2
    driver.step(call("svc.restart", "one", name="nginx"))
    driver.reply("allow")
    (sent,) = driver.take()
    begun(driver, at(sent.at.task), call=call_of(driver, sent))
    (asked,) = driver.take()
    assert asked.at == at(sent.at.task)
    driver.result(asked, {})
    assert driver.states()[sent.at.task] == "succeeded"
