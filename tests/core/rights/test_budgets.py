"""Budgets of a constellation: nothing more begins, what runs ends, and going on allows as much again."""

from __future__ import annotations

from typing import Any

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Budget, Policy
from starloom_protocol.records.models import ModelCall
from starloom_protocol.vocabulary import Attention
from tests.builders import Driver, edge, plan, task

CHAIN = plan(task("a"), task("b"), task("c"), task("d"), edge("a>b"), edge("b>c"), edge("c>d"))


def test_at_the_budget_of_attempts_nothing_more_begins_until_a_person_lets_it_go_on() -> None:
    driver = Driver("one")
    found = driver.submit(CHAIN, budget=Budget(attempts=2))
    assert driver.run() == "paused"
    assert driver.states() == {"a": "succeeded", "b": "succeeded", "c": "ready", "d": "waiting"}
    assert found.head.attention == [Attention.BUDGET]
    (event,) = [event for event in driver.events if event.kind == "paused"]
    assert (event.by, event.note) == ("engine", "its budget of 2 attempts is used up")
    driver.control("resume")
    assert found.head.budget == Budget(attempts=2, times=2)
    assert driver.run() == "succeeded"
    assert found.head.attention == []
    driver.folded_equals_state()


def test_what_runs_at_that_moment_goes_on_to_its_own_end() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), task("c")), budget=Budget(attempts=2))
    first, second = driver.take()
    assert driver.states()["c"] == "ready"
    driver.result(first)
    driver.result(second)
    assert driver.states() == {"a": "succeeded", "b": "succeeded", "c": "ready"}
    assert driver.cancels == []


def test_a_budget_that_is_just_enough_stops_nothing() -> None:
    driver = Driver("one")
    driver.submit(CHAIN, budget=Budget(attempts=4))
    assert driver.run() == "succeeded"


def test_a_pause_of_a_person_raises_no_budget() -> None:
    driver = Driver("one")
    found = driver.submit(CHAIN, budget=Budget(attempts=4))
    driver.control("pause")
    driver.control("resume")
    assert found.head.budget == Budget(attempts=4)


def test_money_for_the_model_stops_it_too() -> None:
    driver = Driver("one")
    made = plan(task("a"), task("b"), edge("a>b"), policy=Policy(review="always"))
    found = driver.submit(made, budget=Budget(micros=1_000))
    driver.result(driver.take()[0])
    (job,) = found.jobs
    driver.do(i.JobClaimed(id="j", by="worker:w", constellation="c1", job=job, ttl_ms=60_000, worker="w"))
    for number, state in ((600, "active"), (400, "paused")):
        used = i.ModelUsed(id=f"m{number}", by="worker:w", constellation="c1", job=job, micros=number, worker="w")
        driver.do(used)
        assert found.head.state == state
    assert found.head.attention == [Attention.BUDGET]
    assert driver.take() == []
    driver.control("resume")
    assert found.head.budget == Budget(micros=1_000, times=2)
    assert found.head.attention == []


def test_the_cost_of_a_call_that_is_told_twice_is_counted_once() -> None:
    driver = Driver("one")
    found = driver.submit(plan(task("a"), task("b"), edge("a>b"), policy=Policy(review="always")))
    driver.result(driver.take()[0])
    (job,) = found.jobs
    who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "job": job, "worker": "w"}
    driver.do(i.JobClaimed(id="j", ttl_ms=60_000, **who))
    numbers = []
    for count in range(2):
        numbers.append(driver.do(i.ModelUsed(id=f"before-{count}", calls=1, **who)).value["call"])
        call = ModelCall(asked_ms=0, job=job, stage="review")
        cost = {"call": call, "micros": 70, "number": numbers[-1], "tokens": 9}
        for time in range(2):
            told = driver.do(i.ModelUsed(id=f"after-{count}-{time}", **cost, **who))
            assert told.value == {"call": numbers[-1], "counted": True}
    assert numbers == [1, 2]
    kept = found.jobs[job]
    assert (kept.calls, kept.tokens, kept.micros) == (2, 18, 140)
    assert [day.tokens for day in driver.shard.fleet.tables["model_day"].values()] == [18]
    driver.folded_equals_state()
