"""`python -m tests.bench.forecasts`: forecasts beside the runs that they foretold, in virtual time.

Each world runs one recipe ten times, then forecasts each of the next runs: before it begins, and its rest once a
quarter, a half and three quarters of its tasks have ended. The same is done with other plans of the same tools. There
are two sorts of fleets: like devices and unlike ones. Printed are the share of runs inside their range, and in ten bins
the chance of a deadline that was told beside the share that met it. The exit code is 1 if fewer than 80 % are inside,
or if what is told and what happened differ on average by more than `GAP_MOST` beyond what chance alone makes of so few
runs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import log2, sqrt
from multiprocessing import get_context
from typing import Final

from starloom.planner.forecast.plans import PLAYS_MOST, Forecast, forecast
from tests.bench.placement import Fleet, plan_of
from tests.bench.placement_worlds import again, graph, world

LEARNED: Final = 10
EACH: Final = 5
FLEETS: Final = {"like": ("equal",), "unlike": ("speeds", "unrelated")}
INSIDE_LEAST: Final = 0.8
GAP_MOST: Final = 0.05
BINS: Final = 10
BEFORE: Final = 0.0
MOMENTS: Final = (BEFORE, 0.25, 0.5, 0.75)
"""The shares of a run's tasks that have ended when it is forecast."""
JUDGED_FROM: Final = 100
"""Five runs of a world share its paces, so fewer runs than these tell of a handful of worlds."""


@dataclass
class Bin:
    """Runs that were told about the same chance: how many, how many of them met their deadline, sums of the chances."""

    runs: int = 0
    met: int = 0
    told: float = 0.0
    varied: float = 0.0


@dataclass
class Calibration:
    """Runs beside their forecasts, by tenths of the chance that was told."""

    runs: int = 0
    silent: int = 0
    inside: int = 0
    off: float = 0.0
    width: float = 0.0
    """The sum of the ranges' widths in doublings, from the lower end to the upper."""
    bins: dict[int, Bin] = field(default_factory=dict)

    def take(self, chance: float, met: bool) -> None:
        """Take one run with a deadline."""
        found = self.bins.setdefault(min(BINS - 1, int(chance * BINS)), Bin())
        found.runs += 1
        found.met += met
        found.told += chance
        found.varied += chance * (1 - chance)

    def gap(self) -> float:
        """Return by how much the chance that was told and the share that met it differ, weighted by runs."""
        apart = sum(abs(one.told - one.met) for one in self.bins.values())
        return apart / max(1, sum(one.runs for one in self.bins.values()))

    def noise(self) -> float:
        """Return the gap that chance alone makes of forecasts that are right, in one standard deviation of each bin."""
        return sum(sqrt(one.varied) for one in self.bins.values()) / max(1, sum(one.runs for one in self.bins.values()))

    def join(self, other: Calibration) -> None:
        """Take all runs of another one."""
        self.runs += other.runs
        self.silent += other.silent
        self.inside += other.inside
        self.off += other.off
        self.width += other.width
        for number, one in other.bins.items():
            mine = self.bins.setdefault(number, Bin())
            mine.runs, mine.met = mine.runs + one.runs, mine.met + one.met
            mine.told, mine.varied = mine.told + one.told, mine.varied + one.varied


@dataclass(frozen=True)
class _Told:
    """A forecast of what is left of a run at a moment, with the deadline that it was asked about."""

    at_ms: int
    left: Forecast
    within_ms: int

    def take(self, found: Calibration, end_ms: int) -> None:
        """Count what happened."""
        took_ms = end_ms - self.at_ms
        found.runs += 1
        found.inside += self.left.low_ms <= took_ms <= self.left.high_ms
        found.off += abs(self.left.expected_ms - took_ms) / took_ms
        found.width += log2(self.left.high_ms / self.left.low_ms)
        found.take(self.left.chance(self.within_ms), took_ms <= self.within_ms)


class _Watch:
    """Forecasts of one run, by the share of its tasks that had ended; None where there was none."""

    def __init__(self, fleet: Fleet, tasks: int, plays: int, chance: random.Random, moments: tuple[float, ...]) -> None:
        self.told: dict[float, _Told | None] = {}
        self._fleet = fleet
        self._due = {max(1, round(tasks * share)): share for share in moments if share}
        self._tasks = tasks
        self._plays = plays
        self._chance = chance

    def launched(self, found: Forecast | None) -> None:
        """Take the forecast before the launch."""
        self._take(BEFORE, found)

    def ended(self, count: int) -> None:
        """Forecast the rest of the run where so many ended tasks are one of its shares."""
        share = self._due.get(count)
        if share is not None:
            found = self._fleet.rest(self._plays * (self._tasks - count))
            self._take(share, None if isinstance(found, str) else found.left)

    def _take(self, share: float, found: Forecast | None) -> None:
        if found is None:
            self.told[share] = None
            return
        within_ms = int(found.expected_ms * self._chance.uniform(0.6, 1.6))
        self.told[share] = _Told(self._fleet.now_ms, found, within_ms)


