"""No example is judged by its time, and a run that must come to an end fails then, with its report.

What did not run has shown nothing, so the run is not green, whatever passed before.
"""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, settings

UNTIL_S = float(os.environ.get("TESTS_UNTIL") or "inf")
"""Seconds since the epoch."""
OUT_OF_TIME = 3
"""The exit code of pytest; what its own codes mean is something else."""

# Hypothesis fails examples that take over 200 ms, and tests whose examples are drawn slowly.
settings.register_profile("untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    if time.time() >= UNTIL_S:
        pytest.exit(f"the time of this run is over before {item.nodeid}, and those after it, began", OUT_OF_TIME)
