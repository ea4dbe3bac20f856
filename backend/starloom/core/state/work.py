"""The work of one batch: the events, orders and answers that its inputs have decided, and the undoing of an input.

Handlers emit events; each is applied to the shard at once, so a step sees its own decisions. A refused input
raises `Refusal`: its puts are undone, its events and orders dropped, and only its answer remains.

The `Case` of an attempt is what every decision about it needs, in one value, at one moment of a step. A handler that
changes the task or the attempt passes on a case with the change; the shard has it once an event was emitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.state.apply import full_key, put_all, undo
from starloom.core.state.inputs import AnyInput, TimerFired
from starloom.core.state.model import Constellation, Shard, Stream
from starloom.core.state.orders import DURABLE, Answer, AnyOrder, ArmTimer
from starloom_protocol.records.entities import (
    Attempt,
    Fault,
    Job,
    Question,
    Record,
    TaskRecord,
    TaskSpec,
    encode_entity,
)
from starloom_protocol.stream.authors import ENGINE, is_person, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event, encode_event
from starloom_protocol.vocabulary import CODES, Attention, Code, Reason, TaskState
from starloom_protocol.wire.frames import LeaseRef

Put = tuple[str, str, Record | None]
_Raw = msgspec.Raw


class Refusal(Exception):
    """An input is refused as a whole: nothing of it is applied, and the asker gets every fault.

    `value` are further fields of the answer, for an asker that acts on them.
    """

    def __init__(self, *faults: Fault, value: dict[str, Any] | None = None) -> None:
        super().__init__("; ".join(f"{item.code}: {item.reason}" for item in faults))
        self.faults = list(faults)
        self.value = value


def fault(code: Code, reason: str, place: str = "", hint: str = "") -> Fault:
    """Return a fault with the vocabulary's hint unless a better one is given."""
    return Fault(code=code, reason=reason, place=place, hint=hint or CODES[code].hint)


def repeats(tasks: list[str]) -> Refusal:
    """Return the refusal of work that would run a second time, until a person names these tasks."""
    reason = f"{', '.join(tasks)} {'has' if len(tasks) == 1 else 'have'} begun before"
    hint = f"Send confirm: [{', '.join(tasks)}]."
    return Refusal(fault(Code.NEEDS_CONFIRM, reason, "confirm", hint), value={"repeats": tasks})


def check_claim(job: Job, worker: str) -> None:
    """Check that a worker has the job that it proposes for.

    Raises:
        Refusal: another one has it, or nobody has: what it proposes may rest on what was there before others went on.
    """
    if job.claimed_by != worker:
        holder = f"the job is claimed by {job.claimed_by}" if job.claimed_by else "nobody has claimed the job since"
        raise Refusal(fault(Code.CONFLICT, f"{holder}, so this may rest on an older state"))


def named_constellation(work: Work, name: str) -> Constellation:
    """Return the constellation that a caller names.

    Raises:
        Refusal: there is none.
    """
    constellation = work.shard.constellations.get(name)
    if constellation is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no constellation {name}"))
    return constellation


def named_job(work: Work, name: str, job_id: str, *kinds: str, called: str = "job") -> tuple[Constellation, Job]:
    """Return the job that a worker names, with its constellation; of one of the kinds, if any are given.

    Raises:
        Refusal: there is no such job, and it is `called` so.
    """
    constellation = work.shard.constellations.get(name)
    job = constellation.jobs.get(job_id) if constellation is not None else None
    if constellation is None or job is None or (kinds and job.kind not in kinds):
        raise Refusal(fault(Code.NOT_FOUND, f"there is no {called} {job_id}"))
    return constellation, job


def check_reader(author: str) -> None:
    """Refuse to mark a notice as seen for a program or an assistant: it would hide from people what went wrong.

    Raises:
        Refusal: `forbidden`.
    """
    if not is_person(author):
        reason = f"{who(author)} is no person, and a notice stays until a person has seen it"
        raise Refusal(fault(Code.FORBIDDEN, reason, hint="Ask a person to look at it."))


class PendingEvent(msgspec.Struct, frozen=True, gc=False):
    """An event decided in this batch, not yet encoded."""

    stream: str
    seq: int
    kind: EventKind
    about: str
    by: str
    note: str
    at_ms: int
    puts: list[Put]

    def encoded(self) -> tuple[Event, bytes, dict[str, bytes | None]]:
        """Return the event, its bytes, and its puts as record bytes by key."""
        raws: dict[str, msgspec.Raw | None] = {}
        puts: dict[str, bytes | None] = {}
        for kind, key, record in self.puts:
            name = f"{kind}/{key}" if key else full_key(kind, key)
            if record is None:
                raws[name] = puts[name] = None
            else:
                puts[name] = raw = encode_entity(record)
                raws[name] = _Raw(raw)
        event = Event(
            about=self.about,
            at_ms=self.at_ms,
            by=self.by,
            kind=self.kind,
            note=self.note,
            puts=raws,
            seq=self.seq,
            stream=self.stream,
        )
        return event, encode_event(event), puts


