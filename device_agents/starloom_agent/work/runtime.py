"""The running agent: feeds events to the core and carries out its actions with ledger, processes and connection.

All state lives on one loop. The events of one turn are committed by one ledger flush, and only then are processes
started and reports sent. A lost connection does not affect the work; the link dials again until the agent stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from starloom_agent.home.directory import AgentHome, NotJoined, remove_if_empty, write_private
from starloom_agent.home.identity import Identity
from starloom_agent.home.status_file import ONLINE, write_status
from starloom_agent.platforms import processes
from starloom_agent.policy.allowance import Allowance
from starloom_agent.sandbox.levels import NOT_TRIED, Sandbox
from starloom_agent.toolkit.interface import Tool, ToolFailed
from starloom_agent.toolkit.messages import Ended, Grouped
from starloom_agent.wire.connection import Address, Connection, ConnectionEnded
from starloom_agent.wire.link import RECONNECT_MOST_S, Link, pause_most_s
from starloom_agent.work import core
from starloom_agent.work.calls.chatter import Chatter
from starloom_agent.work.calls.faults import ends_connection_on_fault, not_begun, said_of, stopped_early
from starloom_agent.work.calls.judging import is_taken_back, judge, lease_name, leaves_no_trace, spec_of
from starloom_agent.work.calls.later_facts import look_up
from starloom_agent.work.calls.leftovers import Leftovers, empty_folders, end_attempts
from starloom_agent.work.calls.questions import CallQuestions
from starloom_agent.work.calls.runners import Runners
from starloom_agent.work.calls.running_call import RunningCall
from starloom_agent.work.calls.trash_keeper import TrashKeeper
from starloom_agent.work.device_conditions import has_no_room
from starloom_agent.work.device_reports import DeviceReports
from starloom_agent.work.ledger import DecisionRow, Ledger, LedgerCorrupt, LedgerFault, LedgerFull
from starloom_agent.work.outbox import Outbox, report_end, report_receipt, report_start
from starloom_agent.work.sessions.kept import KeptSessions
from starloom_protocol.vocabulary import AGENT_STOPPED, REPEATABLE, TAKEN_BACK, Code, EffectSeen, Outcome, Repeatability
from starloom_protocol.wire.frames import (
    BEGUN,
    Ack,
    Alive,
    Cancel,
    Dispatch,
    DrainFrame,
    FactsFrame,
    FetchFacts,
    Frame,
    HintFrame,
    LeaseRef,
    LedgerEntry,
    LedgerReport,
    NameFrame,
    OverFrame,
    OwnerAnswer,
    Ping,
    Pong,
    Query,
    Receipt,
    Renew,
    ResultFrame,
    ResumePlan,
    UpdateAvailable,
    Welcome,
)

_PUT_DOWN_AGAIN_S: Final = 1.0
"""A person who has made room waits for it, and a full disk stays full for longer."""
_WATCH_EVERY_S: Final = 1.0
"""An owner who edits the policy sees it used at once; looking costs the time stamp of one file."""
_STOP_WITHIN_S: Final = 8.0
"""Longer than the grace of a tool to end (2 s), shorter than the patience of a service manager."""
_WITH_A_LINE: Final = frozenset({Code.MISSING_GRANT, Code.POLICY_REFUSED})
"""A refusal with one of these names the line that would allow the call."""


@dataclass(frozen=True)
class Settings:
    """The settings of the command line. `slots` is the number of calls that may run at once."""

    slots: int = 4
    lab: bool = False
    unattended: bool = False
    reconnect_most_s: float = RECONNECT_MOST_S


@dataclass(slots=True)
class _Call:
    """The runtime's data on a lease that it started."""

    dispatch: Dispatch
    tool: Tool | None
    durable: bool
    running: RunningCall | None = None
    questions: CallQuestions | None = None
    ended: Ended | None = None


LaterTools = Callable[[str, list[dict[str, Any]]], tuple[str, list[Tool]]]
"""Makes tools of what a server of this device lists now: the module that makes them, and the tools."""


def _none_later(*_: Any) -> tuple[str, list[Tool]]:
    return "", []


def _end_of(report: core.SayResult) -> Ended:
    return Ended(outcome=report.outcome, code=report.code, detail=report.detail, effect=report.effect)


