"""One connection to the hub: dial, have the hub prove its key, prove one's own, pump frames both ways until it ends.

Decides nothing about work. A hub that does not sign with the key pinned at joining is left before it is obeyed.

`Outgoing` has the order in which waiting frames leave. A message is handled in the turn in which it arrives, and its
replies are sent in that turn if the line takes them at once; the writer sends everything else. The `Peer` handles the
frames; `link` decides when to dial again. `Heartbeat` is pure: it knows no socket and no clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

import starloom_agent
from starloom_agent.home.identity import Identity, KeyShare, signed_by
from starloom_agent.wire.dialling import Route
from starloom_agent.wire.line import Line
from starloom_agent.wire.outgoing import Outgoing
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.channel import ChannelKeys, channel_keys, device_proof, hub_proof, transcript
from starloom_protocol.wire.frames import (
    Alive,
    Bye,
    Challenge,
    ErrorFrame,
    Frame,
    Goaway,
    Hello,
    LeaseRef,
    Prove,
    Refuse,
    Renew,
    Welcome,
)
from starloom_protocol.wire.session import ProtocolFault, Session, Side, State
from starloom_protocol.wire.version import PROTOCOL_VERSIONS

SILENT_INTERVALS: Final = 4
"""One answer may be late and one lost; four in a row are a line that is gone."""
SILENT_LEAST_S: Final = 10.0
"""A shorter silence is usual on mobile networks and while a laptop wakes."""


class Heartbeat:
    """The rhythm of one connection, checked once in each interval of the welcome.

    `idle_s` is the longer interval that the hub of a large fleet asks of an idle agent; 0: it does not ask.
    """

    def __init__(self, interval_s: float, now_s: float) -> None:
        self.idle_s = 0.0
        self._interval_s = interval_s
        self._said_s = now_s

    def lost_after_s(self, *, running: bool) -> float:
        """Return how long the hub may be silent: four missed answers, or two if they are asked for seldom."""
        return max(SILENT_LEAST_S, SILENT_INTERVALS * self._interval_s, 2 * self._pause_s(running) + self._interval_s)

    def due(self, now_s: float, *, running: bool) -> bool:
        """Return whether `alive` must be sent now, and count it as sent."""
        if now_s - self._said_s < self._pause_s(running) - self._interval_s / 2:
            return False
        self._said_s = now_s
        return True

    def _pause_s(self, running: bool) -> float:
        return self._interval_s if running else max(self.idle_s, self._interval_s)


OPEN_TIMEOUT_S: Final = 15.0
"""A line that takes longer for its handshake is given up and dialled again."""
_WRITE_BYTES: Final = 32 * 1024
"""Sending waits while the line has more than this to send."""
_REFUSED_AGAIN_S: Final = 60.0
"""Such a refusal passes slowly, as when a person must act; asking more often only fills the list of refusals."""
_REFUSED_MOST_S: Final = 60.0
"""A hub that has not proved its key may ask for no longer pause than that."""
# Only a person can change these, by joining or installing again: dialling again would never help.
_FOR_GOOD: Final = frozenset({Code.BAD_SIGNATURE, Code.DEVICE_REVOKED, Code.UNKNOWN_KEY})
_MAY_PASS_SLOWLY: Final = frozenset({Code.AGENT_TOO_OLD, Code.HUB_TOO_OLD})
# A byte changed on the line gives the same codes; they count as true only when they repeat.
_MAY_BE_THE_LINE: Final = frozenset({Code.BAD_SIGNATURE, Code.UNKNOWN_KEY})


class ConnectionEnded(Exception):
    """The connection is over. `retry_after_s` is the pause that the hub asked for; `final`: trying again will not help;
    `doubtful`: it may help in spite of `final`, because a byte changed on the line gives the same code; `unknown`: the
    hub does not know this device, and may again once the history that knows it is back.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after_s: float | None = None,
        final: bool = False,
        doubtful: bool = False,
        unknown: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.final = final
        self.doubtful = doubtful
        self.unknown = unknown


