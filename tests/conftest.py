"""The moment after which no test begins any more: a run that must come to an end then fails, with its report.

What did not run has shown nothing, so the run is not green, whatever passed before.
"""

from __future__ import annotations

import os
import time

import pytest

UNTIL_S = float(os.environ.get("TESTS_UNTIL") or "inf")
"""Seconds since the epoch."""
OUT_OF_TIME = 3
"""The exit code of pytest; what its own codes mean is something else."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    if time.time() >= UNTIL_S:
        pytest.exit(f"the time of this run is over before {item.nodeid}, and those after it, began", OUT_OF_TIME)