class Agent:
    """One agent process. `run` returns why it stopped for good.

    Each call has an end whatever fails around it. A message that cannot be followed costs its connection, and a turn
    that cannot be put down is tried again. Only a corrupt ledger ends the agent, as a whole.
    """

    def __init__(
        self,
        *,
        home: AgentHome,
        address: Address,
        identity: Identity,
        ledger: Ledger,
        tools: tuple[Tool, ...],
        modules: dict[str, str],
        settings: Settings,
        say: Callable[[str], None],
        sandbox: Sandbox = NOT_TRIED,
        later_tools: LaterTools = _none_later,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.home = home
        self.identity = identity
        self.ledger = ledger
        self.outbox = Outbox(ledger)
        self.state = core.AgentState(slots=settings.slots)
        self._address = address
        self._session = 0
        self._tools = {tool.name: tool for tool in tools if settings.lab or not tool.lab_only}
        self._modules = modules
        self._settings = settings
        self._say = say
        self.allowance = Allowance(home, self._tools.values(), sandbox, slots=settings.slots, say=say)
        self._trash = TrashKeeper(self.allowance, say, processes.awake_clock_s)
        self._leftovers = Leftovers(home.run / "detached.json", say)
        self._later_tools = later_tools
        self.sessions = KeptSessions(home.run, say, self._take_tools)
        self.runners = Runners(settings.slots, say)
        self._calls: dict[LeaseRef, _Call] = {}
        self._to_spawn: list[LeaseRef] = []
        self._owed: deque[Callable[[], None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._chatter = Chatter(self._push)
        self._link = Link(
            lambda: Connection(address, identity, ledger.id, self, processes.awake_clock_s),
            most_s=pause_most_s(address.route, settings.reconnect_most_s),
            jitter=jitter,
            say=say,
            status=self._status,
        )
        self._device = DeviceReports(home, self.allowance, self._link, say)
        self._turn: asyncio.Handle | None = None
        self._stopping = asyncio.Event()
        self._boot = processes.boot_mark()
        self._work_number = 0
        self._connection_file: bytes | None = None
        self._broken: LedgerCorrupt | None = None

    def recover(self) -> None:
        """End calls that an earlier process of this agent left running; report every attempt that it did not finish."""
        self.ledger.reserve()
        for at, ended in end_attempts(self.ledger, self._boot, say=self._say):
            self._report_end(at, ended, durable=True, verified=False)
            self._say(f"{lease_name(at)}: {ended.outcome}, effect {ended.effect}: {ended.detail}")
        empty_folders(self.home.work)
        self._leftovers.recover()
        self.sessions.recover()
        self.ledger.prune()
        try:
            self.ledger.flush()
        except LedgerFull as fault:
            # The writes stay collected: the hub hears of the full disk now, and gets the reports once there is room.
            self._wait_for_room(fault)

    async def run(self) -> ConnectionEnded | None:
        """Serve until `stop`, or until the hub says that trying again will not help; then return that end.

        Raises:
            LedgerCorrupt: the attempts that began here are no longer known; running calls were ended.
        """
        self.runners.start()
        self.allowance.read_again()
        if self._device.disk_is_full:
            self._schedule_turn()
        watch = asyncio.create_task(self._watch())
        chatter = asyncio.create_task(self._chatter.run())
        try:
            ended = await self._link.run(self._stopping, self._leave)
            if self._broken is not None:
                raise self._broken
            return ended
        finally:
            for task in (watch, chatter):
                task.cancel()
            await asyncio.gather(watch, chatter, return_exceptions=True)
            for end in (self._end_calls, self.runners.close, self.sessions.close):
                try:
                    await end()
                except Exception as error:
                    self._say(f"while the agent ends: {said_of(error)}")
            self._leftovers.end_all()
            self._flushed(lazy=True)

    def stop(self) -> None:
        """Give back every lease, say goodbye and return from `run`."""
        self._stopping.set()

    async def _leave(self) -> None:
        self._say("stopping: ending what runs")
        self._device.leaving()
        await self._end_calls()
        self._put_down()

    async def _end_calls(self) -> None:
        self._do(core.EndAll(AGENT_STOPPED))
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_STOP_WITHIN_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def next_report(self) -> int:
        return self.ledger.next_report

    def welcomed(self, welcome: Welcome, proved_at: float) -> list[Frame]:
        with ends_connection_on_fault("the welcome", self._take_fault):
            return self._greeting(welcome, proved_at)

    def _greeting(self, welcome: Welcome, proved_at: float) -> list[Frame]:
        self._link.opened()
        self._do(core.Proved(proved_at))
        if not self.outbox.connected(welcome.received):
            self._say(f"the hub knows reports up to {welcome.received} of another ledger of this device")
        to = self._address
        way = {"hub": to.hub, "key": self._link.http_key, "pin": to.pin, "token": welcome.http_token, "via": to.via}
        self._write_connection(msgspec.json.encode(way))
        self._session = welcome.session
        self._take_name(welcome.device_name)
        self._say(f"connected to {self._address.hub} as {welcome.device_name}, session {welcome.session}")
        return [*self._begun_lately(), *self._device.greeting(welcome.hub_time_ms)]

    def _take_name(self, name: str) -> None:
        """Keep the name of this device for its own commands."""
        self._status(ONLINE, f"session {self._session} as {name}")
        with contextlib.suppress(OSError, NotJoined):  # a full disk ends no connection over a name
            self.home.rename(name)

    def _write_connection(self, data: bytes) -> None:
        """Write the file with which tools fetch artifacts; on a full disk it is retried, and the connection stays."""
        self._connection_file = data
        try:
            write_private(self.home.run / "connection.json", data)
        except OSError as error:
            if not has_no_room(error):
                raise
            return
        self._connection_file = None

    def _begun_lately(self) -> list[Frame]:
        """Tell what began here of work that may not be repeated: a hub whose history is older takes it up."""
        attempts = self.ledger.begun_lately()
        return [self._begun_report(attempts)] if attempts else []

    def _begun_report(self, attempts: list[LeaseRef]) -> LedgerReport:
        """Report attempts with their calls: the hub may mean another call by the same name."""
        calls = [self.ledger.call_of(at) for at in attempts]
        return LedgerReport(calls=calls, entries=[LedgerEntry(at=at, state=BEGUN) for at in attempts])

    def received(self, frames: list[Frame]) -> None:
        for frame in frames:
            with ends_connection_on_fault(type(frame).__name__, self._take_fault):
                self._handlers[type(frame)](self, frame)
        # One message is one turn; until the loop comes round the hub would wait. A timer is set by a disk that refuses.
        if self._turn is not None and not isinstance(self._turn, asyncio.TimerHandle):
            self._turn.cancel()
            self._put_down()

    def reports(self) -> list[Frame]:
        # A report leaves only when the ledger has it; a turn that has not been put down yet wakes the writer again.
        return [] if self._turn is not None else list(self.outbox.unsent())

    def beside_alive(self) -> list[Frame]:
        return self._device.beside_alive()

    def alive(self) -> Alive:
        return Alive(running=core.running_refs(self.state), sent_ms=int(processes.awake_clock_s() * 1000))

    def _push(self, frames: list[Frame], ended: LeaseRef | None = None) -> bool:
        return self._link.push(frames, ended)

    def _on_event(self, frame: Any) -> None:
        self._do(frame)

    def _on_order(self, frame: Dispatch | Cancel) -> None:
        self._recall(frame.at)
        self._do(frame)

    def _recall(self, at: LeaseRef) -> None:
        """Bring back from the ledger what the core has forgotten of a task."""
        key = core.task_of(at)
        fences = None if key in self.state.fences else self.ledger.fences_of(*key)
        if fences is not None:
            core.step(self.state, core.Recalled(key, *fences))

    def _on_ack(self, frame: Ack) -> None:
        self.outbox.acknowledged(frame.durable)

    def _on_resume(self, frame: ResumePlan) -> None:
        for entry in frame.entries:
            self._recall(entry.at)
        self._do(core.Resumed(frame.entries))

    def _on_drain(self, frame: DrainFrame) -> None:
        """Tell the owner; the hub alone keeps new work away, and the work that is here goes on."""
        self._say(f"{'draining' if frame.draining else 'no longer draining'}: {frame.reason}")

    def _on_query(self, frame: Query) -> None:
        if not self._flushed():
            return
        entries = []
        for at in frame.attempts:
            lease = self.state.held.get(at)
            state = ("started" if lease.running else "accepted") if lease else self.ledger.state_of(at)
            entries.append(LedgerEntry(at=at, state=state))
        self._push([LedgerReport(entries=entries)])

    def _on_fetch_facts(self, frame: FetchFacts) -> None:
        if not self._flushed():
            return
        pending = self.outbox.end_of(frame.at)
        report = pending if pending is not None else self.ledger.result_of(frame.at)
        task = asyncio.get_running_loop().create_task(self._answer_facts(frame, report))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_facts(self, frame: FetchFacts, report: ResultFrame | Receipt | None) -> None:
        try:
            answer = await asyncio.to_thread(look_up, frame, report, self.home.run / "connection.json")
        except Exception as error:
            self._say(f"{lease_name(frame.at)}: its facts could not be looked up: {said_of(error)}")
            answer = FactsFrame(at=frame.at, kept=False)
        self._push([answer])

    def _on_answer(self, frame: OwnerAnswer) -> None:
        self._say(self.allowance.take_answer(frame))

    def _on_update(self, frame: UpdateAvailable) -> None:
        self._say(
            f"the hub hands out version {frame.version} of the agent; to install it type: "
            f"{self.home.line_for('upgrade')}"
        )

    def _on_hint(self, frame: HintFrame) -> None:
        call = self._calls.get(frame.at)
        if call is None or call.questions is None:
            self._say(f"{lease_name(frame.at)}: a hint of {frame.by} came after its end")
        elif not call.questions.hinted(frame.number, frame.text):
            self._say(f"{lease_name(frame.at)}: {call.dispatch.tool} takes no hint")

    def _on_over(self, frame: OverFrame) -> None:
        self.sessions.over(frame.constellation)

    def _take_tools(self, server: str, listed: list[dict[str, Any]]) -> None:
        """Offer what a server of this device lists now; a call that runs keeps the tool that it began with."""
        module, tools = self._later_tools(server, listed)
        if not module:
            return
        before = {name: tool for name, tool in self._tools.items() if tool.kept_by == server}
        if {tool.name: tool.settings for tool in tools} == {name: tool.settings for name, tool in before.items()}:
            return
        for name in before:
            del self._tools[name]
        self._tools.update({tool.name: tool for tool in tools})
        self._modules.update({tool.name: module for tool in tools})
        self._device.offer_only(self._tools.values())
        self._say(f"the MCP server {server} has changed its tools: {len(tools)} are offered now")

    def _on_name(self, frame: NameFrame) -> None:
        self._take_name(frame.name)
        self._say(f"this device is called {frame.name} from now on")

    def _on_ping(self, frame: Ping) -> None:
        self._push([Pong(at_ms=frame.at_ms)])

    def _on_pong(self, frame: Pong) -> None:
        """Ignore a pong: silence is judged by `alive` and its answer."""

    _handlers: Final[dict[type[Frame], Callable[[Agent, Any], None]]] = {
        Ack: _on_ack,
        Cancel: _on_order,
        Dispatch: _on_order,
        DrainFrame: _on_drain,
        FetchFacts: _on_fetch_facts,
        HintFrame: _on_hint,
        NameFrame: _on_name,
        OverFrame: _on_over,
        OwnerAnswer: _on_answer,
        Ping: _on_ping,
        Pong: _on_pong,
        Query: _on_query,
        Renew: _on_event,
        ResumePlan: _on_resume,
        UpdateAvailable: _on_update,
    }

    def _do(self, event: core.Event) -> None:
        self._carry_on(core.step(self.state, event))
        self._end_of_turn()

    def _carry_on(self, actions: Iterable[core.Action]) -> None:
        """Carry out the actions of one step. The core counts on each, so one that fails takes no other with it."""
        faults: list[Exception] = []
        for action in actions:
            try:
                self._act(action)
            except Exception as error:
                faults.append(error)
        if faults:
            raise faults[0]

    def _act(self, action: core.Action) -> None:
        if isinstance(action, core.Start):
            self._start(action)
        elif isinstance(action, core.SayEnd):
            call = self._calls.pop(action.at)
            ended = call.ended
            if ended is not None:
                verified = call.tool is not None and call.tool.self_verified and ended.outcome is Outcome.OK
                self._report_end(action.at, ended, durable=call.durable, verified=verified)
        elif isinstance(action, core.Stop):
            self._stop_call(action)
        elif isinstance(action, core.MoveFence):
            running = self._calls[action.at].running
            if running is not None:
                running.move_fence(action.fence_at)
        elif isinstance(action, core.SayReceipt):
            self._report_receipt(action)
        elif isinstance(action, core.SayResult):
            self._report_end(action.at, _end_of(action), durable=True, verified=False)
        elif isinstance(action, core.AnswerFromLedger):
            self._answer(action)
        else:
            self._say_begun(action)

    def _start(self, action: core.Start) -> None:
        dispatch = action.dispatch
        tool = self._tools.get(dispatch.tool)
        durable = dispatch.repeatability != Repeatability.PURE
        call = _Call(dispatch, tool, durable)
        self._calls[dispatch.at] = call
        if tool is None:
            detail = f"this device has no tool {dispatch.tool}"
            self._ended_at_once(call, Ended(outcome=Outcome.REFUSED, code=Code.TOOL_UNAVAILABLE, detail=detail))
            return
        try:
            ended = judge(self.allowance, dispatch, tool, self.ledger.decided)
        except ToolFailed as failed:
            ended = Ended(outcome=Outcome.ERROR, code=failed.code, detail=failed.detail)
        except Exception as error:
            ended = not_begun(f"the agent could not judge this call: {said_of(error)}")
        if ended is not None:
            if ended.outcome is Outcome.REFUSED:
                self._say(f"{lease_name(dispatch.at)}: {tool.name} refused: {ended.detail}")
            self._ended_at_once(call, ended)
            return
        if durable:
            effect = EffectSeen.NONE if leaves_no_trace(tool, dispatch) else EffectSeen.MAYBE
            once = dispatch.repeatability not in REPEATABLE
            self.ledger.accepted(dispatch.at, effect=effect, once=once, call=core.digest_of(dispatch))
            self.ledger.started(dispatch.at)
        report_start(self.outbox, dispatch.at, durable=durable)
        self._to_spawn.append(dispatch.at)

    def _ended_at_once(self, call: _Call, ended: Ended) -> None:
        call.ended = ended
        self._carry_on(core.step(self.state, core.CallEnded(call.dispatch.at, stopped=False)))

    def _stop_call(self, action: core.Stop) -> None:
        call = self._calls[action.at]
        if call.running is not None:
            call.running.stop(action.why)
        elif action.at in self._to_spawn:
            self._to_spawn.remove(action.at)
            self._call_ended(action.at, stopped_early(call.dispatch.tool, action.why))

    def _answer(self, action: core.AnswerFromLedger) -> None:
        if action.other is not None:
            if not self._flushed():
                return
            if self.ledger.call_of(action.at) not in ("", action.call):
                # What the ledger has stays as it is: it is the record of the other call.
                self._report_end(action.at, _end_of(action.other), durable=False, verified=False)
                return
        pending = self.outbox.end_of(action.at)
        if pending is not None:
            self.outbox.send_again(pending.report)
            return
        if not self._flushed():
            return
        report = self.ledger.result_of(action.at)
        if report is not None:
            self.outbox.add(lambda number: msgspec.structs.replace(report, report=number), durable=True)
        elif self.ledger.state_of(action.at) == "unknown" and action.absent is not None:
            self._act(action.absent)

    def _say_begun(self, action: core.SayBegun) -> None:
        earlier = action.begun
        self._say(
            f"{lease_name(action.at)}: not begun: this device began it as attempt {earlier.attempt} of life "
            f"{earlier.incarnation}; the hub's history is older"
        )
        self._flushed()
        self._push([self._begun_report([earlier])])
        if self.ledger.state_of(action.at) != "unknown":
            return
        # A hub that takes up the earlier attempt has closed this lease by then; for an older hub this is in doubt.
        detail = f"this device began attempt {earlier.attempt} of it before; the hub's history is older"
        ended = Ended(outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, detail=detail, effect=EffectSeen.MAYBE)
        self._report_end(action.at, ended, durable=True, verified=False)

    def _report_end(self, at: LeaseRef, ended: Ended, *, durable: bool, verified: bool) -> None:
        if ended.code in _WITH_A_LINE:
            ended = msgspec.structs.replace(ended, detail=self.home.pasteable(ended.detail))
        self._report(lambda: report_end(self.outbox, self.ledger, at, ended, durable=durable, verified=verified))

    def _report_receipt(self, action: core.SayReceipt) -> None:
        call = self._calls.pop(action.at, None)
        effect = action.effect
        if effect is None:
            effect = call.ended.effect if call is not None and call.ended is not None else EffectSeen.MAYBE
        self._report(lambda: report_receipt(self.outbox, self.ledger, action.at, effect=effect, known=action.known))

    def _report(self, report: Callable[[], None]) -> None:
        """Report now, or in order as soon as the ledger has a number for it."""
        self._owed.append(report)
        self._schedule_turn()
        self._report_owed()

    def _report_owed(self) -> None:
        while self._owed:
            report = self._owed.popleft()
            try:
                report()
            except LedgerFault as fault:
                self._owed.appendleft(report)
                self._take_fault(fault)
                return

    # The end of a turn: one flush, then effects.

    def _end_of_turn(self) -> None:
        if self._to_spawn or self.outbox.has_unsent:
            self._schedule_turn()

    def _schedule_turn(self) -> None:
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._put_down)

    def _flushed(self, *, lazy: bool = False) -> bool:
        """Flush the ledger now; False, with a message, while the disk refuses: the caller tries again."""
        try:
            self.ledger.flush(lazy=lazy)
        except LedgerFault as fault:
            self._take_fault(fault)
            return False
        self._device.disk_took_a_write()
        return True

    def _take_fault(self, fault: LedgerFault) -> None:
        """Report a fault of the ledger; one that lasts ends the agent, any other is tried again."""
        if isinstance(fault, LedgerFull):
            self._wait_for_room(fault)
        elif isinstance(fault, LedgerCorrupt):
            self._broken = self._broken or fault
            self._stopping.set()
        else:
            self._say(f"{fault}; it is tried again, and until then nothing starts and no report leaves")

    def _wait_for_room(self, fault: LedgerFull) -> None:
        """Report the full disk here once, and to the hub; the writers try again."""
        if not self._device.disk_is_full:
            self._say(f"{fault}; nothing starts and no report leaves until it can be written")
        self._device.disk_filled()

    def _put_down(self) -> None:
        try:
            self.ledger.flush()
        except LedgerFault as fault:
            self._take_fault(fault)
        except Exception as error:
            self._take_fault(LedgerFault(f"the ledger cannot be written: {said_of(error)}"))
        else:
            self._go_on()
            return
        # Without a ledger no turn comes any more: the agent ends.
        if self._broken is None:
            self._turn = asyncio.get_running_loop().call_later(_PUT_DOWN_AGAIN_S, self._put_down)

    def _go_on(self) -> None:
        """Start and send what the ledger has now."""
        if self._device.disk_is_full:
            self._say("there is room again: the ledger is written, and work goes on")
        self._device.disk_took_a_write()
        self._turn = None
        if self._owed:
            self._schedule_turn()
            self._report_owed()
        spawn, self._to_spawn = self._to_spawn, []
        for at in spawn:
            try:
                self._spawn(at)
            except Exception as error:
                self._call_ended(at, not_begun(f"the agent could not prepare this call: {said_of(error)}"))
        self._link.wake()

    def _spawn(self, at: LeaseRef) -> None:
        call = self._calls[at]
        dispatch, tool = call.dispatch, call.tool
        lease = self.state.held.get(at)
        if tool is None or lease is None:
            return
        self._work_number += 1
        workdir = self.home.work / f"{self.identity.instance[:6]}-{self._work_number}"
        spec = spec_of(
            self.allowance,
            dispatch,
            tool,
            module=self._modules[tool.name],
            fence_at=lease.fence_at,
            workdir=workdir,
            connection_file=self.home.run / "connection.json",
            clock_ahead_s=self._device.clock_ahead_s,
            unattended=self._settings.unattended,
            session=self.sessions.take(tool, at.constellation),
        )
        self._chatter.begin(at)
        note, pasteable = self.ledger.decided, self.home.pasteable
        call.questions = CallQuestions(self.allowance, dispatch, tool, self._tools, note, pasteable)
        call.running = RunningCall(
            spec,
            lambda grouped: self._grouped(at, grouped),
            lambda output: self._chatter.said(at, output),
            self.runners,
            call.questions.reply,
        )
        task = asyncio.get_running_loop().create_task(self._carry_out(at, call.running))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, at: LeaseRef, running: RunningCall) -> None:
        try:
            ended = await running.run()
        except Exception as error:
            detail = f"the agent could not follow the call: {type(error).__name__}: {error}"
            effect = EffectSeen.NONE if running.spec.effectless else EffectSeen.MAYBE
            ended = Ended(outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, detail=detail, effect=effect)
        try:
            self.sessions.give_back(running.spec.session)
            if (left := running.left_folder) is not None and not remove_if_empty(left):
                await asyncio.to_thread(shutil.rmtree, left, ignore_errors=True)
        except Exception as error:
            self._say(f"{lease_name(at)}: what it left could not be tidied: {said_of(error)}")
        self._call_ended(at, ended)

    def _call_ended(self, at: LeaseRef, ended: Ended) -> None:
        call = self._calls[at]
        call.ended = ended
        try:
            self._let_go(at, call)
        except Exception as error:
            self._say(f"{lease_name(at)}: what it left could not be let go: {said_of(error)}")
        how = ended.stopped or ended.outcome
        self._say(f"{lease_name(at)}: {call.dispatch.tool} {how} {ended.detail}".rstrip())
        try:
            self._do(core.CallEnded(at, stopped=bool(ended.stopped)))
        except Exception as error:
            self._say(f"{lease_name(at)}: its end could not be reported: {said_of(error)}")

    def _let_go(self, at: LeaseRef, call: _Call) -> None:
        """Send the last output of a call, and take over what it leaves."""
        self._chatter.end(at)
        if call.questions is not None:
            if call.questions.unheard:
                self._say(f"{lease_name(at)}: {call.questions.unheard} hints came after the last turn")
            call.questions.end()
        if call.ended is not None:
            self._leftovers.take(call.ended.detached)
            if call.ended.code in _WITH_A_LINE:
                # The owner reads of each refusal; the call itself had been allowed.
                detail, profile = call.ended.detail, self.allowance.policy.profile
                row = DecisionRow(time.time(), lease_name(at), call.dispatch.tool, False, detail, profile)
                self.ledger.decided(row)

    def _grouped(self, at: LeaseRef, grouped: Grouped) -> None:
        call = self._calls.get(at)
        if call is None:
            return  # it was given up on before its process began
        if call.durable:
            self.ledger.grouped(at, grouped.group, grouped.mark, self._boot)
            self._flushed(lazy=True)
        self._say(f"{lease_name(at)}: {call.dispatch.tool} started, group {grouped.group}")

    async def _watch(self) -> None:
        """Look after this device each second; a round that fails is reported once, and the next ones go on."""
        reported = ""
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            try:
                await self._look_after()
            except Exception as error:
                failed = f"{type(error).__name__}: {error}"
                if failed != reported:
                    self._say(f"a look after this device failed ({failed}); it is tried again each second")
                reported = failed

    async def _look_after(self) -> None:
        """Notice a changed policy, end what is over, tell the hub what is new here, and commit lazy writes."""
        if self._device.read_policy():
            self.runners.release()
            self._end_taken_back()
        self._leftovers.sweep()
        self.sessions.sweep()
        self._trash.sweep()
        await self.sessions.watch_memory()
        await self._device.look()
        if self._connection_file is not None:
            self._write_connection(self._connection_file)
        if self._turn is None:
            self.ledger.prune_if_due()
            self._flushed(lazy=True)

    def _end_taken_back(self) -> None:
        """End the calls that the policy does not allow any more: they hold folders and hosts that it took back."""
        for at, call in list(self._calls.items()):
            if call.tool is None or call.running is None or call.ended is not None:
                continue
            if is_taken_back(self.allowance, call.dispatch, call.tool, call.running.spec):
                self._do(core.EndOne(at, TAKEN_BACK))

    def _status(self, state: str, reason: str) -> None:
        with contextlib.suppress(OSError):  # a full disk ends no connection over what only `status` shows
            write_status(
                self.home,
                hub=self._address.hub,
                device=self.identity.device,
                state=state,
                reason=reason,
                slots=self._settings.slots,
            )
