"""T231: a person with few rights reads away what a schedule has to tell somebody else."""

from __future__ import annotations

import httpx
import pytest
from msgspec.structs import replace

from starloom.core.state.apply import load
from starloom_protocol.records.schedules import Notice
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Role
from tests.edge.world import World
from tests.guard.test_rights import READ, V1, plan
from tests.guard.test_schedules import CLOCK, S, joined, kept

pytestmark = pytest.mark.short


@pytest.mark.parametrize("door", ["one", "several"])
async def test_t231_a_notice_stays_until_its_owner_has_seen_it(world: World, door: str) -> None:
    await joined(world)
    _, narrow = await world.new_token(Role.OPERATOR, ["read", "run"])
    async with world.client() as owner, world.client(narrow) as other:
        schedule = await kept(owner, {**CLOCK, "plan": plan(READ)})
        fleet = world.engine.shard.fleet
        told = replace(fleet.schedules[schedule], owner="p-owner", notice=Notice(at_ms=1, count=1, text="It failed."))
        load(world.engine.shard, FLEET, 0, {f"schedule/{schedule}": told})

        async def seen(http: httpx.AsyncClient) -> httpx.Response:
            path, body = (
                (f"{S}/{schedule}/seen", {})
                if door == "one"
                else (f"{V1}/schedule-notices/seen", {"schedules": [schedule]})
            )
            return await http.post(path, json=body)

        refused = await seen(other)
        assert refused.json()["code"] == "forbidden", refused.text
        assert fleet.schedules[schedule].notice is not None
        allowed = await seen(owner)
        assert allowed.status_code == 200, allowed.text
        assert fleet.schedules[schedule].notice is None
