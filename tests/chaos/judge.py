"""The history checker: says what a history breaks of what Starloom promises. Pure, so that it can be shown to fail.

Promises (docs/concepts.md, and the invariants of `core.state.invariants`): accepted requests are kept; repeatable work
runs at least once, other work at most once; a result takes effect once; the log has no gaps and its fold is the state;
nothing is silently stuck.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from starloom_protocol.records.entities import Attempt, Head, TaskRecord, decode_entity
from starloom_protocol.stream.feed import Event, encode_event, fold
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    FINAL_TASK_STATES,
    AttemptEnd,
    EffectSeen,
    Outcome,
    Repeatability,
    TaskState,
)
from tests.chaos.history import History

MAY_RUN_AGAIN = frozenset({Repeatability.PURE, Repeatability.IDEMPOTENT})


@dataclass
class Verdict:
    """What was found, one sentence each; empty lists are what is wanted."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    applied_twice: list[str] = field(default_factory=list)
    nonrepeatable_twice: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[str]:
        return [
            f"{kind}: {what}"
            for kind in ("lost", "applied_twice", "nonrepeatable_twice", "stuck", "broken")
            for what in getattr(self, kind)
        ]


def judge(history: History) -> Verdict:
    """Return what a history breaks. It must have come to rest: nothing may be about to be projected."""
    verdict = Verdict(acknowledged=len(history.told))
    streams: dict[str, list[Event]] = {}
    for event in history.events:
        streams.setdefault(event.stream, []).append(event)
    verdict.broken += _log_faults(history, streams)
    verdict.lost += _lost(history, streams)
    for stream, events in streams.items():
        if stream in ("fleet", "access"):
            continue
        entities = fold({}, events)
        walked = _Walk(stream)
        for event in events:
            walked.take(event)
        verdict.applied_twice += walked.applied_twice
        verdict.broken += walked.broken
        live = history.live.get(stream)
        if live and live != entities:
            wrong = sorted(key for key in {*live, *entities} if live.get(key) != entities.get(key))
            verdict.broken.append(f"{stream}: the fold of the log is not what Redis has, in {', '.join(wrong[:5])}")
        verdict.stuck += _stuck(stream, entities)
        verdict.nonrepeatable_twice += _twice(history, stream, entities)
        verdict.applied_twice += _redone(history, stream, entities)
    return verdict


