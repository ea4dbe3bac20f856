"""The moment after which no test begins any more, for a run that must come to an end: what `.ci/run` sets.

What is then left out is counted as deselected and not as passed; `scripts/verify.py` says how many. The order is drawn
anew in every run, so what one leaves out another runs. It decides nothing else about a test.
"""

from __future__ import annotations

import os
import time

import pytest

UNTIL_S = float(os.environ.get("TESTS_UNTIL") or "inf")
"""Seconds since the epoch."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    if time.time() < UNTIL_S:
        return None
    item.config.hook.pytest_deselected(items=[item])
    return True
