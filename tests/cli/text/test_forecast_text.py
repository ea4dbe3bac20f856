"""Expected times for people: a short one has no range."""

from __future__ import annotations

from starloom.cli.text.forecast_text import about


def test_an_expected_time_below_a_tenth_has_no_range() -> None:
    assert about({"expected_ms": 20, "low_ms": 10, "high_ms": 40}) == "under 0.1 s"
    assert about({"expected_ms": 400, "low_ms": 100, "high_ms": 700}) == "about 0.4 s (0.1-0.7)"
