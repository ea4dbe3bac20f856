"""The ports of persistence. Only the engine uses `CommitPort`; `ReadPort` and `InboxPort` are for every process.

A commit is the unit of the log: checked (`term`, `incarnation`, `pos` as expected), appended, its entities written, its
outbox kept - in one script, whole or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import ClassVar, NamedTuple, Protocol

import msgspec

from starloom.store.chain import ChainedCommit, Pruning
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import Code


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit. `events` are encoded events in order; `entities` by stream and key a record's bytes, or None to
    remove it; `outbox` encoded `OutboxEffect`s. `sent_pos`: all outbox entries up to this position have been handed
    over. `waited_for`: an answer or an effect waits until it is durable; else the history may collect it with others.
    `inputs` are the encoded inputs that decided its events, by which they can be decided again. `told` are its events
    before encoding, if its maker still has them; if empty, they are decoded from their bytes.
    """

    at_ms: int
    entities: dict[str, dict[str, bytes | None]]
    events: list[bytes]
    heads: list[tuple[str, int]]  # (stream, its last seq after this commit)
    incarnation: int
    outbox: list[bytes]
    pos: int
    sent_pos: int
    term: int
    waited_for: bool = True
    inputs: list[bytes] = []
    told: Sequence[Event] = ()


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """A commit in the log: without its entities, which are the fold of its events."""

    at_ms: int
    events: list[bytes]
    heads: list[tuple[str, int]]
    incarnation: int
    outbox: list[bytes]
    pos: int
    sent_pos: int
    term: int
    inputs: list[bytes] = []


class Refused(Exception):
    """The commit was not applied: another owner has the shard, Redis was replaced, or the position is taken.

    `why` is `term`, `incarnation`, `pos`, `link` (the owner has a newer connection), `replaced` (another run id),
    `not_taken`, or `held`: taking was refused, because another hub has the shard.
    """

    def __init__(self, why: str, *, found_pos: int, found_term: int) -> None:
        super().__init__(f"commit refused: {why} (log at {found_pos}, term {found_term})")
        self.why = why
        self.found_pos = found_pos
        self.found_term = found_term


class Unavailable(Exception):
    """Redis or SQL does not answer; the fate of a commit in flight is unknown until `position` is read.

    `code` is the code of the answer to the asker.
    """

    code: ClassVar[Code] = Code.STORE_UNAVAILABLE


class Unsettled(Unavailable):
    """The owner of the shard has the input, and whether it was carried out is not known here."""

    code = Code.UNSETTLED


class DiskFull(Unavailable):
    """The disk below Redis or SQL is full; the text names the folder and its free space. Ends when there is room."""

    code = Code.DISK_FULL


