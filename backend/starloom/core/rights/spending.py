"""The cost of the model for the same goal or the same constellation before, learned when one ends.

Owns the records with their names and the bound on their number. Forecasts nothing and stops nothing.

Tokens and money are kept as logarithms in whole numbers, as paces are, so that replay makes the same bytes. Work that a
person ended, and a fork, which uses results of another run, teach nothing. A goal that was stopped at its budget counts
with what it used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from starloom.core.placement.pace import COUNT_MOST, log_of
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Work
from starloom_protocol.records.entities import Job
from starloom_protocol.records.goals import Goal
from starloom_protocol.records.models import Spending
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import ConstellationState

_HASH_CHARS: Final = 16


def goal_name(recipe: str | None, group: str, goal: Goal) -> str:
    """Return the name under which the cost of a goal is known: its place in its recipe, else its aim."""
    return f"goal/{recipe}/{group}" if recipe else f"goal/{_hashed(goal.aim)}"


def run_name(recipe: str | None, plan_hash: str) -> str:
    """Return the name under which the cost of a constellation is known: its recipe, else its plan."""
    return f"run/{recipe}" if recipe else f"run/{_hashed(plan_hash)}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARS]


def with_sample(row: Spending, tokens: int, micros: int, at_ms: int) -> Spending:
    """Return a row with one run more."""
    token, micro = log_of(tokens), log_of(micros)
    row = _with_half_weight(row)
    return Spending(
        count=row.count + 1,
        last_ms=at_ms,
        micro_logs=row.micro_logs + micro,
        micro_squares=row.micro_squares + micro * micro,
        of=row.of,
        token_logs=row.token_logs + token,
        token_squares=row.token_squares + token * token,
    )


def _with_half_weight(row: Spending) -> Spending:
    """Return a row with half the weight once it has `COUNT_MOST` samples, so that newer runs count for more."""
    if row.count < COUNT_MOST:
        return row
    count = row.count // 2
    return replace(
        row,
        count=count,
        micro_logs=row.micro_logs * count // row.count,
        micro_squares=row.micro_squares * count // row.count,
        token_logs=row.token_logs * count // row.count,
        token_squares=row.token_squares * count // row.count,
    )


def learn_goal(work: Work, constellation: Constellation, group: str, job: Job) -> None:
    """Take the cost of a goal that has ended; one that a fork began with steps of another run is no sample."""
    goal = constellation.specs[group].goal
    if goal is not None and job.calls and constellation.head.origin is None:
        _put(work, goal_name(constellation.head.recipe, group, goal), job.tokens, job.micros)


def learn_run(work: Work, constellation: Constellation) -> None:
    """Take the cost of a constellation that has ended, once; what it uses after it is opened again is no other run."""
    head, jobs = constellation.head, constellation.jobs.values()
    if teaches(constellation) and not head.taught:
        name = run_name(head.recipe, head.plan_hash or "")
        _put(work, name, sum(job.tokens for job in jobs), sum(job.micros for job in jobs))


def teaches(constellation: Constellation) -> bool:
    """Tell whether a constellation has ended that nobody cancelled, and a model was asked or money was bounded."""
    head = constellation.head
    is_bounded = head.budget is not None and head.budget.micros > 0
    has_asked = any(job.calls for job in constellation.jobs.values())
    ended = head.ended_ms and head.state is not ConstellationState.CANCELLED and head.origin is None
    return bool(ended and head.plan_hash and (has_asked or is_bounded))


def _put(work: Work, name: str, tokens: int, micros: int) -> None:
    fleet, most = work.shard.fleet, work.shard.settings.spending_rows_most
    if not most:
        return
    row = fleet.spendings.get(name) or Spending(last_ms=work.at_ms, of=name)
    put: Put = ("spending", name, with_sample(row, tokens, micros, work.at_ms))
    removals: list[Put] = (
        [] if name in fleet.spendings else [("spending", old, None) for old in _oldest(fleet.spendings, most)]
    )
    work.emit(fleet, EventKind.SPENDING_LEARNED, name, [*removals, put], by=ENGINE)


def _oldest(rows: Mapping[str, Spending], most: int) -> list[str]:
    """Return the names that give way to one more row."""
    return sorted(rows, key=lambda name: (rows[name].last_ms, name))[: max(0, len(rows) + 1 - most)]
