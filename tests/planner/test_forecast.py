"""Forecasts: what they tell of known tools, where they are silent, how often they are right, and what if."""

from __future__ import annotations

import random

import pytest

from starloom.core.placement.pace import key_of, with_sample
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast.plans import (
    NOT_PLAYED,
    PLAYS_LEAST,
    PLAYS_MOST,
    STEPS_OF_PREVIEW,
    Change,
    Forecast,
    forecast,
    plays_for,
    unknown_tools,
    what_if,
)
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import ForEach, Offer, Selector
from starloom_protocol.records.fleet import Pace
from starloom_protocol.vocabulary import Op
from tests.bench.forecasts import BEFORE, FLEETS, INSIDE_LEAST, Calibration, measure, missed, table
from tests.builders import TOOLS, plan, task, when
from tests.planner.fleets import device


def seen(calls: int = 5, slots: int = 1, **takes_ms: int) -> FleetSnapshot:
    """A fleet of devices with the time of a call of `t.pure` on each."""
    devices = {item.id: item for item in (device(name) for name in takes_ms)}
    offers = {name: Offer(digest="x", slots=slots, tools=TOOLS) for name in devices}
    paces = {}
    for item, time_ms in zip(devices.values(), takes_ms.values(), strict=True):
        row = Pace(device=item.id, last_ms=0, tool="t.pure")
        for number in range(calls):
            row = with_sample(row, time_ms + number, 10, 0)
        paces[key_of("t.pure", item.id, 0)] = row
    return FleetSnapshot.of(devices, offers, paces=paces)


def chain(length: int) -> LoweredPlan:
    return plan(task("t0"), *(task(f"t{n}", f"x=t{n - 1}") for n in range(1, length)))


def test_a_chain_takes_the_sum_of_its_tasks() -> None:
    found = forecast(chain(4), seen(one=10_000), plays=100)
    assert found is not None
    assert 32_000 < found.expected_ms < 50_000
    assert found.low_ms < found.expected_ms < found.high_ms
    assert found == forecast(chain(4), seen(one=10_000), plays=100)


def test_a_preview_has_an_estimate_once_the_tools_have_run() -> None:
    known = Planning(load_catalogue(), lambda: seen(one=10_000)).preview(chain(3))["estimate"]
    assert known is not None
    assert known["low_ms"] <= known["expected_ms"] <= known["high_ms"]
    assert Planning(load_catalogue(), lambda: seen(calls=2, one=10_000)).preview(chain(3))["estimate"] is None


def test_a_preview_says_as_much_of_the_time_as_what_if() -> None:
    known, seldom = seen(one=10_000), seen(calls=2, one=10_000)
    partly = plan(*chain(3).specs, task("rare", tool="t.idem"))
    question = plan(task("a"), task("b", person="Go on?"))
    for made, fleet, there, said in (
        (chain(3), known, True, None),
        (partly, known, True, "Not in it: rare, whose tool ran too seldom for a figure; three calls are enough."),
        (chain(3), seldom, False, "t.pure ran too seldom for an estimate: three calls are enough."),
        (question, known, False, NOT_PLAYED),
    ):
        seen_now = iter([fleet] * 8)
        found = Planning(load_catalogue(), seen_now.__next__).preview(made)
        told = what_if(made, fleet, Change(), words="")
        assert ((found["estimate"] is not None), found.get("estimate_said")) == (there, said)
        assert (told["now"] is not None) == there
        assert said is None or said in told["said"]


@pytest.mark.parametrize(
    "made",
    [
        plan(task("a", tool="t.idem")),
        plan(task("a"), task("b", person="Go on?")),
        plan(task("a"), task("g", for_each=ForEach(source="a", output="/l"))),
        plan(task("a"), task("b"), when("a>b", "/x", Op.EQ, 1)),
        plan(task("a", device="nowhere")),
    ],
    ids=["unknown tool", "a person", "a list of a result", "a branch", "no device"],
)
def test_a_forecast_is_silent_where_it_would_guess(made: LoweredPlan) -> None:
    assert forecast(made, seen(one=10_000), plays=20) is None


def test_a_list_over_devices_is_forecast() -> None:
    made = plan(task("g", for_each=ForEach(devices=Selector(tools=["t.pure"]))))
    found = forecast(made, seen(one=1_000, two=20_000), plays=50)
    assert found is not None
    assert found.expected_ms > 12_000


def test_the_ends_of_a_range_lie_between_plays() -> None:
    nine, ten = Forecast(tuple(range(100, 1_000, 100))), Forecast(tuple(range(100, 1_100, 100)))
    assert (nine.expected_ms, ten.expected_ms) == (500, 550)
    assert Forecast((700,)).low_ms == Forecast((700,)).expected_ms == Forecast((700,)).high_ms == 700
    assert nine.low_ms < 100 < 900 < nine.high_ms, "wider than the plays: devices also change"
    held = 0
    for number in range(2_000):
        chance = random.Random(number)
        found = Forecast(tuple(sorted(chance.randrange(10**6, 10**9) for _ in range(20))))
        held += found.share_ms(0.1) <= chance.randrange(10**6, 10**9) <= found.share_ms(0.9)
    assert held == pytest.approx(1_600, abs=60)


