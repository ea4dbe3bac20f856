"""Durations for people: a short one is no zero, and a long one has its unit."""

from __future__ import annotations

import pytest

from starloom.cli.text.forecast_text import about
from starloom.client.terminal.style import seconds


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0, "0.0 s"), (1, "under 0.1 s"), (99, "under 0.1 s"), (100, "0.1 s"), (59_940, "59.9 s"), (61_000, "1 min 1 s")],
)
def test_a_duration_below_a_tenth_of_a_second_is_told_as_such(milliseconds: int, said: str) -> None:
    assert seconds(milliseconds) == said


def test_an_expected_time_below_a_tenth_has_no_range() -> None:
    assert about({"expected_ms": 20, "low_ms": 10, "high_ms": 40}) == "under 0.1 s"
    assert about({"expected_ms": 400, "low_ms": 100, "high_ms": 700}) == "about 0.4 s (0.1-0.7)"
