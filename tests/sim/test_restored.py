"""A restored backup: no device begins a second time what may not be repeated, and the owner is told."""

from __future__ import annotations

import logging

import pytest

from tests.sim.restored import Restored, restore

pytestmark = [pytest.mark.sim, pytest.mark.test]


@pytest.fixture(scope="module")
def played() -> list[Restored]:
    logging.disable(logging.CRITICAL)
    try:
        return [restore(seed) for seed in range(40)]
    finally:
        logging.disable(logging.NOTSET)


def test_no_device_repeats_what_it_began(played: list[Restored]) -> None:
    assert {one.seed: one.repeated for one in played if one.repeated} == {}
    assert {one.seed: one.violations for one in played if one.violations} == {}


def test_the_owner_of_a_restored_hub_is_told(played: list[Restored]) -> None:
    told = [one for one in played if one.told]
    assert len(told) >= len(played) // 4
    assert all("this history is older than what" in words for one in told for words in one.told)
    assert all(one.forgotten > 0 for one in told), "nothing is told where nothing was forgotten"
