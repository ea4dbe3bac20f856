"""The log for hubs that do not own the shard, the addresses of hubs, and messages beside the log.

Reads the log and writes no state. The cards of hubs and messages beside the log are short-lived: both are bounded, may
be lost and decide nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final, cast

from redis.asyncio import Redis

from starloom.store.port import Followed, LogEntry, Unavailable
from starloom.store.redis import keys
from starloom.store.redis.link import place_of, reaching, stream_entries
from starloom.store.redis.reads import PAGE_COMMITS
from starloom.store.redis.scripts import decode_entry
from starloom.store.sql import history
from starloom.store.sql.database import Database

REPLY_WITHIN_S: Final = 5.0


class RedisLog:
    """`LogPort` and `HubsPort`. `redis` must have no socket time-out: following blocks on purpose."""

    def __init__(self, redis: Redis, url: str, database: Database) -> None:
        self._redis = redis
        self._place = place_of(url)
        self._database = database

    async def end(self) -> tuple[int, int]:
        async with reaching(self._place, "the position of the log"), asyncio.timeout(REPLY_WITHIN_S):
            pos, incarnation = await self._redis.mget([keys.POS, keys.INCARNATION])
        return int(pos or 0), int(incarnation or 0)

    async def read_on(self, after: int, wait_ms: int) -> list[Followed]:
        async with (
            reaching(self._place, "the log"),
            asyncio.timeout(wait_ms / 1000 + REPLY_WITHIN_S),
        ):
            reply: Any = await self._redis.xread({keys.LOG: keys.log_id(after)}, count=PAGE_COMMITS, block=wait_ms)
        entries = stream_entries(reply)
        if not entries:
            return []
        if keys.log_pos(entries[0][0]) != after + 1:
            # Trimmed: the history has these commits, because the log is cut below the watermark only.
            return [_followed(entry) for entry in await self._past(after, PAGE_COMMITS)]
        return [_followed(decode_entry(fields[b"c"])) for _, fields in entries]

    async def commit_at(self, pos: int) -> Followed | None:
        async with reaching(self._place, "the log"), asyncio.timeout(REPLY_WITHIN_S):
            at = keys.log_id(pos)
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await self._redis.xrange(keys.LOG, min=at, max=at))
        if entries:
            return _followed(decode_entry(entries[0][1][b"c"]))
        past = await self._past(pos - 1, 1) if pos > 0 else []
        return _followed(past[0]) if past and past[0].pos == pos else None

    async def holder(self) -> str | None:
        async with reaching(self._place, "who has the shard"), asyncio.timeout(REPLY_WITHIN_S):
            owner = cast("bytes | None", await self._redis.get(keys.OWNER))
        return None if owner is None else owner.decode().partition("@")[0]

    async def _past(self, after: int, limit: int) -> list[LogEntry]:
        commits = await self._database.read(history.read_commits, after, limit)
        if commits and commits[0].pos != after + 1:
            raise Unavailable(f"the log after commit {after} was cut and the history goes on at {commits[0].pos}")
        return commits

    async def announce(self, hub: str, card: bytes, ttl_ms: int) -> None:
        """Publish this hub's address for other hubs; it expires after `ttl_ms`."""
        async with reaching(self._place, "this hub's card"), asyncio.timeout(REPLY_WITHIN_S):
            await self._redis.set(keys.hub(hub), card, px=ttl_ms)

    async def card(self, hub: str) -> bytes | None:
        """Return the card of a hub, None if it has expired."""
        async with reaching(self._place, "a hub's card"), asyncio.timeout(REPLY_WITHIN_S):
            return cast("bytes | None", await self._redis.get(keys.hub(hub)))

    async def say_beside(self, raw: bytes) -> int:
        """Send a message that is not an event to the hubs that follow; return their number."""
        async with reaching(self._place, "what travels beside the log"), asyncio.timeout(REPLY_WITHIN_S):
            return int(await self._redis.publish(keys.BESIDE, raw))

    async def hear_beside(self) -> AsyncIterator[bytes]:
        """Yield the owner's messages until the connection ends.

        Raises:
            Unavailable: the connection has ended.
        """
        async with reaching(self._place, "what travels beside the log"), self._redis.pubsub() as channel:
            await channel.subscribe(keys.BESIDE)
            async for message in channel.listen():
                if message["type"] == "message":
                    yield message["data"]


def _followed(entry: LogEntry) -> Followed:
    return Followed(events=entry.events, incarnation=entry.incarnation, pos=entry.pos)
