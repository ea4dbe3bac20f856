"""A key does its work once, for as long as it is known - in memory or loaded from the log alike."""

from __future__ import annotations

import msgspec

from starloom.core.state import inputs as i
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import Principal, Token
from starloom_protocol.vocabulary import Role
from tests.builders import Driver, plan, task


def edit(key: str | None, body: str = "body", constellation: str = "c1", name: str = "x") -> i.EditProposed:
    return i.EditProposed(
        id="e",
        by="person:ann",
        base_version=1,
        constellation=constellation,
        idempotency=None if key is None else (key, body),
        operations=[AddTask(spec=task(name))],
        caller="ann",
    )


def token(name: str) -> Token:
    return Token(created_ms=0, expires_ms=0, id=name, kind="bearer", principal="ann", role=Role.OWNER, secret_hash="x")


def test_a_repeated_edit_is_answered_as_before_even_when_all_is_over() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    first = driver.do(edit("k"))
    assert first.value == {"version": 2}
    for dispatch in driver.take():
        driver.result(dispatch, 1)
    for dispatch in driver.take():
        driver.result(dispatch, 1)
    assert driver.shard.constellations["c1"].head.state == "succeeded"
    assert driver.do(edit("k")).value == first.value
    assert list(driver.shard.constellations["c1"].versions) == ["1", "2"]
    assert driver.do(edit("k", "other")).faults[0].code == "idempotency_mismatch"
    assert driver.do(edit(None)).faults[0].code == "illegal_control"


def test_a_refused_edit_uses_no_key_and_a_key_counts_for_one_constellation() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    driver.submit(plan(task("a")), name="c2")
    assert driver.do(edit("k", name="a")).faults
    assert driver.do(edit("k", "better")).value == {"version": 2}
    assert driver.do(edit("k", constellation="c2")).value == {"version": 2}


def test_a_repeated_token_is_refused_by_name_and_never_made_twice() -> None:
    driver = Driver("one")
    driver.do(
        i.PrincipalAdded(id="", by="hub", principal=Principal(created_ms=0, id="ann", name="Ann", role=Role.OWNER))
    )
    request = i.TokenAdded(id="t", by="person:ann", idempotency=("k", "body"), token=token("t1"))
    assert not driver.do(request).faults
    (again,) = driver.do(msgspec.structs.replace(request, token=token("t2"))).faults
    assert (again.code, "t1" in again.reason) == ("conflict", True)
    other = msgspec.structs.replace(request, idempotency=("k", "other"), token=token("t3"))
    assert driver.do(other).faults[0].code == "idempotency_mismatch"
    assert list(driver.shard.access.tokens) == ["t1"]