def measure(
    seeds: Iterable[int],
    kinds: tuple[str, ...],
    *,
    plays: int = PLAYS_MOST,
    recipe: bool,
    moments: tuple[float, ...] = MOMENTS,
) -> dict[float, Calibration]:
    """Return the calibration before the launch and at each of `moments`, over worlds of these kinds in turn.

    `recipe`: each world runs one plan again and again.
    """
    calibrations = {share: Calibration() for share in (BEFORE, *moments)}
    for seed in seeds:
        fleet = Fleet(world(kinds[seed % len(kinds)], seed), seed, paces=True)
        chance = random.Random(f"deadlines {seed}")
        first = graph(10_000 + 100 * seed, 0.0)
        for number in range(LEARNED + EACH):
            made = again(first, seed, number) if recipe else graph(10_000 + 100 * seed + number, 0.0)
            if number < LEARNED:
                fleet.run(made)
                continue
            watch = _Watch(fleet, len(made.tools), plays, chance, moments)
            watch.launched(forecast(plan_of(made), fleet.seen(), plays=plays, seed=f"{seed} {number - LEARNED}"))
            fleet.run(made, watch.ended)
            for share, told in watch.told.items():
                if told is None:
                    calibrations[share].silent += 1
                else:
                    told.take(calibrations[share], fleet.now_ms)
    return calibrations


def table(found: Calibration) -> list[str]:
    """Return the bins as rows of a table."""
    rows = ["| chance told | runs | told, mean | happened |", "|---|---:|---:|---:|"]
    for number, one in sorted(found.bins.items()):
        span = f"{number / BINS:.0%} to {(number + 1) / BINS:.0%}"
        rows.append(f"| {span} | {one.runs} | {one.told / one.runs:.0%} | {one.met / one.runs:.0%} |")
    return rows


def missed(found: Calibration) -> list[str]:
    """Return the bounds that are missed."""
    faults = []
    if found.silent:
        faults.append(f"{found.silent} runs had no forecast")
    if found.inside < INSIDE_LEAST * found.runs:
        faults.append(f"{found.inside / found.runs:.1%} of the runs end inside their range, below {INSIDE_LEAST:.0%}")
    most = GAP_MOST + found.noise()
    if found.gap() > most:
        faults.append(f"chances are off by {found.gap():.3f} on average, above {most:.3f}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=500, help="of a recipe, half on each sort of fleet; as many of others"
    )
    parser.add_argument("--processes", type=int, default=2, help="that play worlds at once")
    parser.add_argument("--plays", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    worlds = -(-options.runs // (EACH * len(FLEETS)))
    seeds = range(options.first, options.first + worlds)
    faults: list[str] = []
    figures = {}
    # Started anew, not forked: a world is played the same whatever its process has done before.
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for recipe, name in ((True, "the next run of a recipe after ten"), (False, "another plan after ten plans")):
            for share, found in _both_fleets(seeds, name, pool, plays=options.plays, recipe=recipe).items():
                print(f"{name}, {moment_words(share)}:")
                print("\n".join(table(found)), flush=True)
                if found.runs >= JUDGED_FROM or found.silent:
                    faults += [f"{name}, {moment_words(share)}: {fault}" for fault in missed(found)]
                else:
                    print(f"{found.runs} runs are too few to be judged; {JUDGED_FROM} are enough")
                key = f"{'recipe' if recipe else 'others'}_{share:.0%}".replace("%", "")
                inside = round(found.inside / max(1, found.runs), 3)
                figures[key] = {"runs": found.runs, "inside": inside, "gap": round(found.gap(), 3)}
    for fault in faults:
        print(fault)
    print(json.dumps({**figures, "missed": len(faults)}))
    return 1 if faults else 0


def _both_fleets(seeds: range, name: str, pool: Executor, *, plays: int, recipe: bool) -> dict[float, Calibration]:
    """Return the calibration over both sorts of fleets by moment, and print that of each."""
    whole = {share: Calibration() for share in MOMENTS}
    for fleet, kinds in FLEETS.items():
        sort = {share: Calibration() for share in MOMENTS}
        for world_found in pool.map(partial(_one_world, kinds, plays, recipe), seeds):
            for share, found in world_found.items():
                sort[share].join(found)
        for share, found in sort.items():
            whole[share].join(found)
            print(f"{name}, {moment_words(share)}, {fleet} devices: {words_of(found)}", flush=True)
    return whole


def _one_world(kinds: tuple[str, ...], plays: int, recipe: bool, seed: int) -> dict[float, Calibration]:
    return measure((seed,), kinds, plays=plays, recipe=recipe)


def words_of(found: Calibration) -> str:
    """Return the figures of a calibration in words."""
    runs = max(1, found.runs)
    return (
        f"{found.runs} runs, {found.inside / runs:.0%} inside, the ranges {2 ** (found.width / runs):.2f} times from "
        f"end to end, the expected time off by {found.off / runs:.0%}, chances by {found.gap():.3f}"
    )


def moment_words(share: float) -> str:
    """Return when the forecast was made."""
    return f"after {share:.0%} of its tasks" if share else "before it begins"


if __name__ == "__main__":
    sys.exit(main())
