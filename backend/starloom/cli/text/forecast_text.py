"""Expected times as text: `about 40 s (25-70)`, and a plan on two fleets beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from starloom.client.terminal.style import seconds

if TYPE_CHECKING:
    from starloom_protocol.api.previews import Estimate, WhatIf


def about(estimate: Estimate) -> str:
    """Return an estimate in words; the range is that of four of five runs."""
    expected, low, high = estimate["expected_ms"], estimate["low_ms"], estimate["high_ms"]
    if high < 60_000:
        return f"about {_whole(expected)} s ({_whole(low)}-{_whole(high)})"
    return f"about {seconds(expected)} ({seconds(low)} to {seconds(high)})"


def what_if_lines(found: WhatIf) -> Iterator[str]:
    """Yield the lines of a plan on the fleet of now and on a changed one."""
    within_ms = found["within_ms"]
    for title, course in (("Now", found["now"]), (found["change"], found["then"])):
        if course is not None:
            chance = course["chance"]
            in_time = f"; within {seconds(within_ms)} with {chance:.0%}" if within_ms and chance is not None else ""
            yield f"{title}: {about(course)}{in_time}"
    yield found["said"]


def _whole(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.0f}" if milliseconds >= 1_000 else f"{milliseconds / 1000:.1f}"
