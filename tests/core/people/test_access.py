"""Principals, tokens and sign-in links: made once, used once, revoked as an event."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from starloom.core.people.access import LINKS_MOST, LINKS_WITHIN_MS
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.core.state.orders import Answer, CloseToken
from starloom_protocol.records.approvals import Standing
from starloom_protocol.records.entities import Policy, Principal, SignIn, Token
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Approval, Code, PrincipalKind, Role
from tests.builders import Driver, plan, task

ANN = Principal(created_ms=1, id="ann", name="Ann", role=Role.OWNER)


def token(name: str) -> Token:
    return Token(created_ms=1, expires_ms=9, id=name, kind="bearer", principal="ann", role=Role.OWNER, secret_hash="x")


def do(driver: Driver, kind: Any, **fields: Any) -> Answer:
    return driver.do(kind(id=driver.ident(), by="person:ann", **fields))


def test_a_principal_is_made_once_with_its_first_token() -> None:
    driver = Driver()
    assert do(driver, i.PrincipalAdded, principal=ANN, token=token("t1")).value == {"id": "ann"}
    assert do(driver, i.PrincipalAdded, principal=ANN).faults[0].code is Code.CONFLICT
    assert list(driver.shard.access.tokens) == ["t1"]


def test_a_token_needs_its_principal_and_is_revoked_once() -> None:
    driver = Driver()
    assert do(driver, i.TokenAdded, token=token("t1")).faults[0].code is Code.NOT_FOUND
    do(driver, i.PrincipalAdded, principal=ANN)
    assert do(driver, i.TokenAdded, token=token("t1")).value == {"id": "t1"}
    assert do(driver, i.TokenRevoked, token="no").faults[0].code is Code.NOT_FOUND
    assert do(driver, i.TokenRevoked, token="t1").value == {"id": "t1"}
    assert driver.sent == [CloseToken(token="t1")]
    assert driver.shard.access.tokens["t1"].revoked_ms == driver.now_ms
    seen = len(driver.events)
    do(driver, i.TokenRevoked, token="t1")
    assert len(driver.events) == seen


def test_a_sign_in_link_dies_on_use_and_with_time() -> None:
    driver = Driver()
    do(driver, i.PrincipalAdded, principal=ANN)
    for name, expires_ms in (("s1", 9_000_000), ("s2", 1)):
        link = SignIn(created_ms=1, expires_ms=expires_ms, id=name, principal="ann", secret_hash="x")
        do(driver, i.SignInOpened, signin=link)
    assert do(driver, i.SignInUsed, signin="s1", token=token("t1")).value == {"id": "t1"}
    for name, word in (("s1", "is used"), ("s2", "has expired"), ("no", "has expired")):
        fault = do(driver, i.SignInUsed, signin=name, token=token("t2")).faults[0]
        assert fault.code is Code.BAD_TOKEN
        assert word in fault.reason
    assert list(driver.shard.access.tokens) == ["t1"]


def test_a_lower_role_ends_what_has_more_rights_and_an_owner_stays() -> None:
    driver = Driver()
    do(driver, i.PrincipalAdded, principal=replace(ANN, role=Role.OPERATOR))
    for name, role, parent in (("t1", Role.OPERATOR, ""), ("t2", Role.VIEWER, "t1"), ("t3", Role.VIEWER, "")):
        do(driver, i.TokenAdded, token=replace(token(name), role=role, parent=parent))
    assert do(driver, i.RoleGiven, principal="nobody", role=Role.VIEWER).faults[0].code is Code.NOT_FOUND
    assert do(driver, i.RoleGiven, principal="ann", role=Role.OPERATOR).value == {"id": "ann"}
    assert driver.events[-1].kind is not EventKind.ROLE_GIVEN, "nothing changed"
    assert do(driver, i.RoleGiven, principal="ann", role=Role.APPROVER).value == {"id": "ann"}
    assert driver.shard.access.principals["ann"].role is Role.APPROVER
    assert {name for name, one in driver.shard.access.tokens.items() if one.revoked_ms} == {"t1", "t2"}
    assert driver.sent == [CloseToken(token="t1"), CloseToken(token="t2")]


def test_a_lower_role_ends_what_its_programs_were_allowed_for_good() -> None:
    driver = Driver()
    do(driver, i.PrincipalAdded, principal=replace(ANN, role=Role.OWNER))
    do(driver, i.PrincipalAdded, principal=Principal(created_ms=1, id="bob", name="Bob", role=Role.OWNER))
    nightly = Principal(created_ms=1, id="p", kind=PrincipalKind.PROGRAM, name="nightly", role=Role.OPERATOR)
    do(driver, i.PrincipalAdded, principal=nightly)
    do(driver, i.TokenAdded, token=token("t1"))
    do(driver, i.TokenAdded, token=replace(token("t2"), principal="p", parent="t1", role=Role.OPERATOR))
    for name, by in (("s-1", "program:nightly#t2"), ("s-2", "person:bob#other")):
        allowed = Standing(action=name, at_ms=1, by=by, constellation="c", id=name, tool="t.never")
        put(driver.shard, driver.shard.fleet, "standing", name, allowed)
    do(driver, i.RoleGiven, principal="ann", role=Role.OPERATOR)
    assert {name for name, one in driver.shard.access.tokens.items() if one.revoked_ms} == {"t1", "t2"}
    assert list(driver.shard.fleet.standing) == ["s-2"], "as if the token had been revoked"


def test_the_end_of_a_session_ends_what_its_tokens_were_allowed_and_nothing_of_other_sessions() -> None:
    driver = Driver()
    do(driver, i.PrincipalAdded, principal=replace(ANN, role=Role.OWNER))
    do(driver, i.TokenAdded, token=token("t1"))
    for name, parent, kind in (("s1", "t1", "session"), ("s2", "s1", "session"), ("t2", "s2", "bearer")):
        do(driver, i.TokenAdded, token=replace(token(name), parent=parent, kind=kind))
    for name in ("t1", "s1", "s2", "t2"):
        allowed = Standing(action=name, at_ms=1, by=f"person:Ann#{name}", constellation="c", id=name, tool="t.never")
        put(driver.shard, driver.shard.fleet, "standing", name, allowed)
    do(driver, i.TokenRevoked, token="s1")
    assert list(driver.shard.fleet.standing) == ["t1", "s1", "s2"], "sessions bind nothing, the token of one does"
    taken = {name: driver.shard.access.right_was_taken(None, name) for name in ("t1", "s1", "s2", "t2")}
    assert taken == {"t1": False, "s1": False, "s2": False, "t2": True}
    do(driver, i.TokenRevoked, token="t1")
    assert not driver.shard.fleet.standing
    assert driver.shard.access.right_was_taken(None, "s2")


def test_what_a_token_asked_that_was_revoked_meanwhile_is_refused() -> None:
    """It passed the door while the token was good, and waited for the same commit as the revocation."""
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), policy=Policy(approval=Approval.ALWAYS)), name="c1")
    do(driver, i.PrincipalAdded, principal=ANN, token=token("t1"))
    do(driver, i.TokenRevoked, token="t1")
    late: dict[str, Any] = {"by": "person:Ann#t1", "id": "late"}
    asked: list[Any] = [
        i.QuestionAnswered(constellation="c1", question="approve-plan", value="allow", **late),
        i.RoleGiven(principal="ann", role=Role.OWNER, **late),
        i.SecretSet(cipher="s-1", name="key", version=1, **late),
        i.DraftOpened(constellation="c1", tasks=["a"], ttl_s=60, **late),
        i.StopAllRequested(**late),
    ]
    seen = len(driver.events)
    for item in asked:
        assert [fault.code for fault in driver.do(item).faults] == [Code.BAD_TOKEN]
    assert len(driver.events) == seen


def test_who_is_no_owner_makes_a_bounded_number_of_links() -> None:
    driver = Driver()
    do(driver, i.PrincipalAdded, principal=replace(ANN, role=Role.VIEWER))

    def opened(at: int, scope: str) -> Answer:
        link = SignIn(created_ms=driver.now_ms, expires_ms=9**12, id=f"{scope}{at}", principal="ann", secret_hash="x")
        return do(driver, i.SignInOpened, signin=link, scope=scope)

    answers = [opened(at, Role.VIEWER) for at in range(LINKS_MOST + 1)]
    assert [bool(answer.faults) for answer in answers] == [*[False] * LINKS_MOST, True]
    assert answers[-1].faults[0].code is Code.RATE_LIMITED
    assert not opened(0, Role.OWNER).faults, "an owner invites as many as there are"
    driver.now_ms += LINKS_WITHIN_MS
    assert not opened(99, Role.VIEWER).faults


def test_the_only_owner_stays_one() -> None:
    driver = Driver()
    do(driver, i.PrincipalAdded, principal=replace(ANN, role=Role.OWNER))
    program = replace(ANN, id="ci", name="ci", kind=PrincipalKind.PROGRAM, role=Role.OWNER)
    do(driver, i.PrincipalAdded, principal=program)
    refused = do(driver, i.RoleGiven, principal="ann", role=Role.VIEWER).faults[0]
    assert (refused.code, refused.place) == (Code.CONFLICT, "role")
    do(driver, i.PrincipalAdded, principal=replace(ANN, id="bob", name="bob", role=Role.OWNER))
    assert do(driver, i.RoleGiven, principal="ann", role=Role.VIEWER).value == {"id": "ann"}