class Peer(Protocol):
    """The agent as a connection sees it."""

    def next_report(self) -> int: ...

    def welcomed(self, welcome: Welcome, proved_at: float) -> list[Frame]:
        """Note that a session is open; return the frames to send first."""
        ...

    def received(self, frames: list[Frame]) -> None: ...

    def reports(self) -> list[Frame]:
        """Return the next batch of reports and count it as sent."""
        ...

    def alive(self) -> Alive: ...

    def beside_alive(self) -> list[Frame]:
        """Return the frames that travel with the next `alive`, so that a hub of many devices gets no extra message."""
        ...


@dataclass(frozen=True)
class Address:
    """The route to the hub and the key that it must prove."""

    hub: str
    hub_key: str
    pin: str = ""
    via: str = ""

    @property
    def route(self) -> Route:
        return Route(self.hub, self.pin, self.via)

    @property
    def socket(self) -> str:
        url = self.route.url
        schemes = {"http": "ws", "https": "ws" if self.route.own_socket else "wss"}
        scheme = schemes.get(url.scheme, url.scheme)
        return f"{scheme}://{url.netloc}{url.path.rstrip('/')}/aip/v1"


@dataclass
class Connection:
    """Serves one connection; `push` and `wake` may be called while it runs."""

    address: Address
    identity: Identity
    ledger_id: str
    peer: Peer
    clock: Callable[[], float]
    session: Session = field(default_factory=lambda: Session(Side.AGENT))
    channel: ChannelKeys | None = None
    _outgoing: Outgoing = field(default_factory=Outgoing)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    _answering: bool = False
    _packed: bytes | None = None
    _heard_at: float = 0.0
    _idle_s: float = 0.0
    _bye: Bye | None = None
    _held_back: list[Frame] = field(default_factory=list)

    def push(self, frames: list[Frame], ended: LeaseRef | None = None) -> bool:
        """Queue frames that are not reports, as `Outgoing.push`; False: the caller may keep or drop them."""
        is_taken = self._outgoing.push(frames, ended)
        if is_taken:
            self.wake()
        return is_taken

    def wake(self) -> None:
        """Wake the writer: there may be something to send."""
        if not self._answering:
            self._wake.set()

    async def serve(self) -> None:
        """Dial and pump until the end, which is always raised.

        Raises:
            ConnectionEnded: for every way in which it ends, with the reason.
        """
        route = self.address.route
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                end: dict[str, Any] = {}
                if route.own_socket:
                    end["sock"] = await asyncio.to_thread(route.open_socket, OPEN_TIMEOUT_S)
                    end["sock"].setblocking(False)
                elif route.via:
                    end["host"], end["port"] = route.dialled
                line = await connect(
                    self.address.socket,
                    ssl=route.tls(),
                    compression=None,
                    max_size=4 * 1024 * 1024,
                    max_queue=64,
                    write_limit=_WRITE_BYTES,
                    open_timeout=OPEN_TIMEOUT_S,
                    close_timeout=1.0,
                    ping_interval=None,
                    proxy=None if route.is_loopback or route.via or route.pin else True,
                    user_agent_header=f"starloom-agent/{starloom_agent.__version__}",
                    create_connection=Line,
                    **end,
                )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise ConnectionEnded(f"cannot reach {self.address.hub}: {error or type(error).__name__}") from error
        if not isinstance(line, Line):
            raise TypeError(f"websockets made a {type(line).__name__}")
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                welcome, proved_at = await self._prove(line)
            await self._pump(line, welcome, proved_at)
        except ProtocolFault as fault:
            await self._say(line, fault)
            raise ConnectionEnded(f"the hub broke the protocol: {fault.reason}") from fault
        except TimeoutError as error:
            raise ConnectionEnded("the hub did not answer the handshake in time") from error
        except ConnectionClosed as closed:
            raise ConnectionEnded(f"the connection was cut: {closed}") from closed
        finally:
            await line.close()

    async def _say(self, line: Line, fault: ProtocolFault) -> None:
        try:
            await line.send(self.session.farewell(fault), text=True)
        except (ProtocolFault, ConnectionClosed):
            return

    async def _prove(self, line: Line) -> tuple[Welcome, float]:
        me, share = self.identity, KeyShare()
        hello = Hello(
            device=me.device,
            instance=me.instance,
            key=me.key,
            key_share=share.text,
            ledger=self.ledger_id,
            next_report=self.peer.next_report(),
            version=starloom_agent.__version__,
            versions=list(PROTOCOL_VERSIONS),
        )
        await line.send(self.session.send([hello]), text=True)
        challenge = await self._next(line)
        if not isinstance(challenge, Challenge):
            raise ConnectionEnded(f"the hub sent {type(challenge).__name__} instead of a challenge")
        proof = self._believe(hello, share, challenge)
        proved_at = self.clock()
        await line.send(self.session.send([Prove(signature=me.sign(proof))]), text=True)
        welcome = await self._next(line)
        if not isinstance(welcome, Welcome):
            raise ConnectionEnded(f"the hub sent {type(welcome).__name__} instead of a welcome")
        return welcome, proved_at

    def _believe(self, hello: Hello, share: KeyShare, challenge: Challenge) -> bytes:
        """Seal the session if the hub has proved its key; return what this device signs.

        Raises:
            ConnectionEnded: it has not. Its messages do not count, and it is dialled again: a stranger may have the
                port only while the hub is down.
        """
        where = self.address.hub
        if challenge.hub != self.address.hub_key:
            raise ConnectionEnded(
                f"{where} is not the hub that this device joined: its key is another one. If the hub was "
                "set up again, join again with a fresh line from `starloom enroll`"
            )
        script = transcript(hello, challenge)
        secret = share.secret_with(challenge.key_share)
        if secret is None or not signed_by(challenge.hub, challenge.signature, hub_proof(script)):
            raise ConnectionEnded(
                f"the listener at {where} names the hub's key but cannot prove that it has it: this is not the hub "
                "that this device joined, or something stands between"
            )
        self.channel = channel_keys(secret, script)
        self.session.secure(self.channel)
        return device_proof(script, challenge.signature)

    async def _next(self, line: Line) -> Frame:
        """Return the next frame of the handshake; a refusal or an error ends the connection with its reason."""
        while True:
            frames = self.session.receive(await line.read())
            for frame in frames:
                self._raise_end(frame)
                self._held_back = frames[1:]
                return frame

    def _raise_end(self, frame: Frame) -> None:
        if isinstance(frame, Refuse | ErrorFrame) and not self.session.secured:
            # Anybody who holds the port can say this, so it is reported and never ends the dialling for good.
            fix, again_s = (frame.fix, frame.retry_after_s) if isinstance(frame, Refuse) else ("", 0.0)
            again_s = again_s or (_REFUSED_AGAIN_S if frame.code in _MAY_PASS_SLOWLY else 0.0)
            raise ConnectionEnded(
                f"before the hub proved its key it refused this device ({frame.code}): {frame.reason}. {fix}".rstrip(),
                retry_after_s=min(again_s, _REFUSED_MOST_S),
            )
        if isinstance(frame, Refuse):
            raise ConnectionEnded(
                f"the hub refuses this device ({frame.code}): {frame.reason}. {frame.fix}",
                retry_after_s=frame.retry_after_s or None,
                final=frame.retry_after_s <= 0 and frame.code in _FOR_GOOD,
                doubtful=frame.code in _MAY_BE_THE_LINE,
                unknown=frame.code is Code.UNKNOWN_KEY,
            )
        if isinstance(frame, ErrorFrame):
            final = frame.code in (Code.TAKEN_OVER, *_FOR_GOOD)
            raise ConnectionEnded(
                f"the hub ended the connection ({frame.code}): {frame.reason}",
                final=final,
                doubtful=frame.code in _MAY_BE_THE_LINE,
                unknown=frame.code is Code.UNKNOWN_KEY,
            )
        if isinstance(frame, Goaway):
            raise ConnectionEnded(f"the hub asks to come back later: {frame.reason}", retry_after_s=frame.retry_after_s)

    async def _pump(self, line: Line, welcome: Welcome, proved_at: float) -> None:
        first, self._held_back = self._held_back, []
        self._heard_at = self.clock()
        self._outgoing.greet([*self.peer.welcomed(welcome, proved_at), self.peer.alive()])
        self._wake.set()
        if first:
            self.peer.received(first)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.take = lambda message: self._take(line, message, ended)
        tasks = [
            ended,
            asyncio.create_task(self._read(line, ended), name="read"),
            asyncio.create_task(self._write(line), name="write"),
            asyncio.create_task(self._keep_alive(welcome.alive_interval_s), name="alive"),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            line.take = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, line: Line, ended: asyncio.Future[None]) -> None:
        """Read the messages that the line could not give at once."""
        while True:
            self._take(line, await line.read(), ended)

    def _take(self, line: Line, message: bytes, ended: asyncio.Future[None]) -> None:
        """Handle a message in its turn; an error that ends the connection is raised where the connection is served.

        Messages after such an error are ignored.
        """
        if ended.done():
            return
        try:
            self._hear(line, message)
        except Exception as error:
            ended.set_exception(error)

    def _hear(self, line: Line, message: bytes) -> None:
        frames = self.session.receive(message)
        self._heard_at = self.clock()
        for frame in frames:
            if type(frame) is Renew:
                self._idle_s = frame.idle_s
        ending = next((index for index, frame in enumerate(frames) if isinstance(frame, ErrorFrame | Goaway)), None)
        if ending is not None:
            self.peer.received(frames[:ending])
            self._raise_end(frames[ending])
        self._answering = True
        try:
            self.peer.received(frames)
        finally:
            self._answering = False
        self._answer(line)

    def _answer(self, line: Line) -> None:
        """Send the replies to a message, as long as that does not block; the writer sends the rest."""
        while not self._sending.locked():
            message = self._message()
            if message is None:
                return
            if len(message) > _WRITE_BYTES or not line.write_now(message):
                self._packed = message
                break
        self._wake.set()

    async def _write(self, line: Line) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            async with self._sending:
                while (message := self._message()) is not None:
                    await line.send(message, text=True)

    def _message(self) -> bytes | None:
        """Return the next message there is to send. Its frames count as sent."""
        message, self._packed = self._packed, None
        if message is None:
            waiting = self._outgoing
            frames = waiting.before_reports() or self.peer.reports() or waiting.after_reports() or self._last_word()
            message = self.session.send(frames) if frames else None
        return message

    async def _keep_alive(self, interval_s: float) -> None:
        beat = Heartbeat(interval_s, self.clock())
        while True:
            await asyncio.sleep(interval_s)
            alive, now = self.peer.alive(), self.clock()
            running = bool(alive.running)
            beat.idle_s = self._idle_s
            if now - self._heard_at > (quiet_s := beat.lost_after_s(running=running)):
                raise ConnectionEnded(f"nothing was heard from the hub for {quiet_s:g} s")
            if beat.due(now, running=running):
                self.push([*self.peer.beside_alive(), alive])

    def _last_word(self) -> list[Frame]:
        bye, self._bye = self._bye, None
        return [bye] if bye is not None else []

    def say_bye(self, reason: str) -> None:
        """Send the waiting frames, then goodbye; the hub ends the connection."""
        if self.session.state is State.OPEN:
            self._bye = Bye(reason=reason)
            self._wake.set()
