"""A check of the tiers of a goal by the log alone: none goes back, each escalation has its reason and cause and keeps
what was known, and each tier hands over to a person once at most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom_protocol.stream.feed import Event

ORDER: Final = ("", "small", "worker")


def judge_tiers(known: str, event: Event, job: Any, was: Any, handed: set[tuple[str, str]]) -> Iterator[str]:
    """Yield what an event breaks that puts the job of a goal; `known` is its name.

    `handed` has each job with each tier whose model has handed over to a person so far, and is filled here: a tier
    begins by an escalation, or by a claim of a worker that has other tiers.
    """
    run, before = job.goal, was.goal
    added = run.turns[len(before.turns) :]
    risen = [turn for turn in added if turn.kind == "escalated"]
    if ORDER.index(run.tier) < ORDER.index(before.tier):
        yield f"{known} goes from the tier {before.tier} back to {run.tier!r}"
    if before.tier and run.tier != before.tier and not risen and len(run.tiers) > 1:
        yield f"{known} goes on with the tier {run.tier} without an escalation: {event.kind}"
    if sum(run.turns_by.values()) not in (sum(before.turns_by.values()), sum(before.turns_by.values()) + 1):
        yield f"{known} has counted {before.turns_by} and then {run.turns_by}"
    if before.stranger and run.stranger != before.stranger:
        yield f"{known} forgot that it read what a stranger wrote in {before.stranger}"
    if risen:
        yield from _escalated(known, event, job, was, risen)
    for _ in (turn for turn in added if turn.kind == "handed"):
        by = (job.id, run.tier or ORDER[-1])
        if by in handed:
            yield f"{known} has handed over to a person again by its tier {run.tier}"
        handed.add(by)


def _begun(turns: list[Any]) -> int:
    """Return the number of turns before the present tier began."""
    return max((at for at, turn in enumerate(turns, start=1) if turn.kind == "escalated"), default=0)


def _escalated(known: str, event: Event, job: Any, was: Any, risen: list[Any]) -> Iterator[str]:
    run, before = job.goal, was.goal
    (turn, *more) = risen
    if more or event.kind != "goal_escalated":
        yield f"{known} escalates {len(risen)} times by one {event.kind}"
    if not event.note or not turn.note or turn.by not in ("engine", "model"):
        yield f"{known} escalates without a reason, or by {turn.by}"
    if (before.tier, turn.tier, run.tier) != ("small", "worker", "worker"):
        yield f"{known} escalates from {before.tier!r} to {turn.tier!r}, and is then at {run.tier!r}"
    since = [one.kind for one in before.turns[_begun(before.turns) :]]
    judged = turn.note.startswith("its judge")
    if turn.by == "engine" and "told" not in since and not judged:
        yield f"{known} escalates and its model was not warned before"
    if (run.more, run.due_ms, job.tokens, job.micros) != (before.more, before.due_ms, was.tokens, was.micros):
        yield f"{known} has another budget after its escalation"
