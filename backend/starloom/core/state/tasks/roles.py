"""The role of a task in its constellation: its name, its goal, its successor, whether it may be left out. Pure.

Supersession: another task counts in the outcome for one that ended without success. Makes no edit.
"""

from __future__ import annotations

from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.entities import GroupRecord, TaskRecord, TaskSpec
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Reason, TaskState

_UNBEGUN = frozenset({TaskState.WAITING, TaskState.READY})
_FOR_A_FAILURE = frozenset({Reason.UPSTREAM_FAILED, Reason.UPSTREAM_CANCELLED})


def called(constellation: Constellation, fleet: Fleet, task: str) -> str:
    """Return the display name of a task: a child for a device has the device's name in place of the device's id."""
    spec = constellation.specs.get(task)
    device = fleet.devices.get(spec.key) if spec is not None and spec.key is not None else None
    return f"{spec.group} on {device.name}" if spec is not None and device is not None else task


def is_of_goal(constellation: Constellation, task: str) -> bool:
    """Tell whether a task is a step or the answer of a goal."""
    group = constellation.specs[task].group
    return group is not None and constellation.specs[group].goal is not None


def is_step(constellation: Constellation, task: str) -> bool:
    """Tell whether a task is a call of a goal, which found something out and is no result of the plan."""
    return is_of_goal(constellation, task) and task != goal_answer(constellation.specs[task].group or "")


def goals_without_answer(constellation: Constellation) -> int:
    """Return how many goals have no answer: each is one more piece of work than its steps."""
    specs = constellation.specs
    return sum(
        1
        for name in constellation.groups
        if specs[name].goal is not None and goal_answer(name) not in constellation.tasks
    )


def is_over(constellation: Constellation, task: str) -> bool:
    """Tell whether a task has ended; one that is not a task of the plan has not."""
    record = constellation.tasks.get(task)
    return record is not None and record.state in FINAL_TASK_STATES


def ended_badly(record: TaskRecord | GroupRecord) -> bool:
    """Tell whether a task or group failed, was cancelled, or was skipped because another one did."""
    return skipped_for_a_failure(record) or record.state in ("failed", "cancelled")


def skipped_for_a_failure(record: TaskRecord | GroupRecord) -> bool:
    """Tell whether a task or group was skipped because one that it waits for failed or was cancelled."""
    return record.state == "skipped" and record.reason in _FOR_A_FAILURE


def successor(constellation: Constellation, task: str) -> str:
    """Return the task that counts for this one: the end of the chain, or the first on it that did not end badly."""
    for _ in range(len(constellation.specs)):
        spec = constellation.specs[task]
        following = spec.superseded_by
        if following is None or following not in constellation.specs or not ended_badly(constellation.record(task)):
            break
        task = following
    return task


def has_successor(constellation: Constellation, task: str) -> bool:
    """Tell whether another task did the work of a task or group that ended badly."""
    counts = successor(constellation, task)
    return counts != task and constellation.record(counts).state == "succeeded"


def is_optional_part(spec: TaskSpec) -> bool:
    """Tell whether a plan could do without a whole task or group.

    A look is never optional, nor is a task that verifies work in doubt.
    """
    return spec.optional and spec.group is None and spec.verifies is None and not spec.look


def is_unbegun(record: TaskRecord) -> bool:
    """Tell whether no attempt was made. A later round was asked for: it is not left out again."""
    return record.state in _UNBEGUN and not record.attempt and not record.started and record.round == 1


def is_needed(constellation: Constellation, part: str) -> bool:
    """Tell whether work that is not optional, and cannot do without this part, comes after it."""
    return any(
        not dependency.optional and not constellation.specs[dependency.target].optional
        for dependency in constellation.outgoing.get(part, {}).values()
    )
