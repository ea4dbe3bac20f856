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


class Goal(Record, frozen=True, kw_only=True):
    """The aim of a goal and its envelope; the devices are those of the task's selector.

    `gives` is the canonical text of its result's fields with their types. Without `tools` its steps use those of its
    devices that only read. Without `paths` the folders that the devices grant are the only bound. `micros` are
    millionths of a dollar, 0 for no bound of its own.
    """

    aim: str
    gives: str = "{}"
    hosts: list[str] = []
    micros: int = 0
    paths: list[str] = []
    steps: int = 20
    tokens: int = 60_000
    tools: list[str] = []
    until: list[Check] = []
    within_s: int = 600


class GoalTurn(Record, frozen=True, kw_only=True):
    """One turn of a goal's conversation.

    `kind`: step (calls, made as `tasks`), refused (calls or an answer that were not taken, `said` by the model, for the
    reason `note`), told (a monitor's reason) or hint (a person's words). `cites` are the steps that the model named as
    its evidence.
    """

    at_ms: int
    by: str = "model"
    cites: list[str] = []
    kind: str
    note: str = ""
    said: str = ""
    tasks: list[str] = []


class GoalRun(Record, frozen=True, kw_only=True):
    """The state of a goal that is carried out: its turns, and how far the ladder of its monitors has gone.

    `level` 1: the model was told of a stall since the last time that a person let it go on. `more` is how often a
    person did; each time allows as much again. `since` is the number of turns at the last warning. `stranger` is the
    task by which it read what a stranger may have written. `ends` is the state in which its group ends once its calls
    have; `asked_ms` is when a person was asked.
    """

    asked_ms: int = 0
    due_ms: int
    ends: str = ""
    level: int = 0
    more: int = 0
    since: int = 0
    stranger: str = ""
    turns: list[GoalTurn] = []
