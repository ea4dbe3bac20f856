"""The times of one play: how much longer a running call takes, and what its lateness tells of its pace."""

from __future__ import annotations

import random

import pytest

from starloom.core.placement.pace import OCTAVE
from starloom.planner.forecast.known import DEVICE_UNKNOWN, SPREAD_UNKNOWN, Known, Spread, Sureness
from starloom.planner.forecast.times import Times

EXPECTS_MS = 10_000
PLAYS = 2_000
MANY = Spread(SPREAD_UNKNOWN, 10_000)
"""A spread of so many calls that plays hardly differ in it."""


def median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def rests(gone_ms: int) -> list[int]:
    known = Known({"t.pure": MANY}, {("t.pure", "d-one"): Sureness(0.0, SPREAD_UNKNOWN / 60**0.5)})
    return [
        Times({}, known, random.Random(number)).rest_ms("t.pure", "d-one", EXPECTS_MS, gone_ms)
        for number in range(PLAYS)
    ]


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0, 2.0, 3.0])
def test_the_rest_of_a_call_is_that_of_calls_that_took_as_long(part: float) -> None:
    chance, gone_ms = random.Random(1), int(part * EXPECTS_MS)
    longer: list[int] = []
    while len(longer) < PLAYS:
        error = chance.gauss(0, SPREAD_UNKNOWN / 60**0.5)
        takes_ms = int(EXPECTS_MS * 2 ** ((error + chance.gauss(0, SPREAD_UNKNOWN)) / OCTAVE))
        if takes_ms > gone_ms:
            longer.append(takes_ms - gone_ms)
    assert median(rests(gone_ms)) == pytest.approx(median(longer), rel=0.15)


def test_a_late_call_makes_the_calls_after_it_longer() -> None:
    def after(gone_ms: int) -> int:
        found = []
        for number in range(PLAYS):
            times = Times({}, Known({"t.pure": MANY}, {}), random.Random(number))
            times.rest_ms("t.pure", "d-one", EXPECTS_MS, gone_ms)
            found.append(times.takes_ms("t.pure", "d-one", EXPECTS_MS))
        return median(found)

    assert DEVICE_UNKNOWN > SPREAD_UNKNOWN, "most of what is off is shared"
    assert after(0) == pytest.approx(EXPECTS_MS, rel=0.15)
    assert after(3 * EXPECTS_MS) > 1.5 * EXPECTS_MS


def test_a_call_beyond_all_chance_needs_as_long_again_as_it_is_late() -> None:
    known = Known({"t.pure": MANY}, {("t.pure", "d-one"): Sureness(0.0, SPREAD_UNKNOWN / 60**0.5)})
    times = Times({}, known, random.Random(1))
    assert times.rest_ms("t.pure", "d-one", EXPECTS_MS, 100 * EXPECTS_MS) == 99 * EXPECTS_MS
    assert Times({}, Known({}, {})).rest_ms("t.pure", "d-one", EXPECTS_MS, 4_000) == 6_000


def test_a_pace_that_is_too_short_by_chance_makes_running_and_later_calls_longer() -> None:
    known = Known({"t.pure": MANY}, {("t.pure", "d-one"): Sureness(OCTAVE / 2, 1.0)})
    usual = Times({}, known)
    assert usual.takes_ms("t.pure", "d-one", EXPECTS_MS) == pytest.approx(EXPECTS_MS * 2**0.5, rel=0.001)
    assert usual.rest_ms("t.pure", "d-one", EXPECTS_MS, 4_000) == pytest.approx(EXPECTS_MS * 2**0.5 - 4_000, rel=0.001)
    begun = [
        Times({}, known, random.Random(number)).rest_ms("t.pure", "d-one", EXPECTS_MS, 0) for number in range(PLAYS)
    ]
    assert median(begun) == pytest.approx(EXPECTS_MS * 2**0.5, rel=0.1)


def test_few_calls_that_were_alike_leave_room_for_ones_that_are_not() -> None:
    def tenth_longest(calls: int) -> int:
        known = Known({"t.pure": Spread(SPREAD_UNKNOWN, calls)}, {("t.pure", "d-one"): Sureness(0.0, 1.0)})
        found = [
            Times({}, known, random.Random(number)).takes_ms("t.pure", "d-one", EXPECTS_MS) for number in range(PLAYS)
        ]
        return sorted(found)[PLAYS * 9 // 10]

    assert tenth_longest(4) > 1.05 * tenth_longest(400)
