"""Sketches on their way from a worker to the hubs: a channel of Redis, beside the log and in no key.

A message that nobody hears is lost, and nothing is kept: a sketch is a picture of a moment. Decides nothing about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from redis.asyncio import Redis

from starloom.store.redis import keys
from starloom.store.redis.link import place_of, reaching

REPLY_WITHIN_S: Final = 2.0
"""Shorter than for state: a lost sketch is replaced by the next one, which says the same and more."""


class RedisSketches:
    """`SketchPort`. `redis` must have no socket time-out: hearing blocks on purpose."""

    def __init__(self, redis: Redis, url: str) -> None:
        self._redis = redis
        self._place = place_of(url)

    async def say(self, raw: bytes) -> None:
        async with reaching(self._place, "a sketch"), asyncio.timeout(REPLY_WITHIN_S):
            await self._redis.publish(keys.SKETCHES, raw)

    async def hear(self) -> AsyncIterator[bytes]:
        async with reaching(self._place, "sketches"), self._redis.pubsub() as channel:
            await channel.subscribe(keys.SKETCHES)
            async for message in channel.listen():
                if message["type"] == "message":
                    yield message["data"]


@asynccontextmanager
async def open_sketches(url: str) -> AsyncIterator[RedisSketches]:
    """Yield the channel on a connection of its own, opened at the first sketch."""
    client = Redis.from_url(url, socket_connect_timeout=REPLY_WITHIN_S)
    try:
        yield RedisSketches(client, url)
    finally:
        await client.aclose()
