"""T208: an owner with a limited token invites somebody with more, or a stranger reads an invitation by guessing."""

from __future__ import annotations

import itertools

import pytest

from starloom.edge.access.callers import Scope
from starloom_protocol.vocabulary import Role
from tests.edge.world import World
from tests.guard.test_rights import V1, as_token

pytestmark = pytest.mark.short


async def test_t208_nobody_is_invited_with_more_than_the_inviter(world: World) -> None:
    for held in ([Scope.ACCESS], [Scope.ACCESS, Scope.READ]):
        async with as_token(world, Role.OWNER, held) as http:
            for role, given in itertools.product(Role, [[], *([scope] for scope in Scope)]):
                body = {"for": "eve", "role": role, "scopes": given}
                made = await http.post(f"{V1}/sign-in-links", json=body)
                may = bool(given) and set(given) <= set(held)
                assert made.status_code in (201, 403), (held, body, made.text)
                assert may or made.status_code == 403, (held, body, made.text)
            own = await http.post(f"{V1}/sign-in-links", json={"for": "lo", "role": "viewer", "scopes": held})
            assert own.status_code == 201, own.text
            identity, _, secret = own.json()["url"].rpartition("/")[2].partition(".")
            async with world.client("") as page:
                await page.post(f"{V1}/sign-in", json={"id": identity, "secret": secret})
                session = (await page.get(f"{V1}/session")).json()
            assert set(session["scopes"]) == set(held)


async def test_t208_an_invitation_is_read_by_its_secret_alone(world: World) -> None:
    async with world.client() as owner, world.client("") as page:
        made = (await owner.post(f"{V1}/sign-in-links", json={"for": "anna", "role": "approver"})).json()
        identity, _, secret = made["url"].rpartition("/")[2].partition(".")
        for wrong in ({"id": identity, "secret": "0" * 43}, {"id": "0" * 26, "secret": secret}):
            refused = await page.post(f"{V1}/sign-in/terms", json=wrong)
            assert refused.status_code in (401, 429)
            assert "anna" not in refused.text
        assert (await owner.delete(f"{V1}/tokens/{made['token']}")).status_code == 200
        refused = await page.post(f"{V1}/sign-in/terms", json={"id": identity, "secret": secret})
        assert refused.status_code == 401
        assert "anna" not in refused.text
