"""A simulated agent: the real agent core and outbox over a ledger that survives crashes, with tools made of time.

It does what `starloom_agent.work.runtime` does, in its order: what happens in one turn is put down by one flush, and
only then do effects begin and reports leave. `World` notes what truly happened on the devices, which no crash can take
back.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.work import core
from starloom_agent.work.outbox import Outbox
from starloom_protocol.values import canonical, parse, point
from starloom_protocol.vocabulary import REPEATABLE, Code, EffectSeen, Outcome, Repeatability
from starloom_protocol.wire.frames import (
    BEGUN,
    Ack,
    Alive,
    Cancel,
    Dispatch,
    DrainFrame,
    LeaseRef,
    LedgerEntry,
    LedgerReport,
    NameFrame,
    OverFrame,
    OwnerAnswer,
    Query,
    Receipt,
    Renew,
    ResultFrame,
    ResumePlan,
    Started,
)
from tests.sim.disk import SimLedger

ALIVE_EVERY_S = 5.0


@dataclass
class World:
    """What happened on devices: every begin of a tool, every end, and every end that was told durable to an agent."""

    begun: list[tuple[float, str, LeaseRef, str]] = field(default_factory=list)
    acknowledged: dict[LeaseRef, ResultFrame] = field(default_factory=dict)
    ended: dict[LeaseRef, list[tuple[int, Outcome]]] = field(default_factory=dict)
    dispatched: dict[LeaseRef, Dispatch] = field(default_factory=dict)
    crashes: int = 0
    remembered: int = 0


class Owner(Protocol):
    """Who is asked on a device before some calls."""

    def refusal(self, dispatch: Dispatch) -> Code | None: ...

    def beside_alive(self) -> list[Any]: ...

    def take(self, answer: OwnerAnswer) -> None: ...


@dataclass
class _Call:
    dispatch: Dispatch
    fence_at: float | None
    running: asyncio.Task[None] | None = None
    stop: str = ""
    effect: EffectSeen = EffectSeen.NONE
    ended: dict[str, Any] = field(default_factory=dict)


class SimAgent:
    """One device. `crash` loses all but the ledger; `boot` starts the next process of it.

    Its clock is its own: it began at another time and runs a little fast or slow. `died` is called when a tool takes
    the process with it.
    """

    def __init__(self, device: str, slots: int, chance: random.Random, world: World) -> None:
        self.device = device
        self.slots = slots
        self.ledger = SimLedger(f"ledger-{device}")
        self.alive = False
        self.push: Any = None
        self.died: Callable[[], None] = lambda: None
        self.gives: Callable[[Dispatch, dict[str, Any]], Any] = _given
        self.owner: Owner | None = None
        self._offset_s = chance.uniform(0.0, 100_000.0)
        self._rate = chance.uniform(0.99, 1.01)
        self._chance = chance
        self._world = world
        self._life = 0

    def boot(self) -> None:
        """Start a process: report what the last one left unfinished, as the ledger tells it."""
        self._life += 1
        self.alive = True
        self.outbox = Outbox(self.ledger)  # type: ignore[arg-type]
        self.state = core.AgentState(slots=self.slots)
        self._calls: dict[LeaseRef, _Call] = {}
        self._to_spawn: list[LeaseRef] = []
        self._turn_scheduled = False
        for at, state in list(self.ledger.attempts.items()):
            if state == "started":
                self._report_end(
                    at, durable=True, outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, effect=EffectSeen.MAYBE
                )

    def crash(self) -> None:
        """The process is gone with all it had in memory; the runner of each tool dies with it."""
        self._life += 1
        self.ledger.lose()
        self.alive = False
        self.push = None
        self._world.crashes += 1
        for call in self._calls.values():
            if call.running is not None:
                call.running.cancel()

    @property
    def busy(self) -> bool:
        """Whether it runs a tool or has something that the hub has not acknowledged."""
        return self.alive and bool(self._calls or self.outbox.pending)

    def connected(self, push: Any, received: int) -> None:
        self.push = push
        self._do(core.Proved(self._now()))
        self.outbox.connected(received)
        if begun := self.ledger.begun_lately():
            push(self._begun_report(begun))
        self._schedule_turn()

    def disconnected(self) -> None:
        self.push = None

    def say_alive(self) -> None:
        if self.push is not None:
            sent_ms = int(self._now() * 1000)
            self.push(Alive(running=core.running_refs(self.state), sent_ms=sent_ms))
            for frame in self.owner.beside_alive() if self.owner is not None else ():
                self.push(frame)

    def receive(self, frame: Any) -> None:
        match frame:
            case Ack():
                for number, report in self.outbox.pending.items():
                    if number <= frame.durable and isinstance(report, ResultFrame):
                        self._world.acknowledged[report.at] = report
                self.outbox.acknowledged(frame.durable)
            case ResumePlan():
                for entry in frame.entries:
                    self._recall(entry.at)
                self._do(core.Resumed(frame.entries))
            case Dispatch() | Cancel():
                self._recall(frame.at)
                self._do(frame)
            case Renew():
                self._do(frame)
            case DrainFrame():
                pass  # the hub keeps new work away; an agent only tells its owner
            case Query():
                entries = [LedgerEntry(at=at, state=self._known(at)) for at in frame.attempts]
                if self.push is not None:
                    self.push(LedgerReport(entries=entries))
            case OwnerAnswer() if self.owner is not None:
                self.owner.take(frame)
            case OverFrame():
                pass  # it keeps no session of an MCP server that would end now
            case NameFrame():
                pass  # its work names no device by a name
            case _:
                raise AssertionError(f"the hub sent {frame}")

    def _recall(self, at: LeaseRef) -> None:
        key = core.task_of(at)
        known = None if key in self.state.fences else self.ledger.fences_of(key)
        if known is not None:
            core.step(self.state, core.Recalled(key, *known))

    def _begun_report(self, attempts: list[LeaseRef]) -> LedgerReport:
        calls = [self.ledger.calls.get(at, "") for at in attempts]
        return LedgerReport(calls=calls, entries=[LedgerEntry(at=at, state=BEGUN) for at in attempts])

    def _known(self, at: LeaseRef) -> str:
        held = self.state.held.get(at)
        if held is not None:
            return "started" if held.running else "accepted"
        return self.ledger.attempts.get(at, "unknown")

    # The core's actions, as the runtime carries them out.

    def _now(self) -> float:
        return self._offset_s + asyncio.get_running_loop().time() * self._rate

    def _do(self, event: Any) -> None:
        for action in core.step(self.state, event):
            self._act(action)
        self._schedule_turn()

    def _schedule_turn(self, after_s: float | None = None) -> None:
        """A flush takes its time; a crash before it takes everything of the turn away."""
        if self._turn_scheduled:
            return
        self._turn_scheduled = True
        if after_s is None:
            after_s = self._chance.choice([0.0, 0.0, 0.004, 0.03])
        asyncio.get_running_loop().call_later(after_s, self._put_down, self._life)

    def _put_down(self, life: int) -> None:
        if life != self._life or not self.alive:
            return
        self._turn_scheduled = False
        if not self.ledger.flush():
            self._schedule_turn(1.0)
            return
        spawn, self._to_spawn = self._to_spawn, []
        for at in spawn:
            self._spawn(at)
        if self.push is not None:
            while batch := self.outbox.unsent():
                for report in batch:
                    self.push(report)

    def _act(self, action: Any) -> None:
        match action:
            case core.Start():
                self._start(action)
            case core.SayEnd():
                call = self._calls.pop(action.at)
                self._report_end(action.at, durable=_durable(call.dispatch), **call.ended)
            case core.Stop():
                self._stop(action)
            case core.MoveFence():
                self._calls[action.at].fence_at = action.fence_at
            case core.SayReceipt():
                gone = self._calls.pop(action.at, None)
                effect = action.effect or (gone.effect if gone else EffectSeen.MAYBE)
                self._report_receipt(action.at, effect, known=action.known)
            case core.SayResult():
                self._report_end(
                    action.at, durable=True, outcome=action.outcome, code=action.code, effect=action.effect
                )
            case core.AnswerFromLedger():
                self._answer(action)
            case core.SayBegun():
                self._say_begun(action)

    def _say_begun(self, action: core.SayBegun) -> None:
        self._world.remembered += 1
        self.ledger.flush()
        if self.push is not None:
            self.push(self._begun_report([action.begun]))
        if action.at not in self.ledger.attempts:
            self._report_end(
                action.at, durable=True, outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, effect=EffectSeen.MAYBE
            )

    def _stop(self, action: core.Stop) -> None:
        call = self._calls[action.at]
        call.stop = action.why
        if action.at in self._to_spawn:
            self._to_spawn.remove(action.at)
            call.ended = {"outcome": Outcome.NEVER_STARTED, "code": None, "effect": EffectSeen.NONE}
            for following in core.step(self.state, core.CallEnded(action.at, stopped=True)):
                self._act(following)

    def _answer(self, action: core.AnswerFromLedger) -> None:
        if action.other is not None:
            if not self.ledger.flush():
                return
            if self.ledger.calls.get(action.at, "") not in ("", action.call):
                end = action.other
                self._report_end(action.at, durable=False, outcome=end.outcome, code=end.code, effect=end.effect)
                return
        pending = self.outbox.end_of(action.at)
        if pending is not None:
            self.outbox.send_again(pending.report)
            return
        if not self.ledger.flush():
            return
        kept = self.ledger.results.get(action.at)
        if kept is not None:
            self.outbox.add(lambda number: msgspec.structs.replace(kept, report=number), durable=True)
        elif action.at not in self.ledger.attempts and action.absent is not None:
            self._act(action.absent)

    def _report_end(self, at: LeaseRef, *, durable: bool, **fields: Any) -> None:
        report = self.outbox.add(lambda number: ResultFrame(at=at, report=number, **fields), durable=durable)
        self._world.ended.setdefault(at, []).append((self._life, fields["outcome"]))
        if durable and isinstance(report, ResultFrame):
            self.ledger.finished(at, report)

    def _report_receipt(self, at: LeaseRef, effect: EffectSeen, *, known: bool) -> None:
        report = self.outbox.add(lambda number: Receipt(at=at, effect=effect, known=known, report=number), durable=True)
        if isinstance(report, Receipt):
            self.ledger.finished(at, report)

    def _start(self, action: core.Start) -> None:
        dispatch = action.dispatch
        call = self._calls[dispatch.at] = _Call(dispatch, action.fence_at)
        durable = _durable(dispatch)
        code = Code.NO_SPACE if self._chance.random() < 0.03 else None
        code = code or (self.owner.refusal(dispatch) if self.owner is not None else None)
        if code is not None:
            call.ended = {"outcome": Outcome.REFUSED, "code": code}
            for following in core.step(self.state, core.CallEnded(dispatch.at, stopped=False)):
                self._act(following)
            return
        if durable:
            once = dispatch.repeatability not in REPEATABLE
            self.ledger.started(dispatch.at, once=once, call=core.digest_of(dispatch))
        self.outbox.add(lambda number: Started(at=dispatch.at, report=number), durable=durable)
        self._to_spawn.append(dispatch.at)

    def _spawn(self, at: LeaseRef) -> None:
        call = self._calls.get(at)
        if call is None or at not in self.state.held:
            return
        self._world.dispatched[at] = call.dispatch
        self._world.begun.append((asyncio.get_running_loop().time(), self.device, at, call.dispatch.repeatability))
        call.running = asyncio.get_running_loop().create_task(self._run(at, self._life))

    async def _run(self, at: LeaseRef, life: int) -> None:
        """A tool: takes its time in small steps, so that a stop or its fence can end it anywhere."""
        call = self._calls[at]
        args = parse(call.dispatch.args)
        takes_s = args.get("s", 1.0) * self._chance.uniform(0.5, 1.5)
        end_s = self._now() + takes_s
        effect_s = self._now() + takes_s * self._chance.random()
        while self._now() < end_s:
            await asyncio.sleep(min(0.25, end_s - self._now()) + 1e-6)
            if self._now() >= effect_s and _durable(call.dispatch):
                call.effect = EffectSeen.MAYBE
            if call.fence_at is not None and self._now() >= call.fence_at:
                call.stop = call.stop or "fence"
            if call.stop and not (call.stop == "cancel" and args.get("deaf")):
                break
        if life != self._life:
            return
        if args.get("kills") and not call.stop:
            call.running = None
            self.died()
            return
        if call.stop and _durable(call.dispatch) and call.effect is EffectSeen.NONE:
            # It fetched its inputs until then, so nothing of it has happened.
            self._world.begun = [row for row in self._world.begun if row[2] != at]
            call.ended = {"outcome": Outcome.NEVER_STARTED, "code": None, "effect": EffectSeen.NONE}
        elif call.stop:
            call.ended = {"outcome": Outcome.INTERRUPTED, "code": Code.INTERRUPTED, "effect": call.effect}
        else:
            call.ended = self._result(call.dispatch, args)
        self._do(core.CallEnded(at, stopped=bool(call.stop)))

    def _result(self, dispatch: Dispatch, args: dict[str, Any]) -> dict[str, Any]:
        fails = args.get("fails", 0)
        if dispatch.at.attempt <= fails:
            code = Code.NETWORK if args.get("transient", True) else Code.TOOL_FAILED
            return {"outcome": Outcome.ERROR, "code": code, "effect": EffectSeen.NONE}
        try:
            value = self.gives(dispatch, args)
        except ToolFailed as failed:
            return {"outcome": Outcome.ERROR, "code": failed.code, "effect": EffectSeen.NONE}
        facts = {}
        for pointer in dispatch.wants:
            found = point(value, pointer)
            if found or found == 0 or found is False:
                facts[pointer] = canonical(found)
        return {"outcome": Outcome.OK, "value": canonical(value), "facts": facts}


def _given(dispatch: Dispatch, args: dict[str, Any]) -> Any:
    return args.get("value", {"n": dispatch.at.attempt})


def _durable(dispatch: Dispatch) -> bool:
    return dispatch.repeatability != Repeatability.PURE
