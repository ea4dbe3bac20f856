"""The phases of a run's time, folded from its log: when each task was on a device, and when and why it waited.

Owns the fold, and not the figures, which `report` computes. A moment is hub time here. The page folds new events in
the same way (`frontend/src/model/run/spans.ts`); `tests/core/answer/spans.json` holds both to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from starloom_protocol.records.entities import Attempt, Head, Job, Question, TaskRecord, Version, decode_entity
from starloom_protocol.records.run_report import OF_RUN, Phase, Tick, phase_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, AttemptEnd, ConstellationState, TaskState

RUN: Final = ""
"""The name of the run itself among the tasks."""
_READ: Final = frozenset({"head", "task", "attempt", "job", "question", "version", "spec", "dep", "group"})
_GIVEN_UP: Final = frozenset({AttemptEnd.LOST, AttemptEnd.INTERRUPTED})
_TICKS_MOST: Final = 1_000


@dataclass(slots=True)
class Span:
    """One phase of a task, or of the run. `to_ms` is 0 until it ends. `began`: no phase of the task precedes it."""

    task: str
    phase: Phase
    device: str
    attempt: int
    from_ms: int
    to_ms: int = 0
    began: bool = False
    hedge: bool = False


@dataclass(slots=True)
class RunLog:
    """The log of a run, folded: the spans in the order in which they began, and the entities at its end."""

    spans: list[Span] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    hedges: set[str] = field(default_factory=set)
    edits_after_failure: int = 0
    by_person: int = 0
    seq: int = 0
    at_ms: int = 0

    def table(self, kind: str) -> dict[str, Any]:
        return self.entities.setdefault(kind, {})

    @property
    def head(self) -> Head:
        head: Head = self.entities["head"][""]
        return head


class Fold:
    """Takes events one by one. An event puts whole entities, so that each is compared with the one before it alone."""

    def __init__(self) -> None:
        self.log = RunLog()
        self._open: dict[str, Span] = {}
        self._run = ConstellationState.PLANNING
        self._takers: dict[str, Callable[[str, Any, Any, int], None]] = {
            "attempt": self._attempt,
            "head": self._head,
            "job": self._job,
            "question": self._question,
            "task": self._task,
            "version": self._version,
        }

    def add(self, event: Event) -> None:
        """Fold the next event."""
        log = self.log
        log.seq, log.at_ms = event.seq, event.at_ms
        log.kinds[event.kind] = log.kinds.get(event.kind, 0) + 1
        if event.kind == EventKind.TASK_RETRIED and event.by.startswith("person:"):
            log.by_person += 1
        if event.kind in (EventKind.FAULT_INJECTED, EventKind.FAULT_ENDED):
            self._tick(event.at_ms, "fault", event.note)
        for key, raw in event.puts.items():
            kind, _, name = key.partition("/")
            if kind not in _READ:
                continue
            table = log.table(kind)
            before = table.get(name)
            if raw is None:
                table.pop(name, None)
                if kind == "task":
                    self._close(name, event.at_ms)
                continue
            now = decode_entity(key, raw)
            table[name] = now
            take = self._takers.get(kind)
            if take is not None:
                take(name, before, now, event.at_ms)

    def _head(self, _name: str, _before: Head | None, head: Head, at_ms: int) -> None:
        if head.state is self._run:
            return
        self._run = head.state
        self._to(RUN, OF_RUN.get(head.state), "", 0, at_ms)
        for task, span in list(self._open.items()):
            record = self.log.table("task").get(task)
            if record is not None and record.state is TaskState.READY:
                self._to(task, phase_of(record, head.state), span.device, span.attempt, at_ms)
        if head.state in FINAL_CONSTELLATION_STATES:
            for name in list(self._open):
                self._close(name, at_ms)

    def _task(self, name: str, before: TaskRecord | None, record: TaskRecord, at_ms: int) -> None:
        phase = phase_of(record, self._run)
        waits = record.state is TaskState.READY
        device = "" if waits else record.device or ""
        self._to(name, phase, device, 0 if waits else record.attempt, at_ms)
        if record.state is TaskState.FAILED and before is not None and before.state is not TaskState.FAILED:
            self._tick(at_ms, "failed", name)

    def _attempt(self, name: str, before: Attempt | None, attempt: Attempt, at_ms: int) -> None:
        task, _, number = name.rpartition("/")
        if attempt.end in _GIVEN_UP and (before is None or before.end is None):
            self._tick(at_ms, "lost", task)
        if attempt.hedge:
            self.log.hedges.add(name)
        if attempt.end is not None or not attempt.hedge:
            # One that took over is the attempt of the task from now on, and in the task's own spans.
            self._close(name, at_ms)
            return
        phase = Phase.WORKING if attempt.started_ms else Phase.STARTING
        self._to(name, phase, attempt.device, int(number), at_ms, task=task, hedge=True)

    def _job(self, name: str, _before: Job | None, job: Job, at_ms: int) -> None:
        key = f"job/{name}"
        if job.state == "done":
            self._close(key, at_ms)
        else:
            self._to(key, Phase.MODEL, "", 0, at_ms, task=RUN)

    def _question(self, name: str, _before: Question | None, question: Question, at_ms: int) -> None:
        # Those of a task, and approvals of the plan, are phases of the task and of the run.
        if question.task is not None or question.kind == "approval":
            return
        key = f"question/{name}"
        if question.answered_ms:
            self._close(key, at_ms)
        else:
            self._to(key, Phase.PERSON, "", 0, at_ms, task=RUN)

    def _version(self, _name: str, before: Version | None, version: Version, at_ms: int) -> None:
        if before is not None:
            return
        self._tick(at_ms, "version", f"v{version.number}: {version.reason or version.trigger}")
        cause = self.log.table("task").get(version.trigger)
        by_person = version.author.startswith("person:")
        if not by_person and isinstance(cause, TaskRecord) and cause.state is TaskState.FAILED:
            self.log.edits_after_failure += 1
        elif by_person and any(one.state is TaskState.FAILED for one in self.log.table("task").values()):
            self.log.by_person += 1

    def _to(
        self,
        key: str,
        phase: Phase | None,
        device: str,
        attempt: int,
        at_ms: int,
        *,
        task: str = "",
        hedge: bool = False,
    ) -> None:
        """Continue the task or job of a key in a phase; one that keeps its phase and device keeps its span."""
        span = self._open.get(key)
        if span is not None and (span.phase, span.device, span.attempt) == (phase, device, attempt):
            return
        continues = span is not None and not span.hedge
        self._close(key, at_ms)
        if phase is None:
            return
        name = task if task or key.startswith(("job/", "question/")) else key
        span = Span(name, phase, device, attempt, at_ms, began=not continues, hedge=hedge)
        self._open[key] = span
        self.log.spans.append(span)

    def _close(self, key: str, at_ms: int) -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span.to_ms = at_ms

    def _tick(self, at_ms: int, kind: str, text: str) -> None:
        if len(self.log.ticks) < _TICKS_MOST:
            self.log.ticks.append(Tick(at_ms=at_ms, kind=kind, text=text))


def fold_log(events: Iterable[Event]) -> RunLog:
    """Return the spans and entities of a whole log."""
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.log
