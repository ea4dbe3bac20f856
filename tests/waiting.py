"""Waiting for a condition of real processes: bounded, and saying what was waited for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Final

SLOWER = float(os.environ.get("TESTS_SLOWER") or 1)
"""How much longer than on a machine of the expected speed everything is waited for; `scripts/tier.py` sets it."""

PATIENCE_S = 60.0 * SLOWER
STEP_S = 0.05
REDIS_WAITS: Final[dict[str, Any]] = {"socket_timeout": 10.0 * SLOWER, "socket_connect_timeout": 10.0 * SLOWER}
"""For a client of the tests' own: redis-py gives up after five seconds otherwise."""


def until(question: Callable[[], Any], what: str, within_s: float = PATIENCE_S) -> Any:
    """Ask again and again until the answer is true, and return it.

    Raises:
        AssertionError: it never was, in time.
    """
    deadline = time.monotonic() + within_s
    while True:
        found = question()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not so within {within_s:g} s (last answer: {found!r})")
        time.sleep(STEP_S)
