"""Somebody who may only look asks for lists that leave nearly everything out (T205)."""

from __future__ import annotations

import httpx
import pytest

from starloom.edge.routes.work import constellations
from starloom_protocol.stream.authors import name_of
from tests.edge.world import World, chain
from tests.guard.test_rights import V1, C

LOOKED = 4
OTHERS = 10


async def pages(http: httpx.AsyncClient, **params: str | int) -> list[list[str]]:
    """Return the ids of each page until there is no next one."""
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await http.get(C, params={**params, **cursor})).json()
        found.append([item["id"] for item in page["items"]])
        if not page["next"]:
            return found
        cursor = {"cursor": page["next"]}


@pytest.mark.parametrize("left_out", ["of", "tries"])
async def test_t205_one_request_looks_at_a_bounded_number(
    world: World, monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    """A list of nobody's work read the whole history, each constellation whole, in one request."""
    labels = {"labels": {"try": "t0"}} if left_out == "tries" else {}
    first = (await world.submit(chain("t.look")))["id"]
    async with world.client() as owner:
        asked_for = {"role": "operator", "for": "ann@example.org"}
        ann = (await owner.post(f"{V1}/tokens", json=asked_for)).json()["token"]
        (row,) = (await owner.get(C)).json()["items"]
    await world.clock.advance(1_000)
    async with world.client(ann) as http:
        for _ in range(OTHERS):
            made = await http.post(C, json={"plan": chain("t.look"), **labels})
            assert made.status_code == 202, made.text
    looked: list[str] = []
    read = world.hub.headlines.of_all

    async def counted(names: list[str]) -> object:
        looked.extend(names)
        return await read(names)

    monkeypatch.setattr(world.hub.headlines, "of_all", counted)
    monkeypatch.setattr(constellations, "LOOKED_MOST", LOOKED)
    _, viewer = await world.new_token("viewer")
    more = {"of": name_of(row["author"])} if left_out == "of" else {}
    async with world.client(viewer) as http:
        for limit in (1, 3):
            looked.clear()
            found = await pages(http, limit=limit, **more)
            assert [one for page in found for one in page] == [first], found
            assert len(looked) == OTHERS + 1, "nothing is passed over and nothing is looked at twice"
            assert len(found) == -(-(OTHERS + 1) // LOOKED)
        assert (await http.get(C, params={"of": "nobody", "limit": 1})).json()["items"] == []
