"""T231: a person with few rights reads away what a schedule has to tell others, or removes what others approved."""

from __future__ import annotations

import httpx
import pytest

from starloom_protocol.vocabulary import Role
from starloom_protocol.wire.frames import Dispatch
from tests.edge.routes.requests.test_schedules import make, turn_to
from tests.edge.world import World, settle
from tests.guard.test_rights import READ, V1, plan
from tests.guard.test_schedules import CLOCK, WRITE, S, joined, kept

pytestmark = pytest.mark.short


async def other_person(owner: httpx.AsyncClient, role: Role, *scopes: str) -> str:
    """Return the token of another person with a part of a role."""
    made = await owner.post(f"{V1}/tokens", json={"for": "eva", "kind": "person", "role": role, "scopes": scopes})
    assert made.status_code == 201, made.text
    return str(made.json()["token"])


async def test_t231_each_person_marks_a_notice_for_themselves_alone(world: World) -> None:
    agent = await world.online("one")
    made = await make(world, name="Hourly", notify="always")
    path = f"{S}/{made['id']}"
    async with world.client() as owner, world.client(await other_person(owner, Role.VIEWER, "read")) as other:

        async def fire(moment: int) -> None:
            await turn_to(world, made["next"][moment])
            await agent.done(await agent.next(Dispatch), "1")
            await settle()

        async def news() -> list[int]:
            """Return the number of notices that is shown to the other person, and to the owner."""
            notices = [(await http.get(path)).json()["notice"] for http in (other, owner)]
            return [notice["count"] if notice else 0 for notice in notices]

        for moment in (0, 1):
            await fire(moment)
        assert await news() == [2, 2]
        seen = await other.post(f"{V1}/schedule-notices/seen", json={"schedules": [made["id"]]})
        assert seen.status_code == 200, seen.text
        assert await news() == [0, 2], "one press takes it from nobody else"
        await fire(2)
        assert await news() == [1, 3]
    assert agent.ws is not None
    await agent.ws.leave()


async def test_t231_others_end_no_approved_schedule(world: World) -> None:
    await joined(world)
    async with world.client() as owner, world.client(await other_person(owner, Role.OPERATOR, "read", "run")) as other:
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
