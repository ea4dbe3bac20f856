"""The chance of a budget of the model: from runs of the same work alone, and never below three of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from starloom.core.rights.spending import goal_name, run_name, with_sample
from starloom.planner.forecast.budgets import Bound, chance, of_plan, of_run
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.goals import Goal
from starloom_protocol.records.models import Budget, Spending
from tests.builders import Driver
from tests.core.plan.goals.pursued import GOAL, Pursued
from tests.core.rights.test_spending import use

WHY = goal_name(None, "why", Goal(aim=GOAL["goal"]))


def plan(*tasks: dict[str, Any], **goal: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Why", "tasks": [{**GOAL, **goal}, *tasks]})
    assert check.plan is not None, check.faults
    return check.plan


def spent(name: str, *runs: tuple[int, int]) -> dict[str, Spending]:
    row = Spending(last_ms=1, of=name)
    for tokens, micros in runs:
        row = with_sample(row, tokens, micros, 1)
    return {name: row}


def test_a_plan_without_a_bound_on_the_model_has_no_chance() -> None:
    check = check_plan({"starloom": 1, "name": "Plain", "tasks": [{"id": "a", "tool": "t.pure"}]})
    assert check.plan is not None
    assert of_plan(check.plan, {}) is None
    bounded = of_plan(check.plan, {}, 300_000)
    assert bounded is not None
    assert (bounded["of"], bounded["budget"], bounded["chance"]) == ("", "0.30 dollars", None)


@pytest.mark.parametrize(("runs", "words"), [(0, "has not run"), (1, "ran once"), (2, "ran twice")])
def test_below_three_runs_it_is_not_known_yet(runs: int, words: str) -> None:
    told = of_plan(plan(), spent(WHY, *[(1_000, 0)] * runs))
    assert told is not None
    assert (told["chance"], told["runs"]) == (None, runs)
    assert told["said"] == (
        "Not known yet whether the goal why stays inside its budget of 60,000 tokens: "
        f"it {words} before, and three runs are enough."
    )


def test_the_budget_that_most_probably_ends_first_is_told() -> None:
    spendings = spent(WHY, *[(20_000, 90_000)] * 5)
    told = of_plan(plan(budget={"tokens": 60_000, "dollars": 0.1}), spendings)
    assert told is not None
    assert (told["of"], told["budget"], told["runs"]) == ("why", "0.10 dollars", 5)
    assert told["chance"] is not None
    assert 0.3 < told["chance"] < 0.8
    assert told["said"].startswith("The goal why stays inside its budget of 0.10 dollars with ")
    assert told == of_plan(plan(budget={"tokens": 60_000, "dollars": 0.1}), spendings), "the same again"


def test_one_budget_that_is_not_known_makes_the_whole_not_known() -> None:
    told = of_plan(plan(), spent(WHY, *[(1_000, 0)] * 5), 300_000)
    assert told is not None
    assert (told["of"], told["chance"]) == ("", None)


def test_a_chance_grows_with_the_budget_and_falls_with_what_was_spent() -> None:
    row = spent(WHY, (8_000, 0), (10_000, 0), (12_500, 0), (9_000, 0))[WHY]
    by_budget = [
        chance(Bound("why", WHY, money=False, most=most), row, "s") for most in (5_000, 10_000, 20_000, 80_000)
    ]
    assert by_budget == sorted(by_budget, key=lambda one: one or 0.0)
    assert by_budget[0] is not None
    assert by_budget[-1] is not None
    assert by_budget[0] < 0.1
    assert by_budget[-1] > 0.98
    later = [
        chance(Bound("why", WHY, money=False, most=15_000, spent=used), row, "s") for used in (0, 9_000, 12_000, 14_500)
    ]
    assert later == sorted(later, key=lambda one: one or 0.0, reverse=True)


def test_a_run_beyond_all_that_is_known_has_no_number_and_one_beyond_its_budget_none_left() -> None:
    row = spent(WHY, *[(1_000, 0)] * 20)[WHY]
    assert chance(Bound("why", WHY, money=False, most=900_000, spent=800_000), row, "s") is None
    assert chance(Bound("why", WHY, money=False, most=1_000, spent=1_000), row, "s") == 0.0


def test_of_runs_with_a_chance_about_that_share_stays_inside() -> None:
    drawn, inside, told = random.Random(7), 0, 0.0
    for number in range(400):
        costs = [round(2 ** drawn.gauss(13, 0.8)) for _ in range(6)]
        row = spent(WHY, *[(cost, 0) for cost in costs])[WHY]
        found = chance(Bound("why", WHY, money=False, most=12_000), row, str(number))
        assert found is not None
        told += found
        inside += 2 ** drawn.gauss(13, 0.8) < 12_000
    assert abs(told / 400 - inside / 400) < 0.06


def test_a_run_under_way_counts_what_it_has_used() -> None:
    one = Pursued(goal={"budget": {"tokens": 20_000}})
    spendings = spent(WHY, *[(9_000, 0)] * 5)
    before = of_run(one.made, spendings)
    use(one, 12_000, 0)
    after = of_run(one.made, spendings)
    assert before is not None
    assert after is not None
    assert before["chance"] is not None
    assert after["chance"] is not None
    assert after["chance"] < before["chance"]
    one.propose("give_up", note="no way")
    assert of_run(one.made, spendings) is None, "nothing is open that is bounded"


def test_the_money_of_a_whole_run_is_bounded_by_its_own_budget() -> None:
    one = Driver("one")
    check = check_plan({"starloom": 1, "name": "Plain", "tasks": [{"id": "a", "tool": "t.pure"}]})
    assert check.plan is not None
    made = one.submit(check.plan, budget=Budget(micros=300_000))
    told = of_run(made, spent(run_name(None, check.plan.hash), *[(0, 10_000)] * 4))
    assert told is not None
    assert (told["of"], told["budget"], told["runs"], told["chance"]) == ("", "0.30 dollars", 4, 0.99)
    assert told["said"] == "It stays inside its budget of 0.30 dollars with 99%, from 4 runs."
