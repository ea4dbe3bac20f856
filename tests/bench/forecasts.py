"""`python -m tests.bench.forecasts`: how often forecasts are right, over runs of random plans in virtual time.

Each world runs ten plans, then the next ones are forecast before they run: the share inside the range, and the share
that met a deadline beside the chance that was told. The exit code is 1 if fewer than 80 % are inside.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import dataclass, field

from starloom.planner.forecast import PLAYS_MOST, forecast
from tests.bench.placement import Fleet, plan_of
from tests.bench.placement_worlds import graph, world

LEARNED = 10
EACH = 5
KINDS = ("equal", "speeds", "unrelated")
INSIDE_LEAST = 0.8
STEPS = 5


@dataclass
class Calibration:
    """Runs beside their forecasts: by tenths of the chance, how many there were and how many met their deadline."""

    runs: int = 0
    silent: int = 0
    inside: int = 0
    off: float = 0.0
    chances: dict[int, list[int]] = field(default_factory=dict)

    def take(self, chance: float, met: bool) -> None:
        """Take one run with a deadline."""
        found = self.chances.setdefault(min(STEPS - 1, int(chance * STEPS)), [0, 0])
        found[0] += 1
        found[1] += met


def measure(worlds: int, plays: int = PLAYS_MOST) -> Calibration:
    """Return the calibration over so many worlds."""
    found = Calibration()
    for seed in range(worlds):
        here = world(KINDS[seed % len(KINDS)], seed)
        fleet = Fleet(here, seed, paces=True)
        chance = random.Random(f"deadlines {seed}")
        for number in range(LEARNED):
            fleet.run(graph(10_000 + 100 * seed + number, 0.0))
        for number in range(EACH):
            made = graph(10_000 + 100 * seed + LEARNED + number, 0.0)
            told = forecast(plan_of(made), fleet.seen(), plays=plays, seed=f"{seed} {number}")
            took_ms = fleet.run(made)
            if told is None:
                found.silent += 1
                continue
            found.runs += 1
            found.inside += told.low_ms <= took_ms <= told.high_ms
            found.off += abs(told.expected_ms - took_ms) / took_ms
            within_ms = int(told.expected_ms * chance.uniform(0.6, 1.6))
            found.take(told.chance(within_ms), took_ms <= within_ms)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--plays", type=int, default=60)
    options = parser.parse_args()
    found = measure(-(-options.runs // EACH), options.plays)
    print(f"{found.runs} runs forecast, {found.silent} without a forecast")
    print(f"{found.inside / found.runs:.0%} inside the range; the expected time is off by {found.off / found.runs:.0%}")
    print("| chance told | runs | met the deadline |")
    print("|---|---:|---:|")
    for step, (runs, met) in sorted(found.chances.items()):
        print(f"| {step / STEPS:.0%} to {(step + 1) / STEPS:.0%} | {runs} | {met / runs:.0%} |")
    print(json.dumps({"runs": found.runs, "inside": round(found.inside / found.runs, 3), "silent": found.silent}))
    return 0 if found.inside >= INSIDE_LEAST * found.runs else 1


if __name__ == "__main__":
    sys.exit(main())
