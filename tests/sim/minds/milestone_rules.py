"""The milestones of goals, said anew from the log: each that is missed is told, and none that was reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom_protocol.values import MISSING, holds, parse, point

_WARNINGS = ("told", "escalated")


def judge_milestones(known: str, goal: Any, job: Any, was: Any, now: dict[str, Any], brought: int) -> Iterator[str]:
    """Yield what the new turns of a goal break; `now` are its records with those of this event.

    A goal in a fork begins with `brought` turns, after which nothing was judged yet.
    """
    for at in range(len(was.goal.turns), len(job.goal.turns)):
        turn, before = job.goal.turns[at], job.goal.turns[:at]
        for milestone in goal.milestones:
            if turn.by == "engine" and turn.kind in _WARNINGS and milestone.says in turn.note:
                if _reached(milestone, before, now):
                    yield f"{known} was told of the milestone \u201c{milestone.says}\u201d, which it has reached"
                if any(one.note == turn.note for one in before):
                    yield f"{known} was told twice: {turn.note}"
            if turn.kind == "step":
                yield from _untold(known, milestone, before, 1 + was.goal.more, now, brought)


def _untold(
    known: str, milestone: Any, before: list[Any], times: int, now: dict[str, Any], brought: int
) -> Iterator[str]:
    """A goal goes on beside a missed milestone only if it was told, or each step since gave another warning."""
    if not milestone.steps or times > 1 or _reached(milestone, before, now):
        return
    if any(one.by == "engine" and milestone.says in one.note for one in before):
        return
    used, since, warned = 0, 0, 0
    for at, one in enumerate(before):
        if one.kind == "step":
            used += one.uses
            since += used >= milestone.steps and at >= brought
        elif used >= milestone.steps and one.kind in _WARNINGS:
            warned += 1
    if since > warned:
        yield f"{known} goes on after {used} steps, and nobody was told that \u201c{milestone.says}\u201d is missed"


def _reached(milestone: Any, turns: list[Any], now: dict[str, Any]) -> bool:
    for task in (task for turn in turns if turn.kind == "step" for task in turn.tasks):
        spec, record = now.get(f"spec/{task}"), now.get(f"task/{task}")
        if spec is None or record is None or record.state != "succeeded":
            continue
        if milestone.tool and spec.tool != milestone.tool:
            continue
        check, attempt = milestone.condition, now.get(f"attempt/{task}/{record.attempt}")
        text = record.marked if record.marked is not None else attempt.value if attempt is not None else None
        value = point(parse(text), check.output) if text is not None else MISSING
        if value is not MISSING and holds(check.op, value, parse(check.value) if check.value is not None else None):
            return True
    return False
