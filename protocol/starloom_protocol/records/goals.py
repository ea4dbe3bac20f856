"""The records of a goal: its envelope, as it stands in the spec of its group, and its conversation, as its job has it.

The envelope is what a person approves: where steps may go, by which tools, in which folders, to which hosts, and how
much they may use. The conversation is state, so that a worker goes on where another one was killed.
"""

from __future__ import annotations

from typing import Final

from starloom_protocol.records.record import Record
from starloom_protocol.records.specs import Check

GOAL_ANSWER_SUFFIX: Final = ".answer"
"""The child whose value is the answer of a goal has the goal's name and this; no step is named so."""


def goal_answer(goal: str) -> str:
    """Return the name of the child whose value is the answer of a goal."""
    return f"{goal}{GOAL_ANSWER_SUFFIX}"


class Milestone(Record, frozen=True, kw_only=True):
    """A result that the steps of a goal are to give by a number of steps or a time, whichever is over first."""

    condition: Check | None = None
    """The condition that the result of a call meets; without one, any result of `tool` does."""
    says: str
    steps: int = 0
    """The number of steps; 0: no bound by steps."""
    tool: str = ""
    """The tool of that call; empty: any."""
    within_s: int = 0
    """The time since the goal began; 0: no bound by time."""


class Goal(Record, frozen=True, kw_only=True):
    """The aim of a goal and its envelope; the devices are those of the task's selector."""

    aim: str
    finds: list[str] = []
    """The topics of the findings that it may publish."""
    gives: str = "{}"
    """The fields of its result with their types, as canonical text."""
    hosts: list[str] = []
    micros: int = 0
    """Millionths of a dollar; 0: it has no bound of its own."""
    milestones: list[Milestone] = []
    paths: list[str] = []
    """The folders of its steps; without any, the folders that the devices grant are the only bound."""
    steps: int = 20
    tokens: int = 60_000
    tools: list[str] = []
    """The tools of its steps; without any, those of its devices that only read."""
    until: list[Check] = []
    """The conditions that its result must meet."""
    within_s: int = 600


class GoalTurn(Record, frozen=True, kw_only=True):
    """One turn of a goal's conversation."""

    at_ms: int
    by: str = "model"
    cites: list[str] = []
    """The steps that the model named as its evidence."""
    kind: str
    """`step` (calls), `refused` (not taken), `told` (a monitor's reason), `hint` (a person's words), `escalated` (the
    next tier goes on) or `handed` (the model handed over to a person)."""
    note: str = ""
    """The model's reason for a step, the reason of a refusal, a monitor, an escalation or a hand-over, or the words
    of a hint."""
    said: str = ""
    """The calls or the answer of the model that were not taken."""
    tasks: list[str] = []
    """The calls of a step, as tasks."""
    tier: str = ""
    """Of an escalation, the tier that goes on."""
    uses: int = 1
    """The part of the goal's steps that a step uses: one, or one for each entry of a list."""


class GoalRun(Record, frozen=True, kw_only=True):
    """The state of a goal that is carried out: its turns, and how far the ladder of its monitors has gone."""

    answered: int = 0
    """The answers from before the present tier or round."""
    asked_ms: int = 0
    """The time at which a person was asked; 0: nobody is asked."""
    due_ms: int
    ends: str = ""
    """The state in which its group ends once its calls have."""
    handed: str = ""
    """The newest tier whose model handed over to a person."""
    level: int = 0
    """1: the model was told of a stall since the last time that a person let it go on."""
    more: int = 0
    """How often a person let it go on; each time allows as much again."""
    since: int = 0
    """The number of turns at the last warning."""
    stranger: str = ""
    """The task by which it read what a stranger may have written."""
    tier: str = ""
    """The tier that makes the turns; empty where there never were several."""
    tiers: list[str] = []
    """The tiers that the newest claim named, the smallest first, where there are several."""
    turns: list[GoalTurn] = []
    turns_by: dict[str, int] = {}
    """The turns that each tier made."""
