"""Many devices in one process: each with its own key, joined by the hub's doors, on a websocket of its own.

They speak the protocol of real agents (`Session`, sealed by the keys of their connection) on `websockets`, without the
tasks and files that a real agent has around it, so that this end is not what a measurement is limited by. They offer
what a real agent offers, say `alive` as often as a real one would, dial again with its jitter, and do no work.

`python -m tests.bench.fleet`: one line of JSON in says what to do, one line out says what came of it. See `_main`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import resource
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from websockets.client import ClientProtocol
from websockets.frames import Frame as WebsocketFrame
from websockets.frames import Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import parse_uri

import starloom_agent
from starloom_agent.home.identity import Identity, KeyShare, signed_by
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.wire.link import RECONNECT_LEAST_S, RECONNECT_MOST_S
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Profile
from starloom_protocol.wire.channel import channel_keys, device_proof, hub_proof, transcript
from starloom_protocol.wire.frames import (
    Alive,
    Challenge,
    ErrorFrame,
    Frame,
    Goaway,
    Hello,
    OfferFrame,
    Prove,
    Refuse,
    Renew,
    Welcome,
)
from starloom_protocol.wire.session import ProtocolFault, Session, Side, device_id
from starloom_protocol.wire.version import PROTOCOL_VERSIONS
from tests.bench.requests import Requests

LAB = "lab."
JOINS_AT_ONCE = 8
DIALS_AT_ONCE = 64
"""How many first connections are opened at once; after a kill they all come back when their jitter says so."""


def make_identity() -> Identity:
    """Return a key pair that lies in no file."""
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return Identity(private, base64.b64encode(public).decode(), device_id(public), secrets.token_hex(8))


def raise_descriptors() -> int:
    """Raise the limit of open files of this process as far as it may; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@dataclass(slots=True)
class Counts:
    """What the devices of this process saw."""

    online: int = 0
    renewed: int = 0
    ended: dict[str, int] = field(default_factory=dict)

    def end(self, reason: str) -> None:
        self.ended[reason] = self.ended.get(reason, 0) + 1


@dataclass(slots=True)
class Fleet:
    """What all devices share."""

    address: str
    hub_key: str
    offer: OfferFrame
    counts: Counts
    most_s: float
    changed: asyncio.Event


class Device:
    """One device: dials until it is stopped, offers its tools, says `alive`."""

    def __init__(self, fleet: Fleet, identity: Identity) -> None:
        self.fleet = fleet
        self.identity = identity
        self.ledger = f"ledger-{identity.device}"
        self.failures = 0
        self.wire: Wire | None = None
        self._dialling: asyncio.Task[None] | None = None

    async def dial(self) -> None:
        loop = asyncio.get_running_loop()
        where = parse_uri(self.fleet.address)
        try:
            _, self.wire = await loop.create_connection(lambda: Wire(self), where.host, where.port)
        except OSError as error:
            self.gone(str(type(error).__name__))

    def gone(self, reason: str, asked_s: float = 0.0) -> None:
        """The connection has ended: dial again after the jitter of a real agent."""
        self.wire = None
        self.fleet.counts.end(reason)
        window = min(self.fleet.most_s, RECONNECT_LEAST_S * 2.0 ** min(self.failures, 16))
        self.failures += 1
        wait_s = asked_s + max(RECONNECT_LEAST_S / 4, random.random() * window)
        asyncio.get_running_loop().call_later(wait_s, self.again)

    def again(self) -> None:
        self._dialling = asyncio.ensure_future(self.dial())


