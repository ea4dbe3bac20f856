"""Results of earlier runs: no device lies another one into an old result, and no result outlives the rights to it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.state.apply import put
from starloom_protocol.records.entities import Reuse
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import DeviceLink, Effect, Profile
from tests.builders import PURE, Driver, plan
from tests.core.plan.reuse.reusing import DAY_S, FUNCTION, carry_out, files, fleet, function, totals


def test_a_device_that_names_an_old_hash_keeps_no_other_from_being_looked_at() -> None:
    """The list comes from the liar: it says that the file of `two` is as it was."""
    driver = fleet("liar", "two")
    carry_out(driver, totals("two", of="two"), "c1", files(a="h1"), {"sum": 1})
    called = carry_out(driver, totals("two", of="liar"), "c2", files(a="h1"), {"sum": 2})
    assert len(called) == 2
    values = [one.value for key, one in driver.shard.constellations["c2"].attempts.items() if key.startswith("total")]
    assert values == ['{"sum":2}']


def test_a_lying_result_stands_for_no_other_device() -> None:
    driver = fleet("liar", "two")
    carry_out(driver, plan(function(device="liar")), "c1", {"sum": 666})
    assert carry_out(driver, plan(function(device="two")), "c2", {"sum": 1}) == ["a"]


def test_a_device_that_answers_for_another_keeps_nothing() -> None:
    driver = fleet("liar", "two")
    driver.submit(plan(function(device="two")))
    (dispatch,) = driver.take()
    driver.result(dispatch, {"sum": 666}, device="d-liar")
    assert not driver.shard.access.kept


def test_a_person_takes_over_own_results_alone() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1", by="person:owner")
    assert carry_out(driver, plan(function()), "c2", by="person:guest#t2") == ["a"]
    assert carry_out(driver, plan(function()), "c3", by="program:owner") == ["a"]
    assert carry_out(driver, plan(function()), "c4", by="person:owner#t1") == []


def _device(driver: Driver, **changes: Any) -> None:
    found = driver.shard.fleet.devices["d-one"]
    put(driver.shard, driver.shard.fleet, "device", "d-one", replace(found, **changes))


def _offer(driver: Driver, **changes: Any) -> None:
    found = driver.shard.fleet.offers["d-one"]
    put(driver.shard, driver.shard.fleet, "offer", "d-one", replace(found, **changes))


@pytest.mark.parametrize(
    "happens",
    [
        lambda driver: _device(driver, revoked=True),
        lambda driver: _device(driver, quarantined=True, link=DeviceLink.OFFLINE),
        lambda driver: _device(driver, profile=Profile.WORK),
        lambda driver: _device(driver, version="9.9"),
        lambda driver: _offer(driver, grants=["files:read:other"]),
        lambda driver: _offer(driver, tools=[]),
        lambda driver: _offer(driver, tools=[replace(FUNCTION, unavailable="the owner turned it off")]),
        lambda driver: _offer(driver, tools=[replace(FUNCTION, effects=[Effect.WRITE])]),
        lambda driver: _offer(driver, tools=[replace(FUNCTION, args='{"type":"object"}')]),
    ],
)
def test_a_result_falls_with_the_terms_under_which_it_was_made(happens: Any) -> None:
    driver = fleet("one", "two")
    carry_out(driver, plan(function(device="one")), "c1", {"sum": 1})
    happens(driver)
    driver.submit(plan(function(device="one")), "c2")
    assert driver.shard.constellations["c2"].tasks["a"].state != "succeeded"
    assert not any(event.kind == "task_reused" for event in driver.events)


def test_a_file_whose_bytes_are_gone_is_made_again() -> None:
    """A result that names a file is never kept, so no plan goes on with a hash whose bytes nobody has."""
    driver = fleet("one")
    value = {"files": [{"artifact": "ab" * 32, "name": "x.csv"}]}
    for name in ("c1", "c2"):
        assert carry_out(driver, plan(function()), name, value) == ["a"]


def test_a_plan_cannot_call_work_with_effects_reusable() -> None:
    """The lowered plan of a stranger: the offer of the device decides, not what the plan says of the tool."""
    driver = fleet("one")
    spec = function(tool="t.never", repeatability=PURE, reuse=Reuse(fresh_s=DAY_S, key=canonical({"key": 1})))
    for name in ("c1", "c2"):
        assert carry_out(driver, plan(spec), name) == ["a"]


def test_a_device_cannot_offer_a_key_by_its_items() -> None:
    """An item that is itself an `each` node is a value like any other."""
    driver = fleet("one")
    tricky = {"files": [{"path": {"each": "/sha256"}, "sha256": {"each": "/sha256"}}]}
    assert len(carry_out(driver, totals(), "c1", tricky, {"sum": 1})) == 2
    assert len(carry_out(driver, totals(), "c2", files(a="h1"), {"sum": 1})) == 2
