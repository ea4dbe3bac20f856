"""T273: a page that asks again and again and reads nothing has the hub keep one answer, not all of them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from starloom.edge.live import endpoint
from tests.edge.world import World, chain, settle

TIMES = 50
PING = {"t": "ping", "at_ms": 1}


async def held(world: World, monkeypatch: pytest.MonkeyPatch, *asked: dict[str, Any]) -> list[str]:
    """Let a page send requests without reading; return what it gets when it reads at last."""
    monkeypatch.setattr(endpoint, "BYTES_MAX", 500)
    _, viewer = await world.new_token("viewer")
    socket = await world.page(viewer)
    socket._from_app = asyncio.Queue(1)
    for request in asked:
        await socket.send_json(request)
        await settle()
    (client,) = cast("list[endpoint.LiveClient]", world.hub.fanout.viewers())
    sizes = [len(item) for item in client._queue]
    assert sum(sizes) <= 500 + max(sizes, default=0)
    said: list[str] = []
    async with asyncio.timeout(10):
        while not said or '"at_ms":2' not in said[-1]:
            said.append(await socket.receive())
            if len(said) == 1:
                await socket.send_json({"t": "ping", "at_ms": 2})
    return said


async def test_t273_snapshots_that_nobody_reads_are_not_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await world.submit(chain("t.one", "t.one"))
    again = {"t": "subscribe", "stream": made["id"]}
    said = await held(world, monkeypatch, *[again] * TIMES)
    assert said[0].startswith('{"t":"snapshot"')


async def test_t273_pongs_that_nobody_reads_are_not_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    said = await held(world, monkeypatch, *[PING] * TIMES)
    assert len(said) == TIMES + 1, "each is answered when the page reads"