class Wire(asyncio.Protocol):
    """One connection of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._session = Session(Side.AGENT)
        self._line = ClientProtocol(parse_uri(device.fleet.address), max_size=4 * 1024 * 1024)
        self._share: KeyShare | None = KeyShare()
        self._hello: Hello | None = None
        self._transport: asyncio.Transport | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._interval_s = 0.0
        self._idle_s = 0.0
        self._ended = ""
        self._asked_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._line.send_request(self._line.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._line.receive_data(data)
        for event in self._line.events_received():
            if isinstance(event, Response):
                self._opened()
            elif isinstance(event, WebsocketFrame) and event.opcode is Opcode.TEXT:
                self._take(bytes(event.data))
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._beat is not None:
            self._beat.cancel()
            self._device.fleet.counts.online -= 1
            self._device.fleet.changed.set()
        self._device.gone(self._ended or "cut", self._asked_s)

    def _flush(self) -> None:
        assert self._transport is not None
        for data in self._line.data_to_send():
            if data:
                self._transport.write(data)
            else:
                self._transport.close()

    def _say(self, frames: list[Frame]) -> None:
        if self._line.state is State.OPEN:
            self._line.send_text(self._session.send(frames))
        else:
            self._end("cut while it spoke")  # let in and cut in one go: there were too many at once

    def _opened(self) -> None:
        if self._line.handshake_exc is not None:
            self._end(str(self._line.handshake_exc))
            return
        me, share = self._device.identity, self._share
        assert share is not None
        self._hello = Hello(
            device=me.device,
            instance=me.instance,
            key=me.key,
            key_share=share.text,
            ledger=self._device.ledger,
            next_report=1,
            version=starloom_agent.__version__,
            versions=list(PROTOCOL_VERSIONS),
        )
        self._say([self._hello])

    def _take(self, message: bytes) -> None:
        try:
            frames = self._session.receive(message)
        except ProtocolFault as fault:
            self._end(fault.reason)
            return
        for frame in frames:
            match frame:
                case Renew():
                    self._device.fleet.counts.renewed += 1
                    self._idle_s = max(frame.idle_s, self._interval_s)
                case Challenge():
                    self._prove(frame)
                case Welcome():
                    self._welcomed(frame)
                case Goaway() | Refuse():
                    self._asked_s = frame.retry_after_s
                    self._end(frame.reason)
                case ErrorFrame():
                    self._end(frame.reason)
                case _:
                    pass  # nothing that a device without work has to answer

    def _prove(self, challenge: Challenge) -> None:
        fleet, share, hello = self._device.fleet, self._share, self._hello
        assert share is not None
        assert hello is not None
        said = transcript(hello, challenge)
        secret = share.secret_with(challenge.key_share)
        known = challenge.hub == fleet.hub_key and signed_by(challenge.hub, challenge.signature, hub_proof(said))
        if secret is None or not known:
            self._end("another hub")
            return
        self._session.secure(channel_keys(secret, said))
        self._share = self._hello = None
        self._say([Prove(signature=self._device.identity.sign(device_proof(said, challenge.signature)))])

    def _welcomed(self, welcome: Welcome) -> None:
        self._interval_s = self._idle_s = welcome.alive_interval_s
        self._device.failures = 0
        self._device.fleet.counts.online += 1
        self._device.fleet.changed.set()
        self._say([self._device.fleet.offer, self._alive()])
        self._beat = asyncio.get_running_loop().call_later(self._interval_s, self._pulse)

    def _pulse(self) -> None:
        self._say([self._alive()])
        self._flush()
        self._beat = asyncio.get_running_loop().call_later(self._idle_s, self._pulse)

    def _alive(self) -> Alive:
        return Alive(running=[], sent_ms=int(time.monotonic() * 1000))

    def _end(self, reason: str) -> None:
        assert self._transport is not None
        self._ended = reason
        self._transport.close()


async def join(anyone: Requests, code: str, name: str, identity: Identity) -> str:
    """Join one device by the code that all of them have; return the hub's key."""
    asked = {"code": code, "key": identity.key, "name": name, "os": "linux", "profile": Profile.OBSERVE.value}
    return str((await _post(anyone, "/agent/join", asked))["hub_key"])


async def _post(requests: Requests, path: str, body: Any) -> Any:
    answer = await requests.send("POST", path, json.dumps(body).encode())
    if answer.status >= 400:
        raise RuntimeError(f"{path}: {answer.status} {answer.text[:600]}")
    return json.loads(answer.content)


class Devices:
    """All devices of this process."""

    def __init__(self, url: str, code: str, first: int, count: int, tools: bool) -> None:
        self._url, self._code = url, code
        self._first = first
        self._identities = [make_identity() for _ in range(count)]
        offered = [tool for tool in all_tools() if tools and not tool.name.startswith(LAB)]
        offer = make_offer(offered, Policy(), slots=4, folder=Path.cwd())
        address = url.replace("http", "ws", 1) + "/aip/v1"
        self.fleet = Fleet(address, "", offer, Counts(), RECONNECT_MOST_S, asyncio.Event())
        self._devices: list[Device] = []

    async def join(self) -> None:
        """Join all of them."""
        names = iter(enumerate(self._identities, self._first))

        async def some() -> None:
            anyone = Requests(self._url, "")
            for number, identity in names:
                self.fleet.hub_key = await join(anyone, self._code, f"fleet-{number}", identity)
            await anyone.close()

        await asyncio.gather(*(some() for _ in range(JOINS_AT_ONCE)))

    async def connect(self) -> None:
        """Open the first connection of each."""
        self._devices = [Device(self.fleet, identity) for identity in self._identities]
        places = asyncio.Semaphore(DIALS_AT_ONCE)

        async def first(device: Device) -> None:
            async with places:
                await device.dial()

        await asyncio.gather(*(first(device) for device in self._devices))

    async def until(self, test: Callable[[], bool]) -> None:
        """Wait until something holds of the counts."""
        while not test():
            self.fleet.changed.clear()
            await self.fleet.changed.wait()


async def _main(url: str, code: str, first: int, count: int, tools: bool) -> None:
    raise_descriptors()
    devices = Devices(url, code, first, count, tools)
    loop = asyncio.get_running_loop()
    counts = devices.fleet.counts
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order, began = line.strip(), time.monotonic()
        if order == "join":
            await devices.join()
        elif order == "connect":
            await devices.connect()
        elif order == "online":
            await devices.until(lambda: counts.online >= count)
        elif order == "gone":
            await devices.until(lambda: counts.online < count)
            counts.ended.clear()
        said = {
            "s": time.monotonic() - began,
            "at": time.monotonic(),
            "cpu_s": time.process_time(),
            "online": counts.online,
            "renewed": counts.renewed,
            "ended": counts.ended,
        }
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    uvloop.run(_main(**given))
