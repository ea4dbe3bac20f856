"""What a piece of work costs, counted in calls: the same on every machine, as seconds are not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

GROWTH_MOST = 3.0
"""How much more work of twice the size may cost: 2 is linear, 4 is quadratic."""


def calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls in this thread, of Python and of C."""
    made = 0

    def see(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal made
        if event in ("call", "c_call"):
            made += 1

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made
