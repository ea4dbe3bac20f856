"""Other calls that are as good: when one is taken without asking, what is said of it, and when none may be."""

from __future__ import annotations

import pytest

from starloom.core.answer.why import explain
from starloom.core.run.recovery import AWAY_MS
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import OtherCall, Selector
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome, Repeatability
from tests.builders import MAYBE, NONE, TOOLS, Driver, plan, task

PURE, NEVER = [TOOLS[0]], [TOOLS[1]]
IDEM = OtherCall(tool="t.idem", args='{"way":2}')


def rerouted(driver: Driver) -> list[str]:
    return [event.note for event in driver.events if event.kind == "task_rerouted"]


def test_a_broken_tool_is_gone_round_with_the_arguments_of_the_other_call() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", args='{"way":1}', any_of=[IDEM])))
    (first,) = driver.take()
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=MAYBE)
    (second,) = driver.take()
    assert (second.tool, second.args) == ("t.idem", '{"way":2}')
    assert "takes t.idem instead: t.pure on one did not succeed" in rerouted(driver)[0]
    versions = driver.shard.constellations["c1"].versions
    assert (versions["2"].author, versions["2"].trigger, versions["2"].changed) == ("engine", "a", ["a"])
    assert "instead" in explain(driver.shard, "c1", "a").sentence
    driver.result(second)
    assert driver.states()["a"] == "succeeded"
    assert explain(driver.shard, "c1", "a").sentence.count("instead") == 1
    driver.folded_equals_state()


def test_the_answer_names_the_call_that_was_taken_instead() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", any_of=[IDEM]), task("b")))
    for order in driver.take():
        if order.at.task == "a":
            driver.result(order, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=MAYBE)
        else:
            driver.result(order)
    driver.result(driver.take()[-1])
    sentence = driver.shard.constellations["c1"].tables["answer"][""].sentence
    assert "Recovered without help: a (by t.idem instead)." in sentence


def test_a_tool_that_no_device_offers_is_named_in_the_answer() -> None:
    driver = Driver()
    driver.add_device("one", tools=NEVER)
    driver.submit(plan(task("a", any_of=[OtherCall(tool="t.never")])))
    driver.result(driver.take()[0])
    sentence = driver.shard.constellations["c1"].tables["answer"][""].sentence
    assert "Recovered without help: a (by t.never instead)." in sentence


def test_a_fault_that_passes_is_first_tried_again_with_the_own_call() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", any_of=[IDEM])))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NETWORK, effect=NONE)
    assert driver.states()["a"] == "ready"
    assert not rerouted(driver)


@pytest.mark.parametrize(("effect", "state"), [(MAYBE, "failed"), (NONE, "leased")])
def test_after_work_that_may_have_changed_the_world_no_other_call_is_taken(effect: EffectSeen, state: str) -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never", any_of=[IDEM])))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=effect)
    assert driver.states()["a"] == state


def test_work_in_doubt_stays_in_doubt() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", tool="t.never", any_of=[IDEM])))
    driver.result(driver.take()[0], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    assert driver.states()["a"] == "unknown"
    assert not rerouted(driver)


def test_each_call_is_taken_once_so_the_way_round_ends() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", any_of=[IDEM, OtherCall(tool="t.pure", args='{"way":3}')])))
    for _ in range(3):
        driver.result(driver.take()[-1], outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE)
    assert driver.states()["a"] == "failed"
    assert len(rerouted(driver)) == 2
    driver.folded_equals_state()


def test_a_call_that_no_device_could_do_is_passed_over_and_kept() -> None:
    driver = Driver("one")
    gone = OtherCall(tool="t.pure", device=Selector(name="gone"))
    driver.submit(plan(task("a", any_of=[gone, IDEM])))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE)
    assert driver.take()[-1].tool == "t.idem"
    assert driver.shard.constellations["c1"].specs["a"].any_of == [gone]


def test_a_tool_that_no_device_offers_is_gone_round_before_anybody_is_asked() -> None:
    driver = Driver()
    driver.add_device("one", tools=NEVER)
    driver.submit(plan(task("a", any_of=[OtherCall(tool="t.never")])))
    assert driver.take()[0].tool == "t.never"
    assert driver.shard.constellations["c1"].head.attention == []
    assert "no device that fits it offers" not in rerouted(driver)[0]


def test_a_device_that_is_away_is_gone_round_after_a_moment_and_not_at_once() -> None:
    driver = Driver()
    driver.add_device("one", tools=PURE)
    driver.add_device("two", tools=NEVER)
    driver.do(i.DeviceDisconnected(by="", device="d-one", id=driver.ident(), reason="cut", session=1))
    driver.submit(plan(task("a", any_of=[OtherCall(tool="t.never", device=Selector(name="two"))])))
    assert driver.states()["a"] == "ready"
    assert not rerouted(driver)
    (timer,) = [item for item in driver.timers if item.kind == "other_call"]
    driver.now_ms += AWAY_MS
    driver.fire(timer)
    assert driver.take()[0].device == "d-two"
    assert "one is off or out of reach" in rerouted(driver)[0]


def test_a_busy_device_is_waited_for() -> None:
    driver = Driver()
    driver.add_device("one", slots=1, tools=PURE)
    driver.add_device("two", tools=NEVER)
    driver.submit(plan(task("a"), task("b", any_of=[OtherCall(tool="t.never")])))
    assert sorted(driver.states().values()) == ["leased", "ready"]
    assert not rerouted(driver)


def test_a_paused_plan_and_a_held_task_wait() -> None:
    driver = Driver()
    driver.add_device("one", tools=NEVER)
    driver.submit(plan(task("a", any_of=[OtherCall(tool="t.never")])), hold=True)
    assert not rerouted(driver)


def test_work_that_the_plan_calls_repeatable_is_followed_by_another_call() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never", repeatability=Repeatability.IDEMPOTENT, any_of=[IDEM])))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE, effect=MAYBE)
    assert driver.take()[-1].tool == "t.idem"


def test_a_failure_says_why_no_other_call_was_taken() -> None:
    driver = Driver("one")
    away = OtherCall(tool="t.pure", device=Selector(name="gone"))
    driver.submit(plan(task("a", tool="t.never", any_of=[IDEM]), task("b", any_of=[away])))
    for dispatch in driver.take():
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="code 1", effect=MAYBE)
    assert "code 1; no other call was taken: it may have had its effect" in explain(driver.shard, "c1", "a").sentence
    assert "code 1; no other call was taken: no device can do one now" in explain(driver.shard, "c1", "b").sentence


def test_a_cancelled_task_says_nothing_of_other_calls() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never", any_of=[IDEM])))
    (dispatch,) = driver.take()
    driver.control("cancel", "a")
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="code 1", effect=MAYBE)
    assert "other call" not in explain(driver.shard, "c1", "a").sentence
