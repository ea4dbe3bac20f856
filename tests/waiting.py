"""Waiting for a condition of real processes: bounded, and saying what was waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 180.0
STEP_S = 0.05


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
