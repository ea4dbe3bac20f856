"""A hub stand-in for tests of the agent: a real websocket on loopback that speaks `Session(Side.HUB)`.

It proves its key and decides nothing: tests say what to send and await what the agent said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from starloom_agent.home.identity import KeyShare, b64, signed_by
from starloom_protocol.wire.channel import channel_keys, device_proof, hub_proof, transcript
from starloom_protocol.wire.frames import (
    Ack,
    Alive,
    Challenge,
    Dispatch,
    Frame,
    Hello,
    LeaseRef,
    Prove,
    Receipt,
    Renew,
    ResultFrame,
    ResumePlan,
    Started,
    Welcome,
)
from starloom_protocol.wire.session import ProtocolFault, Session, Side
from starloom_protocol.wire.version import PROTOCOL_VERSIONS

HUB = Ed25519PrivateKey.from_private_bytes(b"the hub that all tests know ....")
HUB_KEY = b64(HUB.public_key().public_bytes_raw())
T = TypeVar("T", bound=Frame)


def lease(task: str = "t", attempt: int = 1, incarnation: int = 1) -> LeaseRef:
    return LeaseRef(constellation="c1", task=task, attempt=attempt, incarnation=incarnation)


def dispatch(tool: str, args: str = "{}", **more: Any) -> Dispatch:
    at = more.pop("at", lease())
    fields: dict[str, Any] = {"fence_after_s": 0.0, "repeatability": "never", "start_to_close_s": 30.0, **more}
    return Dispatch(at=at, args=args, tool=tool, **fields)


@dataclass
class HubStandIn:
    """What was heard stays in `heard`, in order, over all connections."""

    alive_interval_s: float = 0.2
    answers_alive: bool = True
    acks: bool = True
    received: int = 0
    heard: list[Frame] = field(default_factory=list)
    hellos: list[Hello] = field(default_factory=list)
    resume: list[Any] = field(default_factory=list)
    refuse_with: Frame | None = None
    refuse_unproved: Frame | None = None
    messages: int = 0
    versions: tuple[int, ...] = PROTOCOL_VERSIONS
    listens: asyncio.Event = field(default_factory=asyncio.Event)
    _server: Server | None = None
    _sockets: list[tuple[ServerConnection, Session]] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def start(self) -> None:
        self.listens.set()
        self._server = await serve(self._serve, "127.0.0.1", 0, compression=None, max_size=4 * 1024 * 1024)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def _serve(self, socket: ServerConnection) -> None:
        session = Session(Side.HUB, versions=self.versions)
        try:
            try:
                (hello,) = session.receive(await socket.recv())
            except ProtocolFault as fault:
                await socket.send(session.farewell(fault).decode())
                return
            assert isinstance(hello, Hello)
            if self.refuse_unproved is not None:
                await socket.send(session.send([self.refuse_unproved]).decode())
                return
            share = KeyShare()
            secret = share.secret_with(hello.key_share)
            assert secret is not None
            challenge = Challenge(hub=HUB_KEY, key_share=share.text, nonce="nonce", version=session.version)
            said = transcript(hello, challenge)
            signature = b64(HUB.sign(hub_proof(said)))
            await socket.send(session.send([msgspec.structs.replace(challenge, signature=signature)]).decode())
            session.secure(channel_keys(secret, said))
            (prove,) = session.receive(await socket.recv())
            assert isinstance(prove, Prove)
            assert signed_by(hello.key, prove.signature, device_proof(said, signature))
            if self.refuse_with is not None:
                await socket.send(session.send([self.refuse_with]).decode())
                return
            welcome = Welcome(
                alive_interval_s=self.alive_interval_s,
                device_name="test",
                http_token="token",
                hub_time_ms=0,
                lease_grace_s=1,
                lease_ttl_s=3,
                received=self.received,
                session=len(self.hellos) + 1,
            )
            await socket.send(session.send([welcome]).decode())
            if self.resume:
                await socket.send(session.send([ResumePlan(entries=self.resume)]).decode())
            self._sockets.append((socket, session))
            async with self._news:
                self.hellos.append(hello)
                self._news.notify_all()
            async for data in socket:
                await self.listens.wait()
                await self._heard(socket, session, session.receive(data))
        except ConnectionClosed:
            return
        finally:
            self._sockets = [pair for pair in self._sockets if pair[0] is not socket]

    async def _heard(self, socket: ServerConnection, session: Session, frames: list[Frame]) -> None:
        self.messages += 1
        answer: list[Frame] = []
        for frame in frames:
            if isinstance(frame, Alive) and self.answers_alive:
                answer.append(Renew(granted=frame.running, sent_ms=frame.sent_ms))
            report = getattr(frame, "report", 0)
            if report > self.received and self.acks:
                self.received = report
                answer.append(Ack(durable=report, received=report))
        async with self._news:
            self.heard += frames
            self._news.notify_all()
        if answer:
            await socket.send(session.send(answer).decode())

    async def send(self, *frames: Frame) -> None:
        socket, session = self._sockets[-1]
        await socket.send(session.send(list(frames)).decode())

    def send_together(self, *messages: Frame) -> None:
        """Send messages of one frame each, in one write."""
        socket, session = self._sockets[-1]
        for frame in messages:
            socket.protocol.send_text(session.send([frame]))
        socket.send_data()

    async def cut(self) -> None:
        """Cut the connection without a word."""
        for socket, _ in list(self._sockets):
            socket.transport.abort()

    async def until(self, met: Callable[[], object], *, within_s: float = 60.0) -> Any:
        """Wait for a condition over what was heard, and return its value."""
        async with asyncio.timeout(within_s), self._news:
            while not (value := met()):
                await self._news.wait()
            return value

    def of(self, kind: type[T], at: LeaseRef | None = None) -> list[T]:
        return [item for item in self.heard if isinstance(item, kind) and at in (None, getattr(item, "at", None))]

    async def result(self, at: LeaseRef) -> ResultFrame:
        found = await self.until(lambda: next(iter(self.of(ResultFrame, at)), None))
        assert isinstance(found, ResultFrame)
        return found

    async def started(self, at: LeaseRef) -> None:
        await self.until(lambda: bool(self.of(Started, at)))

    async def receipt(self, at: LeaseRef) -> Receipt:
        found = await self.until(lambda: next(iter(self.of(Receipt, at)), None))
        assert isinstance(found, Receipt)
        return found

    async def connected(self, times: int = 1) -> None:
        await self.until(lambda: len(self.hellos) >= times)


Play = Callable[..., Awaitable[Any]]
Frames = Sequence[Frame]
