"""Past calls tell how far a pace is drawn towards those of other devices, and how sure it is after that."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import fmean, pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.core.placement.pace import OCTAVE, TRANSFER, key_of, with_failure, with_sample
from starloom.planner.forecast.known import DEVICE_UNKNOWN, Known, known_of
from starloom.planner.forecast.plans import forecast
from starloom_protocol.records.fleet import Pace
from tests.builders import plan, task
from tests.planner.test_forecast import seen

USUAL_MS = 10_000
SPREAD = 0.5 * OCTAVE
DEVICES, TOOLS, CALLS = 4, 8, 8


def rows(seed: int, apart: float, calls: int = CALLS) -> tuple[dict[str, Pace], dict[tuple[str, str], float]]:
    """Return paces that were learned from calls, and by tool and device how far the true one is off the usual one."""
    chance = random.Random(seed)
    found, true = {}, {}
    for tool in range(TOOLS):
        for device in range(DEVICES):
            row = Pace(device=f"d-{device}", last_ms=0, tool=f"t.{tool}")
            off = true[row.tool, row.device] = chance.gauss(0, apart)
            for _ in range(calls):
                row = with_sample(row, int(USUAL_MS * 2 ** ((off + chance.gauss(0, SPREAD)) / OCTAVE)), 10, 0)
            found[key_of(row.tool, row.device, 0)] = row
    return found, true


def known(paces: dict[str, Pace]) -> Known:
    return known_of(paces.values(), paces.values())


def errors_of_the_fastest(apart: float) -> tuple[list[float], list[float], list[float]]:
    """Return by how much the true pace of the seemingly fastest device is above its mean, and what is said of that."""
    bare, left, said = [], [], []
    for seed in range(60):
        paces, true = rows(seed, apart)
        told = known(paces)
        for tool in range(TOOLS):
            row = min((one for one in paces.values() if one.tool == f"t.{tool}"), key=lambda one: one.logs / one.count)
            mean = row.logs / row.count - log_of_usual()
            sure = told.sureness(row.tool, row.device)
            bare.append(true[row.tool, row.device] - mean)
            left.append(true[row.tool, row.device] - mean - sure.middle)
            said.append(sure.unknown)
    return bare, left, said


def log_of_usual() -> float:
    row = with_sample(Pace(device="d", last_ms=0, tool="t"), USUAL_MS, 10, 0)
    return float(row.logs)


@pytest.mark.parametrize("apart", [0.0, 0.2 * OCTAVE, 1.5 * OCTAVE])
def test_the_device_that_seems_fastest_is_expected_to_take_as_long_as_it_does(apart: float) -> None:
    bare, left, said = errors_of_the_fastest(apart)
    assert abs(fmean(left)) < 0.07 * OCTAVE
    # Devices that are alike are assumed to be a little apart until many are known, so that less is sure than could be.
    assert 0.85 * pstdev(left) < fmean(said) < 1.5 * pstdev(left)
    if apart < SPREAD:
        assert fmean(bare) > 2.5 * fmean(left), "chosen for its luck, it takes longer than its mean"


def test_a_device_that_lies_moves_no_other() -> None:
    paces, _true = rows(1, 0.0)
    for tool in range(TOOLS):
        row = Pace(device="d-liar", last_ms=0, tool=f"t.{tool}")
        for _ in range(CALLS):
            row = with_sample(row, 1_000 * USUAL_MS, 10, 0)
        paces[key_of(row.tool, row.device, 0)] = row
    sure = known(paces).sureness("t.0", "d-0")
    assert abs(sure.middle) < 0.02 * OCTAVE


def test_a_copy_is_as_sure_as_its_device_and_tells_nothing_of_chance() -> None:
    paces, _true = rows(2, OCTAVE)
    row = paces[key_of("t.0", "d-0", 0)]
    copied = Pace(**{name: getattr(row, name) for name in row.__struct_fields__} | {"device": "d-copy"})
    found = known_of(paces.values(), [*paces.values(), copied])
    assert found.spreads == known(paces).spreads
    assert found.sureness("t.0", "d-copy") == found.sureness("t.0", "d-0")


def test_the_size_with_the_most_calls_tells_how_sure_a_pace_is() -> None:
    row = Pace(device="d-0", last_ms=0, size=3, tool="t.0")
    for _ in range(20):
        row = with_sample(row, USUAL_MS, 10, 0)
    few = with_sample(Pace(device="d-0", last_ms=0, tool="t.0"), USUAL_MS, 10, 0)
    found = known({"few": few, "many": row})
    assert found.sureness("t.0", "d-0") == known({"many": row}).sureness("t.0", "d-0")
    assert found.sureness("t.0", "d-0").unknown < DEVICE_UNKNOWN / 4


def test_transfers_and_rows_without_calls_tell_nothing() -> None:
    moved = with_sample(Pace(device="d-0", last_ms=0, tool=TRANSFER), USUAL_MS, 10, 0)
    found = known({"moved": moved, "none": Pace(device="d-0", failures=3, last_ms=0, tool="t.0")})
    assert found == Known({}, {})
    assert found.sureness("t.0", "d-0").unknown == DEVICE_UNKNOWN


def test_a_device_that_only_failed_is_as_unknown_as_one_that_did_nothing() -> None:
    row = Pace(device="d-0", last_ms=0, tool="t.0")
    for _ in range(5):
        row = with_sample(row, USUAL_MS, 10, 0)
    failed = with_failure(Pace(device="d-1", last_ms=0, tool="t.0"), 0)
    found = known({"ran": row, "failed": failed})
    assert found == known({"ran": row})
    assert found.sureness("t.0", "d-1").unknown == DEVICE_UNKNOWN


ENDS = st.lists(
    st.tuples(
        st.sampled_from(["d-one", "d-two", "d-left"]),
        st.sampled_from(["t.pure", "t.idem", TRANSFER]),
        st.integers(0, 2),
        st.one_of(st.none(), st.integers(0, 10**9)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(ENDS)
def test_each_history_of_calls_has_an_estimate_or_none(ends: list[tuple[str, str, int, int | None]]) -> None:
    """`None` is an end by a fault of the device; the others are times in milliseconds."""
    paces: dict[str, Pace] = {}
    for device, tool, size, took_ms in ends:
        key = key_of(tool, device, size)
        row = paces.get(key, Pace(device=device, last_ms=0, size=size, tool=tool))
        paces[key] = with_failure(row, 0) if took_ms is None else with_sample(row, took_ms, 10, 0)
    fleet = replace(seen(one=10, two=10), paces=paces)
    found = forecast(plan(task("a"), task("b", "x=a", tool="t.idem")), fleet, plays=3)
    assert found is None or found.low_ms <= found.expected_ms <= found.high_ms