class Corrupt(Unavailable):
    """The history is corrupt and must be restored from a backup."""

    code = Code.HISTORY_CORRUPT


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The live state: entities and last seq by stream, and the outbox entries after `sent_pos`.

    Retired constellations are not included; only the history has them. `at_ms` is the time of the last commit, 0 if
    there is none.
    """

    at_ms: int
    entities: dict[str, dict[str, bytes]]
    heads: dict[str, int]
    outbox: list[tuple[int, bytes]]
    pos: int
    sent_pos: int


class StreamState(NamedTuple):
    """The records of a stream by key, after its event `seq`."""

    seq: int
    entities: dict[str, bytes]


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """The result of taking the shard: the new term, the incarnation, and whether Redis was replaced.

    `heads` are the live streams with their last seq: a Redis that has lost a retirement has more than its owner.
    """

    heads: dict[str, int] = {}
    incarnation: int
    replaced: bool
    run_id: str
    term: int
    watermark: int


class CommitPort(Protocol):
    """The engine's port for commits and ownership."""

    async def take(
        self, owner: str, at_ms: int, keep: Collection[str] = (), *, over: int | None = None, polite: bool = False
    ) -> Ownership:
        """Take the shard: term + 1; incarnation + 1 (first in SQL) if Redis's run id changed or it lost commits.

        With `over` only if no other store has taken it since that term; terms from tries of this store that failed
        later, or whose reply was lost, are its own. With `polite` only if no other hub holds it; the text of `owner` up
        to the first `@` identifies the hub. Else `Refused("held")`, and nothing has changed.

        Before it returns, commits that Redis has and SQL lacks are projected, and a Redis that lacks commits of SQL is
        rebuilt from it, so that both end at the same position. Of finished constellations only those in `keep`, which
        the owner still holds in memory, are rebuilt. Redis then has every one of these that SQL has.
        """
        ...

    async def renew(self, owner: str, term: int, at_ms: int) -> bool:
        """Renew the ownership lease; False if another term has the shard."""
        ...

    async def owns(self, term: int) -> bool:
        """Tell whether this term had the shard at some moment since the call; the proof for messages without a commit.

        Raises:
            Unavailable: Redis does not answer.
        """
        ...

    async def leave(self, *, release: bool) -> None:
        """Give up ownership: no further commit is accepted or projected. `release` lets the next hub take it now."""
        ...

    async def load(self) -> Loaded: ...

    async def commit(self, commit: Commit) -> None:
        """Apply one commit.

        Raises:
            Refused: it was not applied and will not be.
            Unavailable: its fate is unknown.
        """
        ...

    async def retire(self, streams: Sequence[tuple[str, int]]) -> None:
        """Drop the live copy of durable streams (name, last seq); their history stays.

        A stream that is at another seq, or not live, is left unchanged, so the call may be repeated.

        Raises:
            Refused: this owner no longer has the shard; nothing was dropped.
            Unavailable: its fate is unknown; each stream is live whole or not at all.
        """
        ...

    async def recall(self, streams: Sequence[str]) -> dict[str, StreamState]:
        """Make retired streams live again, from the history, and return the states of those that it has.

        Raises:
            Refused: this owner no longer has the shard.
            Unavailable: Redis or SQL does not answer; each stream is live whole or not at all, so call again.
            Damaged: the history of a stream has a gap.
        """
        ...

    async def position(self) -> tuple[int, int, str]:
        """Return the log's present (pos, term, run id) in Redis.

        Raises:
            Unavailable: Redis does not answer.
        """
        ...

    async def watermark(self, after: int) -> int:
        """Wait until the durable position passes `after` and return it.

        Raises:
            Unavailable: the projector has failed; it keeps trying and the next call may succeed.
        """
        ...

    @property
    def damage(self) -> str:
        """The corruption found in the history since it was opened, "" while it is sound."""
        ...

    def lag_ms(self, now_ms: int) -> int:
        """Return how long the oldest commit that is not yet durable has waited."""
        ...


class ActivityFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filter of events: kinds (all, if there are none), author, subject, words."""

    about: str = ""
    by: str = ""
    kinds: list[str] = []
    stream: str = ""
    text: str = ""
    without: list[str] = []


class ActivityPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events with their (pos, place), newest first; `next` is the cursor, None at the beginning of the log."""

    events: list[tuple[int, int, bytes]]
    next: tuple[int, int] | None


class StreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list of constellations."""

    created_ms: int
    ended_ms: int
    id: str
    name: str
    request: str
    state: str
    version: int


class EndedConstellation(msgspec.Struct, frozen=True, kw_only=True):
    """A finished constellation of the history; `bytes` is about the size of its commits, `devices` had its attempts."""

    bytes: int
    devices: list[str]
    ended_ms: int
    id: str


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a pruned constellation: when it was pruned, and by which rule."""

    at_ms: int
    why: str


