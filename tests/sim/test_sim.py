"""Many seeded schedules of the real engine and agent core in virtual time, and the seeds that failed once."""

from __future__ import annotations

import logging
import os

import pytest

from tests.sim.run import known_seeds
from tests.sim.schedule import Outcome, run_seed

pytestmark = pytest.mark.sim
SCHEDULES = int(os.environ.get("STARLOOM_SIM_SCHEDULES", "500"))
SEEDS = range(10_000)


@pytest.fixture(autouse=True)
def _quiet() -> object:
    """Crashes on purpose are logged on purpose; a schedule makes thousands of lines."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_no_schedule_violates_a_promise() -> None:
    done: list[Outcome] = [run_seed(seed) for seed in SEEDS[:SCHEDULES]]
    failed = {outcome.seed: outcome.violations for outcome in done if outcome.violations}
    assert not failed
    assert sum(outcome.faults for outcome in done) >= 30 * len(done)
    assert len({outcome.events for outcome in done}) > len(done) // 10


@pytest.mark.parametrize("seed", known_seeds())
def test_a_seed_that_failed_once_stays_mended(seed: int) -> None:
    assert run_seed(seed).violations == []


def test_a_seed_gives_the_same_run_again() -> None:
    assert run_seed(7) == run_seed(7)
