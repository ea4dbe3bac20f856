"""`python -m tests.sim.run --schedules N --seed S [--minds] [--people]`: runs them, ends with JSON.

Every third schedule has two hubs on one shard, whose seeds begin at `script.PAIR_FROM`. With `--minds` each has goals,
votes, judges and workers as well; these seeds begin at `script.MINDS_FROM`, with two hubs at `script.MIND_PAIRS_FROM`.
With `--people` each has roles, tokens, secrets, clocks and restores; these begin at `script.PEOPLE_FROM`, with two hubs
and no restores at `script.PEOPLE_PAIRS_FROM`.
A failing schedule is made small and its story printed. Seeds that fail are added to `seeds.txt`, which the suite runs
for ever. Exit code 1 if any failed. Schedules share nothing, so `--processes 2` plays the same ones on two cores.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from pathlib import Path

from tests.sim.schedule import Outcome, play
from tests.sim.script import MIND_PAIRS_FROM, MINDS_FROM, PAIR_FROM, PEOPLE_FROM, PEOPLE_PAIRS_FROM, draw
from tests.sim.shrink import Shrinking
from tests.sim.story import story
from tests.spans import seconds

SEEDS = Path(__file__).parent / "seeds.txt"
TOLD_EVERY = 1_000


def known_seeds() -> list[int]:
    """Return the seeds that failed once."""
    if not SEEDS.exists():
        return []
    lines = SEEDS.read_text(encoding="utf-8").splitlines()
    return [int(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]


def remember(seed: int, why: str) -> None:
    """Keep a failing seed, once."""
    if seed not in known_seeds():
        with SEEDS.open("a", encoding="utf-8") as file:
            file.write(f"{seed}  # {why.splitlines()[0][:150]}\n")


def seeds_from(first: int, hubs: int) -> Iterator[int]:
    """Yield seeds from one on: of schedules with so many hubs, or of both kinds, two to one, for 0.

    A seed of schedules with minds or with people gives more of these.
    """
    base, pair_base = (MINDS_FROM, MIND_PAIRS_FROM) if first >= MINDS_FROM else (0, PAIR_FROM)
    if first >= PEOPLE_FROM:
        base, pair_base = PEOPLE_FROM, PEOPLE_PAIRS_FROM
    if hubs == 2 and first < pair_base:
        first += pair_base - base
    for number in count():
        if hubs or first >= pair_base:
            yield first + number
        elif number % 3 == 2:
            yield pair_base - base + first + number // 3
        else:
            yield first + number - number // 3


def tell(outcome: Outcome, shrink_s: float) -> None:
    """Print what a failing schedule broke, the smallest one that breaks the same, and its story."""
    print(f"seed {outcome.seed}, {outcome.faults} faults, {outcome.events} events, {outcome.virtual_s:.0f} s:")
    for words in outcome.violations[:5]:
        print(f"  {words[:1000]}")
    script = draw(outcome.seed)
    if shrink_s > 0:
        shrinking = Shrinking(shrink_s)
        script, outcome = shrinking.shrink(script, outcome)
        print(f"Made small in {shrinking.tries} tries: {len(script.faults)} faults, {len(script.acts)} acts are left.")
    for line in story(script, outcome):
        print(line)
    sys.stdout.flush()


def _seeds(options: argparse.Namespace, begun: float) -> Iterator[int]:
    """Yield what to play: those that failed once, then as many as were asked for, and on until the time is over."""

    def is_over() -> bool:
        return bool(options.within) and time.monotonic() - begun > options.within

    for seed in [] if options.forget else known_seeds():
        if is_over():
            return
        yield seed
    first = options.seed + (PEOPLE_FROM if options.people else MINDS_FROM if options.minds else 0)
    for number, seed in enumerate(seeds_from(first, options.hubs)):
        enough = number >= options.schedules and time.monotonic() - begun >= options.span_s
        if enough or is_over():
            return
        yield seed


def _play_some(seeds: list[int]) -> list[Outcome]:
    logging.disable(logging.CRITICAL)
    outcomes = [play(draw(seed)) for seed in seeds]
    for outcome in outcomes:
        if not outcome.violations:
            # Nobody tells the story of what went well.
            outcome.told, outcome.streams = [], {}
    return outcomes


def _outcomes(seeds: Iterator[int], processes: int) -> Iterator[Outcome]:
    """Yield what came of each; with more than one process in an order of parts, each as large as is worth sending."""
    if processes <= 1:
        for seed in seeds:
            yield from _play_some([seed])
        return
    with ProcessPoolExecutor(processes) as pool:
        while parts := [part for _ in range(processes) if (part := list(islice(seeds, 25)))]:
            for outcomes in pool.map(_play_some, parts):
                yield from outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hubs", type=int, choices=(0, 1, 2), default=0, help="schedules with so many; 0: both kinds")
    parser.add_argument("--minds", action="store_true", help="schedules with goals, votes, judges and workers")
    parser.add_argument("--people", action="store_true", help="schedules with roles, secrets, clocks and restores")
    parser.add_argument("--for", dest="span_s", type=seconds, default=0.0, metavar="30m")
    parser.add_argument("--stop-at-first", action="store_true", help="end with the first failing schedule")
    parser.add_argument("--shrink-s", type=float, default=60.0, help="how long to make a failing schedule smaller")
    parser.add_argument("--within", type=seconds, default=0.0, metavar="4m", help="end when this time is over")
    parser.add_argument("--forget", action="store_true", help="play no seed of seeds.txt and add none")
    parser.add_argument("--processes", type=int, default=1, help="how many play side by side")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    shrink_s = 0.0 if os.environ.get("STARLOOM_NO_SHRINK") else options.shrink_s
    begun = time.monotonic()
    done = faults = violations = 0
    for outcome in _outcomes(_seeds(options, begun), options.processes):
        done, faults = done + 1, faults + outcome.faults
        if done % TOLD_EVERY == 0:
            print(f"{done} schedules after {time.monotonic() - begun:.0f} s, {violations} violations", file=sys.stderr)
        if outcome.violations:
            violations += 1
            tell(outcome, shrink_s)
            if not options.forget:
                remember(outcome.seed, outcome.violations[0])
            if options.stop_at_first:
                break
    spent = time.monotonic() - begun
    figures = {
        "schedules": done,
        "faults": faults,
        "violations": violations,
        "schedules_per_s": round(done / spent, 1),
    }
    each = faults / max(done, 1)
    print(f"{done} schedules with {faults} faults ({each:.1f} each) in {spent:.0f} s: {violations or 'no'} violations.")
    print(json.dumps(figures))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
