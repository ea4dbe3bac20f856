"""The AIP socket: moves frames between a proved device and the engine. Decides nothing about tasks.

The sender of a frame is the device that proved itself on this connection, never a field of the frame. Reports become
inputs, `alive` is answered at once from memory, logs and progress travel beside the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import msgspec
from starlette.types import Receive, Scope, Send

from starloom.core.state import inputs
from starloom.core.state.inputs import AnyInput
from starloom.edge.access.credentials import new_id
from starloom.edge.access.rate_limits import Limits
from starloom.edge.access.refusals import DeviceRefusal, Refusals
from starloom.edge.agents.attempt_logs import LogWriter
from starloom.edge.agents.handshake import Alarm, Handshake, NoCommonVersion, Proved, Refused
from starloom.edge.agents.links import Link, Links
from starloom.edge.agents.offer_bounds import RATES, ChangeRates, Changing, offer_fault
from starloom.edge.agents.progress_lines import ProgressLines
from starloom.edge.agents.vital_lines import ASK_EVERY_S, VitalLines
from starloom.edge.live.fanout import Fanout
from starloom.edge.web.problems import Problem
from starloom.edge.web.shield import refuse_socket
from starloom.edge.web.sockets import HOLD, Gone, Socket, UnprovedSockets
from starloom.engine.orders.secrets import DispatchedSecrets
from starloom.engine.ports import Inbox, Overloaded
from starloom.process.settings import VERSION
from starloom.store.port import Unavailable
from starloom_protocol.stream.feed import Beside
from starloom_protocol.vocabulary import CODES, Code, DeviceFact, DeviceLink
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.channel import ChannelKeys
from starloom_protocol.wire.session import ProtocolFault, Session, Side, State
from starloom_protocol.wire.version import is_older

HANDSHAKES_MAX = 512
"""Handshakes at the same time, each of about 30 KiB; a quarter of a large fleet, whose devices return together."""
SCOPE = "device"
PORTION_MOST: Final = 1_000
"""The inputs that a device may have at a time where the engine cannot follow; a message may hold ten times as many."""
_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class AipTimings:
    """Durations that a welcome tells the agent, and how long a handshake may take."""

    alive_interval_s: float
    handshake_s: float
    lease_grace_s: float
    lease_ttl_s: float


@dataclass(frozen=True, slots=True)
class AipParts:
    """The parts that the endpoint works with."""

    changes: ChangeRates
    """How often a device may report a change of itself, such as its battery."""
    fanout: Fanout
    dispatched_secrets: DispatchedSecrets
    """The secrets that running attempts were given, to take them out of what these report."""
    handshake: Handshake
    inbox: Inbox
    limits: Limits
    """The failed handshakes of each address."""
    links: Links
    logs: LogWriter
    monotonic_s: Callable[[], float]
    now_ms: Callable[[], int]
    progress: ProgressLines
    received: Callable[[str], int]
    """Returns the highest report number of a device that is durable, for its welcome."""
    refusals: Refusals
    """The list of refused devices that the page shows."""
    timings: AipTimings
    vitals: VitalLines
    faults: dict[str, int] = field(default_factory=dict)
    """The number of faults of peers, by code or reason."""

    def count(self, fault: str) -> None:
        """Count a fault of a peer, by its code or reason."""
        self.faults[fault] = self.faults.get(fault, 0) + 1


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection; a device once it is proved."""

    address: str
    device: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.device})" if self.device else "unproved"


