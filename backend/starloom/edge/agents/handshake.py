"""The handshake of an AIP connection: hello, challenge, proof. Finds out which device this is, or refuses it.

The hub proves its own key first, by its signature over the messages of both sides; from there on messages are sealed.
Identity is the proved key; the device is looked up only after the proof, so that nobody can ask about devices without
their key.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from starloom.edge.agents import hub_keys
from starloom.edge.web.sockets import Socket
from starloom_protocol.records.entities import Device, Enrollment
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.channel import ChannelKeys, channel_keys, device_proof, hub_proof, transcript
from starloom_protocol.wire.codec import Side, decode
from starloom_protocol.wire.session import ProtocolFault, Session, device_id

_F = TypeVar("_F", bound=f.Frame)
_NO_COMMON_VERSION = frozenset({Code.AGENT_TOO_OLD, Code.HUB_TOO_OLD})


class Refused(Exception):
    """The hub refuses this agent for now; the frame has the reason and the time of the next try."""

    def __init__(self, frame: f.Refuse) -> None:
        super().__init__(f"{frame.code}: {frame.reason}")
        self.frame = frame


class Alarm(ProtocolFault):
    """A deliberately false proof: a key that is not the one of the device it names."""


class NoCommonVersion(ProtocolFault):
    """The agent and this hub share no version; `device` is the one that its greeting names, which is not proved."""

    def __init__(self, fault: ProtocolFault, device: Device) -> None:
        super().__init__(fault.code, fault.reason, fault.fix)
        self.device = device


@dataclass(frozen=True, slots=True)
class Proved:
    """A device whose key was proved on this connection."""

    device: Device
    hello: f.Hello
    channel: ChannelKeys


class Handshake:
    """Judges one connection after the other; holds the hub's key and what it knows of devices."""

    def __init__(
        self, hub_key: hub_keys.HubKey, devices: Mapping[str, Device], enrollments: Mapping[str, Enrollment]
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
        hello = await self._greeting(socket, aip)
        challenge = f.Challenge(hub=self._hub_key.text, nonce=secrets.token_urlsafe(32), version=aip.version)
        proof, channel = await self._prove(socket, aip, hello, challenge)
        prove = await _next(socket, aip, f.Prove)
        key = hub_keys.public_key(hello.key)
        if key is None or not hub_keys.verifies(key, prove.signature, proof):
            raise ProtocolFault(Code.BAD_SIGNATURE, "the signature does not prove the key that was named")
        if device_id(key) != hello.device:
            raise Alarm(Code.BAD_SIGNATURE, f"the key that was proved is not that of device {hello.device}")
        return Proved(self._belongs(hello), hello, channel)

    async def _greeting(self, socket: Socket, aip: Session) -> f.Hello:
        """Return the greeting of the agent.

        Raises:
            NoCommonVersion: the hub speaks none of its versions; it names a device of this fleet, with that one's key.
            ProtocolFault: anything else that is no greeting.
            Gone: if the peer went away.
        """
        while True:
            raw = await socket.read()
            try:
                received = aip.receive(raw)
            except ProtocolFault as fault:
                device = self._device_named_in(raw) if fault.code in _NO_COMMON_VERSION else None
                if device is None:
                    raise
                raise NoCommonVersion(fault, device) from fault
            hello = _the_only(received, f.Hello)
            if hello is not None:
                return hello

    def _device_named_in(self, greeting: bytes | str) -> Device | None:
        """Return the device of this fleet that a greeting names, with its key."""
        for frame in decode(greeting, Side.AGENT, authenticated=False).f:
            device = self._devices.get(frame.device) if isinstance(frame, f.Hello) else None
            if isinstance(frame, f.Hello) and device is not None and device.key == frame.key:
                return device
        return None

    async def _prove(
        self, socket: Socket, aip: Session, hello: f.Hello, challenge: f.Challenge
    ) -> tuple[bytes, ChannelKeys]:
        """Sign the handshake and seal the session; return what the device must sign, and the keys.

        Raises:
            ProtocolFault: the device's key share is not one.
            Gone: if the peer went away.
        """
        share = hub_keys.KeyShare()
        secret = share.secret_with(hello.key_share)
        if secret is None:
            raise ProtocolFault(Code.PROTOCOL_ERROR, "`hello.key_share` is not an X25519 public key in base64")
        challenge = msgspec.structs.replace(challenge, key_share=share.text)
        signed = transcript(hello, challenge)
        signature = self._hub_key.sign(hub_proof(signed))
        await socket.write(aip.send([msgspec.structs.replace(challenge, signature=signature)]).decode())
        channel = channel_keys(secret, signed)
        aip.secure(channel)
        return device_proof(signed, signature), channel

    def _belongs(self, hello: f.Hello) -> Device:
        device = self._devices.get(hello.device)
        if device is not None and device.revoked:
            end_words = "has left this hub" if device.left else "was revoked on this hub"
            raise ProtocolFault(Code.DEVICE_REVOKED, f"{device.name} {end_words}")
        if device is not None and device.key == hello.key:
            return device
        if device is not None:
            raise Alarm(Code.BAD_SIGNATURE, f"{device.name} joined with another key")
        for enrollment in self._enrollments.values():
            if enrollment.device == hello.device and enrollment.state == "asking":
                fix = f"Compare the words ({enrollment.words}) and approve it in Fleet."
                reason = f"{enrollment.name} waits for approval"
                raise Refused(f.Refuse(code=Code.NOT_APPROVED, fix=fix, reason=reason, retry_after_s=3.0))
        raise ProtocolFault(Code.UNKNOWN_KEY, f"device {hello.device} has not joined this hub")


async def _next(socket: Socket, aip: Session, kind: type[_F]) -> _F:
    while True:
        frame = _the_only(aip.receive(await socket.read()), kind)
        if frame is not None:
            return frame


def _the_only(received: Sequence[f.Frame], kind: type[_F]) -> _F | None:
    """Return the one frame of a message; None for a message that was a repeated one."""
    if len(received) == 1 and isinstance(received[0], kind):
        return received[0]
    if received:
        reason = f"before authentication one `{kind.__struct_config__.tag}` is expected"
        raise ProtocolFault(Code.PROTOCOL_ERROR, reason)
    return None
