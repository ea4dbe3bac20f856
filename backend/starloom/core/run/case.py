"""The case of an attempt: what every decision about it needs, in one value. Decides nothing.

A case is of one moment of a step. A handler that changes the task or the attempt passes on a case with the change; the
shard has it once an event was emitted.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Work, change_task, moved
from starloom_protocol.records.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import TaskState
from starloom_protocol.wire.frames import LeaseRef


class Case(msgspec.Struct, frozen=True):
    """An attempt of a task, with the step that decides about it. `number` is the attempt's among those of its task."""

    work: Work
    constellation: Constellation
    spec: TaskSpec
    record: TaskRecord
    number: int
    attempt: Attempt

    @property
    def at(self) -> LeaseRef:
        """The attempt as its device names it."""
        return self.constellation.lease_ref(self.spec.id, self.number, self.attempt)

    @property
    def put(self) -> Put:
        """The attempt as an event writes it."""
        return ("attempt", f"{self.spec.id}/{self.number}", self.attempt)

    def with_attempt(self, **changes: Any) -> Case:
        return replace(self, attempt=replace(self.attempt, **changes))

    def with_record(self, **changes: Any) -> Case:
        return replace(self, record=replace(self.record, **changes))

    def moved(self, state: TaskState, **changes: Any) -> TaskRecord:
        """Return the task's record in a new state, its reason and waiting cleared unless given."""
        return moved(self.work, self.record, state, **changes)

    def emit(self, kind: EventKind, record: TaskRecord, *also: Put, note: str = "", by: str | None = None) -> None:
        """Emit one event of the task: the attempt as the case has it, the further puts, and the task's new record."""
        change_task(self.work, self.constellation, self.spec.id, kind, record, self.put, *also, note=note, by=by)

    def due(self, event: str) -> None:
        """Let the rules of the plan that wait for an event of this task fire at the end of the step."""
        self.work.rules_due.append((self.constellation.name, self.spec.id, event))


def present(work: Work, constellation: Constellation, task: str) -> Case:
    """Return the case of the attempt that counts for a task.

    Raises:
        KeyError: the task has no attempt.
    """
    record = constellation.tasks[task]
    attempt = constellation.attempt(task, record.attempt)
    return Case(work, constellation, constellation.specs[task], record, record.attempt, attempt)
