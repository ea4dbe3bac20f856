"""What a piece of work costs, counted in calls: the same on every machine, as seconds are not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
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


class Calls:
    """Counts the calls that code below some folders makes in this thread, of functions of Python and of C.

    Calls that a test, a twin or a library makes count for nothing, so the count does not depend on the machine.
    """

    def __init__(self, *folders: str) -> None:
        self.made = 0
        self._folders = folders
        self._ours: dict[CodeType, bool] = {}
        self._before: Any = None

    def __enter__(self) -> Calls:
        self._before = sys.getprofile()
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(self._before)

    def _see(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "c_call":
            self.made += self._is_ours(frame.f_code)
        elif event == "call":
            self.made += frame.f_back is not None and self._is_ours(frame.f_back.f_code)

    def _is_ours(self, code: CodeType) -> bool:
        known = self._ours.get(code)
        if known is None:
            known = self._ours[code] = code.co_filename.startswith(self._folders)
        return known
