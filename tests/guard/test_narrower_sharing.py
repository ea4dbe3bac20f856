"""T140: a request that shares less with a model stays so in all that goes on from it: a fork, and a schedule."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.records.entities import Head, decode_entity
from starloom_protocol.wire.frames import Dispatch
from tests.edge.world import World, settle
from tests.guard.test_rights import V1, C, plan, recipe
from tests.guard.test_schedules import CLOCK, S, has_run, joined, kept, made_of, proposed

READS = {"id": "look", "tool": "t.read"}


async def head_of(world: World, constellation: str) -> Head:
    head = decode_entity("head", (await world.hub.reads.headlines([constellation]))[constellation][0])
    assert isinstance(head, Head)
    return head


@pytest.mark.parametrize("sharing", ["names", "cards", None])
async def test_t140_a_fork_shares_no_more_than_its_origin(world: World, sharing: str | None) -> None:
    agent = await joined(world)
    body: dict[str, Any] = {"plan": plan(READS), **({"sharing": sharing} if sharing else {})}
    async with world.client() as http:
        origin = await has_run(world, agent, http, (await http.post(C, json=body)).json()["id"])
    _, other = await world.new_token("operator")
    async with world.client(other) as http:
        made = await http.post(f"{C}/{origin}/fork", json={"from_task": "look"})
        assert made.status_code < 300, made.text
    fork = made.json()["id"]
    assert (await head_of(world, fork)).sharing == sharing
    await agent.done(await agent.next(Dispatch), "1")


@pytest.mark.parametrize(("work", "sharing"), [("plan", "names"), ("recipe", "names"), ("plan", None)])
async def test_t140_a_firing_shares_no_more_than_what_it_repeats(world: World, work: str, sharing: str | None) -> None:
    agent = await joined(world)
    asked = {"plan": plan(READS)} if work == "plan" else {"recipe": "noting"}
    body: dict[str, Any] = {**asked, **({"sharing": sharing} if sharing else {})}
    async with world.client() as http:
        if work == "recipe":
            assert (await http.post(f"{V1}/recipes", json={"recipe": recipe("noting", READS)})).status_code == 201
        made = (await http.post(C, json=body)).json()["id"]
        if work == "recipe":
            await proposed(world, made, made_of(world))
        origin = await has_run(world, agent, http, made)
        schedule = await kept(http, {**CLOCK, "from_constellation": origin})
        changed = await http.patch(f"{S}/{schedule}", json={"name": "renamed", "cron": "30 * * * *"})
        assert changed.status_code == 200, changed.text
        assert (await http.post(f"{S}/{schedule}/run")).status_code == 200
        await settle(60)
        (fired,) = (await http.get(f"{S}/{schedule}")).json()["running"]
    assert (await head_of(world, fired)).sharing == sharing
    if work == "plan":
        await agent.done(await agent.next(Dispatch), "1")