class AipEndpoint:
    """The ASGI application behind `/aip/v1`."""

    def __init__(self, parts: AipParts) -> None:
        self._parts = parts
        self._unproved = UnprovedSockets()
        self._closing: set[asyncio.Task[None]] = set()
        self.draining = False
        self.faults = parts.faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        address = scope["client"][0] if scope.get("client") else ""
        if self.draining:
            await refuse_socket(scope, send, Problem(Code.OVERLOADED, "the hub is stopping", retry_after_s=2))
            return
        await send({"type": "websocket.accept"})
        socket, aip = Socket(receive, send, scope.get("extensions", {}).get(HOLD)), Session(Side.HUB)
        peer: Peer = Peer(address)
        try:
            proved = await self._prove(socket, aip, address)
            peer = Peer(address, proved.device.id, proved.device.name)
            await Connection(self, self._parts, socket, aip, peer, proved.channel).serve(proved.hello)
        except (Gone, TimeoutError, Refused, ProtocolFault) as error:
            await self._close_for(socket, aip, peer, error)

    def end(self, socket: Socket, aip: Session, peer: Peer, error: Exception | None) -> None:
        """End a connection whose call has returned; with `error` None the peer knows of the end."""
        if isinstance(error, Gone) and socket.closed:
            return
        closing = asyncio.get_running_loop().create_task(self._close_for(socket, aip, peer, error))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _close_for(self, socket: Socket, aip: Session, peer: Peer, error: Exception | None) -> None:
        """Count why a connection ends, let its peer know, and close it."""
        code, reason = 1000, ""
        match error:
            case None:
                pass
            case Gone():
                reason = str(error)
            case TimeoutError():
                within_s = self._parts.timings.handshake_s
                code, reason = 1008, f"no proof within {within_s:g} s, or before too many others came"
                self._failed("handshake_timeout", peer)
            case Refused():
                self._failed(error.frame.code, peer, error.frame.reason)
                code, reason = 1008, error.frame.reason
                await self._last_word(socket, aip, error.frame)
            case ProtocolFault():
                if self._failed(error.code, peer, error.reason):
                    if isinstance(error, NoCommonVersion):
                        self._note_refused(error)
                    if isinstance(error, Alarm):
                        _log.error("alarm: a device at %s: %s", peer.address, error)
                    else:
                        text = str(error)[:300]
                        _log.warning("event=aip_refused from=%s who=%s reason=%r", peer.address, peer, text)
                code, reason = 1008, error.reason
                await self._last_word(socket, aip, error)
            case _:
                _log.error("the connection of %s failed", peer, exc_info=error)
                code, reason = 1011, "the hub failed"
        await socket.close(code, reason)

    def _note_refused(self, error: NoCommonVersion) -> None:
        """Have the engine keep why a device is refused, so that it is not merely away; unless it has that already."""
        if error.device.link is DeviceLink.OFFLINE and error.device.refused != error.code:
            refusal = inputs.DeviceRefused(
                by=f"device:{error.device.id}",
                code=error.code,
                device=error.device.id,
                id=new_id(),
                reason=error.reason,
                scope=SCOPE,
            )
            self._parts.inbox.post(refusal)

    def _failed(self, code: str, peer: Peer, reason: str = "") -> bool:
        """Count a failure; return whether it was noted: those of an address that sends too many are only counted."""
        self._parts.count(str(code))
        if self._parts.limits.failed("handshake", peer.address):
            return False
        if reason:
            name = peer.name if peer.device else reason[:100]
            refusal = DeviceRefusal(
                self._parts.now_ms(), "connect", peer.address, str(code), reason, who=name, device=peer.device
            )
            self._parts.refusals.note(refusal)
        return True

    async def _prove(self, socket: Socket, aip: Session, address: str) -> Proved:
        most = max(HANDSHAKES_MAX, self._parts.handshake.devices // 4)
        async with self._unproved.place(address, self._parts.timings.handshake_s, most):
            return await self._parts.handshake.run(socket, aip)

    async def _last_word(self, socket: Socket, aip: Session, last: f.Refuse | ProtocolFault) -> None:
        try:
            if isinstance(last, ProtocolFault):
                await socket.write(aip.farewell(last).decode())
            elif aip.state is not State.CLOSED:
                await socket.write(aip.send([last]).decode())
        except (ProtocolFault, Gone) as error:
            _log.debug("the peer could not be told why: %s", error)


class Connection:
    """One proved connection from its welcome to its end."""

    __slots__ = (
        "_aip",
        "_ask_at",
        "_by",
        "_count",
        "_device",
        "_endpoint",
        "_frames",
        "_full",
        "_ids",
        "_link",
        "_over",
        "_parts",
        "_peer",
        "_pinged",
        "_posted",
        "_reports",
        "_socket",
    )

    def __init__(
        self,
        endpoint: AipEndpoint,
        parts: AipParts,
        socket: Socket,
        aip: Session,
        peer: Peer,
        channel: ChannelKeys,
    ) -> None:
        self._endpoint = endpoint
        self._parts = parts
        self._socket = socket
        self._aip = aip
        self._peer = peer
        self._device = peer.device
        self._by = f"device:{peer.device}"
        self._link = Link(peer.device, aip, socket, channel)
        self._ids = f"{peer.device}/{self._link.http_token[:8]}"
        self._over = False
        self._count = 0
        self._posted = 0  # inputs since the engine was last waited for
        self._frames: list[f.Frame] = []
        self._full: asyncio.Future[None] | None = None  # done when the rest is handled
        self._pinged: tuple[int, float] | None = None  # a ping that waits for its pong: what it said, when it left
        self._ask_at = 0.0
        self._reports = Limits(parts.monotonic_s, RATES)  # of this connection, with those that change nothing

    async def serve(self, hello: f.Hello) -> None:
        """Welcome the device and exchange frames until either side ends, or until the server alone holds the socket.

        Raises:
            Gone, Refused, ProtocolFault: as the reasons why it is not welcomed.
        """
        try:
            self._parts.links.add(self._link)
            await self._welcome(hello)
            self._link.serve(self._end)
            await self._socket.hand_over(self._take, self._note_gone)
        except BaseException:
            self._remove_link()
            raise

    async def _welcome(self, hello: f.Hello) -> None:
        link, timings = self._link, self._parts.timings
        if wait_s := self._parts.changes.comes_too_often(self._device):
            fix, reason = CODES[Code.OVERLOADED].hint, "it connects more often than any device does"
            raise Refused(f.Refuse(code=Code.OVERLOADED, fix=fix, reason=reason, retry_after_s=wait_s))
        connected = inputs.DeviceConnected(
            instance=hello.instance, ledger=hello.ledger, version=hello.version, **self._signed("connected")
        )
        fix = CODES[Code.OVERLOADED].hint
        try:
            reply = await self._parts.inbox.ask(connected)
        except (Overloaded, Unavailable) as error:
            raise Refused(f.Refuse(code=Code.OVERLOADED, fix=fix, reason=str(error), retry_after_s=2.0)) from error
        if reply.faults:
            code, reason = reply.faults[0].code, reply.faults[0].reason
            if code is Code.UNSETTLED:  # an agent of an earlier release does not know it
                raise Refused(f.Refuse(code=Code.OVERLOADED, fix=fix, reason=reason, retry_after_s=2.0))
            raise ProtocolFault(code, reason)
        value = reply.value
        link.session = int(value["session"])
        entries = msgspec.convert(value["entries"], list[f.PlanEntry])
        self._parts.links.resume(link, entries)
        welcome = f.Welcome(
            alive_interval_s=timings.alive_interval_s,
            device_name=value["name"],
            http_token=link.http_token,
            hub_time_ms=self._parts.now_ms(),
            lease_grace_s=timings.lease_grace_s,
            lease_ttl_s=timings.lease_ttl_s,
            received=min(self._parts.received(self._device), hello.next_report - 1),
            session=link.session,
        )
        # The welcome travels alone: the agent still reads with the small limit of an unproved hub.
        await self._socket.write(self._aip.send([welcome]).decode())
        newer = [f.UpdateAvailable(version=VERSION)] if is_older(hello.version, VERSION) else []
        self._parts.links.open(link, [f.ResumePlan(entries=entries), *newer])
        _log.info("device %s (%s) connected, session %d", value["name"], self._device, link.session)

    def _take(self, message: str | bytes) -> asyncio.Future[None] | None:
        """Handle a message in its turn; messages after one that ended the connection are ignored.

        Return a future where the engine cannot follow: its device waits until then, and no other one.
        """
        if self._over or self._link.closing:
            return None
        try:
            self._frames += self._aip.receive(message)
            if self._full is None:
                self._handle_rest()
        except Exception as error:
            self._end(error)
        return self._full

    def _note_gone(self, reason: str) -> None:
        self._end(Gone(reason))

    def _end(self, error: Exception | None) -> None:
        if not self._over:
            self._remove_link()
            self._endpoint.end(self._socket, self._aip, self._peer, error)

    def _remove_link(self) -> None:
        """Take the link out of the open ones, once, and tell the engine that the device has disconnected."""
        if self._over:
            return
        self._over = True
        self._read_on()
        self._link.stop()
        self._parts.links.remove(self._link)
        if self._link.session:
            self._disconnected()

    def _handle_rest(self) -> None:
        """Handle the frames that were received, as many as the engine has room for."""
        frames, self._frames = self._frames, []
        for index, frame in enumerate(frames):
            self.handlers[type(frame)](self, frame)
            if self._posted >= PORTION_MOST and (room := self._parts.inbox.room()) is not None:
                self._posted = 0
                self._frames = frames[index + 1 :]
                self._full = self._full or room.get_loop().create_future()
                room.add_done_callback(self._handle_on)
                return
        self._read_on()

    def _handle_on(self, _room: asyncio.Future[None]) -> None:
        if self._over or self._link.closing:
            self._read_on()
            return
        try:
            self._handle_rest()
        except Exception as error:
            self._end(error)

    def _read_on(self) -> None:
        """Have the device read again, if it waits."""
        full, self._full = self._full, None
        if full is not None:
            full.set_result(None)

    def _post(self, item: AnyInput) -> None:
        self._posted += 1
        self._parts.inbox.post(item)

    def _disconnected(self) -> None:
        link = self._link
        reason = link.closed_because or self._aip.closed_because or "the connection ended"
        _log.info("device %s disconnected, session %d: %s", self._device, link.session, reason)
        self._post(inputs.DeviceDisconnected(reason=reason, session=link.session, **self._signed("disconnected")))

    def _signed(self, suffix: str = "") -> dict[str, Any]:
        """Return the fields of each input of this connection: its device, and a new id, which may end with a word."""
        self._count += 1
        return {"by": self._by, "device": self._device, "id": f"{self._ids}/{self._count}{suffix}", "scope": SCOPE}

    def _take_started(self, frame: f.Started) -> None:
        self._post(inputs.StartedReported(frame=frame, **self._signed()))

    def _result(self, frame: f.ResultFrame) -> None:
        if self._parts.dispatched_secrets.by_lease:
            frame = self._parts.dispatched_secrets.result(frame)
        self._post(inputs.ResultReported(frame=frame, **self._signed()))

    def _receipt(self, frame: f.Receipt) -> None:
        self._post(inputs.ReceiptReported(frame=frame, **self._signed()))

    def _too_often(self, kind: Changing, frame: f.AsksFrame | f.ConditionFrame | f.OfferFrame) -> bool:
        device = self._device
        return bool(self._reports.failed(kind, device)) or self._parts.changes.exceeded(kind, device, frame)

    def _offer(self, frame: f.OfferFrame) -> None:
        """Take an offer in its bounds; each change of it becomes an event."""
        if self._too_often(Changing.OFFER, frame):
            raise ProtocolFault(Code.PROTOCOL_ERROR, "its offer changes more often than any device's does")
        if wrong := offer_fault(frame.offer):
            raise ProtocolFault(Code.PROTOCOL_ERROR, wrong)
        self._post(
            inputs.OfferReceived(
                offer=frame.offer, os=frame.os, profile=frame.profile, session=self._link.session, **self._signed()
            )
        )

    def _condition(self, frame: f.ConditionFrame) -> None:
        """Take what a device says of its condition: what this hub knows of it, since each change becomes an event."""
        if self._too_often(Changing.CONDITION, frame):
            raise ProtocolFault(Code.PROTOCOL_ERROR, "its condition changes more often than any device's does")
        facts = {str(fact): frame.facts[fact] for fact in DeviceFact if fact in frame.facts}
        self._post(inputs.ConditionReceived(facts=facts, session=self._link.session, **self._signed()))

    def _asks(self, frame: f.AsksFrame) -> None:
        """Take the questions to its owner; each change of them becomes an event with all that are open."""
        if self._too_often(Changing.ASKS, frame):
            raise ProtocolFault(Code.PROTOCOL_ERROR, "its questions change more often than any device's do")
        self._post(
            inputs.AsksReceived(answers=frame.answers, open=frame.open, session=self._link.session, **self._signed())
        )

    def _ledger(self, frame: f.LedgerReport) -> None:
        if frame.calls and len(frame.calls) != len(frame.entries):
            raise ProtocolFault(Code.PROTOCOL_ERROR, "`calls` of `ledger` has one text for each entry, or none at all")
        for entry, call in zip(frame.entries, frame.calls or [""] * len(frame.entries), strict=True):
            self._post(inputs.LedgerReported(at=entry.at, call=call, state=entry.state, **self._signed()))

    def _facts(self, frame: f.FactsFrame) -> None:
        frame = self._parts.dispatched_secrets.facts(frame)
        self._post(inputs.FactsReported(frame=frame, **self._signed()))

    def _take_alive(self, frame: f.Alive) -> None:
        self._link.running = len(frame.running)
        for at in frame.running:
            # What still runs may still write its log, however much its device was given since.
            self._parts.links.has(self._device, (at.constellation, at.task, at.attempt))
        renew = self._parts.inbox.alive(self._device, frame.running, frame.sent_ms)
        idle_s = self._parts.links.idle_s
        if idle_s > self._parts.timings.alive_interval_s:
            renew = msgspec.structs.replace(renew, idle_s=idle_s)
        frames = [renew, *self._latency_question()]
        if renew.granted or renew.gone:
            self._parts.inbox.when_proved(self._device, lambda: self._link.push(frames))
        else:
            # It renews nothing and ends nothing, so it needs no proof that the shard is still ours.
            self._link.say(frames)

    def _vitals(self, frame: f.VitalsFrame) -> None:
        for _ in range(self._parts.vitals.take(self._device, frame)):
            self._parts.count("vital_out_of_range")

    def _log_chunk(self, frame: f.LogChunk) -> None:
        frame = self._parts.dispatched_secrets.log_chunk(frame)
        at = frame.at
        if not self._was_given(at):
            return
        self._parts.logs.append(at.constellation, at.task, at.attempt, frame.offset, frame.text)
        self._listen(frame)
        value = {"offset": frame.offset, "stream": frame.stream, "text": frame.text}
        self._beside("log", at, value)

    def _listen(self, frame: f.LogChunk) -> None:
        """Tell the engine what a program reports, where a rule of its plan reads it."""
        report = self._parts.progress.take(frame)
        if report is not None:
            self._post(inputs.ProgressReported(at=frame.at, lines=report.lines, value=report.value, **self._signed()))

    def _progress(self, frame: f.Progress) -> None:
        frame = self._parts.dispatched_secrets.progress(frame)
        at = frame.at
        if not self._was_given(at):
            return
        value = {"done_bytes": frame.done_bytes, "fraction_1000": frame.fraction_1000, "note": frame.note[:200]}
        self._beside("progress", at, value)

    def _was_given(self, at: f.LeaseRef) -> bool:
        """Whether this device was given the attempt; a late word on one of before the hub's start counts as not."""
        if self._parts.links.has(self._device, (at.constellation, at.task, at.attempt)):
            return True
        self._parts.count("not_its_attempt")
        return False

    def _beside(self, kind: str, at: f.LeaseRef, value: dict[str, Any]) -> None:
        raw = msgspec.Raw(_encode(value))
        self._parts.fanout.beside(
            Beside(about=at.task, attempt=at.attempt, kind=kind, stream=at.constellation, value=raw)
        )

    def _ping(self, frame: f.Ping) -> None:
        self._link.push([f.Pong(at_ms=frame.at_ms)])

    def _latency_question(self) -> list[f.Ping]:
        """Return a ping every `ASK_EVERY_S`, sent with a renewal, to measure the latency."""
        now_s = self._parts.monotonic_s()
        if now_s < self._ask_at:
            return []
        self._ask_at = now_s + ASK_EVERY_S
        self._pinged = (self._parts.now_ms(), now_s)
        return [f.Ping(at_ms=self._pinged[0])]

    def _pong(self, frame: f.Pong) -> None:
        """Take the answer to a ping for the chart of latency; the presence of a device depends on `alive` alone."""
        pinged, self._pinged = self._pinged, None
        if pinged is not None and frame.at_ms == pinged[0]:
            self._parts.vitals.answered(self._device, self._parts.monotonic_s() - pinged[1])

    def _bye(self, frame: f.Bye) -> None:
        self._link.closed_because = f"the agent said goodbye: {frame.reason[:200]}"
        raise Gone(self._link.closed_because)

    def _error(self, frame: f.ErrorFrame) -> None:
        _log.warning("device %s reports a fault of this hub: %s %s", self._device, frame.code, frame.reason[:500])
        self._link.closed_because = f"the agent reported {frame.code}: {frame.reason[:200]}"
        raise Gone(self._link.closed_because)

    handlers: ClassVar[Mapping[type[f.Frame], Callable[[Any, Any], None]]] = {
        f.OfferFrame: _offer,
        f.Alive: _take_alive,
        f.Started: _take_started,
        f.ResultFrame: _result,
        f.Receipt: _receipt,
        f.LogChunk: _log_chunk,
        f.Progress: _progress,
        f.ConditionFrame: _condition,
        f.VitalsFrame: _vitals,
        f.AsksFrame: _asks,
        f.LedgerReport: _ledger,
        f.FactsFrame: _facts,
        f.Bye: _bye,
        f.Ping: _ping,
        f.Pong: _pong,
        f.ErrorFrame: _error,
    }
    """The handler of each frame; one table for all connections, because there are thousands of them."""
