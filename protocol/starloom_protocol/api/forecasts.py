"""Answers about times that are expected: of a plan, and of the same plan on another fleet."""

from __future__ import annotations

from typing import TypedDict


class Estimate(TypedDict):
    """The time that a plan should take in milliseconds; four of five runs should end between `low` and `high`."""

    expected_ms: int
    low_ms: int
    high_ms: int


class Course(Estimate):
    """An estimate with its chance to end within the time that was asked for; null if none was."""

    chance: float | None
    plays: int


class WhatIf(TypedDict):
    """A plan on the fleet of now and on a changed one; null where there is no estimate, and `said` says why."""

    name: str
    plan_hash: str
    change: str
    within_ms: int | None
    now: Course | None
    then: Course | None
    said: str
