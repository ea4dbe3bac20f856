"""A constellation as a client sees it: the fold of its events, with the questions a reader asks of it.

Pure: no HTTP, no printing. The words and colours of states come from `starloom_protocol.text.presentation` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from starloom_protocol.records.entities import (
    Answer,
    Attempt,
    GroupRecord,
    Head,
    Question,
    Record,
    TaskRecord,
    TaskSpec,
    Version,
    decode_entity,
)
from starloom_protocol.stream.feed import Event, fold
from starloom_protocol.text.presentation import Presentation, presentation, presentation_of
from starloom_protocol.vocabulary import (
    AT_WORK_TASK_STATES,
    FINAL_CONSTELLATION_STATES,
    Attention,
    ConstellationState,
    Reason,
    TaskState,
)

R = TypeVar("R", bound=Record)

_READY_MOVES = frozenset({None, Reason.BACKOFF, Reason.MOMENT, Reason.BUSY, Reason.REVIEW, Reason.QUOTA})


ABOUT_DEVICES = frozenset({Attention.NO_CAPABLE_DEVICE, Attention.MISSING_GRANT, Attention.MISSING_SECRET})
"""Attention for ready tasks that no device can take until a person has done something."""


class View:
    """The state of one constellation at `seq`; give it events in order."""

    def __init__(self, constellation: str) -> None:
        self.constellation = constellation
        self.seq = 0
        self._raw: dict[str, bytes] = {}
        self._decoded: dict[str, Record] = {}
        self._each: dict[str, dict[str, Any]] = {}
        self._ready_reasons: dict[str, Reason] = {}

    def apply(self, events: Iterable[Event]) -> list[Event]:
        """Apply events and return those that were new; one that was seen already is left out."""
        fresh = [event for event in events if event.seq > self.seq]
        fold(self._raw, fresh)
        for event in fresh:
            self.seq = max(self.seq, event.seq)
            for key in event.puts:
                self._decoded.pop(key, None)
                self._each.pop(key.partition("/")[0], None)
        return fresh

    def record(self, key: str, kind: type[R]) -> R | None:
        """Return an entity by its key, or None."""
        raw = self._raw.get(key)
        if raw is None:
            return None
        record = self._decoded.get(key)
        if record is None:
            record = self._decoded[key] = decode_entity(key, raw)
        return record if isinstance(record, kind) else None

    def each(self, kind: str, record: type[R]) -> Mapping[str, R]:
        """Return all entities of a kind by the rest of their key; the same map until one of them changes."""
        cached: Mapping[str, R] | None = self._each.get(kind)
        if cached is not None:
            return cached
        prefix = kind + "/"
        records = {key[len(prefix) :]: self.record(key, record) for key in self._raw if key.startswith(prefix)}
        table = self._each[kind] = {name: entity for name, entity in records.items() if entity is not None}
        return table

    @property
    def head(self) -> Head | None:
        return self.record("head", Head)

    @property
    def answer(self) -> Answer | None:
        return self.record("answer", Answer)

    @property
    def state(self) -> ConstellationState:
        head = self.head
        return head.state if head is not None else ConstellationState.PLANNING

    @property
    def final(self) -> bool:
        return self.state in FINAL_CONSTELLATION_STATES

    @property
    def tasks(self) -> Mapping[str, TaskRecord]:
        return self.each("task", TaskRecord)

    @property
    def groups(self) -> Mapping[str, GroupRecord]:
        return self.each("group", GroupRecord)

    @property
    def specs(self) -> Mapping[str, TaskSpec]:
        return self.each("spec", TaskSpec)

    @property
    def versions(self) -> list[Version]:
        return sorted(self.each("version", Version).values(), key=lambda version: version.number)

    @property
    def open_questions(self) -> dict[str, Question]:
        return {name: item for name, item in self.each("question", Question).items() if item.answer is None}

    def last_attempt(self, task: str) -> Attempt | None:
        """Return the newest attempt of a task, or None before its first."""
        record = self.record(f"task/{task}", TaskRecord)
        return self.record(f"attempt/{task}/{record.attempt}", Attempt) if record and record.attempt else None

    def presentation_of(self, task: str) -> Presentation:
        """Return the word, shape and tone of a task; a moment in the word is the hub's."""
        record = self.record(f"task/{task}", TaskRecord)
        if record is None:
            return presentation(TaskState.WAITING)
        reason = record.reason
        if reason is None and record.state is TaskState.READY:
            reason = self._ready_reasons.get(task)
        return presentation_of(record, reason)

    def set_ready_reasons(self, reasons: Mapping[str, Reason]) -> None:
        """Take the reasons of ready tasks that the hub joins from its fleet; no event has them."""
        self._ready_reasons = dict(reasons)

    @property
    def has_unplaceable_tasks(self) -> bool:
        """Tell whether ready tasks wait that no device can take until a person has done something."""
        return self.head is not None and not ABOUT_DEVICES.isdisjoint(self.head.attention)

    @property
    def is_idle(self) -> bool:
        """Tell whether a task could begin and none is at work: it waits for something."""
        states = {task.state for task in self.tasks.values()}
        return not self.final and TaskState.READY in states and states.isdisjoint(AT_WORK_TASK_STATES)

    def needs_person(self) -> bool:
        """Return whether it asks for attention and no task of it can move without a person."""
        if self.final:
            return False
        if self.state in (ConstellationState.AWAITING_APPROVAL, ConstellationState.PAUSED):
            return not any(task.state in AT_WORK_TASK_STATES for task in self.tasks.values())
        head = self.head
        if head is None or not head.attention:
            return False
        starved = self.has_unplaceable_tasks
        for task in self.tasks.values():
            if task.state in AT_WORK_TASK_STATES:
                return False
            if task.state is TaskState.READY and task.reason in _READY_MOVES and not (starved and task.reason is None):
                return False
        return True
