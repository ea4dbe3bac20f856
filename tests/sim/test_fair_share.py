"""Two people and twelve constellations on four devices: a small one takes at most twice its time alone."""

from __future__ import annotations

import os

import pytest

from tests.sim.fair_share import CONSTELLATIONS, draw, play, slow

pytestmark = pytest.mark.sim

SEEDS = int(os.environ.get("STARLOOM_FAIR_SEEDS", "30"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_small_constellations_take_twice_their_time_alone(seed: int) -> None:
    assert list(slow(seed)) == []


def test_every_size_is_drawn() -> None:
    asked = draw(0)
    assert len(asked) == CONSTELLATIONS
    assert {one.small for one in asked} == {True, False}
    assert len({one.by for one in asked}) == 2
    assert play(asked).took_ms.keys() == {one.name for one in asked}
