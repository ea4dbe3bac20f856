"""The shard's inbox in Redis: carries inputs of workers and other hubs to the engine, and its answers back.

At least once: an input that was delivered and not settled is delivered again to the next owner, so inputs carry ids.
Bounded: a full inbox refuses. An answer waits a minute for its asker and then expires.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from starloom.store.port import Unavailable
from starloom.store.redis import keys
from starloom.store.redis.link import place_of, reaching, stream_entries
from starloom.store.redis.reads import run_script
from starloom.store.redis.scripts import POST, SETTLE_DELIVERY

INBOX_MOST: Final = 10_000
ANSWER_KEPT_MS: Final = 60_000
TAKE_MOST: Final = 200
TAKE_BLOCK_MS: Final = 1_000
LOOK_AGAIN_S: Final = 1.0  # a suspended owner may have been given deliveries that are now ours
REPLY_WITHIN_S: Final = 5.0
PAUSE_S: Final = 0.05
PAUSE_MOST_S: Final = 2.0


class RedisInbox:
    """`InboxPort` over a stream with one consumer group. Only the owner of the shard calls `take` and `settle`."""

    def __init__(self, redis: Redis, url: str, *, most: int = INBOX_MOST) -> None:
        """`redis` must have no socket time-out: some calls here block on purpose."""
        self._redis = redis
        self._place = place_of(url)
        self._most = most
        self._delivered: set[bytes] = set()

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes | None:
        token = secrets.token_hex(12) if answer_within_s is not None else ""
        async with reaching(self._place, "the inbox"), asyncio.timeout(REPLY_WITHIN_S):
            posted = await run_script(self._redis, POST, [keys.INBOX], [self._most, raw, token])
        if posted is None:
            raise Unavailable(f"the inbox of the hub is full ({self._most} inputs); nothing was accepted, try again")
        if answer_within_s is None:
            return None
        async with reaching(self._place, "the answer"), asyncio.timeout(answer_within_s + REPLY_WITHIN_S):
            reply = await cast(
                "Awaitable[tuple[bytes, bytes] | None]",
                self._redis.blpop([keys.answer(token)], timeout=max(0.01, answer_within_s)),
            )
        if reply is None:
            raise Unavailable(
                f"no hub answered within {answer_within_s:g} s; the input stays in the inbox and may still be taken"
            )
        return reply[1]

    async def take(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield deliveries without end; wait for a Redis that is away or was replaced."""
        delivered = self._delivered = set()
        pause = PAUSE_S
        after: bytes | None = b"0"  # first deliveries that an earlier owner left unsettled, then (None) new ones
        now_s = asyncio.get_running_loop().time
        looked_s = now_s()
        while True:
            if after is None and now_s() - looked_s >= LOOK_AGAIN_S:
                after = b"0"
            try:
                if after == b"0":
                    looked_s = now_s()
                    await self._ensure_group()
                async with asyncio.timeout(TAKE_BLOCK_MS / 1000 + REPLY_WITHIN_S):
                    entries = await self._read_entries(after)
            except (RedisError, OSError, TimeoutError):
                # The reply may be lost with the connection: read the unsettled deliveries again.
                after = b"0"
                await asyncio.sleep(pause)
                pause = min(pause * 2, PAUSE_MOST_S)
                continue
            pause = PAUSE_S
            if after is not None and not entries:
                after = None
                continue
            for entry_id, fields in entries:
                if after is not None:
                    after = entry_id
                if entry_id in delivered or not fields:
                    continue
                delivered.add(entry_id)
                # An entry of somebody else may lack both, and is refused as any other that cannot be read.
                token = fields.get(b"a", b"").decode(errors="replace")
                yield f"{entry_id.decode()}:{token}", fields.get(b"i", b"")

    async def settle(self, delivery: str, answer: bytes) -> None:
        entry_id, _, token = delivery.partition(":")
        async with reaching(self._place, "the inbox"), asyncio.timeout(REPLY_WITHIN_S):
            await run_script(
                self._redis,
                SETTLE_DELIVERY,
                [keys.INBOX, keys.answer(token)],
                [keys.INBOX_GROUP, entry_id, answer, ANSWER_KEPT_MS, "1" if token else "0"],
            )
        self._delivered.discard(entry_id.encode())

    async def _ensure_group(self) -> None:
        try:
            await self._redis.xgroup_create(keys.INBOX, keys.INBOX_GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    async def _read_entries(self, after: bytes | None) -> list[tuple[bytes, dict[bytes, bytes]]]:
        reply: Any = await self._redis.xreadgroup(
            keys.INBOX_GROUP,
            keys.INBOX_CONSUMER,
            {keys.INBOX: b">" if after is None else after},
            count=TAKE_MOST,
            block=TAKE_BLOCK_MS if after is None else None,
        )
        return stream_entries(reply)
