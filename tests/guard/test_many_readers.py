"""A flood of requests that each read a whole constellation, by somebody who may only look (T160)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.web.admission import READS_AT_ONCE
from tests.edge.world import World, an_offer, chain, settle

FLOOD = 20
C = "/api/v1/constellations"
READS = ("", "/why", "/versions", "/diff?from=1&to=1", "/blame")


@pytest.mark.parametrize("read", READS)
async def test_t160_a_viewer_reads_few_constellations_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    await world.online("one", offer=an_offer("t.one"))
    work = (await world.submit(chain("t.one")))["id"]
    _, viewer = await world.new_token("viewer")
    begun, may_end = 0, asyncio.Event()
    entities = Constellations.entities

    async def slow(self: Constellations, constellation: str, version: int | None = None) -> Any:
        nonlocal begun
        begun += 1
        await may_end.wait()
        return await entities(self, constellation, version)

    monkeypatch.setattr(Constellations, "entities", slow)

    async def ask(token: str) -> int:
        async with world.client(token) as http:
            return (await http.get(f"{C}/{work}{read}")).status_code

    flood = [asyncio.create_task(ask(viewer)) for _ in range(FLOOD)]
    await settle()
    assert begun == READS_AT_ONCE
    owner = asyncio.create_task(ask(world.token))
    await settle()
    assert begun == READS_AT_ONCE + 1
    async with world.client(viewer) as http:
        assert (await http.get(C)).status_code == 200
    may_end.set()
    assert await asyncio.gather(owner, *flood) == [200] * (FLOOD + 1)


async def test_t160_a_reader_who_goes_gives_its_turn_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_self: Constellations, _constellation: str, _version: int | None = None) -> Any:
        await asyncio.Event().wait()

    await world.online("one", offer=an_offer("t.one"))
    work = (await world.submit(chain("t.one")))["id"]
    with monkeypatch.context() as stuck:
        stuck.setattr(Constellations, "entities", never)
        async with world.client() as http:
            gone = [asyncio.create_task(http.get(f"{C}/{work}")) for _ in range(FLOOD)]
            await settle()
            for one in gone:
                one.cancel()
            await asyncio.gather(*gone, return_exceptions=True)
    async with world.client() as http:
        assert (await http.get(f"{C}/{work}")).status_code == 200
