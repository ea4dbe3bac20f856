"""The handshake of an AIP connection: hello, challenge, proof. Finds out which device this is, or refuses it.

The hub proves its own key first, by its signature over the messages of both sides; from there on messages are sealed.

Identity is the proved key; the device is looked up only after the proof, so that nobody can ask about devices without
their key.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.types import Receive, Send

from starloom.edge import keys
from starloom_protocol import frames as f
from starloom_protocol.channel import ChannelKeys, channel_keys, device_proof, hub_proof, transcript
from starloom_protocol.entities import Device, Enrollment
from starloom_protocol.session import ProtocolFault, Session, device_id, proof_bytes
from starloom_protocol.version import HUB_PROVES_SINCE
from starloom_protocol.vocabulary import Code

HOLD = "starloom.hold"
"""The ASGI extension by which an application holds its socket beyond its call: a `Hold`."""
Taker = Callable[[str | bytes], object]
"""Takes whole messages in the turn in which they come."""
Ended = Callable[[str], object]
"""Hears why the peer is gone; not called where the application closes the socket."""
Hold = Callable[[Taker, Ended], object]
_log = logging.getLogger(__name__)
_F = TypeVar("_F", bound=f.Frame)


class Refused(Exception):
    """The hub refuses this agent for now; the frame has the reason and the time of the next try."""

    def __init__(self, frame: f.Refuse) -> None:
        super().__init__(f"{frame.code}: {frame.reason}")
        self.frame = frame


class Alarm(ProtocolFault):
    """A deliberately false proof: a key that is not the one of the device it names."""


class Gone(Exception):
    """The peer went away."""


class Socket:
    """An accepted websocket as a stream of text messages; `hold` is the server's extension `HOLD`, if it has it."""

    __slots__ = ("_ended", "_hold", "_receive", "_send", "closed")

    def __init__(self, receive: Receive, send: Send, hold: Hold | None = None) -> None:
        self._receive = receive
        self._send = send
        self._hold = hold
        self._ended: Ended | None = None
        self.closed = False

    async def hand_over(self, taker: Taker, ended: Ended) -> None:
        """Have each message given to `taker`, and the reason to `ended` when the peer is gone; neither may raise.

        Returns at once if the server holds the socket from then on, and otherwise when the socket has ended.
        """
        self._ended = ended
        if self._hold is not None:
            hold, self._hold = self._hold, None
            hold(taker, self._gone)
            return
        try:
            while not self.closed:
                taker(await self.read())
        except Gone as gone:
            self._gone(str(gone))

    def _gone(self, reason: str) -> None:
        self.closed = True
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(reason or "the connection ended")

    async def read(self) -> str | bytes:
        """Return the next message.

        Raises:
            Gone: if the peer has closed or was cut off.
        """
        message = await self._receive()
        if message["type"] != "websocket.receive":
            self.closed = True
            raise Gone(str(message.get("reason") or "the connection ended"))
        text: str | None = message.get("text")
        data: str | bytes = message["bytes"] if text is None else text
        return data

    async def write(self, text: str) -> None:
        """Send one message, as soon as the transport takes one.

        Raises:
            Gone: if the peer is no longer there.
        """
        try:
            await self._send({"type": "websocket.send", "text": text})
        except (OSError, RuntimeError) as error:
            self.closed = True
            raise Gone(str(error) or "the connection ended") from error

    def write_now(self, text: str) -> bool:
        """Send one message before anything else runs; False, and nothing was sent, if the transport takes none now.

        A write waits for the transport before it sends, and for nothing after: one that waits has not begun.
        """
        if self.closed:
            return False
        writing = self.write(text)
        try:
            writing.send(None)
        except StopIteration:
            return True
        except Gone:
            return False
        writing.close()
        return False

    async def close(self, code: int, reason: str) -> None:
        """End the connection; nothing to do if the peer did so first."""
        if self.closed:
            return
        self.closed = True
        try:
            await self._send(
                {"type": "websocket.close", "code": code, "reason": reason.encode()[:120].decode("utf-8", "ignore")}
            )
        except (OSError, RuntimeError) as error:
            _log.debug("the socket was gone before it could be closed: %s", error)


@dataclass(frozen=True, slots=True)
class Proved:
    """A device whose key was proved on this connection."""

    device: Device
    hello: f.Hello
    channel: ChannelKeys | None
    """The keys of the connection; None for a device of version 2, which has none."""


