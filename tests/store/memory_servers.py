"""The servers of the in-memory twin, which outlive a hub: a Redis and a history, with failures on demand.

Tests and the simulator stop, wipe, shorten or silence either. They hold the data and do not check who may write it;
`memory.MemoryStore` does. Never reads a clock.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import msgspec

from starloom.store.chain import (
    BEGINNING,
    Anchor,
    ChainedCommit,
    Leftover,
    Pruning,
    decode_numbered,
    digest_of,
    digest_of_pruning,
    link_of,
    spans_of,
)
from starloom.store.port import Commit, EndedConstellation, PrunedPiece, StreamRow, Unavailable
from starloom.store.sql.history import Meta, PastCommit, Projected, Superseded, rows_of
from starloom_protocol.stream.feed import decode_event, fold
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES


def kept_of(commit: PastCommit, link: bytes, pruning: int = 0) -> ChainedCommit:
    """Return a commit of a history in memory as `read_whole_commits` returns one from SQL."""
    return ChainedCommit(
        at_ms=commit.at_ms,
        chain=link,
        events=list(commit.events),
        incarnation=commit.incarnation,
        inputs=list(commit.inputs),
        pos=commit.pos,
        pruning=pruning,
        spans=spans_of(map(decode_event, commit.events)),
        term=commit.term,
    )


class CommitFailure(StrEnum):
    """A failure of a commit: it never arrives, or its reply does not come back."""

    REQUEST_LOST = "request_lost"
    REPLY_LOST = "reply_lost"


@dataclass(frozen=True)
class Gone:
    """A write: a stream's live copy was dropped."""

    stream: str


@dataclass(frozen=True)
class Brought:
    """A write: a whole stream was made live."""

    stream: str
    seq: int
    entities: dict[str, bytes]


@dataclass(frozen=True)
class Held:
    """A write: the owner of the shard. Takings, renewals and releases are also lost with the end of the file."""

    term: int = 0
    incarnation: int = 0
    owner: str = ""
    link: object | None = None  # the store that has the term


@dataclass(frozen=True)
class Rebuilt:
    """A write: the whole Redis was rebuilt from the history; `commits` is the whole log."""

    commits: list[Commit]
    streams: list[Brought]


@dataclass(frozen=True)
class Posted:
    """A write: an input was put into the inbox; `asked`: its sender waits for an answer."""

    number: int
    raw: bytes
    asked: bool


@dataclass(frozen=True)
class Settled:
    """A write: an input was settled."""

    number: int


Write = Commit | Gone | Brought | Held | Posted | Rebuilt | Settled
_NO_COMMIT = (Gone, Brought, Held, Posted, Settled)


class MemoryRedis:
    """The content of Redis. `down` makes every call `Unavailable`; `failures` are used up by the next commits, and
    the replies of the next `lost_takings` are lost.

    `writes` is its append-only file, which a restart replays.
    """

    def __init__(self) -> None:
        self.down = False
        self.failures: deque[CommitFailure] = deque()
        self.lost_takings = 0
        self.runs = 1
        self.term = 0
        self.incarnation = 0
        self.pos = 0
        self.sent_pos = 0
        self.owner = ""
        self.link: object | None = None
        self.writes: list[Write] = []
        self.log: list[Commit] = []
        self.heads: dict[str, int] = {}
        self.entities: dict[str, dict[str, bytes]] = {}
        self.inbox: dict[int, tuple[bytes, bool]] = {}
        self.answers: dict[int, asyncio.Future[bytes | None]] = {}  # None: Redis was replaced meanwhile
        self.arrived = asyncio.Event()
        self.posted = 0

    @property
    def run_id(self) -> str:
        return f"run-{self.runs}"

    def restart(self, *, lose_commits: int = 0, lose_moves: bool = False, keep: int | None = None) -> None:
        """Restart as another process. `lose_commits` cuts the last commits off the append-only file, `lose_moves` the
        other writes after the last commit that is left, such as retirements, `keep` all after the first so many writes.
        """
        self.runs += 1
        self.down = False
        kept = self.writes[:keep]
        for _ in range(lose_commits):
            while kept and isinstance(kept.pop(), _NO_COMMIT):
                pass
        while lose_moves and kept and isinstance(kept[-1], _NO_COMMIT):
            kept.pop()
        self._forget()
        for write in kept:
            self.put(write)

    def wipe(self) -> None:
        """Restart as another process without any data."""
        self.runs += 1
        self.down = False
        self._forget()

    def hold(self, **changed: Any) -> None:
        """Note the owner of the shard (see `Held`)."""
        held = Held(self.term, self.incarnation, self.owner, self.link)
        self.put(replace(held, **changed))

    def put(self, write: Write) -> None:
        self.writes.append(write)
        match write:
            case Commit():
                self.log.append(write)
                self.pos, self.sent_pos = write.pos, write.sent_pos
                self.heads.update(write.heads)
                for stream, records in write.entities.items():
                    entities = self.entities.setdefault(stream, {})
                    for key, raw in records.items():
                        if raw is None:
                            entities.pop(key, None)
                        else:
                            entities[key] = raw
            case Gone():
                self.heads.pop(write.stream, None)
                self.entities.pop(write.stream, None)
            case Brought():
                self._bring(write)
            case Held():
                self.term, self.incarnation = write.term, write.incarnation
                self.owner, self.link = write.owner, write.link
            case Posted():
                self.inbox[write.number] = (write.raw, write.asked)
            case Settled():
                self.inbox.pop(write.number, None)
            case Rebuilt():
                self.log = list(write.commits)
                self.pos, self.sent_pos = self.log[-1].pos, self.log[-1].sent_pos
                self.heads, self.entities = {}, {}
                for brought in write.streams:
                    self._bring(brought)

    def _bring(self, brought: Brought) -> None:
        self.heads[brought.stream] = brought.seq
        self.entities[brought.stream] = dict(brought.entities)

    def reach(self) -> None:
        if self.down:
            raise Unavailable("Redis in memory is down")

    def _forget(self) -> None:
        self.pos = self.sent_pos = self.term = self.incarnation = 0
        self.owner, self.link = "", None
        self.writes, self.log, self.heads, self.entities = [], [], {}, {}
        self.inbox.clear()
        for future in self.answers.values():
            if not future.done():
                future.set_result(None)