class Marks(msgspec.Struct, frozen=True, gc=False):
    """A moment of a batch: the lengths of its journal, its events and its orders."""

    journal: int
    events: int
    orders: int


class Work(msgspec.Struct, eq=False):
    """One batch over a shard. `item` is the current input; `at_ms` and `roll` are its time and its random number."""

    shard: Shard
    undos: int = 0
    events: list[PendingEvent] = []
    orders: list[AnyOrder] = []
    answers: list[Answer] = []
    ignored: dict[str, int] = {}
    refusals: list[tuple[str, str, str]] = []
    rules_due: list[tuple[str, str, str]] = []
    ready: dict[tuple[str, str], None] = {}
    item: AnyInput | None = None
    at_ms: int = 0
    roll: int = 0
    by: str = ENGINE
    input_marks: Marks = Marks(0, 0, 0)
    answers_before: int = 0

    def begin(self, item: AnyInput) -> None:
        """Make an input the current one, and mark where its decisions begin."""
        self.input_marks = Marks(len(self.shard.journal), len(self.events), len(self.orders))
        self.answers_before = len(self.answers)
        self.item = item
        self.at_ms = item.at_ms
        self.roll = item.roll
        self.by = item.by

    def emit(
        self, stream: Stream, kind: EventKind, about: str, puts: list[Put], *, note: str = "", by: str | None = None
    ) -> None:
        """Decide one event: number it, apply its puts, keep it for the commit."""
        put_all(self.shard, stream, puts)
        stream.seq = seq = stream.seq + 1
        self.events.append(PendingEvent(stream.name, seq, kind, about, by or self.by, note, self.at_ms, puts))

    def quietly(self, stream: Stream, kind: str, key: str, record: Record | None) -> None:
        """Apply a put whose event follows at the end of this step (see `ready` and `announce`)."""
        put_all(self.shard, stream, ((kind, key, record),))

    def announce(self, stream: Stream, kind: EventKind, about: str, puts: list[Put]) -> None:
        """Decide the event of puts that were applied `quietly` in this step; an undo of them takes its number back."""
        stream.seq = seq = stream.seq + 1
        self.events.append(PendingEvent(stream.name, seq, kind, about, ENGINE, "", self.at_ms, puts))

    def order(self, order: AnyOrder) -> None:
        """Keep an order until its events are committed."""
        self.orders.append(order)

    def answer(self, value: Any = None, *, after: str = DURABLE) -> None:
        """Answer the current input."""
        if self.item is not None:
            self.answers.append(Answer(after=after, input_id=self.item.id, value=value))

    def ignore(self, reason: str) -> None:
        """Count an input that changes nothing, by reason, without an event."""
        self.ignored[reason] = self.ignored.get(reason, 0) + 1

    def refuse(self, device: str, door: str, reason: str) -> None:
        """Keep the refusal of a device's report for the log of refusals, which bounds it; it decides nothing."""
        self.refusals.append((device, door, reason))

    def fire_rules(self, constellation: Constellation, task: str, event: str) -> None:
        """Let the rules of the plan that wait for this event of a task fire at the end of the step."""
        self.rules_due.append((constellation.name, task, event))

    def back_to(self, marks: Marks) -> None:
        """Undo the batch back to `marks`, the beginning of a step.

        `undos` counts those of any put, because queues keep traces of them.
        """
        self.undos += len(self.shard.journal) > marks.journal
        undo(self.shard, marks.journal)
        del self.events[marks.events :]
        del self.orders[marks.orders :]
        self.rules_due.clear()
        self.ready.clear()
        self.shard.touched.clear()
        self.shard.settled.clear()
        self.shard.queued_now.clear()
        self.shard.ended_stops.clear()

    def undo_input(self) -> None:
        """Undo all that the current input has decided, its answer included."""
        self.back_to(self.input_marks)
        del self.answers[self.answers_before :]

    def part(self) -> Part:
        """Begin a part of a step that may be undone alone, by `undo_part`."""
        shard = self.shard
        return Part(
            marks=Marks(len(shard.journal), len(self.events), len(self.orders)),
            rules_due=list(self.rules_due),
            ready=dict(self.ready),
            touched=dict(shard.touched),
            settled=dict(shard.settled),
            queued_now=dict(shard.queued_now),
            ended_stops=dict(shard.ended_stops),
        )

    def undo_part(self, part: Part) -> None:
        """Undo a part of a step; the earlier part of it is still to be settled."""
        shard = self.shard
        self.back_to(part.marks)
        self.rules_due.extend(part.rules_due)
        self.ready.update(part.ready)
        shard.touched.update(part.touched)
        shard.settled.update(part.settled)
        shard.queued_now.update(part.queued_now)
        shard.ended_stops.update(part.ended_stops)


@dataclass(frozen=True, slots=True)
class Part:
    """The beginning of a part of a step: the marks of the batch, and what its earlier part left to settle."""

    marks: Marks
    rules_due: list[tuple[str, str, str]]
    ready: dict[tuple[str, str], None]
    touched: dict[tuple[str, str], None]
    settled: dict[str, None]
    queued_now: dict[tuple[str, str], bool]
    ended_stops: dict[str, None]


