"""T231: a person with few rights reads away what a schedule has to tell others, or removes what others approved."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from starloom.core.state.apply import load
from starloom_protocol.records.schedules import Notice
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Role
from tests.edge.world import World
from tests.guard.test_rights import READ, V1, plan
from tests.guard.test_schedules import CLOCK, WRITE, S, joined, kept

pytestmark = pytest.mark.short


async def test_t231_each_person_marks_a_notice_for_themselves_alone(world: World) -> None:
    await joined(world)
    _, narrow = await world.new_token(Role.VIEWER, ["read"], name="eva")
    async with world.client() as owner, world.client(narrow) as other:
        schedule = await kept(owner, {**CLOCK, "plan": plan(READ)})
        fleet = world.engine.shard.fleet
        told = replace(fleet.schedules[schedule], notice=Notice(at_ms=1, count=2, text="It failed."))
        load(world.engine.shard, FLEET, 0, {f"schedule/{schedule}": told})

        async def news(http: httpx.AsyncClient) -> Any:
            return (await http.get(f"{S}/{schedule}")).json()["notice"]

        seen = await other.post(f"{V1}/schedule-notices/seen", json={"schedules": [schedule]})
        assert seen.status_code == 200, seen.text
        assert await news(other) is None
        assert (await news(owner))["count"] == 2, "one press takes it from nobody else"
        again = replace(fleet.schedules[schedule].notice, count=3, text="It failed again.")
        load(world.engine.shard, FLEET, 0, {f"schedule/{schedule}": replace(told, notice=again)})
        assert [(await news(http))["count"] for http in (other, owner)] == [1, 3]


async def test_t231_an_approved_schedule_is_ended_by_its_owner_or_an_approver(world: World) -> None:
    await joined(world)
    _, narrow = await world.new_token(Role.OPERATOR, ["read", "run"], name="eva")
    async with world.client() as owner, world.client(narrow) as other:
        asked = {**CLOCK, "plan": plan(WRITE)}
        hashed = (await owner.post(f"{V1}/schedules", json=asked)).json()["plan_hash"]
        schedule = await kept(owner, {**asked, "plan_hash": hashed})
        path = f"{S}/{schedule}"
        for tried in (
            await other.delete(path),
            await other.patch(path, json={"notify": "never"}),
            await other.patch(path, json={"deadline_s": 1}),
        ):
            assert (tried.status_code, tried.json()["code"]) == (403, "forbidden"), tried.text
        assert (await other.post(f"{path}/pause", json={})).status_code == 200, "whoever may run work may stop it"
        assert (await owner.delete(path)).status_code == 200
        reads = await kept(owner, {**CLOCK, "plan": plan(READ)})
        assert (await other.delete(f"{S}/{reads}")).status_code == 200, "nobody approved it"
