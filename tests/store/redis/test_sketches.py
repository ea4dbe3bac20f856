"""The channel of sketches on a real Redis: every hub hears, nothing is kept, and an outage is said as one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from starloom.store.port import Unavailable
from starloom.store.redis import keys
from starloom.store.redis.sketches import open_sketches
from starloom.store.redis.store import RedisStore
from tests.store.harness import RedisWorld


async def until_heard_by(world: RedisWorld, count: int) -> None:
    client = Redis.from_url(world.embedded.url)
    while dict(await client.pubsub_numsub(keys.SKETCHES))[keys.SKETCHES.encode()] < count:  # noqa: ASYNC110 - Redis tells nobody
        await asyncio.sleep(0)
    await client.aclose()


async def first(store: RedisStore) -> bytes:
    async for raw in store.sketches.hear():
        return raw
    raise AssertionError("the channel ended")


async def test_each_hub_hears_the_sketch_of_a_worker_and_redis_keeps_nothing_of_it(world: RedisWorld) -> None:
    hubs = [cast("RedisStore", await world.store()) for _ in range(2)]
    hearing = [asyncio.create_task(first(hub)) for hub in hubs]
    await until_heard_by(world, 2)
    client = Redis.from_url(world.embedded.url)
    before = set(await client.keys("*"))
    async with open_sketches(world.embedded.url) as worker:
        await worker.say(b"a sketch")
    assert await asyncio.gather(*hearing) == [b"a sketch", b"a sketch"]
    assert set(await client.keys("*")) == before
    await client.aclose()


async def test_a_sketch_without_redis_is_an_outage_and_no_other_error(tmp_path: Path) -> None:
    async with open_sketches(f"unix://{tmp_path}/nowhere") as worker:
        with pytest.raises(Unavailable, match="a sketch"):
            await worker.say(b"a sketch")
