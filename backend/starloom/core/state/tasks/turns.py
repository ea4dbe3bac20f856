"""Turns of a repeated call: whether another one follows, by the results of those that were made.

Reads facts of attempts and decides; the group that grows is in `plan.groups`.
"""

from __future__ import annotations

from enum import StrEnum

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import fact, is_known
from starloom_protocol.records.specs import Repeat
from starloom_protocol.values import holds, parse
from starloom_protocol.vocabulary import TaskState


class Next(StrEnum):
    """The decision after the turns so far: `waits` for a turn or for a fact that its device must still read."""

    WAITS = "waits"
    BROKEN = "broken"
    MET = "met"
    UNMET = "unmet"
    TURN = "turn"


def turns_of(constellation: Constellation, group: str) -> list[str]:
    """Return the turns of a group in order."""
    return sorted(constellation.children.get(group, {}), key=number_of)


def number_of(turn: str) -> int:
    """Return the number of a turn, from 1."""
    return int(turn.rpartition(".")[2])


def decide(constellation: Constellation, group: str, repeat: Repeat) -> tuple[Next, int]:
    """Return the decision and the number of the turn that led to it."""
    met = number = 0
    for turn in turns_of(constellation, group):
        number = number_of(turn)
        record = constellation.tasks[turn]
        if record.state is not TaskState.SUCCEEDED:
            over = record.state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.SKIPPED)
            return (Next.BROKEN if over else Next.WAITS), number
        if repeat.until is not None:
            if not is_known(constellation, turn, repeat.until.output):
                return Next.WAITS, number
            met = met + 1 if ends(constellation, turn, repeat) else 0
            if met >= repeat.in_a_row:
                return Next.MET, number
    if number < repeat.most:
        return Next.TURN, number
    return (Next.MET if repeat.until is None else Next.UNMET), number


def ends(constellation: Constellation, turn: str, repeat: Repeat) -> bool:
    """Tell whether the result of a turn meets the condition by which the turns end."""
    if repeat.until is None:
        return False
    value = parse(repeat.until.value) if repeat.until.value is not None else None
    met = holds(repeat.until.op, fact(constellation, turn, repeat.until.output), value)
    return met is not repeat.during


def begins_ms(constellation: Constellation, turn: str) -> int:
    """Return the moment before which a turn does not begin; 0 where the turn before it has only to end."""
    spec = constellation.specs[turn]
    group = constellation.specs.get(spec.group or "")
    repeat = group.for_each.repeat if group is not None and group.for_each is not None else None
    if repeat is None or not repeat.every_s:
        return 0
    name = f"{group.id}.{number_of(turn) - 1}" if group is not None else ""
    attempt = constellation.last_attempt(name)
    if attempt is not None:
        return attempt.leased_ms + repeat.every_s * 1000
    # A call of the hub's own tool has no attempt: it ends as it begins.
    record = constellation.tasks.get(name)
    return record.since_ms + repeat.every_s * 1000 if record is not None else 0
