"""The records of a goal: its envelope, as it stands in the spec of its group, and its conversation, as its job has it.

The envelope is what a person approves: where steps may go, by which tools, in which folders, to which hosts, and how
much they may use. The conversation is state, so that a worker goes on where another one was killed.
"""

from __future__ import annotations

from starloom_protocol.records.record import Record
from starloom_protocol.records.specs import Check


class Goal(Record, frozen=True, kw_only=True):
    """The aim of a goal and its envelope; the devices are those of the task's selector.

    `gives` is the canonical text of its result's fields with their types. Without `tools` its steps use those of its
    devices that only read. Without `paths` the folders that the devices grant are the only bound. `micros` are
    millionths of a dollar, 0 for no bound of its own. `finds` are the topics of the findings that it may publish.
    """

    aim: str
    finds: list[str] = []
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
    reason `note`), told (a monitor's reason), hint (a person's words), escalated (the next `tier` goes on, for the
    reason `note` of a monitor or of the model itself) or handed (the model handed over to a person). `cites` are the
    steps that the model named as its evidence. `uses` is how much of the goal's steps a step uses: one, or one for each
    entry of a list.
    """

    at_ms: int
    by: str = "model"
    cites: list[str] = []
    kind: str
    note: str = ""
    said: str = ""
    tasks: list[str] = []
    tier: str = ""
    uses: int = 1


class GoalRun(Record, frozen=True, kw_only=True):
    """The state of a goal that is carried out: its turns, and how far the ladder of its monitors has gone.

    `level` 1: the model was told of a stall since the last time that a person let it go on. `more` is how often a
    person did; each time allows as much again. `since` is the number of turns at the last warning. `stranger` is the
    task by which it read what a stranger may have written. `ends` is the state in which its group ends once its calls
    have; `asked_ms` is when a person was asked.

    `tiers` are those that the newest claim named, the smallest first, where there are several; `tier` is the one that
    makes the turns, empty where there never were several. `turns_by` counts the turns that each made, `handed` is the
    newest tier whose model handed over to a person, and `answered` counts the answers from before the present tier
    or round.
    """

    answered: int = 0
    asked_ms: int = 0
    due_ms: int
    ends: str = ""
    handed: str = ""
    level: int = 0
    more: int = 0
    since: int = 0
    stranger: str = ""
    tier: str = ""
    tiers: list[str] = []
    turns: list[GoalTurn] = []
    turns_by: dict[str, int] = {}