class HistorySize(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the history. `bytes` is that of its rows: the files of a database are somewhat larger.

    `oldest_ms` is when its oldest constellation was made, `pruned_ms` when it was last pruned; 0 if never.
    """

    bytes: int
    constellations: int
    oldest_ms: int
    pruned: int
    pruned_ms: int


class PrunedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one transaction of pruning; with `more` the next one has work at once."""

    bytes: int
    commits: int
    constellations: list[str]
    more: bool


class PruningPort(Protocol):
    """The port by which the owner of the shard prunes the history."""

    async def ended(self, after: tuple[int, str], limit: int) -> list[EndedConstellation]:
        """Return finished constellations in the order of their ends; `after` is the (ended_ms, id) cursor.

        Raises:
            Unavailable: the history does not answer; so do all others here.
        """
        ...

    async def history_size(self) -> HistorySize: ...

    async def lasting_bytes(self) -> int:
        """Return the part of the size that no pruning frees: the record of devices, people and rights."""
        ...

    async def prune(self, leaving: Sequence[EndedConstellation], at_ms: int, why: str) -> PrunedPiece:
        """End the history of these constellations and remove a bounded number of commits, in one short transaction.

        Without any, continue with those whose history has ended.

        Raises:
            Refused: this store no longer owns the shard.
            Damaged: a commit that would go differs from the chained one; nothing was changed.
        """
        ...


class OwnerStore(CommitPort, PruningPort, Protocol):
    """The ports of the engine that owns the shard."""


class JobReads(Protocol):
    """The reads that a job of a worker needs: committed state."""

    async def entities(self, stream: str) -> StreamState | None:
        """Return the state of a committed stream, from Redis or folded from SQL; None if unknown."""
        ...

    async def headlines(self, streams: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
        """Return the committed head and answer of constellations by name, without those that are unknown."""
        ...

    async def constellations(
        self,
        *,
        states: Sequence[str],
        text: str | None,
        device: str | None,
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[StreamRow]:
        """Return constellations in one of these states, of any if none is named, newest first.

        `before` is the (created_ms, id) cursor.
        """
        ...


class ReadPort(JobReads, Protocol):
    """The reads of any process: committed state and history."""

    async def live_entities(self, streams: Sequence[str]) -> dict[str, StreamState]:
        """Return the states of the live ones of these streams in one call."""
        ...

    async def live_records(self, stream: str, names: Sequence[str]) -> dict[str, bytes]:
        """Return the records of these names of a stream, as far as it has them; none of one that is not live."""
        ...

    async def entities_at(self, stream: str, seq: int) -> dict[str, bytes]:
        """Fold a stream's history up to `seq`."""
        ...

    async def events(self, stream: str, after: int, limit: int) -> list[bytes]:
        """Return encoded events with seq > `after`, in order: durable ones and the log's tail."""
        ...

    async def device_work(self, devices: Sequence[str], since_ms: int) -> dict[str, dict[str, int]]:
        """Count constellations made since a moment that had an attempt on these devices: device -> state -> count."""
        ...

    async def failed_work(self, devices: Sequence[str], since_ms: int) -> dict[str, list[str]]:
        """Return the failed constellations among these, newest first, each with those of the devices that it had."""
        ...

    async def commits_after(self, after: int, limit: int) -> list[ChainedCommit]:
        """Return durable commits above a position, whole and in order, for verifying and deciding again."""
        ...

    async def prunings(self, after: int, limit: int) -> list[Pruning]:
        """Return the prunings with numbers above `after`, in order."""
        ...

    async def tombstone(self, constellation: str) -> Tombstone | None:
        """Return when and why a constellation was pruned from the history, None if it was not."""
        ...

    async def pruned_since(self, after: int, limit: int) -> tuple[int, list[str]]:
        """Return the number of the last pruning, and the constellations of prunings with numbers above `after`."""
        ...

    async def history_size(self) -> HistorySize:
        """Return the size of the history."""
        ...

    async def durable_pos(self) -> int:
        """Return the position that the history has reached by its own account, whatever rows are there."""
        ...

    async def position_of(self, stream: str, seq: int) -> int | None:
        """Return the durable position of the commit with event `seq` of a stream; 0 means the newest event."""
        ...

    async def owned_since(self, pos: int) -> int:
        """Return the position of the first commit of the ownership (term) to which the commit at `pos` belongs."""
        ...

    async def live_before(self, pos: int) -> dict[str, int]:
        """Return, with its last seq, every stream that may have been live just before the commit at `pos`."""
        ...

    async def last_before(self, stream: str, pos: int) -> int:
        """Return the number of a stream's last event before the commit at `pos`, 0 if it has none."""
        ...

    async def activity(self, wanted: ActivityFilter, before: tuple[int, int] | None, limit: int) -> ActivityPage:
        """Return matching durable events, newest first; `before` is the (pos, place) cursor. The search is bounded."""
        ...


class CiphertextPort(Protocol):
    """The store of secrets' ciphertexts beside the log; every call raises `Unavailable` if SQL does not answer."""

    async def put(self, identity: str, sealed: bytes, at_ms: int) -> None:
        """Store a ciphertext under a new id; it is durable when this returns, so an event may name it then."""
        ...

    async def get(self, identity: str) -> bytes | None: ...

    async def remove(self, identity: str) -> None:
        """Remove a ciphertext; idempotent."""
        ...

    async def sweep(self, named: Collection[str], before_ms: int) -> int:
        """Remove ciphertexts stored before this time and not in `named`: their events were never committed."""
        ...


class InboxPort(Protocol):
    """The port of other processes to the engine: encoded inputs in, encoded answers out."""

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes | None:
        """Append an input; wait for its answer if asked to.

        Raises:
            Unavailable: Redis does not answer or no answer came in time.
        """
        ...

    def take(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (delivery id, encoded input) in order, unsettled ones first."""
        ...

    async def settle(self, delivery: str, answer: bytes) -> None:
        """Mark a delivery done and publish its answer."""
        ...


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of the log for a hub that follows: its encoded events."""

    events: list[bytes]
    incarnation: int
    pos: int


class LogPort(Protocol):
    """The port of a hub that does not own the shard: its log, and its owner."""

    async def end(self) -> tuple[int, int]:
        """Return the position of the last commit and the incarnation, 0 while a replaced Redis is not taken yet.

        Raises:
            Unavailable: Redis does not answer; all methods here raise it.
        """
        ...

    async def read_on(self, after: int, wait_ms: int) -> list[Followed]:
        """Return commits after a position, in order and without a gap; an empty list if none came within `wait_ms`."""
        ...

    async def commit_at(self, pos: int) -> Followed | None:
        """Return one commit, None if the log ends before it."""
        ...

    async def holder(self) -> str | None:
        """Return the hub that holds the shard, "" if it was released, None if its lease has run out."""
        ...


class HubsPort(Protocol):
    """Messages between the hubs of one shard beside the log: short-lived, bounded, and allowed to be lost."""

    async def announce(self, hub: str, card: bytes, ttl_ms: int) -> None:
        """Publish this hub's address for other hubs; it expires after `ttl_ms`.

        Raises:
            Unavailable: Redis does not answer; all methods here raise it.
        """
        ...

    async def card(self, hub: str) -> bytes | None:
        """Return the card of a hub, None if it has expired."""
        ...

    async def say_beside(self, raw: bytes) -> int:
        """Send a message that is not an event to the hubs that follow; return their number."""
        ...

    def hear_beside(self) -> AsyncIterator[bytes]:
        """Yield the owner's messages until the connection ends."""
        ...


class SketchPort(Protocol):
    """Sketches of plans from workers to all hubs: short-lived, bounded, and allowed to be lost."""

    async def say(self, raw: bytes) -> None:
        """Send an encoded `Beside` with a sketch to whoever hears.

        Raises:
            Unavailable: Redis does not answer; both methods here raise it.
        """
        ...

    def hear(self) -> AsyncIterator[bytes]:
        """Yield sketches until the connection ends."""
        ...


class KeyedHistory(msgspec.Struct, frozen=True):
    """The public key of the hubs of a history, None where none has noted it, empty where any is to be taken; and how
    much of it needs their keys: its last commit, and the sealed values of secrets."""

    hub_key: str | None
    watermark: int
    secrets: int


class Damaged(Exception):
    """Redis and SQL do not match, lack commits of each other, or are of a later version; a person must decide."""