class MemoryHistory:
    """The content of the SQL history, which is durable. `down` makes every call `Unavailable`."""

    def __init__(self) -> None:
        self.down = False
        self.meta = Meta(0, "", 0, 0)
        self.commits: list[PastCommit] = []
        self.links: list[bytes] = []
        self.streams: dict[str, list[bytes]] = {}
        self.rows: dict[str, StreamRow] = {}
        self.devices: dict[str, set[str]] = {}
        self.sealed: dict[str, tuple[bytes, int]] = {}
        self.prunings: list[Pruning] = []
        self.gone: dict[str, int] = {}
        """The pruned constellations, with the number of the pruning that ended each."""

    def reach(self) -> None:
        if self.down:
            raise Unavailable("the history in memory is down")

    def write(self, batch: Sequence[PastCommit], term: int) -> None:
        """Append commits, as `history.write_commits` does and with the same refusal."""
        self.reach()
        if term != self.meta.term or batch[0].pos != self.meta.watermark + 1:
            raise Superseded(f"commit {batch[0].pos} of term {term} does not follow {self.meta}")
        rows = rows_of(batch)
        self.commits.extend(batch)
        link = self.tip()
        for digest in rows.digests:
            link = link_of(link, digest)
            self.links.append(link)
        for commit in batch:
            for body in commit.events:
                self.streams.setdefault(decode_numbered(body).stream, []).append(body)
        self._list(rows)
        self.meta = msgspec.structs.replace(self.meta, watermark=rows.last)

    def commits_after(self, after: int, limit: int) -> list[ChainedCommit]:
        """Return commits as `audit.read_whole_commits` does."""
        start = self.place(after + 1) if self.prunings else after
        parts = {left.pos: made.no for made in self.prunings for left in made.leftovers}
        return [
            kept_of(self.commits[at], self.links[at], parts.get(self.commits[at].pos, 0))
            for at in range(start, min(start + limit, len(self.commits)))
        ]

    def place(self, pos: int) -> int:
        """Return the index of the commit at a position, or of the first after it."""
        return bisect_left(self.commits, pos, key=lambda commit: commit.pos)

    def tip(self) -> bytes:
        """Return the link that the next commit must follow."""
        if self.prunings and self.prunings[-1].after_pos == self.meta.watermark:
            return self.prunings[-1].seal
        return self.links[-1] if self.links else BEGINNING

    def prune(self, leaving: Sequence[EndedConstellation], at_ms: int, why: str, term: int) -> PrunedPiece:
        """End the history of constellations and remove all their commits, as `pruning.prune` does in pieces."""
        self.reach()
        if term != self.meta.term:
            raise Superseded(f"term {term} no longer owns the history")
        no = len(self.prunings) + 1
        names = [
            item.id
            for item in leaving
            if (row := self.rows.get(item.id)) is not None
            and row.state in FINAL_CONSTELLATION_STATES
            and row.ended_ms == item.ended_ms
        ]
        for name in names:
            self.gone[name] = no
            for known in (self.rows, self.streams):
                known.pop(name, None)
            for constellations in self.devices.values():
                constellations.discard(name)
        swept = swept_of(self, min(self.meta.watermark, self.commits[-1].sent_pos + 1) if self.commits else 0)
        if not names and not swept.positions:
            return PrunedPiece(bytes=0, commits=0, constellations=[], more=False)
        made = Pruning(
            after_pos=self.meta.watermark,
            anchors=swept.anchors,
            at_ms=at_ms,
            commits=len(swept.removed),
            constellations=names,
            leftovers=swept.leftovers,
            no=no,
            why=why,
        )
        seal = link_of(self.tip(), digest_of_pruning(made))
        self.prunings.append(msgspec.structs.replace(made, seal=seal))
        rest = [
            (swept.parts.get(commit.pos, commit), link)
            for commit, link in zip(self.commits, self.links, strict=True)
            if commit.pos not in swept.removed
        ]
        self.commits, self.links = [commit for commit, _ in rest], [link for _, link in rest]
        return PrunedPiece(bytes=swept.bytes, commits=len(swept.removed), constellations=names, more=False)

    def live(self, keep: Collection[str]) -> list[str]:
        """Return every stream that is not a finished constellation, and those in `keep`."""
        return [
            stream
            for stream in self.streams
            if stream in keep or stream not in self.rows or self.rows[stream].state not in FINAL_CONSTELLATION_STATES
        ]

    def whole(self, stream: str) -> Brought:
        """Return a stream folded from its events."""
        events = self.streams[stream]
        return Brought(stream, len(events), fold({}, (decode_event(raw) for raw in events)))

    def _list(self, rows: Projected) -> None:
        for row in rows.heads:
            self.rows[row["id"]] = StreamRow(**{name: value for name, value in row.items() if name != "head"})
        for pair in rows.devices:
            self.devices.setdefault(pair["device"], set()).add(pair["constellation"])


