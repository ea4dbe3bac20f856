"""Budgets of a constellation: nothing more begins, what runs ends, and going on allows as much again."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.rights.budgets import DAY_MS
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Budget, Policy
from starloom_protocol.records.models import ModelBudget, ModelCall
from starloom_protocol.vocabulary import Attention, Code
from tests.builders import Driver, edge, plan, task

CHAIN = plan(task("a"), task("b"), task("c"), task("d"), edge("a>b"), edge("b>c"), edge("c>d"))


def test_at_the_budget_of_attempts_nothing_more_begins_until_a_person_lets_it_go_on() -> None:
    driver = Driver("one")
    run = driver.submit(CHAIN, budget=Budget(attempts=2))
    assert driver.run() == "paused"
    assert driver.states() == {"a": "succeeded", "b": "succeeded", "c": "ready", "d": "waiting"}
    assert run.head.attention == [Attention.BUDGET]
    (event,) = [event for event in driver.events if event.kind == "paused"]
    assert (event.by, event.note) == ("engine", "its budget of 2 attempts is used up")
    driver.control("resume")
    assert run.head.budget == Budget(attempts=2, times=2)
    assert driver.run() == "succeeded"
    assert run.head.attention == []
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
    run = driver.submit(CHAIN, budget=Budget(attempts=4))
    driver.control("pause")
    driver.control("resume")
    assert run.head.budget == Budget(attempts=4)


def test_money_for_the_model_stops_it_too() -> None:
    driver = Driver("one")
    new_plan = plan(task("a"), task("b"), edge("a>b"), policy=Policy(review="always"))
    run = driver.submit(new_plan, budget=Budget(micros=1_000))
    driver.result(driver.take()[0])
    (job,) = run.jobs
    driver.do(i.JobClaimed(id="j", by="worker:w", constellation="c1", job=job, ttl_ms=60_000, worker="w"))
    for number, state in ((600, "active"), (400, "paused")):
        used = i.ModelUsed(id=f"m{number}", by="worker:w", constellation="c1", job=job, micros=number, worker="w")
        driver.do(used)
        assert run.head.state == state
    assert run.head.attention == [Attention.BUDGET]
    assert driver.take() == []
    driver.control("resume")
    assert run.head.budget == Budget(micros=1_000, times=2)
    assert run.head.attention == []


def test_the_cost_of_a_call_that_is_told_twice_is_counted_once() -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("a"), task("b"), edge("a>b"), policy=Policy(review="always")))
    driver.result(driver.take()[0])
    (job,) = run.jobs
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
    kept = run.jobs[job]
    assert (kept.calls, kept.tokens, kept.micros) == (2, 18, 140)
    assert [day.tokens for day in driver.shard.fleet.tables["model_day"].values()] == [18]
    driver.folded_equals_state()


class Asking(Driver):
    """Constellations whose planning jobs call a model: `before` asks for a call, `after` reports its cost."""

    def __init__(self, *names: str, budget: Budget | None = None) -> None:
        super().__init__("one")
        for name in names:
            request = i.RequestReceived(
                id=self.ident(), by="person:ann", constellation=name, request="x", budget=budget
            )
            assert not self.do(request).faults
            self.claim_job("plan-1", constellation=name)

    def before(self, name: str = "c1", budget: ModelBudget | None = None, **fields: Any) -> Any:
        told: dict[str, Any] = {"takes_ms": 60_000, "tokens_most": 500, "micros_most": 500, **fields}
        return self.do(self._used(name, budget=budget or ModelBudget(tokens_per_day=1_000), calls=1, **told))

    def after(self, name: str = "c1", number: int = 1, tokens: int = 0, micros: int = 0) -> None:
        call = ModelCall(asked_ms=0, job="plan-1", stage="planning")
        used = self._used(name, call=call, micros=micros, number=number, tokens=tokens)
        assert not self.do(used).faults

    def _used(self, name: str, **fields: Any) -> i.ModelUsed:
        return i.ModelUsed(id=self.ident(), by="worker:w", constellation=name, job="plan-1", worker="w", **fields)


@pytest.mark.parametrize(
    ("spent", "why"),
    [
        ({"tokens": 1_000_000}, "1000000 of 1000000 tokens are used today"),
        ({"micros": 2_000_000}, r"2.00 of 2.00 dollars are used today"),
    ],
)
def test_a_call_is_refused_when_the_day_is_used_up(spent: dict[str, int], why: str) -> None:
    driver = Asking("c1", "c2")
    budget = ModelBudget(micros_per_day=2_000_000)
    driver.before("c1", budget)
    driver.after("c1", **{name: most - 1 for name, most in spent.items()})
    assert driver.before("c2", budget).value == {"call": 1, "counted": True}
    driver.after("c2", **dict.fromkeys(spent, 1))
    (fault,) = driver.before("c2", budget).faults
    assert (fault.code, fault.reason) == (Code.MODEL_BUDGET, f"the model's budget is used up: {why}")
    driver.now_ms += DAY_MS
    assert not driver.before("c2", budget).faults


def test_a_call_is_refused_when_its_constellation_has_used_its_tokens_or_calls() -> None:
    driver = Asking("c1", "c2")
    for number in range(50):
        assert not driver.before("c1").faults
        driver.after("c1", number + 1)
    assert "has asked the model 50 times" in driver.before("c1").faults[0].reason
    driver.before("c2")
    driver.after("c2", tokens=5_000)
    (fault,) = driver.before("c2", ModelBudget(tokens_per_constellation=5_000)).faults
    assert "this constellation has used 5000 of 5000 tokens" in fault.reason


def test_a_call_is_refused_when_its_constellation_has_used_its_money() -> None:
    driver = Asking("c1", budget=Budget(micros=250_000, times=2))
    driver.before()
    driver.after(micros=499_999)
    assert not driver.before().faults
    driver.after(number=2, micros=1)
    assert "this constellation has used 0.50 of its 0.50 dollars" in driver.before().faults[0].reason


def test_without_a_budget_money_is_not_limited() -> None:
    driver = Asking("c1")
    driver.before(budget=ModelBudget())
    driver.after(micros=10**12)
    assert not driver.before(budget=ModelBudget()).faults


@pytest.mark.parametrize("budget", [ModelBudget(tokens_per_day=1_000), ModelBudget(micros_per_day=1_000)])
def test_calls_at_the_same_time_do_not_pass_a_budget_together(budget: ModelBudget) -> None:
    driver = Asking("c1", "c2", "c3")
    assert [driver.before(name, budget).value.get("call") for name in ("c1", "c2")] == [1, 1]
    calls = driver.shard.constellations["c3"].jobs
    assert driver.before("c3", budget).value == {"wait_ms": 60_000}
    assert calls["plan-1"].calls == 0
    driver.after("c1", tokens=10, micros=10)
    assert driver.before("c3", budget).value == {"call": 1, "counted": True}
    driver.folded_equals_state()


def test_calls_of_one_constellation_wait_for_its_own_budget_alone() -> None:
    driver = Asking("c1", "c2", budget=Budget(micros=500))
    for wide in (ModelBudget(), ModelBudget(tokens_per_constellation=500)):
        driver.before("c1", wide)
        assert driver.before("c1", wide).value == {"wait_ms": 60_000}
        assert driver.before("c2", wide).value["counted"]
        driver.now_ms += 60_000


def test_the_hold_of_a_worker_that_died_ends_by_its_time() -> None:
    driver = Asking("c1", "c2")
    driver.before("c1", tokens_most=1_000)
    driver.now_ms += 59_999
    assert driver.before("c2").value == {"wait_ms": 1}
    driver.now_ms += 1
    assert driver.before("c2").value["counted"]
    (day,) = driver.shard.fleet.tables["model_day"].values()
    assert [one.call for one in day.held] == ["c2/plan-1/1"]


def test_a_call_under_way_at_midnight_is_held_in_the_next_day() -> None:
    driver = Asking("c1", "c2")
    driver.now_ms = DAY_MS - 1
    driver.before("c1", tokens_most=1_000)
    driver.now_ms = DAY_MS
    assert "wait_ms" in driver.before("c2").value
    assert driver.before("c2", ModelBudget()).value["counted"]
    days = driver.shard.fleet.tables["model_day"]
    assert [len(days[name].held) for name in ("0", "1")] == [0, 2]
    driver.after("c1", tokens=300)
    driver.after("c2")
    assert [(days[name].tokens, len(days[name].held)) for name in ("0", "1")] == [(0, 0), (300, 0)]
    driver.folded_equals_state()


def test_the_cost_of_a_call_counts_after_its_request_was_cancelled() -> None:
    driver = Asking("c1")
    driver.before("c1")
    driver.control("cancel")
    assert driver.state() == "cancelled"
    driver.after(tokens=300)
    (day,) = driver.shard.fleet.tables["model_day"].values()
    assert (day.tokens, day.held) == (300, [])
    driver.folded_equals_state()


def test_the_cost_of_a_call_counts_though_another_worker_has_the_job() -> None:
    driver = Asking("c1")
    driver.before("c1")
    driver.now_ms += 20_000
    driver.claim_job("plan-1", worker="v", constellation="c1")
    call = ModelCall(asked_ms=0, job="plan-1", stage="planning")
    unasked = driver.do(driver._used("c1", call=call, number=2, tokens=300))
    assert [fault.code for fault in unasked.faults] == [Code.CONFLICT], "the hub allowed no such call"
    driver.after(tokens=300)
    (day,) = driver.shard.fleet.tables["model_day"].values()
    assert (day.tokens, driver.shard.constellations["c1"].jobs["plan-1"].tokens) == (300, 300)
    assert driver.do(driver._used("c1", calls=1)).faults, "it makes no further call"
