"""The codec of AIP: messages to bytes and back, within limits. Any bytes give a message or a `ProtocolFault`.

Owns the text form `{"n": number, "f": [frames]}`, its sizes and its depth. Which frame may come when is `session`.
Everywhere `side` is the side that *sends* the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, get_args

import msgspec

from starloom_protocol.bounds import MESSAGE_BYTES_MAX as MESSAGE_BYTES_MAX
from starloom_protocol.values import INLINE_VALUE_BYTES_MAX, VALUE_DEPTH_MAX, parse
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import (
    AgentFrame,
    AgentMessage,
    Dispatch,
    FactsFrame,
    Frame,
    HubFrame,
    HubMessage,
    OfferFrame,
    ProtocolFault,
    ResultFrame,
)
from starloom_protocol.wire.version import PROTOCOL_VERSIONS, leave_out

UNAUTHENTICATED_BYTES_MAX: Final = 4 * 1024
"""A peer that has proved nothing gets no more memory than a handshake needs."""
NUMBER_MAX: Final = 2**53 - 1


class Side(StrEnum):
    """One end of the channel."""

    HUB = "hub"
    AGENT = "agent"

    @property
    def other(self) -> Side:
        return Side.AGENT if self is Side.HUB else Side.HUB


AGENT_FRAMES: Final[tuple[type[Frame], ...]] = get_args(AgentFrame)
HUB_FRAMES: Final[tuple[type[Frame], ...]] = get_args(HubFrame)
FRAMES: Final[dict[Side, frozenset[type[Frame]]]] = {
    Side.AGENT: frozenset(AGENT_FRAMES),
    Side.HUB: frozenset(HUB_FRAMES),
}

_AGENT: Final = Side.AGENT
_encoder: Final = msgspec.json.Encoder(order="deterministic")
_agent_decoder: Final = msgspec.json.Decoder(AgentMessage)
_hub_decoder: Final = msgspec.json.Decoder(HubMessage)
_UNITS: Final = {"array": "entries", "object": "entries", "str": "characters"}
_bound: Final = re.compile(
    r"Expected `(array|int|object|str)` (?:of length )?([<>]=) (-?\d+) - at (`key` in )?`\$\.f\[(\d+)\]\.(.+)`"
)
"""The words in which the decoder refuses a number, a text or a list beyond its bound."""
_brackets: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


def bytes_max(*, authenticated: bool) -> int:
    """Return the most bytes that a message may have before or after the device has proved its key."""
    return MESSAGE_BYTES_MAX if authenticated else UNAUTHENTICATED_BYTES_MAX


def tag_of(frame: type[Frame] | Frame) -> str:
    """Return the word in `t` of a frame."""
    return str(frame.__struct_config__.tag)


def frame_bytes(frame: Frame) -> int:
    """Return how many bytes a frame takes in a message, with its comma; a peer of an older version gets no more."""
    return len(_encoder.encode(frame)) + 1


def encode(
    n: int,
    frames: Sequence[Frame],
    side: Side,
    *,
    authenticated: bool = True,
    version: int = PROTOCOL_VERSIONS[-1],
) -> bytes:
    """Return the bytes of message `n`; fields that a peer of `version` cannot know are left out.

    Raises:
        ProtocolFault: `protocol_error` for no frame or a frame that `side` never sends; `frame_too_large`.
    """
    if not frames:
        raise ProtocolFault(Code.PROTOCOL_ERROR, f"message {n} of the {side} carries no frame")
    legal = FRAMES[side]
    for frame in frames:
        if type(frame) not in legal:
            raise ProtocolFault(Code.PROTOCOL_ERROR, f"the {side} never sends `{tag_of(frame)}`")
    # The newest version knows every field, so no frame needs a search for unknown ones.
    sent = frames if version == PROTOCOL_VERSIONS[-1] else [leave_out(frame, version) for frame in frames]
    data = _encoder.encode({"f": sent, "n": n})
    _limit(data, authenticated=authenticated)
    return data


def decode(data: bytes | str, side: Side, *, authenticated: bool) -> AgentMessage | HubMessage:
    """Return the message that `side` sent.

    Raises:
        ProtocolFault: `frame_too_large` above the limit; `protocol_error` for everything else that is no message.
    """
    _limit(data, authenticated=authenticated)
    decoder: msgspec.json.Decoder[AgentMessage] | msgspec.json.Decoder[HubMessage]
    decoder = _agent_decoder if side is _AGENT else _hub_decoder
    try:
        message = decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError, ValueError) as error:
        why = _bound_words(str(error), data) or error
        raise ProtocolFault(Code.PROTOCOL_ERROR, f"not a message of the {side}: {why}") from error
    if not 1 <= message.n <= NUMBER_MAX:
        raise ProtocolFault(Code.PROTOCOL_ERROR, f"a message has a number from 1 to {NUMBER_MAX}, not {message.n}")
    if not message.f:
        raise ProtocolFault(Code.PROTOCOL_ERROR, f"message {message.n} of the {side} carries no frame")
    for frame in message.f:
        if isinstance(frame, ResultFrame) and frame.value is not None:
            _limit_value(frame.value)
        texts = _TEXTS.get(type(frame))
        for place, text in texts(frame) if texts is not None else ():
            _check_text(frame, place, text)
    return message


def _bound_words(text: str, data: bytes | str) -> str:
    """Return which field of which frame is beyond which bound, by the words of the library; empty for another fault."""
    match = _bound.fullmatch(text)
    if match is None:
        return ""
    kind, side, bound, key, number, place = match.groups()
    try:
        frame = f"`{msgspec.json.decode(data)['f'][int(number)]['t']}`"
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError):
        frame = f"frame {number}"  # what comes behind the field that was refused is no message either
    part = "a name in " if key else "a value in " if place.endswith("[...]") else ""
    least = "most" if side == "<=" else "least"
    most = f"is at {least} {bound}" if kind == "int" else f"has at {least} {bound} {_UNITS[kind]}"
    return f"{part}`{place.removesuffix('[...]')}` of {frame} {most}"


def nests_too_deep(text: str) -> bool:
    """Return whether valid JSON text nests lists and maps deeper than a value may; linear, without recursion."""
    if text.count("[") + text.count("{") <= VALUE_DEPTH_MAX:
        return False
    depth = 0
    for match in _brackets.finditer(text):
        sign = match.group()
        if sign in "[{":
            depth += 1
            if depth > VALUE_DEPTH_MAX:
                return True
        elif sign in "]}":
            depth -= 1
    return False


def _limit(data: bytes | str, *, authenticated: bool) -> None:
    limit = bytes_max(authenticated=authenticated)
    # A str has at least as many bytes as characters, so only those that might fit are encoded to be measured.
    size = len(data)
    if isinstance(data, str) and size <= limit and not data.isascii():
        size = len(data.encode("utf-8", "surrogatepass"))
    if size > limit:
        when = "after" if authenticated else "before"
        raise ProtocolFault(
            Code.FRAME_TOO_LARGE, f"a message has at most {limit} bytes {when} authentication, this one {size}"
        )


def _limit_value(text: str) -> None:
    size = len(text)
    if size <= INLINE_VALUE_BYTES_MAX and not text.isascii():
        size = len(text.encode("utf-8", "surrogatepass"))
    if size > INLINE_VALUE_BYTES_MAX:
        reason = f"`result.value` has at most {INLINE_VALUE_BYTES_MAX} bytes, this one {size}"
        raise ProtocolFault(Code.FRAME_TOO_LARGE, f"{reason}; a longer value is an artifact")


def _result_texts(frame: ResultFrame) -> list[tuple[str, str]]:
    of_value = [("value", frame.value)] if frame.value is not None else []
    return of_value + _facts_texts(frame) if frame.facts else of_value


def _facts_texts(frame: ResultFrame | FactsFrame) -> list[tuple[str, str]]:
    return [(f"facts[{pointer}]", text) for pointer, text in frame.facts.items()]


def _dispatch_texts(frame: Dispatch) -> list[tuple[str, str]]:
    parts = [(item.name, part.value) for item in frame.inputs for part in item.parts]
    return [("args", frame.args), *((f"inputs[{name}]", value) for name, value in parts if value is not None)]


def _offer_texts(frame: OfferFrame) -> list[tuple[str, str]]:
    return [(f"offer.tools[{tool.name}].args", tool.args) for tool in frame.offer.tools]


_TEXTS: Final[Mapping[type[Frame], Callable[[Any], list[tuple[str, str]]]]] = {
    Dispatch: _dispatch_texts,
    FactsFrame: _facts_texts,
    OfferFrame: _offer_texts,
    ResultFrame: _result_texts,
}
"""The values of a frame that are canonical JSON text, each with its place, for the kinds that have some."""


def _check_text(frame: Frame, place: str, text: str) -> None:
    try:
        # As every later reader does: a decoder that only skips over it takes numbers that none of them can read.
        parse(text)
    except ValueError as error:
        raise ProtocolFault(Code.PROTOCOL_ERROR, f"`{tag_of(frame)}.{place}` is no value: {error}") from error
    if nests_too_deep(text):
        raise ProtocolFault(
            Code.PROTOCOL_ERROR, f"`{tag_of(frame)}.{place}` nests deeper than {VALUE_DEPTH_MAX} levels"
        )
