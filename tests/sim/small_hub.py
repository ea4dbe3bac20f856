"""The hub of the explorer: the shipped core over stored entities, loaded anew for every step, with every check."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom.core.state.apply import full_key, load
from starloom.core.state.invariants import Violated, check, check_touched
from starloom.core.state.model import Shard
from starloom.core.state.orders import ArmTimer, SendCancel, SendDispatch, SendQuery, SendResume
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom_protocol.records.edits import AddDependency, AddTask, EditOperation, RemoveTask
from starloom_protocol.records.entities import Device, Offer, decode_entity, encode_entity
from starloom_protocol.stream.feed import FLEET, fold
from starloom_protocol.vocabulary import AttemptEnd, DeviceLink, Gate, Reason, TaskState
from starloom_protocol.wire.frames import (
    Cancel,
    Dispatch,
    LeaseRef,
    LedgerReport,
    PlanEntry,
    Query,
    Receipt,
    ResultFrame,
    ResumePlan,
    Started,
)
from tests.builders import TOOLS, edge, plan, task

NAME = "c1"
DEVICES = ("d-one", "d-two")
TIMERS = ("backoff", "absence", "fence")
PLAN = plan(
    task("a", tool="t.pure"), task("b", tool="t.never"), task("c", tool="t.idem"), edge("a>c"), edge("b>c", Gate.FINISH)
)
BEGAN_MS = 1_000_000
_NEVER = "b"

# What a step of one state with one input gives; the walk comes to the same pair by many ways.
_Stepped = tuple[dict[str, dict[str, bytes]], dict[str, int], list[Any], Any, str]
_KNOWN_MOST = 200_000


class Violation(AssertionError):
    """A promise does not hold."""


class SmallHub:
    """Entities by stream, the hub's time, and what it has ordered since the last look."""

    known: dict[tuple[str, str], _Stepped]

    def __init__(self) -> None:
        self.devices = DEVICES
        self.now_ms = BEGAN_MS
        self.known = {}
        self._ordered: dict[str, list[Any]] = {}
        self._entities: dict[str, dict[str, bytes]] = {FLEET: {}}
        self._seqs: dict[str, int] = {FLEET: 0}
        self._edits = 0
        self._state = ""
        self._read: Shard | None = None
        for device in DEVICES:
            made = Device(
                id=device,
                name=device[2:],
                key="k",
                joined_ms=0,
                ledger=f"l-{device}",
                link=DeviceLink.ONLINE,
                os="linux",
                session=1,
            )
            offer = Offer(digest="x", slots=1, tools=TOOLS)
            for kind, record in (("device", made), ("offer", offer)):
                self._entities[FLEET][full_key(kind, device)] = encode_entity(record)

    def copy(self) -> SmallHub:
        made = SmallHub.__new__(SmallHub)
        made.devices, made.now_ms, made.known = self.devices, self.now_ms, self.known
        made._ordered = {}
        # Never written to: a step puts others in their place.
        made._entities, made._seqs, made._edits = self._entities, self._seqs, self._edits
        made._state, made._read = self._state, self._read
        return made

    def key(self) -> str:
        return f"{self.now_ms} {self._edits} {self._state}"

    def taken(self) -> dict[str, list[Any]]:
        """Return and forget the frames ordered for each device."""
        taken, self._ordered = self._ordered, {}
        return taken

    def _shard(self) -> Shard:
        shard = Shard()
        for stream, found in self._entities.items():
            load(shard, stream, self._seqs[stream], {key: decode_entity(key, raw) for key, raw in found.items()})
        shard.touched.clear()
        shard.settled.clear()
        shard.journal.clear()
        return shard

    def _look(self) -> Shard:
        """Return a shard of this state that is only read."""
        if self._read is None:
            self._read = self._shard()
        return self._read

    def _do(self, item: Any) -> Any:
        item = msgspec.structs.replace(item, at_ms=self.now_ms)
        here = (self.key(), repr(item))
        stepped = self.known.get(here)
        if stepped is None:
            stepped = self._step(item)
            if len(self.known) < _KNOWN_MOST:
                self.known[here] = stepped
        self._entities, self._seqs, effects, answer, self._state = stepped
        self._read = None
        for effect in effects:
            frame = _frame(effect)
            if frame is not None:
                self._ordered.setdefault(effect.device, []).append(frame)
        return answer

    def _step(self, item: Any) -> _Stepped:
        shard = self._shard()
        work = Work(shard)
        step(work, item)
        entities = {stream: dict(found) for stream, found in self._entities.items()}
        try:
            check_touched(shard)
            events = [pending.encoded()[0] for pending in work.events]
            shard.journal.clear()
            check(shard)
        except Violated as violated:
            raise Violation(str(violated)) from None
        seqs = dict(self._seqs)
        for event in events:
            fold(entities.setdefault(event.stream, {}), [event])
            seqs[event.stream] = event.seq
        for stream in entities:
            found = shard.stream(stream)
            live = {full_key(kind, key): encode_entity(record) for kind, key, record in found.records()}
            if stream == NAME and live != entities[stream]:
                raise Violation(f"the state of {stream} is not the fold of its events")
        (answer,) = work.answers
        state = hashlib.blake2b(repr([sorted(found.items()) for found in entities.values()]).encode()).hexdigest()
        return entities, seqs, [effect for effect in work.orders if not isinstance(effect, ArmTimer)], answer, state

    def submit(self) -> None:
        answer = self._do(i.RequestReceived(id="i", by="person:ann", constellation=NAME, plan=PLAN))
        assert not answer.faults, answer.faults

    def connect(self, device: str, ledger: str) -> list[PlanEntry]:
        answer = self._do(
            i.DeviceConnected(id="i", by=f"device:{device}", device=device, instance="x", ledger=ledger, version="1")
        )
        offer = Offer(digest="x", slots=1, tools=TOOLS)
        self._do(
            i.OfferReceived(
                id="i",
                by=f"device:{device}",
                device=device,
                offer=offer,
                os="linux",
                profile=self._device(device).profile,
                session=answer.value["session"],
            )
        )
        return msgspec.convert(answer.value["entries"], list[PlanEntry])

    def _device(self, device: str) -> Device:
        found = decode_entity(f"device/{device}", self._entities[FLEET][f"device/{device}"])
        assert isinstance(found, Device)
        return found

    def disconnect(self, device: str) -> None:
        session = self._device(device).session
        self._do(i.DeviceDisconnected(id="i", by=f"device:{device}", device=device, reason="crash", session=session))

    def take(self, device: str, frame: Any) -> int:
        """Step a report; return its number, which is durable then, or 0 if it has none."""
        by = f"device:{device}"
        match frame:
            case Started():
                self._do(i.StartedReported(id="i", by=by, device=device, frame=frame))
            case ResultFrame():
                self._do(i.ResultReported(id="i", by=by, device=device, frame=frame))
            case Receipt():
                self._do(i.ReceiptReported(id="i", by=by, device=device, frame=frame))
            case LedgerReport():
                for entry in frame.entries:
                    self._do(i.LedgerReported(id="i", by=by, device=device, at=entry.at, state=entry.state))
                return 0
            case _:
                raise AssertionError(f"{device} sent {frame}")
        return int(frame.report)

    def edit(self, which: str) -> None:
        """Two editors who saw the first version only: of what does not fit any more the core refuses the whole."""
        self._edits += 1
        added = f"x{self._edits}"
        operations: list[EditOperation] = [RemoveTask(id="c")]
        if which == "add":
            operations = [AddTask(spec=task(added)), AddDependency(dependency=edge(f"{added}>c", Gate.FINISH))]
        self._do(
            i.EditProposed(
                id="i", by="person:ann", base_version=1, constellation=NAME, operations=operations, reason=which
            )
        )

    def expire(self, at: LeaseRef) -> None:
        self._do(i.LeaseExpired(id="i", by="engine", at=at))

    def timers(self) -> list[ArmTimer]:
        """Return what time alone would bring, the first first."""
        found = [timer for timer in due_moments(self._look()) if timer.kind in TIMERS]
        return sorted(found, key=lambda timer: (timer.due_ms, timer.entity))

    def fire(self) -> None:
        timer = self.timers()[0]
        self.now_ms = max(self.now_ms, timer.due_ms)
        self._do(
            i.TimerFired(
                id="i",
                by="engine",
                attempt=timer.attempt,
                constellation=timer.constellation,
                entity=timer.entity,
                kind=timer.kind,
                round=timer.round,
            )
        )

    def leases(self) -> list[str]:
        """Return the tasks whose lease could run out."""
        tasks = self._look().constellations[NAME].tasks
        return [name for name, record in tasks.items() if record.state in (TaskState.LEASED, TaskState.RUNNING)]

    def lease(self, name: str) -> tuple[LeaseRef, str]:
        found = self._look().constellations[NAME]
        number = found.tasks[name].attempt
        attempt = found.attempt(name, number)
        return LeaseRef(attempt=number, constellation=NAME, incarnation=attempt.incarnation, task=name), attempt.device

    def is_never(self, name: str) -> bool:
        return name == _NEVER

    def must_know(self, at: LeaseRef) -> None:
        """A result that was acknowledged as durable is in the log."""
        attempt = self._look().constellations[NAME].attempts.get(f"{at.task}/{at.attempt}")
        if attempt is None or (attempt.end is not AttemptEnd.OK and attempt.late is None):
            raise Violation(f"the result of {at.task}/{at.attempt} was acknowledged; the log has {attempt}")

    def must_be_over(self) -> None:
        """Nothing can happen by itself: it has ended, or it says what it waits for."""
        shard = self._look()
        found = shard.constellations[NAME]
        if NAME not in shard.live or found.head.attention or found.open_questions or found.unknown:
            return
        if any(record.reason is Reason.ABSENT for record in found.tasks.values()):
            return
        states = {name: f"{record.state} {record.reason or ''}" for name, record in found.tasks.items()}
        raise Violation(f"stuck: {states}")


def _frame(effect: Any) -> Any:
    match effect:
        case SendDispatch():
            return Dispatch(
                args=effect.args,
                at=effect.at,
                fence_after_s=effect.fence_after_ms / 1000,
                patience_most_s=effect.patience_most_ms / 1000,
                repeatability=effect.repeatability,
                start_to_close_s=effect.start_to_close_s,
                tool=effect.tool,
            )
        case SendCancel():
            return Cancel(at=effect.at, reason=effect.reason)
        case SendResume():
            return ResumePlan(entries=[PlanEntry(action=effect.action, at=effect.at)])
        case SendQuery():
            return Query(attempts=effect.attempts)
    return None
