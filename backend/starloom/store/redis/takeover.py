"""The start of an owner: term, incarnation, and Redis and SQL brought to the same position.

Owns the order of the steps, which `take_over` shows: the term in Redis and in SQL, the incarnation, the projection of
the rest, and a Redis that lacks commits rebuilt. A crash may interrupt each step; the next owner then starts over and
finds either the old state or one that it recognises as unfinished.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final

import msgspec

from starloom.store.port import Damaged, Ownership, Refused
from starloom.store.redis import keys, scripts
from starloom.store.redis.link import Link
from starloom.store.redis.reads import PAGE_COMMITS, fold_stream
from starloom.store.redis.scripts import Arg, Owned, pairs_of
from starloom.store.sql import history
from starloom.store.sql.database import Database
from starloom.store.sql.history import LIVES_APART, Meta, PastCommit, Superseded, past_of

LOAD_PAIRS: Final = 5_000
SCAN_COUNT: Final = 1_000
NAMES_AT_ONCE: Final = 5_000

Write = Callable[[Sequence[PastCommit], int], Awaitable[None]]


class How(msgspec.Struct, frozen=True):
    """The condition for taking the shard: none, `free` for the hub `known`, or `again` by the owner of that term.

    `tried` is the last term that this store took, even if its reply was lost; it belongs to no other store.
    """

    kind: str
    known: str
    tried: int = 0


ANYHOW: Final = How("", "")


def how_of(owner: str, over: int | None, polite: bool, tried_term: int) -> How:
    """Return the condition for the arguments of `CommitPort.take`."""
    if over is not None:
        return How("again", str(over), tried_term)
    return How("free", owner) if polite else ANYHOW


class Standing(msgspec.Struct, frozen=True):
    """The log in a Redis: its last commit, 0 for none, the incarnation of its history, and the hub that holds it."""

    pos: int
    incarnation: int
    holder: str


class Found(msgspec.Struct, frozen=True):
    """The positions and the term of Redis at the moment of taking."""

    pos: int
    sent_pos: int
    term: int


async def take_over(
    link: Link,
    database: Database,
    *,
    owner: str,
    owner_ttl_ms: int,
    mark: str,
    token: str,
    write: Write,
    keep: Collection[str] = (),
    how: How = ANYHOW,
    began: Callable[[int], object],
) -> tuple[Ownership, int]:
    """Take the shard and return the ownership and the `sent_pos` found; `write(commits, term)` projects, `keep` are the
    streams that the owner holds and Redis must have afterwards. `token` begins with `mark`, which only this store uses;
    `began` is called with the term before any other use of it, and with 0 if the term turns out to be another owner's.

    Raises:
        Refused: another owner took it at the same moment with a higher term, or (`held`) the condition is not met.
        Damaged: Redis and SQL lack commits of each other, or the history was restored and Redis is not empty.
        Unavailable: either does not answer; the call may be repeated.
    """
    former = await database.read(history.read_meta)
    _check_life(await standing(link), former.incarnation)
    if how.kind == "again" and former.term > max(int(how.known), how.tried):
        raise Refused("held", found_pos=former.watermark, found_term=former.term)
    shard_now = await _take_term(link, former, how, owner=owner, owner_ttl_ms=owner_ttl_ms, mark=mark, token=token)
    began(shard_now.term)
    if not await database.write(history.take_term, shard_now.term):
        began(0)
        raise Refused("term", found_pos=shard_now.pos, found_term=shard_now.term)
    # Read again: the owner that is being replaced may have projected until the line above excluded it.
    meta = await database.read(history.read_meta)
    incarnation, replaced = meta.incarnation, False
    if meta.run_id != link.run_id or shard_now.pos < meta.watermark or incarnation == 0:
        replaced = meta.run_id != ""
        incarnation = await _raise(database, shard_now, link.run_id)
    await _project_rest(link, meta.watermark, shard_now, write)
    sent_pos = shard_now.sent_pos
    loaded: tuple[int, dict[str, int]] | None = None
    if shard_now.pos < meta.watermark:
        sent_pos, heads = await _rebuild(link, database, shard_now.term, meta.watermark, keep)
        loaded = (meta.watermark, heads)
    await _settle(link, shard_now, incarnation, sent_pos, loaded)
    if keep and loaded is None:
        await _bring_back(link, database, Owned(shard_now.term, incarnation, token), keep)
    heads = await _without_pruned(link, database, Owned(shard_now.term, incarnation, token))
    ownership = Ownership(
        heads=heads,
        incarnation=incarnation,
        replaced=replaced,
        run_id=link.run_id,
        term=shard_now.term,
        watermark=max(meta.watermark, shard_now.pos),
    )
    return ownership, sent_pos


async def standing(link: Link) -> Standing:
    """Return the log that a Redis has now.

    Raises:
        ReplyError, Unavailable: it does not answer.
    """
    pos, incarnation, owner = await link.call("MGET", keys.POS, keys.INCARNATION, keys.OWNER)
    return Standing(int(pos or 0), int(incarnation or 0), (owner or b"").partition(b"@")[0].decode())


def _check_life(log: Standing, incarnation: int) -> None:
    """Refuse a log from before the history was restored, before anything is changed: played onto it, it would bring
    back what the restore was to take away; and it may be that of a hub which lives.
    """
    if log.pos and incarnation - log.incarnation >= LIVES_APART:
        words = f"; the hub {log.holder} runs on it" if log.holder else ""
        raise Damaged(
            f"the history was restored from a backup, and this Redis has a log of before, up to commit {log.pos}"
            f"{words}. Set STARLOOM_REDIS_URL to an empty Redis; or stop every hub on this one and empty it (FLUSHDB) "
            "to go on from the restored history"
        )


async def _take_term(
    link: Link, meta: Meta, how: How, *, owner: str, owner_ttl_ms: int, mark: str, token: str
) -> Found:
    term, pos, sent_pos = await link.run(
        scripts.TAKE,
        [keys.TERM, keys.OWNER, keys.LINK, keys.POS, keys.SENT_POS],
        [meta.term, owner, owner_ttl_ms, token, how.kind, how.known, mark],
    )
    if term == b"held":
        raise Refused("held", found_pos=int(pos), found_term=int(sent_pos))
    return Found(pos=int(pos), sent_pos=int(sent_pos), term=int(term))


async def _raise(database: Database, shard_now: Found, run_id: str) -> int:
    try:
        return await database.write(history.raise_incarnation, shard_now.term, run_id)
    except Superseded as error:
        raise Refused("term", found_pos=shard_now.pos, found_term=shard_now.term) from error


async def _project_rest(link: Link, watermark: int, shard_now: Found, write: Write) -> None:
    """Project the commits that Redis has and SQL lacks."""
    at = watermark
    while at < shard_now.pos:
        entries: Any = await link.call("XRANGE", keys.LOG, keys.log_id(at + 1), "+", "COUNT", PAGE_COMMITS)
        batch = [past_of(scripts.decode_entry(fields[1])) for _, fields in entries]
        if not batch or batch[0].pos != at + 1:
            raise Damaged(
                f"the history ends at commit {at}, the log in Redis is at {shard_now.pos} but "
                + (f"begins at {batch[0].pos}" if batch else "has no more entries")
                + "; restore the database that belongs to this Redis, or empty this Redis to go on from the database"
            )
        try:
            await write(batch, shard_now.term)
        except Superseded as error:
            raise Refused("term", found_pos=at, found_term=shard_now.term) from error
        at = batch[-1].pos


async def _rebuild(
    link: Link, database: Database, term: int, watermark: int, keep: Collection[str]
) -> tuple[int, dict[str, int]]:
    """Rebuild Redis from the history, which reaches further; return `sent_pos` and the heads."""
    heads = dict(await database.read(history.read_live_streams, keep))
    sent_pos = await database.read(history.read_sent_pos)
    await _owned(
        link,
        scripts.CLEAR,
        [keys.TERM, keys.POS, keys.HEADS, keys.LOG, keys.SENT_POS, *sorted(await _entity_keys(link))],
        [term],
    )
    for stream, last in sorted(heads.items()):
        entities = list((await fold_stream(database, stream, last)).items())
        for at in range(0, len(entities), LOAD_PAIRS):
            pairs = pairs_of(entities[at : at + LOAD_PAIRS])
            await _owned(link, scripts.LOAD, [keys.TERM, keys.entities(stream)], [term, *pairs])
    # The log needs only the entries that the outbox has not handed over, and the last one, which the next one follows.
    at = min(sent_pos, watermark - 1)
    while at < watermark:
        entries = await database.read(history.read_commits, at, PAGE_COMMITS)
        if not entries or entries[0].pos != at + 1:
            raise Damaged(f"the history lacks commit {at + 1} of {watermark}; restore it from a backup")
        for entry in entries:
            await _owned(link, scripts.RELOG, [keys.TERM, keys.LOG], [term, entry.pos, msgspec.msgpack.encode(entry)])
        at = entries[-1].pos
    return sent_pos, heads


async def _entity_keys(link: Link) -> set[str]:
    """Return every key that holds entities, including those of an interrupted rebuild."""
    names: set[str] = set()
    cursor = b"0"
    while True:
        cursor, some = await link.call("SCAN", cursor, "MATCH", keys.entities("*"), "COUNT", SCAN_COUNT)
        names.update(key.decode() for key in some)
        if cursor == b"0":
            return names


async def _bring_back(link: Link, database: Database, owned: Owned, keep: Collection[str]) -> None:
    """Make live the streams that the owner holds and Redis lacks: Redis may have lost their recall."""
    streams = list(keep)
    seqs: Any = await link.call("HMGET", keys.HEADS, *streams)
    absent = [stream for stream, seq in zip(streams, seqs, strict=True) if seq is None]
    for stream, last in (await database.read(history.read_last_seqs, absent)).items():
        entities = await fold_stream(database, stream, last)
        names, args = scripts.recall_call(owned, stream, last, entities)
        scripts.read_commit_reply(await link.run(scripts.RECALL, names, args))


async def _without_pruned(link: Link, database: Database, owned: Owned) -> dict[str, int]:
    """Return the live streams after dropping pruned ones: Redis may have lost their retirement."""
    flat: Any = await link.call("HGETALL", keys.HEADS)
    heads = {name.decode(): int(seq) for name, seq in zip(flat[::2], flat[1::2], strict=True)}
    names = list(heads)
    pruned: list[tuple[str, int]] = []
    for at in range(0, len(names), NAMES_AT_ONCE):
        some = await database.read(history.read_pruned, names[at : at + NAMES_AT_ONCE])
        pruned += [(name, heads.pop(name)) for name in sorted(some)]
    if pruned:
        names, args = scripts.retire_call(owned, pruned)
        scripts.read_commit_reply(await link.run(scripts.RETIRE, names, args))
    return heads


async def _settle(
    link: Link, shard_now: Found, incarnation: int, sent_pos: int, loaded: tuple[int, dict[str, int]] | None
) -> None:
    args: list[Arg] = [shard_now.term, incarnation, "", sent_pos]
    if loaded is not None:
        pos, heads = loaded
        args[2] = pos
        for head in heads.items():
            args.extend(head)
    await _owned(link, scripts.SETTLE, [keys.TERM, keys.INCARNATION, keys.POS, keys.SENT_POS, keys.HEADS], args)


async def _owned(link: Link, script: scripts.Script, names: list[str], args: list[Arg]) -> None:
    if await link.run(script, names, args) != 1:
        raise Refused("term", found_pos=0, found_term=0)
