"""The audit chain: each commit of the history is bound to all before it, so that no row changes unseen.

Owns what a link is made of and how a chain is walked. `link = SHA-256(link before, digest of the commit)`; the digest
covers position, time, ownership, every event and every input, each with its length. Whoever can write the database can
also write a whole new chain: an anchor (a position and its link, kept elsewhere) is what shows that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from starloom.store.spans import Span, spans_of

BEGINNING: Final = bytes(32)
"""What the first link follows."""

_HEAD: Final = struct.Struct(">QQQQII")
_LENGTH: Final = struct.Struct(">I")


class Chained(Protocol):
    """What of a commit is bound."""

    @property
    def at_ms(self) -> int: ...

    @property
    def events(self) -> Sequence[bytes]: ...

    @property
    def incarnation(self) -> int: ...

    @property
    def inputs(self) -> Sequence[bytes]: ...

    @property
    def pos(self) -> int: ...

    @property
    def term(self) -> int: ...


def digest_of(commit: Chained) -> bytes:
    """Return the digest of one commit."""
    parts = [
        _HEAD.pack(commit.pos, commit.at_ms, commit.term, commit.incarnation, len(commit.events), len(commit.inputs))
    ]
    for body in commit.events:
        parts.append(_LENGTH.pack(len(body)))
        parts.append(body)
    # Inputs by their hash: a copy of the log that leaves them out can still be verified.
    parts.extend(sha256(raw).digest() for raw in commit.inputs)
    return sha256(b"".join(parts)).digest()


def link_of(before: bytes, digest: bytes) -> bytes:
    """Return the link of a commit that follows the link `before`."""
    return sha256(before + digest).digest()


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as the history has it, with the lines of the index that point at it, in any order.

    `chain` is None for commits that were written before there was a chain.
    """

    at_ms: int
    chain: bytes | None
    events: list[bytes]
    incarnation: int
    inputs: list[bytes]
    pos: int
    spans: list[Span]
    term: int


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """Where the history does not agree with itself."""

    pos: int
    what: str


class _Named(msgspec.Struct):
    by: str
    kind: str
    seq: int
    stream: str


_named = msgspec.json.Decoder(_Named)
BREAKS_MOST: Final = 20


class Walk:
    """Walks the chain, page by page from the first commit on; what it finds stands in `breaks`.

    After a break the walk goes on from the link that is stored, so that one changed row is one finding.
    """

    def __init__(self, *, anchors: Sequence[tuple[int, bytes]] = ()) -> None:
        self._anchors = dict(anchors)
        self._seqs: dict[str, int] = {}
        self.breaks: list[Break] = []
        self.commits = 0
        self.events = 0
        self.unchained = 0
        self.link = BEGINNING
        self.pos = 0

    def take(self, commits: Sequence[Kept]) -> None:
        """Judge the next commits, in the order of their positions."""
        for commit in commits:
            for what in self._found(commit):
                if len(self.breaks) < BREAKS_MOST:
                    self.breaks.append(Break(pos=commit.pos, what=what))
            self.pos = commit.pos
            self.commits += 1
            self.events += len(commit.events)

    def ended(self, watermark: int) -> None:
        """Judge the end: what the history says it reaches, and anchors that were never met."""
        if self.pos < watermark:
            self.breaks.append(Break(pos=self.pos + 1, what=f"the history ends here, but it reached {watermark}"))
        for pos in sorted(self._anchors):
            if pos > self.pos:
                self.breaks.append(Break(pos=pos, what="the anchor lies beyond the end of the history"))

    def _found(self, commit: Kept) -> Iterator[str]:
        if commit.pos != self.pos + 1:
            missing = f"{self.pos + 1}" if commit.pos == self.pos + 2 else f"{self.pos + 1} to {commit.pos - 1}"
            yield f"commit {missing} is missing before this one"
        yield from self._told(commit)
        anchor = self._anchors.get(commit.pos)
        if commit.chain is None:
            self.unchained += 1
            if self.link != BEGINNING:
                yield "it has no link, though commits before it have one"
            return
        if link_of(self.link, digest_of(commit)) != commit.chain:
            told = ", ".join(f"{span.stream} up to {span.last_seq}" for span in commit.spans[:5])
            yield f"it is not what was chained here: {told or 'a commit without events'}"
        if anchor is not None and anchor != commit.chain:
            yield "its link is not that of the anchor"
        self.link = commit.chain

    def _told(self, commit: Kept) -> Iterator[str]:
        """Judge the numbers of the events, and whether the index says of them what they say themselves."""
        named: list[_Named] = []
        for place, body in enumerate(commit.events):
            try:
                event = _named.decode(body)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield f"its event at place {place} cannot be read"
                continue
            named.append(event)
            last = self._seqs.get(event.stream, 0)
            if event.seq != last + 1:
                yield f"{event.stream} goes from event {last} to {event.seq}"
            self._seqs[event.stream] = event.seq
        for stream in sorted({span.stream for span in {*spans_of(named)} ^ {*commit.spans}}):
            yield f"the index does not say of {stream} what its events say"
