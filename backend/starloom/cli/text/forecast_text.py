"""Expected times as text: `about 40 s (25-70)`, and a plan on two fleets beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.terminal.style import seconds


def about(estimate: dict[str, Any]) -> str:
    """Return an estimate in words; the range is that of four of five runs."""
    expected, low, high = (int(estimate[name]) for name in ("expected_ms", "low_ms", "high_ms"))
    if high < 60_000:
        return f"about {_whole(expected)} s ({_whole(low)}-{_whole(high)})"
    return f"about {seconds(expected)} ({seconds(low)} to {seconds(high)})"


def what_if_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a plan on the fleet of now and on a changed one."""
    within_ms = found.get("within_ms")
    for title, course in (("Now", found["now"]), (found["change"], found["then"])):
        if course is not None:
            chance = course.get("chance")
            in_time = f"; within {seconds(within_ms)} with {chance:.0%}" if within_ms and chance is not None else ""
            yield f"{title}: {about(course)}{in_time}"
    yield found["said"]


def _whole(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.0f}" if milliseconds >= 1_000 else f"{milliseconds / 1000:.1f}"
