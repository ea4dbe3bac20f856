"""T324: a key joins once; no request of it that was left open lets it in again, or resets what people decided."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom_protocol.records.entities import Enrollment
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code, Profile
from tests.builders import Driver


def asked(driver: Driver, code: str, *, preapproved: bool = False) -> None:
    """Make a code, and let the device ask with it."""
    enrollment = Enrollment(
        id=code, code_hash=code, created_ms=0, expires_ms=9_000_000, owner="ann", preapproved=preapproved
    )
    driver.do(i.EnrollmentOpened(by="person:ann", enrollment=enrollment, id=driver.ident()))
    request = i.EnrollmentAsked(
        by="device:d-x",
        device="d-x",
        enrollment=code,
        id=driver.ident(),
        key="k",
        name="x",
        os="linux",
        profile=Profile.WORK,
        words="w",
    )
    assert not driver.do(request).faults


def decided(driver: Driver, code: str) -> list[str]:
    item = i.EnrollmentDecided(allow=True, by="person:ann", enrollment=code, id=driver.ident())
    return [fault.code for fault in driver.do(item).faults]


@pytest.mark.parametrize("action", ["reserve", "revoke"])
def test_t324_what_was_asked_before_does_not_let_a_known_key_in_again(action: str) -> None:
    driver = Driver()
    asked(driver, "first")
    request = driver.shard.fleet.enrollments["first"]
    asked(driver, "second", preapproved=True)
    driver.do(i.DeviceControlled(action=action, by="person:ann", device="d-x", id=driver.ident()))
    before = driver.shard.fleet.devices["d-x"]
    assert driver.shard.fleet.enrollments["first"].state == "denied"
    assert decided(driver, "first") == [Code.CONFLICT]
    load(driver.shard, FLEET, driver.shard.fleet.seq, {"enrollment/first": request})
    assert decided(driver, "first") == [Code.DEVICE_REVOKED if before.revoked else Code.CONFLICT]
    assert driver.shard.fleet.devices["d-x"] == before


def test_t324_of_two_requests_one_is_approved() -> None:
    driver = Driver()
    asked(driver, "first")
    asked(driver, "second")
    assert decided(driver, "second") == []
    assert decided(driver, "first") == [Code.CONFLICT]
    assert driver.shard.fleet.devices["d-x"].name == "x"