def test_plays_are_bounded_by_their_tasks() -> None:
    assert plays_for(1, 10**9) == PLAYS_MOST
    assert plays_for(STEPS_OF_PREVIEW, STEPS_OF_PREVIEW) == 0
    assert plays_for(STEPS_OF_PREVIEW // PLAYS_LEAST, STEPS_OF_PREVIEW) == PLAYS_LEAST


def test_a_copy_of_a_device_makes_wide_work_faster_and_its_loss_slower() -> None:
    wide, fleet = plan(*(task(f"t{n}") for n in range(8))), seen(one=10_000, two=10_000)
    more = what_if(wide, fleet, Change(copies=("d-one",)), words="With a copy of one")
    less = what_if(wide, fleet, Change(without=("d-one",)), words="Without one", within_ms=60_000)
    assert more["now"] is not None
    assert more["then"] is not None
    assert more["then"]["expected_ms"] < more["now"]["expected_ms"]
    assert more["said"].endswith("less time.")
    assert less["now"] is not None
    assert less["then"] is not None
    assert less["then"]["expected_ms"] > 1.5 * less["now"]["expected_ms"]
    now, then = less["now"]["chance"], less["then"]["chance"]
    assert now is not None
    assert then is not None
    assert now > 0.8 > 0.2 > then


def test_what_if_says_why_there_is_no_estimate() -> None:
    few = what_if(chain(2), seen(calls=1, one=10_000), Change(without=("d-one",)), words="Without one")
    assert (few["now"], few["said"]) == (None, "t.pure ran too seldom for an estimate: three calls are enough.")
    gone = what_if(chain(2), seen(one=10_000), Change(without=("d-one",)), words="Without one")
    assert gone["now"] is not None
    assert gone["said"] == "Without one, the plan cannot end: no other device can take all of its tasks."
    assert unknown_tools(chain(1), {}) == ["t.pure"]


def test_what_if_tells_the_time_of_what_is_known() -> None:
    made = plan(task("a"), task("b", "x=a"), task("store", "x=b", tool="t.idem"), task("mail", "x=b", tool="t.idem"))
    found = what_if(made, seen(one=10_000), Change(copies=("d-one",)), words="With a copy of one", within_ms=60_000)
    now = found["now"]
    assert now is not None
    assert 16_000 < now["expected_ms"] < 25_000
    assert (now["left_out"], now["chance"]) == (["store", "mail"], None)
    assert found["said"].endswith(
        "Not in it: store and mail, whose tools ran too seldom for a figure; three calls are enough."
    )
    assert forecast(made, seen(one=10_000), plays=20) is None, "a preview has no room to name them"


@pytest.mark.test
def test_four_of_five_runs_end_inside_the_range() -> None:
    found = measure(range(21), ("equal", "speeds", "unrelated"), plays=20, recipe=False, moments=())[BEFORE]
    assert found.runs >= 100
    assert found.inside >= INSIDE_LEAST * found.runs
    fifths = [[found.bins[at] for at in (2 * step, 2 * step + 1) if at in found.bins] for step in range(5)]
    told = [(sum(one.met for one in both), sum(one.runs for one in both)) for both in fifths]
    shares = [met / runs for met, runs in told if runs >= 10]
    assert shares == sorted(shares)


@pytest.mark.test
def test_after_ten_runs_of_a_recipe_its_range_and_its_chances_hold() -> None:
    found = Calibration()
    for kinds in FLEETS.values():
        found.join(measure(range(6), kinds, plays=20, recipe=True, moments=())[BEFORE])
    assert found.runs == 60
    assert not missed(found)


@pytest.mark.test
def test_a_run_under_way_is_forecast_again_and_counted() -> None:
    found = measure(range(1), FLEETS["like"], plays=10, recipe=True, moments=(0.5,))
    assert {share: (one.runs, one.silent) for share, one in found.items()} == {BEFORE: (5, 0), 0.5: (5, 0)}
    assert sum(one.runs for one in found[0.5].bins.values()) == 5


def test_what_is_told_and_what_happened_are_compared_by_tenths() -> None:
    found = Calibration()
    for chance, met in ((0.0, False), (1.0, True), (1.0, False)):
        found.take(chance, met)
    assert sorted(found.bins) == [0, 9]
    assert found.gap() == pytest.approx(1 / 3)
    assert found.noise() == 0
    assert table(found)[2:] == ["| 0% to 10% | 1 | 0% | 0% |", "| 90% to 100% | 2 | 100% | 50% |"]
    found.runs = 3
    assert len(missed(found)) == 2
