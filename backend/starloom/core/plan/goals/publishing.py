"""The findings that a goal publishes by its turns: parts of results of its own calls, under topics of its envelope.

A model chooses which part is a finding and never what it says: the value is read from the result that it cites. Each
turn that names another topic, another's result, or a part that is not there is refused whole, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starloom.core.plan.goals.conversation import GoalCase
from starloom.core.plan.reuse import findings
from starloom.core.state.inputs import FoundPart
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.gates import fact, is_known
from starloom_protocol.records.entities import Job
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.values import MISSING, pointer_fault
from starloom_protocol.vocabulary import TaskState

IN_TURN_MOST: Final = 4
OF_GOAL_MOST: Final = 20
"""Findings of one round of a goal: the newest of each topic stand in every turn of each other goal."""


def against(case: GoalCase, finds: Sequence[FoundPart]) -> str:
    """Return why the findings of a turn are not published; empty if they may be."""
    if not finds:
        return ""
    constellation, group, topics = case.constellation, case.group, case.goal.finds
    if len(finds) > IN_TURN_MOST:
        return f"a turn publishes at most {IN_TURN_MOST} findings"
    count = sum(1 for one in constellation.findings.values() if one.by == group and one.round == _round(case.job))
    if count + len(finds) > OF_GOAL_MOST:
        return f"a goal publishes at most {OF_GOAL_MOST} findings"
    for one in finds:
        if one.topic not in topics:
            names = ", ".join(topics) or "none"
            return f"{one.topic[:80]} is no topic that this goal may write about; there is {names}"
        why = _against_part(case.work.shard.fleet, constellation, group, one)
        if why:
            return why
    return ""


def _against_part(fleet: Fleet, constellation: Constellation, group: str, one: FoundPart) -> str:
    is_own_call = one.task in constellation.children.get(group, {}) and one.task != goal_answer(group)
    record = constellation.tasks.get(one.task) if is_own_call else None
    if record is None or record.state is not TaskState.SUCCEEDED:
        return f"{one.task[:80]} is no call of this goal that has a result, so it is no finding"
    offer = fleet.tools.get(record.device or "", {}).get(constellation.specs[one.task].tool or "")
    if offer is None or not offer.effects:
        return f"{one.task} gives what its arguments say, so it shows nothing"
    fault_words = pointer_fault(one.pointer)
    if fault_words:
        return fault_words
    if fact(constellation, one.task, one.pointer) is not MISSING:
        return ""
    if is_known(constellation, one.task, one.pointer):
        return f"{one.task} has nothing at {one.pointer[:100]}"
    return f"the result of {one.task} is in a file, and no part of it at {one.pointer[:100]} is known here"


def publish(case: GoalCase, finds: Sequence[FoundPart]) -> None:
    """Publish the findings of a turn; a part that is the newest of its topic already is not published twice."""
    constellation, group, round_number = case.constellation, case.group, _round(case.job)
    for one in finds:
        newest = next(
            (
                finding
                for finding in reversed(constellation.findings.values())
                if finding.by == group and finding.topic == one.topic
            ),
            None,
        )
        if newest is not None and (newest.task, newest.output, newest.round) == (one.task, one.pointer, round_number):
            continue
        findings.put(case.work, constellation, topic=one.topic, task=one.task, output=one.pointer, by=group)


def _round(job: Job) -> int:
    return int(job.tasks[0].rpartition("/")[2])
