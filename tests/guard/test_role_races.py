"""Rights that are taken: a token made meanwhile keeps no former role (T226), a standing approval ends (T227, T238)."""

from __future__ import annotations

import asyncio

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Principal, Token
from starloom_protocol.vocabulary import Role
from tests.core.people.test_approvals import STATE, answer, fleet, risky
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


@pytest.mark.parametrize(("role", "asks"), [(Role.APPROVER, False), (Role.VIEWER, True)])
def test_t227_a_standing_approval_ends_with_the_right_to_give_it(role: Role, asks: bool) -> None:
    driver = fleet("one")
    for name in ("ann", "bo"):
        person = Principal(created_ms=1, id=name, name=name, role=Role.OWNER)
        driver.do(i.PrincipalAdded(by="person:ann", id=driver.ident(), principal=person))
    driver.submit(risky())
    answer(driver, "always")
    driver.do(i.RoleGiven(by="person:bo", id=driver.ident(), principal="ann", role=role))
    assert (driver.shard.fleet.standing == {}) is asks
    found = driver.submit(risky(hash="h2"), "c2")
    assert (found.head.state is STATE.AWAITING_APPROVAL) is asks
    driver.folded_equals_state()


@pytest.mark.parametrize(("revoked", "asks"), [("invitation", True), ("session", False)])
def test_t238_what_an_invitation_allowed_for_good_ends_with_it(revoked: str, asks: bool) -> None:
    driver = fleet("one")
    person = Principal(created_ms=1, id="ann", name="ann", role=Role.APPROVER)
    driver.do(i.PrincipalAdded(by="person:bo", id=driver.ident(), principal=person))
    for kind, parent in (("invitation", ""), ("session", "invitation")):
        held = Token(
            created_ms=1,
            expires_ms=0,
            id=kind,
            kind=kind,
            parent=parent,
            principal="ann",
            role=person.role,
            secret_hash="x",
        )
        driver.do(i.TokenAdded(by="person:bo", id=driver.ident(), token=held))
    driver.submit(risky())
    answer(driver, "always", by="person:ann#session")
    driver.do(i.TokenRevoked(by="person:ann#session", id=driver.ident(), token="session"))
    driver.do(i.TokenRevoked(by="person:bo", id=driver.ident(), token=revoked))
    found = driver.submit(risky(hash="h2"), "c2")
    assert (found.head.state is STATE.AWAITING_APPROVAL) is asks
    assert (driver.shard.fleet.standing == {}) is asks
    driver.folded_equals_state()