def _log_faults(history: History, streams: dict[str, list[Event]]) -> Iterator[str]:
    """The log has no gaps, and terms and incarnations never fall."""
    for number, commit in enumerate(history.commits, 1):
        if commit.pos != number:
            yield f"commit {number} is missing; {commit.pos} stands there"
            break
    for before, after in pairwise(history.commits):
        if after.term < before.term or after.incarnation < before.incarnation:
            yield f"commit {after.pos} has term {after.term} and incarnation {after.incarnation} after {before}"
    for stream, events in streams.items():
        numbers = [event.seq for event in events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"{stream}: its events are numbered {numbers[:20]}"


def _lost(history: History, streams: dict[str, list[Event]]) -> Iterator[str]:
    """What was accepted, shown or acknowledged is in the log."""
    for told in history.told:
        events = streams.get(told.id, [])
        if not events:
            yield f"request {told.name} ({told.id}) was accepted and is not in the log"
            continue
        for seq, seen in told.seen.items():
            kept = events[seq - 1] if seq <= len(events) else None
            if kept is None or encode_event(kept) != encode_event(seen):
                yield f"{told.name}: event {seq} ({seen.kind} {seen.about}) was shown and the log has {kept}"
    for line in history.ledgers:
        if line.state != "finished" or line.pending:
            continue
        entities = fold({}, streams.get(line.constellation, []))
        attempt = _attempt(entities, f"attempt/{line.task}/{line.attempt}")
        if attempt is None or attempt.incarnation != line.incarnation:
            continue
        # An interruption ends nothing that may have happened: it stays open in the log until a person marks it.
        in_doubt = line.outcome is Outcome.INTERRUPTED and attempt.effect is EffectSeen.MAYBE
        if attempt.end is None and not in_doubt:
            yield f"{line.device}: the end of {line.task}/{line.attempt} was acknowledged and is not in the log"


def _attempt(entities: dict[str, bytes], key: str) -> Attempt | None:
    found = decode_entity(key, entities[key]) if key in entities else None
    return found if isinstance(found, Attempt) else None


class _Walk:
    """Goes through the events of one constellation and watches what may happen once only."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._attempts: dict[str, Attempt] = {}
        self._tasks: dict[str, TaskRecord] = {}
        self._open: dict[str, list[str]] = {}
        self._version = 0
        self.applied_twice: list[str] = []
        self.broken: list[str] = []

    def take(self, event: Event) -> None:
        for key, raw in event.puts.items():
            record = decode_entity(key, bytes(raw)) if raw is not None else None
            if isinstance(record, Attempt):
                self._attempt(event, key, record)
            elif isinstance(record, TaskRecord):
                self._task(event, key, record)
            elif isinstance(record, Head):
                begun = record.origin.version if event.seq == 1 and record.origin is not None else self._version
                if record.version not in (begun, self._version + 1):
                    self.broken.append(f"{self._stream}: version {record.version} after {self._version}")
                self._version = record.version

    def _attempt(self, event: Event, key: str, record: Attempt) -> None:
        before = self._attempts.get(key)
        where = f"{self._stream} {key}, event {event.seq}"
        task = key.rpartition("/")[0]
        if before is not None and before.end is not None:
            if (record.end, record.value, record.artifact) != (before.end, before.value, before.artifact):
                self.applied_twice.append(f"{where}: it ended {before.end} and then {record.end}")
            if before.late is not None and record.late != before.late:
                self.applied_twice.append(f"{where}: a second late result was taken")
        still = self._open.setdefault(task, [])
        if before is None and still and not self._may_hedge(record, still):
            self.broken.append(f"{where}: it was leased while {', '.join(still)} was open")
        if record.end is not None:
            self._open[task] = [one for one in still if one != key]
        elif key not in still:
            still.append(key)
        now = record.end is AttemptEnd.OK and (before is None or before.end is None)
        if now and event.by.startswith("device:") and event.by != f"device:{record.device}":
            self.broken.append(f"{where}: {event.by} gave the result of an attempt of {record.device}")
        self._attempts[key] = record

    def _may_hedge(self, record: Attempt, still: list[str]) -> bool:
        """Whether it may run beside the open attempts: one hedge, on another device, of work that may be repeated."""
        repeatable = record.repeatability in (Repeatability.PURE, Repeatability.IDEMPOTENT)
        elsewhere = all(self._attempts[one].device != record.device for one in still)
        return record.hedge and repeatable and elsewhere and len(still) == 1

    def _task(self, event: Event, key: str, record: TaskRecord) -> None:
        before = self._tasks.get(key)
        settled = before is not None and before.state in FINAL_TASK_STATES and record.round == before.round
        if before is not None and settled and record.state is not before.state:
            where = f"{self._stream} {key}, event {event.seq}"
            self.applied_twice.append(f"{where}: {before.state} became {record.state} in round {record.round}")
        if before is not None and record.attempt < before.attempt:
            self.broken.append(f"{self._stream} {key}: attempt {record.attempt} after {before.attempt}")
        self._tasks[key] = record


def _stuck(stream: str, entities: dict[str, bytes]) -> Iterator[str]:
    """Every constellation is final, or asks for attention with work in `unknown` or a question."""
    head = decode_entity("head", entities["head"])
    assert isinstance(head, Head)
    if head.state in FINAL_CONSTELLATION_STATES or head.attention:
        return
    states = {key: decode_entity(key, raw) for key, raw in entities.items() if key.startswith("task/")}
    told = ", ".join(f"{key} {task.state}" for key, task in states.items() if isinstance(task, TaskRecord))
    yield f"{stream} ({head.name}) is {head.state} and asks for nothing: {told}"


def _twice(history: History, stream: str, entities: dict[str, bytes]) -> Iterator[str]:
    """Work that may not be repeated began once at most, by ledgers and by witness, unless a person confirmed more."""
    began: dict[str, list[str]] = {}
    seen: dict[str, list[str]] = {}
    names = {told.name for told in history.told if told.id == stream}
    for witnessed in history.witness:
        name, _, task = witnessed.name.rpartition("/")
        if witnessed.what == "begin" and name in names:
            seen.setdefault(task, []).append(f"{witnessed.incarnation}.{witnessed.attempt}")
    for line in history.ledgers:
        if line.constellation == stream and line.began:
            began.setdefault(line.task, []).append(f"{line.device}:{line.incarnation}.{line.attempt}")
    for task, attempts in [*began.items(), *seen.items()]:
        record = decode_entity(f"task/{task}", entities[f"task/{task}"]) if f"task/{task}" in entities else None
        kinds = {
            attempt.repeatability
            for key in entities
            if key.startswith(f"attempt/{task}/") and (attempt := _attempt(entities, key)) is not None
        }
        confirmed = isinstance(record, TaskRecord) and record.confirmed
        if len(attempts) > 1 and not confirmed and kinds - MAY_RUN_AGAIN:
            yield f"{stream} {task} began {len(attempts)} times: {', '.join(attempts)}"


def _redone(history: History, stream: str, entities: dict[str, bytes]) -> Iterator[str]:
    """Nothing that had succeeded was given out again in the same round; a hedge was given out before."""
    for key, raw in entities.items():
        if not key.startswith("attempt/"):
            continue
        attempt = decode_entity(key, raw)
        if not isinstance(attempt, Attempt) or attempt.end is not AttemptEnd.OK:
            continue
        task, _, number = key.removeprefix("attempt/").rpartition("/")
        record = decode_entity(f"task/{task}", entities[f"task/{task}"]) if f"task/{task}" in entities else None
        if not isinstance(record, TaskRecord) or record.state is not TaskState.SUCCEEDED:
            continue
        later = [
            line
            for line in history.ledgers
            if line.constellation == stream and line.task == task and line.attempt > int(number) and line.began
            if not _is_beside(_attempt(entities, f"attempt/{task}/{line.attempt}"), attempt)
        ]
        if later and record.round == attempt.round:
            yield f"{stream} {task} had succeeded in attempt {number} and began again: {later}"


def _is_beside(other: Attempt | None, attempt: Attempt) -> bool:
    """Whether it is a hedge that was leased while this attempt was open."""
    return other is not None and other.hedge and other.leased_ms < attempt.ended_ms
