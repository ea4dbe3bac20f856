"""The chance of a run to stay inside the budgets of its model, from what the same work cost before.

Owns the choice of the budget to tell: the one that most probably ends first. The core cannot play the turns of a
model, so each play draws the mean and the spread of all runs from the few that are known, as the times of calls are
drawn. It is silent about a plan without any such budget, and says *not known yet* below three runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final

from starloom.core.placement.pace import SAMPLES_LEAST, log_of, spread_of
from starloom.core.rights.spending import goal_name, run_name
from starloom.core.state.model import Constellation
from starloom.planner.forecast.known import SPREAD_CALLS, SPREAD_UNKNOWN
from starloom.planner.forecast.plans import PLAYS_MOST
from starloom_protocol.api.previews import BudgetChance
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.goals import Goal
from starloom_protocol.records.models import Spending
from starloom_protocol.vocabulary import FINAL_GROUP_STATES

_NORMAL: Final = NormalDist()
_MICROS: Final = 1_000_000
_UNSURE: Final = 0.01
"""Runs before make nothing certain: a run that has not used its budget up may still do so, or not."""
_BEYOND: Final = 0.001
"""A run that has used more than all but so few of the known ones tells nothing about its rest."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A budget: of a goal, or of the whole where `of` is empty; `spent` is used of it, `most` ends it."""

    of: str
    name: str
    money: bool
    most: int
    spent: int = 0

    @property
    def words(self) -> str:
        """The bound with its unit."""
        return f"{self.most / _MICROS:.2f} dollars" if self.money else f"{self.most:,} tokens"


def of_plan(plan: LoweredPlan, spendings: Mapping[str, Spending], micros: int = 0) -> BudgetChance | None:
    """Return the chance of a plan that has not begun; None if it bounds neither tokens nor money.

    `micros` is the money that the request allows for the whole; 0: it has no bound.
    """
    bounds = []
    for spec in plan.specs:
        if spec.goal is not None:
            bounds += _of_goal(spec.id, goal_name(plan.recipe, spec.id, spec.goal), spec.goal)
    if micros:
        bounds.append(Bound("", run_name(plan.recipe, plan.hash), money=True, most=micros))
    return _least_chance(bounds, spendings, plan.hash)


def of_run(constellation: Constellation, spendings: Mapping[str, Spending]) -> BudgetChance | None:
    """Return the chance of a run under way, from what it has used; None if no open work of it is bounded."""
    return _least_chance(list(_open_bounds(constellation)), spendings, constellation.name)


def _open_bounds(constellation: Constellation) -> Iterator[Bound]:
    head = constellation.head
    for group, record in constellation.groups.items():
        goal = constellation.specs[group].goal
        if goal is None or record.state in FINAL_GROUP_STATES:
            continue
        job = next((job for job in constellation.jobs.values() if job.tasks == [f"{group}/{record.round}"]), None)
        times = 1 + (job.goal.more if job is not None and job.goal is not None else 0)
        tokens, micros = (job.tokens, job.micros) if job is not None else (0, 0)
        yield from _of_goal(group, goal_name(head.recipe, group, goal), goal, times, tokens, micros)
    budget = head.budget
    if budget is not None and budget.micros and head.plan_hash:
        spent = sum(job.micros for job in constellation.jobs.values())
        name = run_name(head.recipe, head.plan_hash)
        yield Bound("", name, money=True, most=budget.micros * budget.times, spent=spent)


def _of_goal(group: str, name: str, goal: Goal, times: int = 1, tokens: int = 0, micros: int = 0) -> list[Bound]:
    bounds = [Bound(group, name, money=False, most=goal.tokens * times, spent=tokens)]
    if goal.micros:
        bounds.append(Bound(group, name, money=True, most=goal.micros * times, spent=micros))
    return bounds


def _least_chance(bounds: list[Bound], spendings: Mapping[str, Spending], seed: str) -> BudgetChance | None:
    """Return the least chance of all; not known where that of any is not."""
    if not bounds:
        return None
    chances = [(chance(bound, spendings.get(bound.name), seed), bound) for bound in bounds]
    unknown = next((bound for value, bound in chances if value is None), None)
    bound = unknown or min(chances, key=lambda one: one[0] or 0.0)[1]
    row = spendings.get(bound.name)
    runs = row.count if row is not None else 0
    value = None if unknown else min(value for value, _bound in chances if value is not None)
    inside = f"{f'the goal {bound.of}' if bound.of else 'it'} stays inside its budget of {bound.words}"
    if value is None:
        sentence = f"Not known yet whether {inside}: {_runs(runs)}."
    else:
        sentence = f"{inside[:1].upper()}{inside[1:]} with {value:.0%}, from {runs} runs."
    return {
        "of": bound.of,
        "budget": bound.words,
        "chance": None if value is None else round(value, 3),
        "runs": runs,
        "said": sentence,
    }


def _runs(runs: int) -> str:
    if runs >= SAMPLES_LEAST:
        return "it has used more than in the runs before"
    return f"it {('has not run', 'ran once', 'ran twice')[runs]} before, and three runs are enough"


def chance(bound: Bound, row: Spending | None, seed: str) -> float | None:
    """Return the share of runs, of those that use more than is spent by now, that end below the bound."""
    if bound.spent >= bound.most:
        return 0.0
    if row is None or row.count < SAMPLES_LEAST:
        return None
    logs, squares = (row.micro_logs, row.micro_squares) if bound.money else (row.token_logs, row.token_squares)
    runs, mean = row.count, logs / row.count
    calls = runs - 1 + SPREAD_CALLS
    seen = spread_of(runs, logs, squares)
    spread = sqrt((SPREAD_CALLS * SPREAD_UNKNOWN**2 + (runs - 1) * seen**2) / calls)
    most, least = log_of(bound.most), log_of(bound.spent) if bound.spent else None
    drawn = random.Random(f"{seed} {bound.of} {bound.words}")  # noqa: S311 - a play must be the same again
    inside = beyond = 0.0
    for _ in range(PLAYS_MOST):
        deviation = spread * sqrt(calls / drawn.gammavariate(calls / 2, 2.0))
        middle = mean + drawn.gauss(0, deviation / sqrt(runs))
        below = _NORMAL.cdf((most - middle) / deviation)
        used = _NORMAL.cdf((least - middle) / deviation) if least is not None else 0.0
        inside += below - used
        beyond += 1 - used
    if beyond / PLAYS_MOST <= _BEYOND:
        return None
    return min(1 - _UNSURE, max(_UNSURE, inside / beyond))
