"""An agent of the explorer: the shipped agent core and outbox, a disk that keeps all, tools that end if told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from starloom_agent.work import core
from starloom_agent.work.outbox import Outbox
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome, Repeatability
from starloom_protocol.wire.frames import (
    Ack,
    Cancel,
    Dispatch,
    LeaseRef,
    LedgerEntry,
    LedgerReport,
    NameFrame,
    OverFrame,
    PlanEntry,
    Query,
    Receipt,
    Renew,
    ResultFrame,
    ResumePlan,
    Started,
)
from tests.sim.disk import SimLedger


class Disk(SimLedger):
    """Each step is one turn, so what it writes is down when it is over; a crash comes between steps."""

    def _write(self, write: Callable[[], object], *, sync: bool) -> None:
        write()

    def lose(self) -> None:
        """Nothing was pending. Numbers go on, for a gap in them makes no difference to the hub."""

    def copy(self) -> Disk:
        made = Disk(self.id)
        made.next_report, made._reserved = self.next_report, self._reserved
        made.attempts, made.results, made.kept = dict(self.attempts), dict(self.results), dict(self.kept)
        return made


class SmallAgent:
    """One device with one slot. `to_agent` and `to_hub` are what is under way on its connection."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.ledger = Disk(f"l-{device}")
        self.state = core.AgentState(slots=1)
        self.outbox = Outbox(self.ledger)  # type: ignore[arg-type]
        self.connected = True
        self.durable = 0
        self.calls: dict[LeaseRef, Dispatch] = {}
        self.stopped: dict[LeaseRef, str] = {}
        self.to_agent: list[Any] = []
        self.to_hub: list[Any] = []
        self.acknowledged: list[LeaseRef] = []
        self._began: list[tuple[str, int]] = []

    def copy(self) -> SmallAgent:
        made = SmallAgent(self.device)
        made.ledger = self.ledger.copy()
        state = self.state
        made.state = replace(
            state,
            fences=dict(state.fences),
            held={at: replace(held) for at, held in state.held.items()},
            waiting=list(state.waiting),
        )
        made.outbox = Outbox(made.ledger)  # type: ignore[arg-type]
        made.outbox.pending = dict(self.outbox.pending)
        made.outbox._sent_up_to, made.outbox._again = self.outbox._sent_up_to, list(self.outbox._again)
        made.connected, made.durable = self.connected, self.durable
        made.calls, made.stopped = dict(self.calls), dict(self.stopped)
        made.to_agent, made.to_hub = list(self.to_agent), list(self.to_hub)
        made.acknowledged = list(self.acknowledged)
        return made

    def key(self) -> str:
        ledger, state, outbox = self.ledger, self.state, self.outbox
        parts = (
            sorted((str(at), word) for at, word in ledger.attempts.items()),
            sorted((str(at), str(result)) for at, result in ledger.results.items()),
            sorted(ledger.kept),
            ledger.next_report,
            sorted(state.fences.items()),
            [(str(at), held.running, held.stopping, held.fence_at) for at, held in state.held.items()],
            [str(at) for at in state.waiting],
            [str(report) for report in outbox.pending.values()],
            (outbox._sent_up_to, outbox._again, self.connected, self.durable),
            [str(at) for at in self.calls],
            [str(frame) for frame in self.to_agent],
            [str(frame) for frame in self.to_hub],
            sorted(str(at) for at in self.acknowledged),
        )
        return repr(parts)

    def cut(self) -> None:
        self.connected = False
        self.to_agent.clear()
        self.to_hub.clear()

    def crash(self) -> None:
        """All but the disk is gone; the next process says what was left unfinished."""
        self.cut()
        self.calls.clear()
        self.stopped.clear()
        self.state = core.AgentState(slots=1, fences=self.ledger.fences())
        self.outbox = Outbox(self.ledger)  # type: ignore[arg-type]
        for at, word in list(self.ledger.attempts.items()):
            if word == "started":
                self._say_end(
                    at, durable=True, outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, effect=EffectSeen.MAYBE
                )

    def connect(self, entries: list[PlanEntry]) -> None:
        # As at the shipped agent, nothing leaves before the outbox knows what the hub has: reports go in order.
        self.outbox.connected(min(self.durable, self.ledger.next_report - 1))
        self.connected = True
        self._do(core.Proved(0.0))
        self._do(core.Resumed(entries))

    def noted(self, durable: int) -> None:
        """The hub has made a report durable; it says so while the connection stands."""
        self.durable = max(self.durable, durable)
        if durable and self.connected:
            self.to_agent.append(Ack(durable=self.durable, received=self.durable))

    def receive(self, frame: Any) -> None:
        match frame:
            case Ack():
                for number, report in self.outbox.pending.items():
                    if not isinstance(report, ResultFrame) or report.outcome is not Outcome.OK:
                        continue
                    if number <= frame.durable and report.at not in self.acknowledged:
                        self.acknowledged.append(report.at)
                self.outbox.acknowledged(frame.durable)
            case ResumePlan():
                self._do(core.Resumed(frame.entries))
            case Dispatch() | Cancel() | Renew():
                self._do(frame)
            case Query():
                entries = [LedgerEntry(at=at, state=self._known(at)) for at in frame.attempts]
                self.to_hub.append(LedgerReport(entries=entries))
            case OverFrame():
                pass  # it keeps no session of an MCP server that would end now
            case NameFrame():
                pass  # its work names no device by a name
            case _:
                raise AssertionError(f"the hub sent {frame}")

    def _known(self, at: LeaseRef) -> str:
        held = self.state.held.get(at)
        if held is not None:
            return "started" if held.running else "accepted"
        return self.ledger.attempts.get(at, "unknown")

    def began(self) -> list[tuple[str, int]]:
        """Return and forget what was begun since the last look."""
        began, self._began = self._began, []
        return began

    def end(self, name: str) -> None:
        """A tool ends well, unless it was told to stop."""
        at = next(at for at in self.calls if f"{at.task}/{at.attempt}" == name)
        self._do(core.CallEnded(at, stopped=at in self.stopped))

    def fence(self, at: LeaseRef) -> None:
        """Its fence passes before anybody may have it: what has one is ended here."""
        held = self.state.held.get(at)
        if held is None or held.fence_at is None:
            return
        if at in self.calls:
            self.stopped[at] = "fence"
            self._do(core.CallEnded(at, stopped=True))

    def _do(self, event: Any) -> None:
        for action in core.step(self.state, event):
            self._act(action)
        if self.connected:
            while batch := self.outbox.unsent():
                self.to_hub.extend(batch)

    def _act(self, action: Any) -> None:
        match action:
            case core.Start():
                self._start(action.dispatch)
            case core.SayEnd():
                dispatch = self.calls.pop(action.at)
                stopped = self.stopped.pop(action.at, "")
                ended: dict[str, Any] = {"outcome": Outcome.OK, "value": "1"}
                if stopped:
                    ended = {"outcome": Outcome.INTERRUPTED, "code": Code.INTERRUPTED, "effect": EffectSeen.MAYBE}
                self._say_end(action.at, durable=_durable(dispatch), **ended)
            case core.Stop():
                self.stopped[action.at] = action.why
            case core.SayReceipt():
                gone = self.calls.pop(action.at, None)
                self.stopped.pop(action.at, None)
                effect = action.effect or (EffectSeen.MAYBE if gone is None or _durable(gone) else EffectSeen.NONE)
                report = self.outbox.add(
                    lambda number: Receipt(at=action.at, effect=effect, known=action.known, report=number), durable=True
                )
                assert isinstance(report, Receipt)
                self.ledger.finished(action.at, report)
            case core.SayResult():
                self._say_end(action.at, durable=True, outcome=action.outcome, code=action.code, effect=action.effect)
            case core.AnswerFromLedger():
                self._answer(action)
            case core.SayBegun():
                raise AssertionError(f"no history is restored in this world; {action}")

    def _start(self, dispatch: Dispatch) -> None:
        self.calls[dispatch.at] = dispatch
        if _durable(dispatch):
            self.ledger.started(dispatch.at)
        self.outbox.add(lambda number: Started(at=dispatch.at, report=number), durable=_durable(dispatch))
        self._began.append((dispatch.at.task, dispatch.at.attempt))

    def _answer(self, action: core.AnswerFromLedger) -> None:
        pending = self.outbox.end_of(action.at)
        if pending is not None:
            self.outbox.send_again(pending.report)
            return
        kept = self.ledger.results.get(action.at)
        if kept is not None:
            self.outbox.add(lambda number: msgspec.structs.replace(kept, report=number), durable=True)
        elif action.at not in self.ledger.attempts and action.absent is not None:
            self._act(action.absent)

    def _say_end(self, at: LeaseRef, *, durable: bool, **fields: Any) -> None:
        report = self.outbox.add(lambda number: ResultFrame(at=at, report=number, **fields), durable=durable)
        if durable and isinstance(report, ResultFrame):
            self.ledger.finished(at, report)


def _durable(dispatch: Dispatch) -> bool:
    return dispatch.repeatability != Repeatability.PURE
