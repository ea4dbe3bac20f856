"""Tiny readable builders for tests of the core: a fleet, a plan, and a driver that steps inputs with all checks."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom.core.state.invariants import check, check_touched
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.orders import Answer, ArmTimer, SendCancel, SendDispatch
from starloom.core.state.settings import ShardSettings
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom_protocol.records.edits import EditOperation, LoweredPlan
from starloom_protocol.records.entities import (
    Condition,
    Dependency,
    Device,
    Input,
    Offer,
    Policy,
    Selector,
    TaskSpec,
    ToolOffer,
    decode_entity,
)
from starloom_protocol.stream.feed import FLEET, Event, fold
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    DeviceLink,
    Effect,
    EffectSeen,
    Gate,
    Op,
    Outcome,
    Profile,
    Repeatability,
)
from starloom_protocol.wire.frames import LeaseRef, Receipt, ResultFrame, Started

PURE, NEVER, IDEMPOTENT = Repeatability.PURE, Repeatability.NEVER, Repeatability.IDEMPOTENT


def task(name: str, *inputs: str, tool: str | None = "t.pure", **fields: Any) -> TaskSpec:
    """A task; `inputs` are `name=source` or `name=source/pointer`."""
    made = []
    for text in inputs:
        key, _, rest = text.partition("=")
        source, slash, pointer = rest.partition("/")
        made.append(Input(name=key, source=source, output=slash + pointer))
    if isinstance(fields.get("device"), str):
        fields["device"] = Selector(name=fields["device"])
    tool_now = None if "person" in fields else tool
    if "for_each" in fields:
        fields.setdefault("family", fields["for_each"].same or name)
    return TaskSpec(id=name, changed_in=1, inputs=made, tool=tool_now, **fields)


def edge(text: str, gate: Gate = Gate.SUCCESS, **fields: Any) -> Dependency:
    """A control dependency from `a>b`."""
    source, _, target = text.partition(">")
    return Dependency(source=source, target=target, gate=gate, changed_in=1, **fields)


def when(text: str, output: str, op: Op, value: Any = None) -> Dependency:
    """An output condition from `a>b`."""
    condition = Condition(op=op, output=output, value=None if value is None else canonical(value))
    return edge(text, Gate.OUTPUT, condition=condition)


def plan(*parts: TaskSpec | Dependency, policy: Policy | None = None, **fields: Any) -> LoweredPlan:
    """A lowered plan of specs and dependencies."""
    return LoweredPlan(
        name=fields.pop("name", "test"),
        hash=fields.pop("hash", "h"),
        specs=[part for part in parts if isinstance(part, TaskSpec)],
        dependencies=[part for part in parts if isinstance(part, Dependency)],
        policy=policy or Policy(),
        **fields,
    )


TOOLS = [
    ToolOffer(name="t.pure", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="t.never", repeatability=NEVER, effects=[Effect.WRITE]),
    ToolOffer(name="t.idem", repeatability=IDEMPOTENT, effects=[Effect.WRITE]),
]


class Driver:
    """Steps inputs one commit each, checks every invariant, and folds the events beside the shard as oracle."""

    def __init__(
        self, *devices: str, slots: int = 4, settings: ShardSettings | None = None, whole: bool = True
    ) -> None:
        self.shard = Shard(settings or ShardSettings())
        self.numbers = itertools.count(1)
        self.now_ms = 1_000_000
        self.events: list[Event] = []
        self.folded: dict[str, dict[str, bytes]] = {}
        self.dispatched: list[SendDispatch] = []
        self.cancels: list[SendCancel] = []
        self.timers: list[ArmTimer] = []
        self.sent: list[Any] = []
        self.whole = whole
        self.ignored: dict[str, int] = {}
        for name in devices:
            self.add_device(name, slots=slots)

    def add_device(self, name: str, *, slots: int = 4, tools: list[ToolOffer] | None = None, **fields: Any) -> None:
        """Put a device that is online and offers the test tools; `facts_told` and `grants` are those of its offer."""
        facts, grants = fields.pop("facts_told", {}), fields.pop("grants", [])
        device = Device(
            id=f"d-{name}", name=name, key="k", joined_ms=0, link=DeviceLink.ONLINE, session=1, os="linux", **fields
        )
        offer = Offer(digest="x", facts=facts, grants=grants, slots=slots, tools=TOOLS if tools is None else tools)
        load(self.shard, FLEET, 0, {f"device/{device.id}": device, f"offer/{device.id}": offer})

    def do(self, item: Any) -> Answer:
        """Step one input and commit it; return its answer."""
        item = msgspec.structs.replace(item, at_ms=self.now_ms)
        work = Work(self.shard)
        step(work, item)
        check_touched(self.shard)
        finished = [event.encoded() for event in work.events]
        self.shard.journal.clear()
        for event, _raw, _flat in finished:
            self.events.append(event)
            fold(self.folded.setdefault(event.stream, {}), [event])
        if self.whole:
            check(self.shard)
        self.sent = work.orders
        for effect in work.orders:
            if isinstance(effect, SendDispatch):
                self.dispatched.append(effect)
            elif isinstance(effect, SendCancel):
                self.cancels.append(effect)
            elif isinstance(effect, ArmTimer):
                self.timers.append(effect)
        for reason, count in work.ignored.items():
            self.ignored[reason] = self.ignored.get(reason, 0) + count
        (answer,) = work.answers
        return answer

    def ident(self) -> str:
        return f"i{next(self.numbers)}"

    def submit(self, made: LoweredPlan, name: str = "c1", *, by: str = "person:ann", **fields: Any) -> Constellation:
        answer = self.do(i.RequestReceived(id=self.ident(), by=by, constellation=name, plan=made, **fields))
        assert not answer.faults, answer.faults
        return self.shard.constellations[name]

    def take(self) -> list[SendDispatch]:
        """Return and forget the dispatches ordered so far."""
        taken, self.dispatched = self.dispatched, []
        return taken

    def started(self, dispatch: SendDispatch) -> Answer:
        return self.do(
            i.StartedReported(
                id=self.ident(),
                by=f"device:{dispatch.device}",
                device=dispatch.device,
                frame=Started(at=dispatch.at, report=1),
            )
        )

    def result(
        self, dispatch: SendDispatch, value: Any = None, outcome: Outcome = Outcome.OK, device: str = "", **fields: Any
    ) -> Answer:
        sender = device or dispatch.device
        frame = ResultFrame(
            at=fields.pop("at", dispatch.at),
            report=1,
            outcome=outcome,
            value=canonical(value) if outcome is Outcome.OK else None,
            **fields,
        )
        return self.do(i.ResultReported(id=self.ident(), by=f"device:{sender}", device=sender, frame=frame))

    def receipt(self, dispatch: SendDispatch, **fields: Any) -> Answer:
        frame = Receipt(at=dispatch.at, report=1, **fields)
        return self.do(
            i.ReceiptReported(id=self.ident(), by=f"device:{dispatch.device}", device=dispatch.device, frame=frame)
        )

    def control(self, action: str, task_id: str | None = None, name: str = "c1", **fields: Any) -> Answer:
        by = fields.pop("by", "person:ann")
        return self.do(
            i.ControlRequested(id=self.ident(), by=by, constellation=name, action=action, task=task_id, **fields)
        )

    def edit(
        self,
        *operations: EditOperation,
        base: int | None = None,
        name: str = "c1",
        by: str = "person:ann",
        **fields: Any,
    ) -> Answer:
        """Propose these changes of a plan, of its present version unless `base` is another."""
        version = self.shard.constellations[name].head.version if base is None else base
        ident = fields.pop("id", None) or self.ident()
        return self.do(
            i.EditProposed(
                id=ident, by=by, constellation=name, base_version=version, operations=list(operations), **fields
            )
        )

    def answer_question(self, question: str, value: str, *, name: str = "c1", **fields: Any) -> Answer:
        """Answer an open question of a constellation, by Ann unless `by` is another."""
        given = {"by": "person:ann", **fields}
        return self.do(i.QuestionAnswered(id=self.ident(), constellation=name, question=question, value=value, **given))

    def claim_job(self, job: str, *, worker: str = "w", **fields: Any) -> Answer:
        """Have a worker take a job of the constellation."""
        given = {"by": f"worker:{worker}", "constellation": "c1", "ttl_ms": 15_000, **fields}
        return self.do(i.JobClaimed(id=self.ident(), job=job, worker=worker, **given))

    def expire(self, at: LeaseRef) -> Answer:
        return self.do(i.LeaseExpired(id=self.ident(), by="engine", at=at))

    def fire(self, timer: ArmTimer) -> Answer:
        self.now_ms = max(self.now_ms, timer.due_ms)
        return self.do(
            i.TimerFired(
                id=self.ident(),
                by="engine",
                constellation=timer.constellation,
                entity=timer.entity,
                kind=timer.kind,
                attempt=timer.attempt,
                round=timer.round,
            )
        )

    def connect(self, name: str, ledger: str = "l1") -> Answer:
        return self.do(
            i.DeviceConnected(
                id=self.ident(), by=f"device:d-{name}", device=f"d-{name}", instance="x", ledger=ledger, version="1"
            )
        )

    def run(self, name: str = "c1", value: Any = None, most: int = 100_000) -> str:
        """Answer every dispatch with success until nothing is left; return the constellation's state."""
        for _ in range(most):
            taken = self.take()
            if not taken:
                break
            for dispatch in taken:
                self.result(dispatch, value if not callable(value) else value(dispatch))
        return self.state(name)

    def state(self, name: str = "c1") -> str:
        return str(self.shard.constellations[name].head.state)

    def states(self, name: str = "c1") -> dict[str, str]:
        found = self.shard.constellations[name]
        return {key: str(record.state) for key, record in found.tasks.items()} | {
            key: str(record.state) for key, record in found.groups.items()
        }

    def folded_equals_state(self) -> None:
        """I7: folding all events gives the state, byte for byte, and loading that gives the same indexes."""
        from starloom.core.state.apply import full_key
        from starloom_protocol.records.entities import encode_entity

        for name, found in self.shard.constellations.items():
            now = {full_key(kind, key): encode_entity(record) for kind, key, record in found.records()}
            assert now == self.folded[name]
            again = Shard()
            load(again, name, found.seq, {key: decode_entity(key, raw) for key, raw in self.folded[name].items()})
            check(again)


NONE, MAYBE = EffectSeen.NONE, EffectSeen.MAYBE
OBSERVE = Profile.OBSERVE
