"""Each attacker over real processes once, for a short time: everything is refused, logged, and without effect."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.guard.drivers.running import DRIVERS
from tests.guard.drivers.tally import Stopwatch
from tests.guard.threats import THREATS

SEED = 0


def test_each_driver_attacks_a_row_of_the_threat_table() -> None:
    assert set(DRIVERS) <= {row.id for row in THREATS}


@pytest.mark.test
@pytest.mark.parametrize("row", ["T31", "T32"])
def test_a_short_attack_over_real_processes_has_no_effect(row: str) -> None:
    """The other drivers have tests of their own, over the same doors."""
    # Not pytest's own folder: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-guard-") as home:
        tally = DRIVERS[row][1](Path(home), Stopwatch(0.0), SEED)
    assert (tally.unlogged, tally.effects) == ([], []), f"seed {SEED}"
    assert tally.refusals == tally.attacks > 0
