"""The audit chain: each commit of the history is bound to all before it, so that no row changes unseen.

Owns the content of a link, of a pruning and of a line of the index, and the walk that checks them. Reads and writes no
history. `link = SHA-256(link before, digest of the commit)`; the digest covers position, time, ownership, every event
and every input, each with its length. A person who can write the database can also write a whole new chain; only a
position and its link that somebody has kept elsewhere show that.

A pruning removes commits, or all events of a commit but those of streams that stay. An `Anchor` stands for a run of
removed commits. The seal of a pruning is a link of the chain: it
follows the last commit before the pruning, and the next commit follows it, so an anchor cannot be forged, changed or
removed without changing the links after it. The index names the commits that hold the events of a stream (`Span`). It
is derived from the events alone, so a reader of the whole log can check it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Final, NamedTuple, Protocol

import msgspec

from starloom_protocol.api.history import ChainCheck
from starloom_protocol.text.wording import moment

_encode: Final = msgspec.msgpack.Encoder().encode


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A run of pruned positions: `before` is the link that its first commit followed, `link` its last link."""

    before: bytes
    first: int
    last: int
    link: bytes


class Leftover(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The digest of the remaining part of a commit inside an anchor, empty once nothing remains."""

    pos: int
    digest: bytes


class Pruning(msgspec.Struct, frozen=True, kw_only=True):
    """One transaction of pruning: its time, its reason, what it removed. `after_pos` is the last commit at that time.

    `constellations` are those whose history ended with it; their commits may go with later prunings.
    """

    after_pos: int
    anchors: Sequence[Anchor]
    at_ms: int
    commits: int
    constellations: Sequence[str]
    leftovers: Sequence[Leftover]
    no: int
    seal: bytes = b""
    why: str


def digest_of_pruning(pruning: Pruning) -> bytes:
    """Return the digest of a pruning's content without its seal."""
    content = [
        pruning.no,
        pruning.after_pos,
        pruning.at_ms,
        pruning.commits,
        pruning.why,
        [[anchor.first, anchor.last, anchor.before, anchor.link] for anchor in pruning.anchors],
        [[leftover.pos, leftover.digest] for leftover in pruning.leftovers],
        sorted(pruning.constellations),
    ]
    return sha256(b"pruning" + _encode(content)).digest()


class Numbered(msgspec.Struct):
    """The identity of an event: its stream and its number in it."""

    seq: int
    stream: str


decode_numbered: Final = msgspec.json.Decoder(Numbered).decode
"""Reads `Numbered` from an event's bytes."""


class IndexedEvent(Protocol):
    """The fields of an event that are in the index."""

    @property
    def by(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def seq(self) -> int: ...

    @property
    def stream(self) -> str: ...


class Span(NamedTuple):
    """The events of one stream in one commit: the number of the last, and each different `kind by`, one a line."""

    stream: str
    last_seq: int
    told: str


def spans_of(events: Iterable[IndexedEvent]) -> list[Span]:
    """Return the spans of a commit in the order of first appearance; numbers must rise within a stream."""
    last: dict[str, int] = {}
    authors: dict[str, dict[tuple[str, str], None]] = {}
    for event in events:
        stream = event.stream
        last[stream] = event.seq
        pairs = authors.get(stream)
        if pairs is None:
            pairs = authors[stream] = {}
        pairs[event.kind, event.by] = None
    return [Span(stream, seq, "\n".join(map(" ".join, authors[stream]))) for stream, seq in last.items()]


BEGINNING: Final = bytes(32)
"""The predecessor of the first link."""

_HEAD: Final = struct.Struct(">QQQQII")
_LENGTH: Final = struct.Struct(">I")


class Chained(Protocol):
    """The parts of a commit that the chain binds."""

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
    return digest_with(commit, [sha256(raw).digest() for raw in commit.inputs])


def digest_with(commit: Chained, inputs: Sequence[bytes]) -> bytes:
    """Return the digest of one commit whose inputs are given by their hashes, as in a copy of the log."""
    bodies = commit.events
    head = _HEAD.pack(commit.pos, commit.at_ms, commit.term, commit.incarnation, len(bodies), len(inputs))
    measured = chain.from_iterable(zip(map(_LENGTH.pack, map(len, bodies)), bodies, strict=True))
    return sha256(b"".join((head, *measured, *inputs))).digest()


def link_of(before: bytes, digest: bytes) -> bytes:
    """Return the link of a commit that follows the link `before`."""
    return sha256(before + digest).digest()


class ChainedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of the history with the lines of the index that point to it, in any order.

    `chain` is None for commits that were written before there was a chain. `pruning` is the number of the pruning that
    left only a part of it, 0 for a whole commit.
    """

    at_ms: int
    chain: bytes | None
    events: list[bytes]
    incarnation: int
    inputs: list[bytes]
    pos: int
    pruning: int = 0
    spans: list[Span]
    term: int


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the history contradicts itself."""

    pos: int
    what: str


class _Named(msgspec.Struct):
    by: str
    kind: str
    seq: int
    stream: str


_named_decoder = msgspec.json.Decoder(_Named)
BREAKS_MOST: Final = 20


def anchor_of(text: str) -> tuple[int, bytes]:
    """Return the position and the link of an anchor as `Walk.check` gives it.

    Raises:
        ValueError: with how an anchor reads.
    """
    pos, _, link = text.partition(":")
    try:
        anchor = int(pos), bytes.fromhex(link)
    except ValueError:
        anchor = 0, b""
    if anchor[0] < 1 or len(anchor[1]) != len(BEGINNING):
        raise ValueError("reads POS:LINK, as `verify` printed it; the first position is 1")
    return anchor


class Walk:
    """Walks the chain, page by page from the first commit on; its findings are in `breaks`.

    `prunings` are all those of the history, in their order. After a break the walk continues from the stored link, so
    that one changed row is one finding.
    """

    def __init__(
        self,
        *,
        anchors: Sequence[tuple[int, bytes]] = (),
        prunings: Sequence[Pruning] = (),
        digest: Callable[[Chained], bytes] | None = None,
    ) -> None:
        self._digest = digest or digest_of
        self._prunings = prunings
        self._anchors: dict[int, set[bytes]] = {}
        for pos, link in anchors:
            self._anchors.setdefault(pos, set()).add(link)
        self._seqs: dict[str, int] = {}
        self._areas = {anchor.first: anchor for pruning in prunings for anchor in pruning.anchors}
        self._leftovers = {leftover.pos: leftover.digest for pruning in prunings for leftover in pruning.leftovers}
        self._pruned_streams = {name for pruning in prunings for name in pruning.constellations}
        self._seals: dict[int, list[Pruning]] = {}
        self._inside: Anchor | None = None
        self.breaks: list[Break] = []
        self.commits = 0
        self.events = 0
        self.pruned = sum(pruning.commits for pruning in prunings)
        self.unchained = 0
        self.unseen: list[int] = []
        """Anchors kept elsewhere inside pruned runs: their links are gone."""
        self.link = BEGINNING
        self.pos = 0
        for number, pruning in enumerate(prunings, 1):
            self._seals.setdefault(pruning.after_pos, []).append(pruning)
            if pruning.no != number:
                self._note_break(pruning.after_pos, f"pruning {number} is missing before pruning {pruning.no}")

    def take(self, commits: Sequence[ChainedCommit]) -> None:
        """Check the next commits, in the order of their positions."""
        for commit in commits:
            self._come_to(commit.pos)
            if self._inside is not None:
                self._judge_leftover(commit)
            else:
                for fault in self._faults(commit):
                    self._note_break(commit.pos, fault)
                self.commits += 1
                self._advance(commit.pos, self.link if commit.chain is None else commit.chain)
            self.events += len(commit.events)

    def ended(self, watermark: int) -> None:
        """Check the end: the watermark of the history, and anchors that were never reached."""
        self._come_to(max(watermark, self.pos) + 1)
        if self.pos < watermark:
            self._note_break(self.pos + 1, f"the history ends here, but it reached {watermark}")
        for pos in sorted(self._anchors):
            where = "the anchor is beyond the end of the history"
            self._note_break(pos, where if pos > self.pos else "no commit stands where the anchor was kept")
        for pos in sorted(self._seals):
            self._note_break(pos, f"pruning {self._seals[pos][0].no} follows a commit that is not there")
        for pos in sorted(pos for pos, digest in self._leftovers.items() if digest):
            self._note_break(pos, "a part of it was left when it was pruned, and that is missing")

    def check(self) -> ChainCheck:
        """Return what the walk has found, as an answer of the API has it."""
        prunings = self._prunings
        return {
            "ok": not self.breaks,
            "commits": self.commits,
            "events": self.events,
            "unchained": self.unchained,
            "pos": self.pos,
            "link": self.link.hex(),
            "anchor": f"{self.pos}:{self.link.hex()}",
            "breaks": [{"pos": broken.pos, "what": broken.what} for broken in self.breaks],
            "pruned": {
                "anchors": sum(len(pruning.anchors) for pruning in prunings),
                "commits": self.pruned,
                "constellations": sum(len(pruning.constellations) for pruning in prunings),
                "first_at": moment(prunings[0].at_ms) if prunings else None,
                "last_at": moment(prunings[-1].at_ms) if prunings else None,
                "why": sorted({pruning.why for pruning in prunings}),
            },
            "unseen_anchors": self.unseen,
        }

    def _note_break(self, pos: int, fault: str) -> None:
        if len(self.breaks) < BREAKS_MOST:
            self.breaks.append(Break(pos=pos, what=fault))

    def _come_to(self, pos: int) -> None:
        """Walk over pruned runs before a position, and into the run that contains it."""
        if self._inside is not None and pos > self._inside.last:
            self._leave(self._inside)
        while self._inside is None and (area := self._areas.get(self.pos + 1)) is not None and area.first <= pos:
            if area.before != self.link:
                self._note_break(
                    area.first, f"what was pruned up to commit {area.last} does not follow the commit before"
                )
            self._inside = area
            if pos > area.last:
                self._leave(area)

    def _leave(self, area: Anchor) -> None:
        self._inside = None
        inner = [pos for pos in self._anchors if area.first <= pos < area.last]
        self.unseen += sorted(inner)
        for pos in inner:
            del self._anchors[pos]
        self._advance(area.last, area.link)

    def _advance(self, pos: int, link: bytes) -> None:
        """Advance to a checked position and its link, and then over the prunings that were sealed there."""
        links = {link}
        self.pos, self.link = pos, link
        for pruning in self._seals.pop(pos, ()):
            if link_of(self.link, digest_of_pruning(pruning)) != pruning.seal:
                self._note_break(pos, f"pruning {pruning.no} after this commit is not what was sealed")
            self.link = pruning.seal
            links.add(self.link)
        if not links.issuperset(self._anchors.pop(pos, ())):
            self._note_break(pos, "its link is not that of the anchor")

    def _judge_leftover(self, commit: ChainedCommit) -> None:
        digest = self._leftovers.pop(commit.pos, b"")
        if digest != self._digest(commit):
            self._note_break(commit.pos, "it is in what was pruned, and is not what was left there")
        for fault in self._number_faults(commit):
            self._note_break(commit.pos, fault)

    def _faults(self, commit: ChainedCommit) -> Iterator[str]:
        if commit.pos != self.pos + 1:
            missing = f"{self.pos + 1}" if commit.pos == self.pos + 2 else f"{self.pos + 1} to {commit.pos - 1}"
            yield f"commit {missing} is missing before this one"
        yield from self._number_faults(commit)
        if commit.chain is None:
            self.unchained += 1
            if self.link != BEGINNING:
                yield "it has no link, though commits before it have one"
            return
        if link_of(self.link, self._digest(commit)) != commit.chain:
            spans = ", ".join(f"{span.stream} up to {span.last_seq}" for span in commit.spans[:5])
            yield f"it is not what was chained here: {spans or 'a commit without events'}"

    def _number_faults(self, commit: ChainedCommit) -> Iterator[str]:
        """Yield the faults in the numbers of the events, and differences between them and the index."""
        events: list[_Named] = []
        for place, body in enumerate(commit.events):
            try:
                event = _named_decoder.decode(body)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield f"its event at place {place} cannot be read"
                continue
            events.append(event)
            last = self._seqs.get(event.stream, 0)
            if event.seq != last + 1 and event.stream not in self._pruned_streams:
                yield f"{event.stream} goes from event {last} to {event.seq}"
            self._seqs[event.stream] = event.seq
        for stream in sorted({span.stream for span in {*spans_of(events)} ^ {*commit.spans}}):
            yield f"the index does not say of {stream} what its events say"