class Proving:
    """The sockets that prove now who they are: bounded in number, and a flood of them keeps no newcomer out.

    Above the bound the oldest of the address that has the most gives way. An honest peer proves itself within a round
    trip, so it is the oldest only if a bound's worth of others came in that time.
    """

    def __init__(self) -> None:
        self._by_address: dict[str, dict[asyncio.Timeout, None]] = {}
        self._count = 0

    @asynccontextmanager
    async def begun(self, address: str, within_s: float, most: int) -> AsyncIterator[None]:
        """Hold a place for as long as the block takes.

        Raises:
            TimeoutError: it took longer than `within_s`, or there were more than `most` and its place was needed.
        """
        async with asyncio.timeout(within_s) as patience:
            if self._count >= most:
                crowd = max(self._by_address, key=lambda held: len(self._by_address[held]))
                oldest = next(iter(self._by_address[crowd]))
                if not oldest.expired():
                    oldest.reschedule(asyncio.get_running_loop().time())
                self._leave(crowd, oldest)
            self._by_address.setdefault(address, {})[patience] = None
            self._count += 1
            try:
                yield
            finally:
                self._leave(address, patience)

    def _leave(self, address: str, patience: asyncio.Timeout) -> None:
        held = self._by_address.get(address, {})
        if patience in held:
            del held[patience]
            self._count -= 1
        if not held:
            self._by_address.pop(address, None)


class Handshake:
    """Judges one connection after the other; holds the hub's key and what it knows of devices."""

    def __init__(
        self, hub_key: keys.HubKey, devices: Mapping[str, Device], enrollments: Mapping[str, Enrollment]
    ) -> None:
        self._hub_key = hub_key
        self._devices = devices
        self._enrollments = enrollments

    @property
    def devices(self) -> int:
        """How many devices this hub knows."""
        return len(self._devices)

    async def run(self, socket: Socket, aip: Session) -> Proved:
        """Return the device; the session then waits for the welcome.

        Raises:
            ProtocolFault: for anything illegal, a wrong proof, or a device that does not belong here.
            Refused: if the device may come back later.
            Gone: if the peer went away.
        """
        hello = await _next(socket, aip, f.Hello)
        challenge = f.Challenge(hub=self._hub_key.text, nonce=secrets.token_urlsafe(32), version=aip.version)
        if aip.version >= HUB_PROVES_SINCE:
            proof, channel = await self._prove(socket, aip, hello, challenge)
        else:
            await socket.write(aip.send([challenge]).decode())
            proof, channel = _proof_of_2(hello, challenge), None
        prove = await _next(socket, aip, f.Prove)
        key = keys.public_key(hello.key)
        if key is None or not keys.verifies(key, prove.signature, proof):
            raise ProtocolFault(Code.BAD_SIGNATURE, "the signature does not prove the key that was named")
        if device_id(key) != hello.device:
            raise Alarm(Code.BAD_SIGNATURE, f"the key that was proved is not that of device {hello.device}")
        return Proved(self._belongs(hello), hello, channel)

    async def _prove(
        self, socket: Socket, aip: Session, hello: f.Hello, challenge: f.Challenge
    ) -> tuple[bytes, ChannelKeys]:
        """Sign the handshake and seal the session; return what the device must sign, and the keys.

        Raises:
            ProtocolFault: the device's key share is none.
            Gone: if the peer went away.
        """
        share = keys.KeyShare()
        secret = share.secret_with(hello.key_share)
        if secret is None:
            raise ProtocolFault(Code.PROTOCOL_ERROR, "`hello.key_share` is not an X25519 public key in base64")
        challenge = msgspec.structs.replace(challenge, key_share=share.text)
        said = transcript(hello, challenge)
        signature = self._hub_key.sign(hub_proof(said))
        await socket.write(aip.send([msgspec.structs.replace(challenge, signature=signature)]).decode())
        channel = channel_keys(secret, said)
        aip.secure(channel)
        return device_proof(said, signature), channel

    def _belongs(self, hello: f.Hello) -> Device:
        known = self._devices.get(hello.device)
        if known is not None and known.revoked:
            gone = "has left this hub" if known.left else "was revoked on this hub"
            raise ProtocolFault(Code.DEVICE_REVOKED, f"{known.name} {gone}")
        if known is not None and known.key == hello.key:
            return known
        if known is not None:
            raise Alarm(Code.BAD_SIGNATURE, f"{known.name} joined with another key")
        for enrollment in self._enrollments.values():
            if enrollment.device == hello.device and enrollment.state == "asking":
                fix = f"Compare the words ({enrollment.words}) and approve it in Fleet."
                reason = f"{enrollment.name} waits for approval"
                raise Refused(f.Refuse(code=Code.NOT_APPROVED, fix=fix, reason=reason, retry_after_s=3.0))
        raise ProtocolFault(Code.UNKNOWN_KEY, f"device {hello.device} has not joined this hub")


def _proof_of_2(hello: f.Hello, challenge: f.Challenge) -> bytes:
    return proof_bytes(
        hub=challenge.hub, nonce=challenge.nonce, device=hello.device, key=hello.key, version=challenge.version
    )


async def _next(socket: Socket, aip: Session, kind: type[_F]) -> _F:
    while True:
        received = aip.receive(await socket.read())
        if len(received) == 1 and isinstance(received[0], kind):
            return received[0]
        if received:
            reason = f"before authentication one `{kind.__struct_config__.tag}` is expected"
            raise ProtocolFault(Code.PROTOCOL_ERROR, reason)
