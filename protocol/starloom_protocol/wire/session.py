"""The sans-I/O session of AIP, both sides: order of the handshake, numbering, legal frames in each state.

    agent hello -> hub challenge -> agent prove -> hub welcome | refuse -> open

Owns no socket or clock: callers move the bytes, verify the signatures (`channel`) and keep the deadlines. From `secure`
on every message carries its seal, and one without it ends the session. A refused or broken session is `CLOSED`;
`farewell` makes the last message that tells the peer why.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.channel import ChannelKeys, seal, unseal
from starloom_protocol.wire.codec import AGENT_FRAMES, HUB_FRAMES, Side, decode, encode, tag_of
from starloom_protocol.wire.frames import (
    Bye,
    Challenge,
    ErrorFrame,
    Frame,
    Hello,
    ProtocolFault,
    Prove,
    Refuse,
    Welcome,
)
from starloom_protocol.wire.short_words import WORDS
from starloom_protocol.wire.version import PROTOCOL_VERSIONS, knows, negotiate

__all__ = [
    "TABLE",
    "WORDS_HEADER",
    "WORDS_ONCE",
    "ProtocolFault",
    "Session",
    "Side",
    "State",
    "device_id",
    "short_words",
]

WORDS_HEADER: Final = "X-Starloom-Words"
"""The header in which a device that joins names its rule of the words; the hub takes the older one without it."""
WORDS_ONCE: Final = "once"


class State(StrEnum):
    """The frame that a session waits for. In `OPEN` both sides may send at any time."""

    AWAIT_HELLO = "await_hello"
    AWAIT_CHALLENGE = "await_challenge"
    AWAIT_PROVE = "await_prove"
    AWAIT_WELCOME = "await_welcome"
    OPEN = "open"
    CLOSED = "closed"


_HANDSHAKE: Final[dict[tuple[Side, type[Frame], State], State]] = {
    (Side.AGENT, Hello, State.AWAIT_HELLO): State.AWAIT_CHALLENGE,
    (Side.HUB, Challenge, State.AWAIT_CHALLENGE): State.AWAIT_PROVE,
    (Side.AGENT, Prove, State.AWAIT_PROVE): State.AWAIT_WELCOME,
    (Side.HUB, Welcome, State.AWAIT_WELCOME): State.OPEN,
}
_JOINING: Final = frozenset({Hello, Challenge, Prove, Welcome, Refuse})


def _row(side: Side, frame: type[Frame], state: State) -> State | None:
    if state is State.CLOSED:
        return None
    if frame is ErrorFrame:
        return State.CLOSED
    if frame is Refuse:
        return None if state is State.OPEN else State.CLOSED
    if frame in _JOINING or state is not State.OPEN:
        return _HANDSHAKE.get((side, frame, state))
    return State.CLOSED if frame is Bye else State.OPEN


TABLE: Final[Mapping[tuple[Side, type[Frame], State], State | None]] = {
    (side, frame, state): _row(side, frame, state)
    for side, frames in ((Side.AGENT, AGENT_FRAMES), (Side.HUB, HUB_FRAMES))
    for frame in frames
    for state in State
}
"""(who sends, which frame, in which state) -> the state after it; None: not legal. Total over all three."""

_OPEN: Final = State.OPEN
_CLOSED: Final = State.CLOSED
# Nearly all traffic: frames that leave an open session unchanged and belong to every version.
_STEADY: Final[Mapping[Side, frozenset[type[Frame]]]] = {
    side: frozenset(frame for frame in frames if TABLE[side, frame, _OPEN] is _OPEN and knows(tag_of(frame), 1))
    for side, frames in ((Side.AGENT, AGENT_FRAMES), (Side.HUB, HUB_FRAMES))
}


class Session:
    """One connection as one side sees it. Not thread-safe; a new connection needs a new session."""

    __slots__ = (
        "_farewell_sent",
        "_received",
        "_seal_by",
        "_sent",
        "_unseal_by",
        "_versions",
        "_welcomed",
        "closed_because",
        "peer",
        "side",
        "state",
        "version",
    )

    def __init__(self, side: Side, *, versions: Sequence[int] = PROTOCOL_VERSIONS) -> None:
        self.side = side
        self.peer = side.other
        self.state = State.AWAIT_HELLO
        self.version = versions[-1]
        self.closed_because: str | None = None
        self._versions = tuple(versions)
        self._sent = 0
        self._received = 0
        self._farewell_sent = False
        self._welcomed = False
        self._seal_by: bytes | None = None
        self._unseal_by: bytes | None = None

    @property
    def secured(self) -> bool:
        """True once messages are sealed: every message comes from the peer."""
        return self._unseal_by is not None

    def secure(self, keys: ChannelKeys) -> None:
        """Seal all messages from now on, and accept none without the peer's seal."""
        hub = self.side is Side.HUB
        self._seal_by = keys.hub if hub else keys.agent
        self._unseal_by = keys.agent if hub else keys.hub

    @property
    def authenticated(self) -> bool:
        """True once the hub has welcomed the agent: the larger limits hold."""
        return self.state is _OPEN

    def send(self, frames: Sequence[Frame]) -> bytes:
        """Number and encode a batch of frames, and move on as if the peer had it.

        Raises:
            ProtocolFault: for a frame that is not legal here or a batch above the limit; nothing is sent or changed.
        """
        state, version = self._walk(self.side, frames)
        # A batch that opens the session (welcome, then orders) is read by a peer that still waits: small limit.
        data = encode(self._sent + 1, frames, self.side, authenticated=self.authenticated, version=version)
        self._sent += 1
        self._arrive(state, version, frames)
        return data if self._seal_by is None else seal(self._seal_by, data)

    def receive(self, data: bytes | str) -> list[Frame]:
        """Return the frames of the peer's message; a duplicate, or anything after the end, gives none.

        Raises:
            ProtocolFault: for bytes, numbers or frames that are not legal here; the session is closed by it.
        """
        if self.state is _CLOSED:
            return []
        try:
            text = data if self._unseal_by is None else self._unsealed(self._unseal_by, data)
            message = decode(text, self.peer, authenticated=self.authenticated)
            if message.n <= self._received:
                return []
            self._refuse_gap(message.n)
            frames: list[Frame] = list(message.f)
            state, version = self._walk(self.peer, frames)
        except ProtocolFault as fault:
            self.close(str(fault))
            raise
        self._received = message.n
        self._arrive(state, version, frames)
        return frames

    def close(self, reason: str) -> None:
        """End the session on this side; the first reason stays."""
        if self.closed_because is None:
            self.closed_because = reason
        self.state = State.CLOSED

    def farewell(self, fault: ProtocolFault) -> bytes:
        """Return the last message, which tells the peer the fault, and close.

        A hub that has not welcomed the agent yet refuses, with the fix; all else is an `error`.

        Raises:
            ProtocolFault: if the session has sent its last message already.
        """
        if self._farewell_sent:
            raise ProtocolFault(Code.PROTOCOL_ERROR, "the session has said its last word already")
        reason = fault.reason[:1000]
        last: Frame = ErrorFrame(code=fault.code, reason=reason)
        if self.side is Side.HUB and not self._welcomed:
            last = Refuse(code=fault.code, fix=fault.fix, reason=reason)
        data = encode(self._sent + 1, [last], self.side, authenticated=self._welcomed, version=self.version)
        self._sent += 1
        self._farewell_sent = True
        self.close(str(fault))
        return data if self._seal_by is None else seal(self._seal_by, data)

    def _unsealed(self, key: bytes, data: bytes | str) -> bytes:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        text = unseal(key, raw)
        if text is None:
            reason = f"a message does not carry the seal of the {self.peer}: something stands between"
            raise ProtocolFault(Code.PROTOCOL_ERROR, reason)
        return text

    def _walk(self, sender: Side, frames: Sequence[Frame]) -> tuple[State, int]:
        """Return state and version after these frames, without changing anything."""
        state, version = self.state, self.version
        steady = _STEADY[sender]
        for frame in frames:
            if state is _OPEN and type(frame) in steady:
                continue
            after = TABLE.get((sender, type(frame), state))
            if after is None:
                raise ProtocolFault(
                    Code.PROTOCOL_ERROR, f"the {sender} may not send `{tag_of(frame)}` in state {state}"
                )
            if not knows(tag_of(frame), version):
                raise ProtocolFault(Code.PROTOCOL_ERROR, f"`{tag_of(frame)}` does not belong to AIP {version}")
            if isinstance(frame, Hello) and self.side is Side.HUB:
                version = negotiate(frame.versions, self._versions)
            elif isinstance(frame, Challenge):
                version = self._agreed(frame.version)
            state = after
        return state, version

    def _refuse_gap(self, number: int) -> None:
        missing = number - self._received - 1
        if missing > 0:
            raise ProtocolFault(
                Code.PROTOCOL_ERROR, f"message {number} came after {self._received}: {missing} are missing"
            )

    def _agreed(self, version: int) -> int:
        if self.side is Side.HUB and version != self.version:
            raise ProtocolFault(
                Code.PROTOCOL_ERROR, f"version {self.version} was agreed, the challenge names {version}"
            )
        if version not in self._versions:
            raise ProtocolFault(Code.PROTOCOL_ERROR, f"the hub chose AIP {version}, which this agent did not offer")
        return version

    def _arrive(self, state: State, version: int, frames: Sequence[Frame]) -> None:
        self.version = version
        self._welcomed = self._welcomed or state is _OPEN
        self.state = state
        if state is _CLOSED:
            last = frames[-1]
            self._farewell_sent = True
            self.close(getattr(last, "reason", ""))


def device_id(public_key: bytes) -> str:
    """Return the id of the device with this Ed25519 public key (32 raw bytes): 130 bits of its SHA-256."""
    digest = hashlib.sha256(b"starloom/device\n" + public_key).digest()
    return "d-" + base64.b32encode(digest).decode().lower()[:26]


def short_words(hub_key: bytes, device_key: bytes, code_hash: bytes, *, repeats: bool = False) -> str:
    """Return the six words that both screens show at pairing; different keys show different words.

    No word comes twice: two equal words beside each other look like a mistake. Six of 256 in order are 47.9 bits.
    `repeats` is the rule of a peer that does not name `WORDS_ONCE`: there a word may come twice.
    """
    digest = hashlib.sha256(b"starloom/pairing\n")
    for part in (hub_key, device_key, code_hash):
        digest.update(len(part).to_bytes(4, "big") + part)
    drawn = digest.digest()
    return " ".join(WORDS[byte] for byte in [*(drawn if repeats else dict.fromkeys(drawn))][:6])
