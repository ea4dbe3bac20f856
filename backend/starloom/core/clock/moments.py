"""Moments before which a task does not begin although everything that it waits for has ended.

Owns the timer of a ready task with such a moment. It holds no slot meanwhile, and a starting owner arms the timer again
from the record of the task. The reading of a time from a result is in `state.tasks.named_times`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom.core.state.tasks.named_times import NoMoment, named_ms
from starloom.core.state.tasks.turns import begins_ms
from starloom.core.state.work import Work, change_task, moved, task_timer, without_moment
from starloom_protocol.records.entities import TaskRecord
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code, Reason, TaskState

TIMER: Final = "moment"


def ready(work: Work, constellation: Constellation, task: str, record: TaskRecord) -> TaskRecord:
    """Return the record of a task whose gates are open: ready, held, or ready from a moment on.

    Raises:
        NoMoment: the result that should name the time does not, or not one that the plan allows.
    """
    spec = constellation.specs[task]
    due_ms = begins_ms(constellation, task) if spec.group is not None else 0
    if spec.not_before is not None:
        due_ms = max(due_ms, named_ms(constellation, spec.not_before, work.at_ms))
    if due_ms > work.at_ms:
        later = moved(work, record, TaskState.READY, reason=Reason.MOMENT, not_before_ms=due_ms)
        work.order(_timer(constellation, task, later))
        return later
    if record.held:
        return moved(work, record, TaskState.READY, reason=Reason.HELD)
    return moved(work, record, TaskState.READY)


def fail(work: Work, constellation: Constellation, task: str, record: TaskRecord, error: NoMoment) -> None:
    """Fail a task that has no time at which it may begin; no device is asked."""
    failed = moved(work, record, TaskState.FAILED, code=Code.MOMENT_OUTSIDE, checked=False)
    change_task(work, constellation, task, EventKind.TASK_FAILED, failed, note=str(error), by=ENGINE)
    work.fire_rules(constellation, task, "failed")


def is_awaited(constellation: Constellation, task: str) -> bool:
    """Tell whether a task waits for its moment."""
    return task in constellation.moments


def on_timer(work: Work, item: TimerFired) -> None:
    """Let a task begin whose moment has come; a stale timer changes nothing."""
    constellation = work.shard.constellations.get(item.constellation)
    if constellation is None or not is_awaited(constellation, item.entity):
        work.ignore("the timer is stale")
        return
    record = constellation.tasks[item.entity]
    if work.at_ms < record.not_before_ms:
        work.order(_timer(constellation, item.entity, record))
        return
    change_task(work, constellation, item.entity, EventKind.TASK_READY, without_moment(work, record), by=ENGINE)


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield a timer for each task that waits for its moment."""
    for task in constellation.moments:
        yield _timer(constellation, task, constellation.tasks[task])


def _timer(constellation: Constellation, task: str, record: TaskRecord) -> ArmTimer:
    return task_timer(constellation, task, TIMER, record, record.not_before_ms)
