"""`make placement-bench`: the core places random plans in virtual time, beside HEFT with true durations and chance.

Each row is the median over seeds of the makespan, as a multiple of HEFT's, on the same plans: without paces, in a first
run, and after four runs of other plans with the same tools and devices. The exit code is 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from starloom.core.placement import finish
from starloom.core.state import inputs as i
from starloom.core.state.settings import ShardSettings
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast.runs import Foreseen, foresee
from starloom_protocol.records.entities import Policy, ToolOffer
from starloom_protocol.vocabulary import Approval, Effect, Outcome, Repeatability
from starloom_protocol.wire.frames import ResultFrame
from tests.bench.placement_worlds import (
    DEVICES,
    Graph,
    World,
    at_random,
    graph,
    heft,
    lower_bound,
    moves_ms,
    takes_ms,
    world,
)
from tests.builders import Driver, plan, task

TRAINED = 4
SWEEP_MS = 1_000
ROWS = [(kind, transfers) for kind in ("equal", "speeds", "unrelated") for transfers in (0.0, 1.0)]
EQUAL_MOST, UNLIKE_MOST, FIRST_MOST = 1.05, 1.3, 1.05


@dataclass(frozen=True)
class Seed:
    """The makespans of one plan in milliseconds; `before` is placement without paces."""

    before: int
    chance: int
    first: int
    learned: int
    heft: int
    bound: int


class Fleet:
    """The devices of a world with the core that places on them; what it learned stays from run to run."""

    def __init__(self, here: World, seed: int, *, paces: bool) -> None:
        settings = ShardSettings()
        if not paces:
            settings.pace_rows_most = 0
        self._here = here
        self._driver = Driver(settings=settings, whole=False)
        self._chance = random.Random(f"rolls {seed}")
        self._runs = 0
        for device in range(DEVICES):
            tools = [
                ToolOffer(name=f"t.{tool}", repeatability=Repeatability.PURE, effects=[Effect.READ])
                for tool, known in here.usual_ms
                if known == device
            ]
            self._driver.add_device(f"n{device}", slots=1, tools=tools)

    def run(self, made: Graph, after_each: Callable[[int], None] = lambda _ended: None) -> int:
        """Carry out a plan and return its makespan; `after_each` hears how many tasks have ended."""
        driver, here = self._driver, self._here
        self._runs += 1
        name = f"c{self._runs}"
        begin_ms = driver.now_ms
        driver.submit(plan_of(made), name=name)
        where: dict[int, int] = {}
        running: list[tuple[int, int, Any]] = []
        ended = 0
        while True:
            for dispatch in driver.take():
                number, device = int(dispatch.at.task[1:]), int(dispatch.device[3:])
                where[number] = device
                work_ms = takes_ms(here, made, number, device)
                span = self._lasts_ms(work_ms, device) + moves_ms(made, number, device, where.__getitem__)
                heappush(running, (driver.now_ms + span, number, dispatch))
            if not running:
                break
            tick_ms = driver.now_ms // SWEEP_MS * SWEEP_MS + SWEEP_MS
            waiting = any(demand.rested and demand.lines for demand in driver.shard.demands.values())
            if waiting and tick_ms < running[0][0]:
                driver.now_ms = tick_ms
                self._moved()
                for timer in finish.due_waits(driver.shard, tick_ms):
                    driver.fire(timer)
                continue
            driver.now_ms, number, dispatch = heappop(running)
            self._moved()
            self._end(dispatch, made.size[number])
            ended += 1
            after_each(ended)
        assert driver.state(name) == "succeeded", driver.state(name)
        return driver.now_ms - begin_ms

    def seen(self) -> FleetSnapshot:
        """Return the fleet with its paces as the planner sees it."""
        fleet = self._driver.shard.fleet
        return FleetSnapshot.of(fleet.devices, fleet.offers, paces=fleet.paces)

    @property
    def now_ms(self) -> int:
        """The present moment of its virtual time."""
        return self._driver.now_ms

    def rest(self, steps: int) -> Foreseen | str:
        """Return the forecast of the run that is under way, or why there is none."""
        return foresee(self._driver.shard, f"c{self._runs}", self._driver.now_ms, steps=steps)

    def _lasts_ms(self, work_ms: int, _device: int) -> int:
        """Return how long work lasts that a device begins now."""
        return work_ms

    def _moved(self) -> None:
        """Note that time went on."""

    def _end(self, dispatch: Any, size: int) -> None:
        frame = ResultFrame(at=dispatch.at, report=1, outcome=Outcome.OK, value="1", bytes=size)
        by = f"device:{dispatch.device}"
        roll = self._chance.randrange(1 << 32)
        self._driver.do(
            i.ResultReported(id=self._driver.ident(), by=by, device=dispatch.device, frame=frame, roll=roll)
        )


def plan_of(made: Graph) -> Any:
    specs = []
    for number, sources in enumerate(made.before):
        specs.append(
            task(f"t{number}", *(f"i{source}=t{source}" for source in sources), tool=f"t.{made.tools[number]}")
        )
    return plan(*specs, policy=Policy(approval=Approval.NEVER))


def measure(kind: str, transfers: float, seed: int) -> Seed:
    """Return the makespans of one plan."""
    here, made = world(kind, seed), graph(seed, transfers)
    learned = Fleet(here, seed, paces=True)
    for number in range(TRAINED):
        learned.run(graph(1_000 * (number + 1) + seed, transfers))
    return Seed(
        before=Fleet(here, seed, paces=False).run(made),
        chance=at_random(here, made, seed),
        first=Fleet(here, seed, paces=True).run(made),
        learned=learned.run(made),
        heft=heft(here, made),
        bound=lower_bound(here, made),
    )


def row(kind: str, transfers: float, seeds: int, first: int = 0) -> dict[str, Any]:
    """Return the medians of a row, as multiples of HEFT; `worse` is the first run beside placement without paces."""
    found = [measure(kind, transfers, seed) for seed in range(first, first + seeds)]

    def median(name: str) -> float:
        ratios: list[float] = [getattr(one, name) / one.heft for one in found]
        return round(statistics.median(ratios), 3)

    late = sorted(one.learned / one.heft for one in found)
    return {
        "devices": kind,
        "transfers": transfers,
        **{name: median(name) for name in ("before", "chance", "first", "learned", "bound")},
        "learned_p90": round(late[len(late) * 9 // 10], 3),
        "worse": round(statistics.median(one.first / one.before for one in found), 3),
        "worse_mean": round(sum(one.first for one in found) / sum(one.before for one in found), 3),
    }


def missed(found: dict[str, Any]) -> list[str]:
    """Return the bounds that a row misses."""
    what = f"{found['devices']}, transfers {found['transfers']:g}"
    most = EQUAL_MOST if found["devices"] == "equal" else UNLIKE_MOST
    faults = []
    if found["learned"] > most:
        faults.append(f"{what}: {found['learned']} x HEFT, at most {most}")
    worse = max(found["worse"], found["worse_mean"])
    if worse > FIRST_MOST:
        faults.append(f"{what}: a first run takes {worse} x one without paces")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    faults = []
    print("| devices | transfers | without paces | chance | first run | after four runs | 90 % below | lower bound |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for kind, transfers in ROWS:
        found = row(kind, transfers, options.seeds, options.first)
        faults += missed(found)
        cells = ("before", "chance", "first", "learned", "learned_p90", "bound")
        print(f"| {kind} | {transfers:g} | " + " | ".join(f"{found[name]:.2f}" for name in cells) + " |", flush=True)
    for fault in faults:
        print(fault)
    print(json.dumps({"seeds": options.seeds, "rows": len(ROWS), "missed": len(faults)}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