def change_task(
    work: Work,
    constellation: Constellation,
    task: str,
    kind: EventKind,
    record: TaskRecord,
    *also: Put,
    note: str = "",
    by: str | None = None,
) -> None:
    """Emit one task event; the other puts come first, so that gates see facts before the state."""
    if work.ready:
        work.ready.pop((constellation.name, task), None)
    work.emit(constellation, kind, task, [*also, ("task", task, record)], note=note, by=by)


def task_timer(constellation: Constellation, task: str, kind: str, record: TaskRecord, due_ms: int) -> ArmTimer:
    """Return the order to judge a task again at a moment; it is stale once the task has another attempt or round."""
    return ArmTimer(
        attempt=record.attempt,
        constellation=constellation.name,
        due_ms=due_ms,
        entity=task,
        kind=kind,
        round=record.round,
    )


def task_of_timer(work: Work, item: TimerFired) -> tuple[Constellation, TaskRecord] | None:
    """Return the task of a timer as it is now; None, with a word, if the timer is stale."""
    constellation = work.shard.constellations.get(item.constellation)
    record = constellation.tasks.get(item.entity) if constellation else None
    if constellation is None or record is None or (record.attempt, record.round) != (item.attempt, item.round):
        work.ignore("the timer is stale")
        return None
    return constellation, record


def is_at_a_moment(record: TaskRecord) -> bool:
    """Tell whether a ready task waits for a moment before which it does not begin."""
    return record.state is TaskState.READY and record.reason is Reason.MOMENT


def without_moment(work: Work, record: TaskRecord) -> TaskRecord:
    """Return the record of a ready task whose moment has come: free, or held by a review or a person."""
    free = Reason.REVIEW if record.review is not None else Reason.HELD if record.held else None
    return replace(record, reason=free, not_before_ms=0, since_ms=work.at_ms)


def moved(work: Work, record: TaskRecord, state: TaskState, **changes: Any) -> TaskRecord:
    """Return a task's record in a new state, its reason and waiting cleared unless given."""
    if changes:
        changes = {"reason": None, "not_before_ms": 0, "absent_since_ms": 0, **changes}
        return replace(record, state=state, since_ms=work.at_ms, **changes)
    if record.reason is None and not record.not_before_ms and not record.absent_since_ms:
        return replace(record, state=state, since_ms=work.at_ms)
    return replace(record, state=state, since_ms=work.at_ms, reason=None, not_before_ms=0, absent_since_ms=0)


def attend(work: Work, constellation: Constellation, reason: Attention, *, note: str = "") -> None:
    """Add a reason to a constellation's attention, once."""
    head = constellation.head
    if reason not in head.attention:
        changed = replace(head, attention=sorted([*head.attention, reason]))
        work.emit(constellation, EventKind.ATTENTION_RAISED, reason, [("head", "", changed)], note=note, by=ENGINE)


def answer_put(work: Work, question: Question, value: str, *, reason: str | None = None, by: str | None = None) -> Put:
    """Return the put of a question with its answer, which is empty where it is closed without one."""
    because = question.reason if reason is None else reason
    answer = replace(question, answer=value, answered_by=by or work.by, answered_ms=work.at_ms, reason=because)
    return ("question", question.id, answer)


def close_question(work: Work, constellation: Constellation, task: str) -> bool:
    """Close the open question of a task that no longer waits for its answer; True if there was one."""
    for key in constellation.open_questions:
        question = constellation.questions[key]
        if question.task == task:
            work.emit(constellation, EventKind.QUESTION_CLOSED, key, [answer_put(work, question, "")])
            if not constellation.open_questions:
                unattend(work, constellation, Attention.QUESTION_OPEN)
            return True
    return False


def close_questions(work: Work, constellation: Constellation) -> None:
    """Close every open question of a constellation that no longer waits for an answer."""
    for key in list(constellation.open_questions):
        put = answer_put(work, constellation.questions[key], "")
        work.emit(constellation, EventKind.QUESTION_CLOSED, key, [put])


def withdraw_proposals(work: Work, constellation: Constellation) -> None:
    """Remove the open proposal of a plan that continues after its end, to be undone or edited; its next end decides."""
    puts: list[Put] = [
        ("proposal", one.id, None)
        for one in work.shard.access.proposals.values()
        if one.constellation == constellation.head.id and (one.plan or one.because)
    ]
    if puts:
        work.emit(work.shard.access, EventKind.RECIPE_PROPOSAL_CLOSED, puts[0][1], puts, note="withdrawn", by=ENGINE)


def unattend(work: Work, constellation: Constellation, reason: Attention) -> None:
    """Remove a reason from a constellation's attention, if it is there."""
    head = constellation.head
    if reason in head.attention:
        changed = replace(head, attention=[item for item in head.attention if item != reason])
        work.emit(constellation, EventKind.ATTENTION_CLEARED, reason, [("head", "", changed)], by=ENGINE)


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
