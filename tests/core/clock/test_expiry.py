"""What is long over is forgotten by events; what may still be used stays."""

from __future__ import annotations

import pytest

from starloom.core.clock import expiry
from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Enrollment, Principal, SignIn, Token
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.vocabulary import Role
from tests.builders import Driver, plan, task

HOUR_MS = 3_600_000


def tidy(driver: Driver, at_ms: int) -> None:
    driver.now_ms = at_ms
    driver.do(i.TimerFired(id="", by="engine", constellation=FLEET, entity="", kind=expiry.TIDY))


def fill(driver: Driver) -> None:
    """Put a principal, tokens, links and codes that end at various times."""
    driver.do(
        i.PrincipalAdded(id="", by="hub", principal=Principal(created_ms=0, id="ann", name="Ann", role=Role.OWNER))
    )
    for name, expires_ms in (("session", 2_000_000), ("for ever", 0), ("long", 2**45)):
        token = Token(
            created_ms=0,
            expires_ms=expires_ms,
            id=name,
            kind="bearer",
            principal="ann",
            role=Role.OWNER,
            secret_hash="x",
        )
        driver.do(i.TokenAdded(id="", by="person:ann", token=token))
    link = SignIn(created_ms=0, expires_ms=2_000_000, id="link", principal="ann", secret_hash="x")
    driver.do(i.SignInOpened(id="", by="hub", signin=link))
    code = Enrollment(code_hash="x", created_ms=0, expires_ms=2_000_000, id="code", owner="ann")
    driver.do(i.EnrollmentOpened(id="", by="person:ann", enrollment=code))


def test_a_starting_owner_arms_the_look() -> None:
    assert expiry.due_moment(0) in list(due_moments(Driver("one").shard))


def test_what_is_over_for_a_week_is_forgotten_and_the_rest_stays() -> None:
    driver = Driver("one")
    fill(driver)
    driver.submit(plan(task("a")), idempotency=("k", "body"), caller="ann")
    tidy(driver, 1_000_000 + expiry.KEPT_MS)
    assert driver.events[-1].kind != "forgotten"
    tidy(driver, 2_000_001 + expiry.KEPT_MS)
    assert [event.stream for event in driver.events if event.kind == "forgotten"] == [ACCESS, FLEET]
    access = driver.shard.access
    assert sorted(access.tokens) == ["for ever", "long"]
    assert not access.signins
    assert not access.idempotency
    assert not driver.shard.fleet.enrollments
    assert driver.timers[-1] == expiry.due_moment(driver.now_ms + HOUR_MS)


def test_a_revoked_token_is_shown_for_a_week() -> None:
    driver = Driver("one")
    fill(driver)
    driver.do(i.TokenRevoked(id="", by="person:ann", token="for ever"))
    revoked_ms = driver.shard.access.tokens["for ever"].revoked_ms
    tidy(driver, revoked_ms + expiry.KEPT_MS)
    assert "for ever" in driver.shard.access.tokens
    tidy(driver, revoked_ms + expiry.KEPT_MS + 1)
    assert "for ever" not in driver.shard.access.tokens


def test_more_keys_than_the_cap_leave_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "IDEMPOTENCY_MOST", 2)
    driver = Driver("one")
    for number in range(4):
        driver.now_ms += 1_000
        driver.submit(plan(task("a")), name=f"c{number}", idempotency=(f"k{number}", "body"), caller="ann")
    tidy(driver, driver.now_ms + 1)
    assert sorted(driver.shard.access.idempotency) == ["ann/k2", "ann/k3"]


def test_a_large_rest_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "AT_ONCE_MOST", 1)
    driver = Driver("one")
    fill(driver)
    at_ms = 2_000_001 + expiry.KEPT_MS
    tidy(driver, at_ms)
    assert driver.timers[-1] == expiry.due_moment(at_ms)
    tidy(driver, at_ms)
    assert not driver.shard.access.signins
    assert "session" not in driver.shard.access.tokens