@dataclass
class Swept:
    """The parts of commits that go with pruned constellations, and the records that replace them."""

    anchors: list[Anchor] = field(default_factory=list)
    bytes: int = 0
    leftovers: list[Leftover] = field(default_factory=list)
    parts: dict[int, PastCommit] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)


def swept_of(history: MemoryHistory, below: int) -> Swept:
    """Return the parts of a history below a position that belong to pruned constellations."""
    found = Swept()
    inside = {
        pos for made in history.prunings for anchor in made.anchors for pos in range(anchor.first, anchor.last + 1)
    }
    seals = {made.after_pos: made.seal for made in history.prunings}
    ends = {anchor.last: anchor.link for made in history.prunings for anchor in made.anchors}
    links = {commit.pos: link for commit, link in zip(history.commits, history.links, strict=True)}
    for commit in history.commits:
        streams = {decode_numbered(body).stream for body in commit.events}
        if commit.pos >= below or not streams & history.gone.keys():
            continue
        pos = commit.pos
        left = [body for body in commit.events if decode_numbered(body).stream not in history.gone]
        found.positions.append(pos)
        found.bytes += sum(map(len, commit.events))
        if pos not in inside:
            last = found.anchors[-1] if found.anchors else None
            if last is not None and last.last == pos - 1 and pos - 1 not in seals:
                found.anchors[-1] = msgspec.structs.replace(last, last=pos, link=links[pos])
            else:
                at = pos - 1
                before = seals.get(at) or (last.link if last and last.last == at else ends.get(at)) or links.get(at)
                found.anchors.append(Anchor(before=before or BEGINNING, first=pos, last=pos, link=links[pos]))
        if left:
            part = msgspec.structs.replace(commit, events=left, inputs=(), outbox=(), told=())
            found.parts[pos] = part
            found.leftovers.append(Leftover(pos=pos, digest=digest_of(part)))
        else:
            found.removed.add(pos)
            if pos in inside:
                found.leftovers.append(Leftover(pos=pos, digest=b""))
    return found


def whole_of(past: PastCommit) -> Commit:
    """Return a durable commit in the form of Redis: its entities are the fold of its events."""
    heads: dict[str, int] = {}
    entities: dict[str, dict[str, bytes | None]] = {}
    for raw in past.events:
        event = decode_event(raw)
        heads[event.stream] = event.seq
        for key, record in event.puts.items():
            entities.setdefault(event.stream, {})[key] = None if record is None else bytes(record)
    return Commit(
        at_ms=past.at_ms,
        entities=entities,
        events=list(past.events),
        heads=list(heads.items()),
        incarnation=past.incarnation,
        outbox=list(past.outbox),
        pos=past.pos,
        sent_pos=past.sent_pos,
        term=past.term,
        inputs=list(past.inputs),
    )
