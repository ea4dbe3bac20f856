"""T226: a token is made while the role of its holder is narrowed, and keeps the role that the holder no longer has."""

from __future__ import annotations

import asyncio

import pytest

from starloom_protocol.vocabulary import Role
from tests.edge.world import World
from tests.guard.test_rights import V1

BOB = {"for": "bob", "kind": "person", "role": "operator"}


@pytest.mark.parametrize("turn", range(4))
async def test_t226_no_token_outruns_the_narrowing_of_its_holder(world: World, turn: int) -> None:
    async with world.client() as one, world.client() as other:
        assert (await one.post(f"{V1}/tokens", json=BOB)).status_code == 201
        narrow = one.patch(f"{V1}/people/bob", json={"role": "viewer"})
        asked = [other.post(f"{V1}/tokens", json={**BOB, "label": f"t-{number}"}) for number in range(turn + 1)]
        narrowed, *made = await asyncio.gather(narrow, *asked)
    assert narrowed.status_code == 200, narrowed.text
    assert {answer.status_code for answer in made} <= {201, 403}
    access = world.hub.access
    bob = access.named("bob")
    assert bob is not None
    assert bob.role is Role.VIEWER
    held = [one.role for one in access.tokens.values() if one.principal == bob.id and access.is_valid(one.id)]
    assert held == []
