"""The live stream and the log: events, snapshots, and the frames between hub and browser.

An event puts whole entities; applying it is `state[key] = record`, and null removes. The same bytes stand in the
Redis log, in the SQL history, in the REST log and on the live socket: an event is serialised once.

State hash: the sum mod 2^256 of SHA-256(key, 0x00, record bytes) over all entities of a stream, as 64 hex digits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Final

import msgspec

FLEET = "fleet"
ACCESS = "access"
CHANGED: Final = "changed"
"""The kind of a message beside the log that says which list has changed; it is about a `Topic`."""
_MODULUS = 1 << 256


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One numbered fact of a stream (a constellation's id, `fleet` or `access`).

    `by` is the author: `person:NAME`, `rule:NAME`, `engine`, `device:ID`, `planner`, `lab`.
    `about` is its task, device or other subject; `note` a sentence where one helps.
    """

    about: str = ""
    at_ms: int
    by: str
    kind: str
    note: str = ""
    puts: dict[str, msgspec.Raw | None]
    seq: int
    stream: str


class Beside(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An unnumbered message beside the log, of which the latest wins: progress, log lines, a device's load."""

    about: str
    attempt: int = 0
    kind: str
    stream: str
    value: msgspec.Raw


StreamName = Annotated[str, msgspec.Meta(max_length=200, pattern="^[!-~]*$")]
"""A database takes neither every sign nor numbers beyond 64 bits, and while it is away such names wait in memory."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="ticket"):
    """The first frame of a live socket; the ticket is used up by it."""

    ticket: str


class Subscribe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag="subscribe"):
    """`after_seq` -1 asks for a snapshot; otherwise events after that number, or a `resync`.

    `parts` says that the client can put a snapshot together; without it a snapshot comes in one frame.
    """

    after_seq: Annotated[int, msgspec.Meta(ge=-1, le=2**53)] = -1
    parts: bool = False
    stream: StreamName


class Unsubscribe(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="unsubscribe"):
    stream: StreamName


class LivePing(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="ping"):
    at_ms: int


LiveRequest = Ticket | Subscribe | Unsubscribe | LivePing


class LiveReady(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="ready"):
    """The ticket was good; `now_ms` is hub time, so that ages can be shown.

    `history` is another one after a restore from a backup: what a page knows of the streams then belongs to a past that
    the hub no longer has.
    """

    history: str = ""
    now_ms: int
    protocol: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="snapshot"):
    """All entities of a stream as of `seq`; `hash` lets the other side check its own folding.

    A large one comes in several frames, one behind the other, if the client asked for parts: frame `part` of `parts`,
    each with some of the entities and the hash of all.
    """

    entities: dict[str, msgspec.Raw]
    hash: str
    seq: int
    stream: str
    part: int = 0
    parts: int = 1


class Events(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="events"):
    """Events in order, from one or several streams."""

    events: list[msgspec.Raw]


class BesideFrame(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="beside"):
    items: list[msgspec.Raw]


class Resync(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", tag="resync"):
    """The stream cannot continue from the client's position: the client must ask for a snapshot.

    `unknown` says that there is none: the hub has never had this stream, or has kept nothing of it.
    """

    reason: str
    stream: str
    unknown: bool = False


class LiveRefuse(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="refuse"):
    code: str
    fix: str
    reason: str


class LivePong(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="pong"):
    at_ms: int
    now_ms: int


LiveFrame = LiveReady | Snapshot | Events | BesideFrame | Resync | LiveRefuse | LivePong

_event_encoder = msgspec.json.Encoder(order="deterministic")


class _WireEvent(msgspec.Struct):
    """An event as bytes have it: msgspec does not decode `Raw | None`, so null comes as raw bytes too."""

    at_ms: int
    by: str
    kind: str
    puts: dict[str, msgspec.Raw]
    seq: int
    stream: str
    about: str = ""
    note: str = ""


_event_decoder = msgspec.json.Decoder(_WireEvent)
_NULL = msgspec.Raw(b"null")


encode_event: Final[Callable[[Event], bytes]] = _event_encoder.encode
"""Return the bytes of an event as they stand everywhere."""


def decode_event(raw: bytes | msgspec.Raw) -> Event:
    """Return the event of its bytes.

    Raises:
        msgspec.ValidationError: if they are not an event.
    """
    wire = _event_decoder.decode(raw)
    return Event(
        about=wire.about,
        at_ms=wire.at_ms,
        by=wire.by,
        kind=wire.kind,
        note=wire.note,
        puts={key: None if record == _NULL else record for key, record in wire.puts.items()},
        seq=wire.seq,
        stream=wire.stream,
    )


def entity_digest(key: str, raw: bytes) -> int:
    """Return the share of one entity in the hash of its stream's state."""
    return int.from_bytes(hashlib.sha256(key.encode() + b"\0" + raw).digest(), "big")


def state_hash(entities: Mapping[str, bytes | msgspec.Raw]) -> str:
    """Return the hash of a whole state; its order does not matter."""
    total = sum(entity_digest(key, bytes(raw)) for key, raw in entities.items())
    return f"{total % _MODULUS:064x}"


def fold(entities: dict[str, bytes], events: Iterable[Event]) -> dict[str, bytes]:
    """Apply events to a map of entity bytes in place and return it: the generic `apply`."""
    for event in events:
        for key, raw in event.puts.items():
            if raw is None:
                entities.pop(key, None)
            else:
                entities[key] = bytes(raw)
    return entities
