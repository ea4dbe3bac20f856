"""The processor time of a decision of placement, with and without paces: 5,000 tasks on 200 devices, in one process.

Both forms take turns, so that the machine's other work falls on both alike; the best round of each counts.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from heapq import heappop, heappush

import msgspec

from starloom.core.state import inputs as i
from starloom.core.state.model import Shard, ShardSettings
from starloom.core.state.orders import SendDispatch
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom_protocol.records.entities import Policy
from starloom_protocol.vocabulary import Approval, Outcome
from starloom_protocol.wire.frames import ResultFrame
from tests.builders import Driver, plan, task

GROWTH_MOST = 1.5
"""Learning has its events, which placement without paces has not; docs/benchmarks.md has both."""


class _Hub:
    """A shard with devices; `spread` is the ratio of the slowest device to the quickest."""

    def __init__(self, devices: int, spread: float, *, paces: bool) -> None:
        settings = ShardSettings()
        if not paces:
            settings.pace_rows_most = 0
        driver = Driver(*(f"n{number:03d}" for number in range(devices)), slots=1, settings=settings, whole=False)
        self._shard: Shard = driver.shard
        self._chance = random.Random(7)
        self._takes_ms = {f"d-n{n:03d}": int(1_000 * spread ** ((n * 7 % devices) / devices)) for n in range(devices)}
        self._now_ms = driver.now_ms
        self._runs = 0
        self._order = 0

    def run(self, tasks: int) -> float:
        """Carry out one plan; return the processor seconds for each task."""
        self._runs += 1
        made = plan(*(task(f"t{number}") for number in range(tasks)), policy=Policy(approval=Approval.NEVER))
        asked = i.RequestReceived(id="r", by="person:ann", constellation=f"c{self._runs}", plan=made)
        gc.collect()
        began_s = time.process_time()
        running: list[tuple[int, int, SendDispatch]] = []
        self._do(asked, running)
        while running:
            ends_ms, _order, dispatch = heappop(running)
            self._now_ms = max(self._now_ms, ends_ms)
            frame = ResultFrame(at=dispatch.at, report=1, outcome=Outcome.OK, value="1")
            roll = self._chance.getrandbits(32)
            by = f"device:{dispatch.device}"
            self._do(i.ResultReported(id="x", by=by, device=dispatch.device, frame=frame, roll=roll), running)
        return (time.process_time() - began_s) / tasks

    def _do(self, item: i.AnyInput, running: list[tuple[int, int, SendDispatch]]) -> None:
        work = Work(self._shard)
        step(work, msgspec.structs.replace(item, at_ms=self._now_ms))
        for event in work.events:
            event.finished()
        self._shard.journal.clear()
        for effect in work.orders:
            if isinstance(effect, SendDispatch):
                self._order += 1
                heappush(running, (self._now_ms + self._takes_ms[effect.device], self._order, effect))


def measure(tasks: int, devices: int, spread: float, rounds: int) -> tuple[float, float]:
    """Return the processor seconds for each task without and with paces, the best of some rounds."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for at, paces in enumerate((False, True)):
            best[at] = min(best[at], _Hub(devices, spread, paces=paces).run(tasks))
    return best[0], best[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    faults = 0
    for words, spread in (("equal devices", 1.0), ("devices up to 16 times as slow", 16.0)):
        before_s, now_s = measure(options.tasks, options.devices, spread, options.rounds)
        faults += now_s > before_s * GROWTH_MOST
        print(
            f"{options.tasks:,} tasks on {options.devices} {words}: {before_s * 1e6:.0f} us a task without paces, "
            f"{now_s * 1e6:.0f} us with them, {now_s / before_s:.2f} times",
            flush=True,
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
