"""The tiers of a goal: the model that makes its turns, and the escalation to the next one. Names no endpoint.

A goal begins with its smallest tier. It escalates by the ladder, by its judge, or because the model hands over, and
never goes back. Envelope, budget, conversation and what it has read of strangers go along unchanged. The claim of each
worker names the tiers that its settings have; a tier is state of the job, so another worker goes on with the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from starloom.core.plan.goals import monitors
from starloom.core.plan.goals.conversation import GoalCase, answers_made, back_to_work, run_of
from starloom.core.state.work import Refusal, fault
from starloom_protocol.records.entities import GoalRun, GoalTurn, Job
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code

SMALL, WORKER = "small", "worker"
TIERS: Final = (SMALL, WORKER)
"""All tiers, the smallest first."""
NEXT_TIER, PERSON = "next_tier", "person"
TO: Final = (NEXT_TIER, PERSON)
"""The addressees of a model that hands over."""


def check(names: Sequence[str]) -> None:
    """Return if the tiers that a claim names are known, each once, the smallest first.

    Raises:
        Refusal: they are not.
    """
    if list(names) != [tier for tier in TIERS if tier in names]:
        raise Refusal(fault(Code.BAD_REQUEST, f"the tiers of a goal are {', '.join(TIERS)}, in this order", "tiers"))


def at_claim(job: Job, names: Sequence[str]) -> Job:
    """Return the job of a goal with the tiers of the worker that claims it; one that has begun never goes down."""
    run = run_of(job)
    tiers = list(names) if len(names) > 1 else []
    tier = run.tier
    if not tiers:
        tier = TIERS[-1] if tier else ""
    elif tier not in tiers:
        tier = tiers[-1] if tier or job.claims else tiers[0]
    return replace(job, goal=replace(run, tier=tier, tiers=tiers))


def next_of(run: GoalRun) -> str:
    """Return the tier after the present one, empty if there is none."""
    ahead = run.tiers[run.tiers.index(run.tier) + 1 :] if run.tier in run.tiers else []
    return ahead[0] if ahead else ""


def counted(job: Job) -> Job:
    """Return the job of a goal with one more turn of its tier, where there are several."""
    run = run_of(job)
    if not run.tier:
        return job
    turns_by = {**run.turns_by, run.tier: run.turns_by.get(run.tier, 0) + 1}
    return replace(job, goal=replace(run, turns_by=turns_by))


def turns_of(run: GoalRun) -> list[GoalTurn]:
    """Return the turns since the present tier began."""
    begins = [at for at, turn in enumerate(run.turns, start=1) if turn.kind == monitors.ESCALATED]
    return run.turns[begins[-1] :] if begins else run.turns


def handed_over(run: GoalRun) -> bool:
    """Tell whether the model of the present tier has handed over to a person."""
    return run.handed == (run.tier or TIERS[-1])


def escalate(case: GoalCase, why: str, *, by: str) -> None:
    """Have the next tier continue a goal; the monitors begin at this turn, and what was used still counts."""
    tier = next_of(case.run)
    escalated = case.with_turn(monitors.ESCALATED, why, by=by, tier=tier)
    answered = answers_made(case.constellation, case.group)
    escalated = escalated.with_run(answered=answered, since=len(escalated.run.turns), tier=tier)
    back_to_work(escalated, EventKind.GOAL_ESCALATED, f"{tier} goes on: {why}", by=by)
