"""The times of one play: how much longer a running call takes, and what its lateness tells of its pace."""

from __future__ import annotations

import random

import pytest

from starloom.core.placement.pace.index import OCTAVE, key_of, with_sample
from starloom.planner.forecast.times import DEVICE_UNKNOWN, SPREAD_UNKNOWN, Times
from starloom_protocol.records.fleet import Pace

EXPECTS_MS = 10_000
PLAYS = 2_000


def median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def known(calls: int) -> dict[str, Pace]:
    row = Pace(device="d-one", last_ms=0, tool="t.pure")
    for _ in range(calls):
        row = with_sample(row, EXPECTS_MS, 10, 0)
    return {key_of("t.pure", "d-one", 0): row}


def rests(gone_ms: int) -> list[int]:
    paces = known(60)
    return [
        Times(paces, {}, random.Random(number)).rest_ms("t.pure", "d-one", EXPECTS_MS, gone_ms)
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
            times = Times({}, {}, random.Random(number))
            times.rest_ms("t.pure", "d-one", EXPECTS_MS, gone_ms)
            found.append(times.takes_ms("t.pure", "d-one", EXPECTS_MS))
        return median(found)

    assert DEVICE_UNKNOWN > SPREAD_UNKNOWN, "most of what is off is shared"
    assert after(0) == pytest.approx(EXPECTS_MS, rel=0.15)
    assert after(3 * EXPECTS_MS) > 1.5 * EXPECTS_MS


def test_a_call_beyond_all_chance_needs_as_long_again_as_it_is_late() -> None:
    times = Times(known(60), {}, random.Random(1))
    assert times.rest_ms("t.pure", "d-one", EXPECTS_MS, 100 * EXPECTS_MS) == 99 * EXPECTS_MS
    assert Times({}, {}).rest_ms("t.pure", "d-one", EXPECTS_MS, 4_000) == 6_000
