"""The ports of persistence. `CommitPort` is the engine's alone; `ReadPort` and `InboxPort` are for everyone.

A commit is the unit of the log: checked (`term`, `incarnation`, `pos` as expected), appended, its entities
written, its outbox kept - in one script, whole or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import ClassVar, Protocol

import msgspec

from starloom.store.anchors import Pruning
from starloom.store.chain import Kept
from starloom_protocol.feed import Event
from starloom_protocol.vocabulary import Code


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit. `events` are encoded events in order; `entities` by stream and key a record's bytes, or None to
    remove it; `outbox` encoded `OutboxEffect`s. `sent_pos`: all outbox entries up to this position have been handed
    over. `waited_for`: an answer or an effect waits until it is durable; else the history may gather it with others.
    `inputs` are the encoded inputs that decided its events, by which they can be decided again. `told` are its events
    as they were encoded, where whoever made it has them still; empty, they are read back from their bytes.
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


class Refused(Exception):
    """The commit was not applied: another owner has the shard, Redis was replaced, or the position is taken.

    `why` is `term`, `incarnation`, `pos`, `link` (a newer connection of the owner stands), `replaced` (another run id),
    `not_taken`, or `held`: taking was refused, because another hub has the shard.
    """

    def __init__(self, why: str, *, found_pos: int, found_term: int) -> None:
        super().__init__(f"commit refused: {why} (log at {found_pos}, term {found_term})")
        self.why = why
        self.found_pos = found_pos
        self.found_term = found_term


class Unavailable(Exception):
    """Redis or SQL does not answer; the fate of a commit in flight is unknown until `position` says it.

    `code` is what the asker is told.
    """

    code: ClassVar[Code] = Code.STORE_UNAVAILABLE


class DiskFull(Unavailable):
    """The disk below Redis or SQL is full; the text names the folder and its free space. Ends when there is room."""

    code = Code.DISK_FULL


class Corrupt(Unavailable):
    """The history has bytes that nobody wrote. Only a backup helps."""

    code = Code.HISTORY_CORRUPT


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """All that is live: entities and last seq by stream, and the outbox entries after `sent_pos`.

    Finished constellations that were retired are not among it; only the history has them.
    """

    entities: dict[str, dict[str, bytes]]
    heads: dict[str, int]
    outbox: list[tuple[int, bytes]]
    pos: int
    sent_pos: int


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """What taking the shard gave: the new term, the incarnation, and whether Redis is another than before.

    `heads` are the live streams with their last seq: a Redis that has forgotten a retirement has more than its owner.
    """

    heads: dict[str, int] = {}
    incarnation: int
    replaced: bool
    run_id: str
    term: int
    watermark: int


class CommitPort(Protocol):
    """The engine's own port."""

    async def take(
        self, owner: str, at_ms: int, keep: Collection[str] = (), *, over: int | None = None, polite: bool = False
    ) -> Ownership:
        """Take the shard: term + 1; incarnation + 1 (first in SQL) if Redis's run id changed or it lost commits.

        With `over` only if no other store has taken it since that term, where a try of this one that came through
        and failed afterwards, or whose reply was lost, is no other's; `polite`: only if no other hub holds it. Which
        hub `owner` is, is its text up to the first `@`. Else `Refused("held")`, and nothing has changed.

        Before it returns, commits that Redis has and SQL lacks are projected, and a Redis that lacks what SQL has
        is rebuilt from SQL, so that both reach equally far. Finished constellations are not rebuilt but for those in
        `keep`: what the owner still holds in memory. Redis then has every one of these that SQL knows.
        """
        ...

    async def renew(self, owner: str, term: int, at_ms: int) -> bool:
        """Prolong the ownership lease; False if another term has the shard."""
        ...

    async def owns(self, term: int) -> bool:
        """Say whether the shard was still this term's at some moment since the call; proof for what is not a commit.

        Raises:
            Unavailable: if Redis does not answer.
        """
        ...

    async def leave(self, *, release: bool) -> None:
        """Own nothing any more: no commit is taken or projected. `release` lets the next hub have it at once."""
        ...

    async def load(self) -> Loaded: ...

    async def commit(self, commit: Commit) -> None:
        """Apply one commit.

        Raises:
            Refused: if it was not applied and will not be.
            Unavailable: if its fate is unknown.
        """
        ...

    async def retire(self, streams: Sequence[tuple[str, int]]) -> None:
        """Drop the live copy of streams (name, its last seq) that are durable; their history stays.

        A stream that stands at another seq, or is not live, is left as it is, so it may be tried again.

        Raises:
            Refused: if this owner does not have the shard any more; nothing was dropped.
            Unavailable: if its fate is unknown; each stream is live whole or not at all.
        """
        ...

    async def recall(self, streams: Sequence[str]) -> dict[str, tuple[int, dict[str, bytes]]]:
        """Make retired streams live again, from the history, and return (seq, entities) of those that it has.

        Raises:
            Refused: if this owner does not have the shard any more.
            Unavailable: Redis or SQL does not answer; a stream is live whole or not at all, so it may be tried again.
            Damaged: the history of a stream has a gap.
        """
        ...

    async def position(self) -> tuple[int, int, str]:
        """Return the log's (pos, term, run id) as Redis has them now.

        Raises:
            Unavailable: if Redis does not answer.
        """
        ...

    async def restore(self, commits: Sequence[Commit]) -> None:
        """Append commits again, in order, that a replaced Redis has lost and the living owner still holds."""
        ...

    async def watermark(self, after: int) -> int:
        """Wait until the durable position passes `after` and return it.

        Raises:
            Unavailable: if the projector has failed; it keeps trying and the next call may succeed.
        """
        ...

    @property
    def damage(self) -> str:
        """How the history was found to be corrupt since it was opened, "" while it is sound."""
        ...

    def lag_ms(self, now_ms: int) -> int:
        """Return how long the oldest commit that is not yet durable has waited."""
        ...


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which events: of these kinds (all, if there are none), by whom, about what, with which words."""

    about: str = ""
    by: str = ""
    kinds: list[str] = []
    stream: str = ""
    text: str = ""
    without: list[str] = []


class ActivityPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events with their (pos, place), newest first; `next` is where to go on, None at the beginning of the log."""

    events: list[tuple[int, int, bytes]]
    next: tuple[int, int] | None


class StreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list of constellations."""

    created_ms: int
    ended_ms: int
    id: str
    name: str
    request: str
    state: str
    version: int


class EndedConstellation(msgspec.Struct, frozen=True, kw_only=True):
    """A finished constellation of the history; `bytes` is about what its commits hold, `devices` had its attempts."""

    bytes: int
    devices: list[str]
    ended_ms: int
    id: str


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """That a constellation was pruned from the history: when, and by which rule."""

    at_ms: int
    why: str


class HistorySize(msgspec.Struct, frozen=True, kw_only=True):
    """What the history holds. `bytes` is what its rows hold: the files of a database are somewhat larger.

    `oldest_ms` is when its oldest constellation was made, `pruned_ms` when it was last pruned; 0 for neither.
    """

    bytes: int
    constellations: int
    oldest_ms: int
    pruned: int
    pruned_ms: int


class PrunedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """What one transaction of pruning did; with `more` the next one has something to do at once."""

    bytes: int
    commits: int
    constellations: list[str]
    more: bool


class PruningPort(Protocol):
    """How the owner of the shard prunes the history."""

    async def ended(self, after: tuple[int, str], limit: int) -> list[EndedConstellation]:
        """Return finished constellations in the order of their ends; `after` is the (ended_ms, id) cursor.

        Raises:
            Unavailable: the history does not answer; so do all others here.
        """
        ...

    async def history_size(self) -> HistorySize: ...

    async def prune(self, leaving: Sequence[EndedConstellation], at_ms: int, why: str) -> PrunedPiece:
        """End the history of these constellations and remove a bounded number of commits, in one short transaction.

        Without any, go on with those whose history has ended.

        Raises:
            Refused: this store does not own the shard any more.
            Damaged: what would go is not what was chained; nothing was changed.
        """
        ...


class OwnerStore(CommitPort, PruningPort, Protocol):
    """What the engine, which owns the shard, does with the store."""


class ReadPort(Protocol):
    """What anyone may read: committed state and history."""

    async def entities(self, stream: str) -> tuple[int, dict[str, bytes]] | None:
        """Return (seq, entities) of a stream as committed, from Redis or folded from SQL; None if unknown."""
        ...

    async def live_entities(self, streams: Sequence[str]) -> dict[str, tuple[int, dict[str, bytes]]]:
        """Return (seq, entities) of those of the streams that are live, many of them at once."""
        ...

    async def headline(self, stream: str) -> tuple[bytes, bytes | None] | None:
        """Return the head and the answer of a constellation as committed, or None if it is unknown."""
        ...

    async def entities_at(self, stream: str, seq: int) -> dict[str, bytes]:
        """Fold a stream's history up to `seq`."""
        ...

    async def events(self, stream: str, after: int, limit: int) -> list[bytes]:
        """Return encoded events with seq > `after`, in order: durable ones and the log's tail."""
        ...

    async def constellations(
        self,
        *,
        state: str | None,
        text: str | None,
        device: str | None,
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[StreamRow]:
        """Return constellations, newest first; `before` is the (created_ms, id) cursor."""
        ...

    async def device_work(self, devices: Sequence[str], since_ms: int) -> dict[str, dict[str, int]]:
        """Count constellations made since a moment that had an attempt on these devices: device -> state -> count."""
        ...

    async def kept(self, after: int, limit: int) -> list[Kept]:
        """Return durable commits above a position, whole and in order, for verifying and deciding again."""
        ...

    async def prunings(self, after: int, limit: int) -> list[Pruning]:
        """Return what was pruned, by prunings with numbers above `after`, in their order."""
        ...

    async def gone(self, constellation: str) -> Tombstone | None:
        """Return when and why a constellation was pruned from the history, None if it was not."""
        ...

    async def pruned_since(self, after: int, limit: int) -> tuple[int, list[str]]:
        """Return the number of the last pruning, and constellations that prunings with numbers above `after` took."""
        ...

    async def history_size(self) -> HistorySize:
        """Return what the history holds."""
        ...

    async def position_of(self, stream: str, seq: int) -> int | None:
        """Return the durable position of the commit that has event `seq` of a stream; the newest event for 0."""
        ...

    async def owned_since(self, pos: int) -> int:
        """Return the position of the first commit of the ownership (term) to which the commit at `pos` belongs."""
        ...

    async def standing(self, pos: int) -> dict[str, int]:
        """Return, with its last seq, every stream that may have been live just before the commit at `pos`."""
        ...

    async def last_before(self, stream: str, pos: int) -> int:
        """Return the number of a stream's last event before the commit at `pos`, 0 if it has none."""
        ...

    async def activity(self, wanted: Wanted, before: tuple[int, int] | None, limit: int) -> ActivityPage:
        """Return durable events that fit, newest first; `before` is the (pos, place) cursor. Looks at a part."""
        ...


class CiphertextPort(Protocol):
    """Where the ciphertext of secrets lies, beside the log; every call raises `Unavailable` if SQL does not answer."""

    async def put(self, identity: str, sealed: bytes, at_ms: int) -> None:
        """Keep ciphertext under a new id; durable when it returns, so that an event may name it then."""
        ...

    async def get(self, identity: str) -> bytes | None: ...

    async def remove(self, identity: str) -> None:
        """Forget it; no fault if it is not there."""
        ...

    async def sweep(self, named: Collection[str], before_ms: int) -> int:
        """Forget what was stored before this time and that nothing names: its event was never committed."""
        ...


class InboxPort(Protocol):
    """How other processes reach the engine: encoded inputs in, encoded answers out."""

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes | None:
        """Append an input; wait for its answer if asked to.

        Raises:
            Unavailable: if Redis does not answer or no answer came in time.
        """
        ...

    def take(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (delivery id, encoded input) in order, beginning with those never settled."""
        ...

    async def settle(self, delivery: str, answer: bytes) -> None:
        """Mark a delivery done and publish its answer."""
        ...


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as the log has it, for whoever follows: its encoded events."""

    events: list[bytes]
    incarnation: int
    pos: int


class LogPort(Protocol):
    """The shard's log as a hub follows that does not own it, and who owns it."""

    async def end(self) -> tuple[int, int]:
        """Return the position of the last commit and the incarnation, 0 while a replaced Redis is not taken yet.

        Raises:
            Unavailable: if Redis does not answer; so do all others here.
        """
        ...

    async def read_on(self, after: int, wait_ms: int) -> list[Followed]:
        """Return commits after a position, in order and without a gap; none, if none came within `wait_ms`."""
        ...

    async def commit_at(self, pos: int) -> Followed | None:
        """Return one commit, None if the log does not reach so far."""
        ...

    async def holder(self) -> str | None:
        """Return the hub that holds the shard, "" if it was given up, None if nobody has renewed it in time."""
        ...


class HubsPort(Protocol):
    """What hubs of one shard tell each other beside the log: good for moments, bounded, and free to be lost."""

    async def announce(self, hub: str, card: bytes, ttl_ms: int) -> None:
        """Say where other hubs reach this one; forgotten unless said again.

        Raises:
            Unavailable: if Redis does not answer; so do all others here.
        """
        ...

    async def card(self, hub: str) -> bytes | None:
        """Return what a hub said of itself, None if it has been silent."""
        ...

    async def say_beside(self, raw: bytes) -> int:
        """Give what is not an event to the hubs that follow; return how many there are."""
        ...

    def hear_beside(self) -> AsyncIterator[bytes]:
        """Yield what the owner gives, until the connection ends."""
        ...


class Damaged(Exception):
    """Redis and SQL do not belong together or lack commits of each other; a person must decide which one counts."""
