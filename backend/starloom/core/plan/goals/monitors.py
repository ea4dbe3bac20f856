"""Monitors: the rules that notice a goal that gets nowhere. Pure over its turns and the results of its steps.

Each returns its reason in words, or nothing. They decide no consequence: the ladder in `asking` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import fact
from starloom_protocol.records.entities import Goal, GoalRun, GoalTurn, Job, TaskSpec
from starloom_protocol.records.goals import Milestone
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.values import MISSING, holds, parse
from starloom_protocol.vocabulary import TaskState

STEP, REFUSED, TOLD, HINT = "step", "refused", "told", "hint"
ESCALATED, HANDED = "escalated", "handed"
SAME_CALL_MOST: Final = 2
STEPS_WITHOUT_NEWS: Final = 4
LIKE_ERRORS: Final = 3


def steps_of(run: GoalRun) -> list[GoalTurn]:
    """Return the turns that were steps, in order."""
    return [turn for turn in run.turns if turn.kind == STEP]


def seen_turns(run: GoalRun) -> int:
    """Return how many turns a proposal rests on; a hint may come while a model thinks, and is for its next turn."""
    return sum(turn.kind != HINT for turn in run.turns)


def used(run: GoalRun) -> int:
    """Return how many of its steps a goal has used; a step over a list counts for each entry."""
    return sum(turn.uses for turn in steps_of(run))


def same_call(constellation: Constellation, run: GoalRun, specs: Sequence[TaskSpec]) -> str:
    """Return why a step is not made: one of its calls was made as often as it may be."""
    counts: dict[tuple[str, str, str], int] = {}
    for turn in steps_of(run):
        for task in turn.tasks:
            spec = constellation.specs.get(task)
            if spec is not None:
                counts[_call(spec)] = counts.get(_call(spec), 0) + 1
    for spec in specs:
        if counts.get(_call(spec), 0) >= SAME_CALL_MOST:
            return f"the same call of {spec.tool} for a third time"
    return ""


def _call(spec: TaskSpec) -> tuple[str, str, str]:
    device = spec.device.id if spec.device is not None else None
    return spec.tool or "", spec.args, device or ""


def stall(constellation: Constellation, job: Job, goal: Goal, at_ms: int) -> str:
    """Return why a goal gets nowhere, from the turns since its last warning; empty if it gets on."""
    run = job.goal or GoalRun(due_ms=0)
    recent = [turn for turn in run.turns[run.since :] if turn.kind == STEP]
    steps = steps_of(run)
    if len(recent) >= STEPS_WITHOUT_NEWS and not _news(constellation, steps, recent[-STEPS_WITHOUT_NEWS:]):
        return f"{STEPS_WITHOUT_NEWS} steps without a new result"
    errors = list(_errors(constellation, run.turns[run.since :]))[-LIKE_ERRORS:]
    if len(errors) == LIKE_ERRORS and errors[0] and len(set(errors)) == 1:
        return f"{LIKE_ERRORS} like errors in a row: {errors[0]}"
    missed = _missed(constellation, run, goal, at_ms) if goal.milestones else ""
    if missed:
        return missed
    return "" if any(turn.cites for turn in steps) else _half_used(job, run, goal, at_ms)


def _missed(constellation: Constellation, run: GoalRun, goal: Goal, at_ms: int) -> str:
    """Return the first milestone whose steps or time are over without it, in words; each warns once.

    A person who lets the goal go on allows each milestone as much again.
    """
    times = 1 + run.more
    spent_ms = goal.within_s * 1000 * times - (run.due_ms - at_ms)
    warnings = {turn.note for turn in run.turns if turn.by == ENGINE}
    for milestone in goal.milestones:
        steps, within_s = milestone.steps * times, milestone.within_s * times
        if 0 < steps <= used(run):
            bound = f"{steps} steps"
        elif 0 < within_s * 1000 <= spent_ms:
            bound = f"{within_s} s"
        else:
            continue
        why = f"the milestone \u201c{milestone.says}\u201d is not reached within {bound}"
        if why not in warnings and not _is_reached(constellation, run, milestone):
            return why
    return ""


def _is_reached(constellation: Constellation, run: GoalRun, milestone: Milestone) -> bool:
    """Tell whether a call of a step gave the result of a milestone."""
    for task in (task for turn in steps_of(run) for task in turn.tasks):
        record, spec = constellation.tasks.get(task), constellation.specs.get(task)
        if record is None or spec is None or record.state is not TaskState.SUCCEEDED:
            continue
        if milestone.tool and spec.tool != milestone.tool:
            continue
        check = milestone.condition
        if check is None:
            return True
        value = fact(constellation, task, check.output)
        expected = parse(check.value) if check.value is not None else None
        if value is not MISSING and holds(check.op, value, expected):
            return True
    return False


def _half_used(job: Job, run: GoalRun, goal: Goal, at_ms: int) -> str:
    """Return the part of its budget of which a goal without a cited result has used half; each warns once."""
    times = 1 + run.more
    most = goal.steps * times
    half_most, used_before = (most + 1) // 2, sum(turn.uses for turn in steps_of_before(run))
    if most > 1 and used(run) >= half_most > used_before:
        return _half_of(f"{most} steps")
    warnings = {turn.note for turn in run.turns if turn.by == ENGINE}
    parts = (
        (f"{goal.tokens * times} tokens", job.tokens * 2 >= goal.tokens * times),
        (f"{goal.micros * times / 1_000_000:.2f} dollars", 0 < goal.micros * times <= job.micros * 2),
        (f"{goal.within_s * times} s", (run.due_ms - at_ms) * 2 <= goal.within_s * 1000),
    )
    return next((why for part, is_half in parts if is_half and (why := _half_of(part)) not in warnings), "")


def _half_of(part: str) -> str:
    return f"half of its {part} without a result that it cites"


def steps_of_before(run: GoalRun) -> list[GoalTurn]:
    """Return the steps before the last warning."""
    return [turn for turn in run.turns[: run.since] if turn.kind == STEP]


def _news(constellation: Constellation, steps: Sequence[GoalTurn], recent: Sequence[GoalTurn]) -> bool:
    """Tell whether a recent step gave a result that no step before gave."""
    seen: set[str] = set()
    for turn in steps:
        for task in turn.tasks:
            result = _result(constellation, task)
            if result and result not in seen:
                seen.add(result)
                if turn in recent:
                    return True
    return False


def _result(constellation: Constellation, task: str) -> str:
    record, attempt = constellation.tasks.get(task), constellation.last_attempt(task)
    if record is None or record.state is not TaskState.SUCCEEDED or attempt is None:
        return ""
    text = attempt.value if attempt.value is not None else attempt.artifact
    return sha256((text or "").encode()).hexdigest()


def _errors(constellation: Constellation, turns: Sequence[GoalTurn]) -> Iterator[str]:
    """Yield the error of each call that was made or refused, empty for one that succeeded."""
    for turn in turns:
        if turn.kind == REFUSED:
            yield "what it proposed was refused"
        for task in turn.tasks if turn.kind == STEP else ():
            record, spec = constellation.tasks.get(task), constellation.specs.get(task)
            if record is None or spec is None:
                continue
            failed = record.state is not TaskState.SUCCEEDED
            yield f"{spec.tool} ended with {record.code or record.state}" if failed else ""
