"""Rights that are taken: a token made meanwhile keeps no former role (T226), a standing approval ends (T227, T238), and
so do a join code (T247) and a request without a plan (T253). Nor does a name pass to another device before the work
that was approved with it (T249)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.records.entities import Enrollment, Principal, Token
from starloom_protocol.vocabulary import Code, Profile, Role
from tests.builders import Driver, plan, task
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
    found = driver.submit(risky(hash="h2"), "c2", by="person:bo")
    assert (found.head.state is STATE.AWAITING_APPROVAL) is asks
    driver.folded_equals_state()


def invited(driver: Driver, role: Role) -> None:
    """Have Bo invite Ann, who signs in."""
    person = Principal(created_ms=1, id="ann", name="ann", role=role)
    driver.do(i.PrincipalAdded(by="person:bo", id=driver.ident(), principal=person))
    for kind, parent in (("invitation", ""), ("session", "invitation")):
        held = Token(
            created_ms=1, expires_ms=0, id=kind, kind=kind, parent=parent, principal="ann", role=role, secret_hash="x"
        )
        driver.do(i.TokenAdded(by="person:bo", id=driver.ident(), token=held))


@pytest.mark.parametrize(("revoked", "asks"), [("invitation", True), ("session", False)])
def test_t238_what_an_invitation_allowed_for_good_ends_with_it(revoked: str, asks: bool) -> None:
    driver = fleet("one")
    invited(driver, Role.APPROVER)
    driver.submit(risky(), by="person:bo")
    answer(driver, "always", by="person:ann#session")
    driver.do(i.TokenRevoked(by="person:ann#session", id=driver.ident(), token="session"))
    driver.do(i.TokenRevoked(by="person:bo", id=driver.ident(), token=revoked))
    found = driver.submit(risky(hash="h2"), "c2", by="person:bo")
    assert (found.head.state is STATE.AWAITING_APPROVAL) is asks
    assert (driver.shard.fleet.standing == {}) is asks
    driver.folded_equals_state()


def rename(driver: Driver, device: str, name: str) -> Answer:
    return driver.do(
        i.DeviceControlled(
            action="rename", by="person:bob", device=device, id=driver.ident(), scope="operator", value=name
        )
    )


@pytest.mark.parametrize("first", [True, False], ids=["before the yes", "after the yes"])
def test_t249_no_other_device_gets_a_call_by_the_name_of_the_approved_one(first: bool) -> None:
    driver = fleet("one", "two")
    driver.submit(risky(of={"device": "one"}))
    if not first:
        driver.control("pause")
        answer(driver, "allow")
    for device, name, fits in (("d-one", "old", True), ("d-two", "one", False)):
        renamed = rename(driver, device, name)
        assert not renamed.faults if fits else renamed.faults[0].code is Code.CONFLICT
    if first:
        answer(driver, "allow")
    else:
        driver.control("resume")
    (dispatch,) = driver.take()
    assert dispatch.device == "d-one"
    driver.result(dispatch, {})
    assert not rename(driver, "d-two", "one").faults, "no work means the other one any more"
    driver.folded_equals_state()


@pytest.mark.parametrize("planned", [False, True], ids=["asks late", "is being planned"])
@pytest.mark.parametrize(("taken", "goes"), [("invitation", False), ("session", True), (Role.VIEWER, False)])
def test_t253_no_plan_is_made_for_somebody_who_may_run_no_work(taken: str, goes: bool, planned: bool) -> None:
    driver = fleet("one")
    invited(driver, Role.OPERATOR)
    by = "person:ann#session"
    request = i.RequestReceived(approves=True, by=by, constellation="c1", id=driver.ident(), request="words")
    if planned:
        assert not driver.do(request).faults
        driver.claim_job("plan-1", by="worker", worker="w1")
    if isinstance(taken, Role):
        driver.do(i.RoleGiven(by="person:bo", id=driver.ident(), principal="ann", role=taken))
    else:
        driver.do(i.TokenRevoked(by="person:bo", id=driver.ident(), token=taken))
    if not planned:
        assert [one.code for one in driver.do(request).faults] == [Code.BAD_TOKEN], "each of them ends the session"
        return
    job: dict[str, Any] = {"by": "worker", "constellation": "c1", "job": "plan-1", "worker": "w1"}
    driver.do(i.PlanProposed(id=driver.ident(), plan=plan(task("look")), **job))
    assert (driver.state() == "active") is goes
    assert bool(driver.take()) is goes
    driver.folded_equals_state()


def code(name: str, **fields: Any) -> Enrollment:
    ends = {"code_hash": name, "created_ms": 0, "expires_ms": 9_000_000}
    return Enrollment(**{"owner": "ann", "preapproved": True, "token": "session", **ends, **fields}, id=name)


def joins(driver: Driver, name: str, device: str) -> bool:
    asked: dict[str, Any] = {"enrollment": name, "key": device, "name": device, "os": "linux", "words": "fern"}
    answer = driver.do(
        i.EnrollmentAsked(by="device", device=device, id=driver.ident(), profile=Profile.OPERATE, **asked)
    )
    return not answer.faults and device in driver.shard.fleet.devices


@pytest.mark.parametrize(
    ("taken", "good"),
    [("invitation", False), ("session", True), (Role.APPROVER, False), (Role.OWNER, True)],
)
def test_t247_a_join_code_ends_with_the_right_to_make_it(taken: str, good: bool) -> None:
    driver = fleet("one")
    invited(driver, Role.OPERATOR)
    for made in (code("single"), code("many", devices=50)):
        assert not driver.do(i.EnrollmentOpened(by="person:ann#session", enrollment=made, id=driver.ident())).faults
    if isinstance(taken, Role):
        driver.do(i.RoleGiven(by="person:bo", id=driver.ident(), principal="ann", role=taken))
    else:
        driver.do(i.TokenRevoked(by="person:bo", id=driver.ident(), token=taken))
    assert [joins(driver, name, f"of-{name}") for name in ("single", "many")] == [good, good]
    late = driver.do(i.EnrollmentOpened(by="person:ann#session", enrollment=code("late"), id=driver.ident()))
    assert bool(late.faults) is (taken != Role.OWNER), "it was asked for before, and came after"
    driver.folded_equals_state()


def test_t247_of_two_devices_with_one_code_one_joins() -> None:
    driver = fleet("one")
    driver.do(i.EnrollmentOpened(by="person:ann", enrollment=code("single", token=""), id=driver.ident()))
    driver.do(i.EnrollmentOpened(by="person:ann", enrollment=code("many", devices=2, token=""), id=driver.ident()))
    found = [joins(driver, name, f"d-{turn}{name}") for turn in range(3) for name in ("single", "many")]
    assert found == [True, True, False, True, False, False]
