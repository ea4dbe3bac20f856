"""Two people and twelve constellations of very different sizes on four devices, in virtual time.

`python -m tests.sim.fair_share --seeds 1000` plays that many and ends with one line of JSON; exit code 1 if a small
constellation took longer than `TIMES_MOST` of its time alone, or one of any size never ended.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from starloom.core.state import inputs as i
from starloom.core.state.queues import SMALL_MOST
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Policy
from starloom_protocol.vocabulary import Approval
from tests.builders import Driver, plan, task

DEVICES, SLOTS, CONSTELLATIONS = 4, 4, 12
TIMES_MOST = 2.0
LARGE = (20, 60, 200, 500)
SPREAD_MS = 60_000
TASK_MS = (200, 1_500)


@dataclass(frozen=True)
class Asked:
    """One constellation: who asks for it, when, and how long each of its tasks takes."""

    name: str
    by: str
    at_ms: int
    made: LoweredPlan
    takes_ms: dict[str, int]

    @property
    def small(self) -> bool:
        return len(self.takes_ms) <= SMALL_MOST


@dataclass
class Ended:
    """How long each took, and the longest task of all: a slot is never taken from a task that runs."""

    took_ms: dict[str, int] = field(default_factory=dict)
    longest_task_ms: int = 0


def draw(seed: int) -> list[Asked]:
    """Return what is asked for: large plans of both people at the start, small ones at any time."""
    chance = random.Random(seed)
    found = []
    for number in range(CONSTELLATIONS):
        small = number % 2 == 1
        size = chance.randint(1, SMALL_MOST) if small else chance.choice(LARGE)
        links = [f"x=t{n - 1}" if n and chance.random() < 0.6 else "" for n in range(size)]
        specs = [task(f"t{n}", *([link] if link else [])) for n, link in enumerate(links)]
        found.append(
            Asked(
                name=f"c{number:02d}",
                by=f"person:{('ann', 'bob')[number // 2 % 2]}",
                at_ms=chance.randint(0, SPREAD_MS) if small else chance.randint(0, 5_000),
                made=plan(*specs, policy=Policy(approval=Approval.NEVER)),
                takes_ms={spec.id: chance.randint(*TASK_MS) for spec in specs},
            )
        )
    return sorted(found, key=lambda asked: asked.at_ms)


def play(asked: list[Asked]) -> Ended:
    """Let the core place everything on the four devices; each task takes its time."""
    driver = Driver(*(f"n{number}" for number in range(DEVICES)), whole=False)
    start_ms = driver.now_ms
    by_name = {one.name: one for one in asked}
    running: list[tuple[int, int, object]] = []
    coming = list(reversed(asked))
    ended = Ended(longest_task_ms=max(max(one.takes_ms.values()) for one in asked))
    order = 0
    while coming or running:
        if not running or (coming and start_ms + coming[-1].at_ms <= running[0][0]):
            one = coming.pop()
            driver.now_ms = max(driver.now_ms, start_ms + one.at_ms)
            driver.do(i.RequestReceived(id=one.name, by=one.by, constellation=one.name, plan=one.made))
        else:
            driver.now_ms, _, dispatch = heappop(running)
            driver.result(dispatch, 1)  # type: ignore[arg-type]
        for dispatch in driver.take():
            order += 1
            takes_ms = by_name[dispatch.at.constellation].takes_ms[dispatch.at.task]
            heappush(running, (driver.now_ms + takes_ms, order, dispatch))
        for name in [name for name in by_name if name not in ended.took_ms]:
            found = driver.shard.constellations.get(name)
            if found is not None and found.head.state == "succeeded":
                ended.took_ms[name] = driver.now_ms - start_ms - by_name[name].at_ms
    return ended


def slow(seed: int) -> Iterator[tuple[str, float]]:
    """Yield the small constellations that took too long, with how many times their time alone.

    One task that runs already may be waited for: no slot is taken from it.
    """
    asked = draw(seed)
    ended = play(asked)
    for one in asked:
        if one.name not in ended.took_ms:
            yield f"{one.name} never ended", float("inf")
        elif one.small:
            alone_ms = play([one]).took_ms[one.name]
            if ended.took_ms[one.name] > TIMES_MOST * alone_ms + ended.longest_task_ms:
                yield one.name, ended.took_ms[one.name] / alone_ms


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    late = [(seed, *found) for seed in range(options.first, options.first + options.seeds) for found in slow(seed)]
    for seed, name, times in late:
        print(f"seed {seed}: {name} took {times:.1f} times as long as alone")
    print(json.dumps({"seeds": options.seeds, "constellations": options.seeds * CONSTELLATIONS, "late": len(late)}))
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
