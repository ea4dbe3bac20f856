"""`python -m tests.bench.owner_load`: what placement would gain if it used the load that owners put on their devices.

Owners come and go at each device; while one works there, all that Starloom runs there takes some times as long. Each
row has, over the same plans after ten others, the makespan of three placements as multiples of placement as it is, with
one pace for a device whatever its owner does:

- `in use`: a device with its owner at it is taken last, which is the courtesy of today and made for owners, not speed;
- `told`: the load as a device could tell it: a minute late, since a load is a mean, and twice the time for any load;
- `known`: the load of each moment, at once and exactly. No device can tell as much: this is the bound of the gain.

Nothing is judged.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from bisect import bisect_right
from typing import Final

from msgspec.structs import replace

from starloom.core.placement.pace import log_of
from starloom.core.state.apply import load
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import DeviceFact
from tests.bench.placement import Fleet
from tests.bench.placement_worlds import DEVICES, World, graph, world

LEARNED: Final = 10
MEASURED: Final = 3
KINDS: Final = ("equal", "speeds")
SLOWER: Final = (1.5, 2.0, 4.0)
EPISODES_S: Final = (30, 300, 3_000)
BUSY: Final = 0.35
"""The share of its time that an owner is at a device."""
AS_IT_IS, IN_USE, TOLD, KNOWN = "as it is", "in use", "told", "known"
WAYS: Final = (AS_IT_IS, IN_USE, TOLD, KNOWN)
LATE_MS: Final = 60_000
TOLD_SLOWER: Final = 2.0
SPANS: Final = 400


class Owner:
    """One owner at one device: the moments at which they come and go, drawn by seed, the first at 0."""

    def __init__(self, seed: str, episode_s: int, slower: float) -> None:
        chance = random.Random(seed)
        self.slower = slower
        self._there_first = chance.random() < BUSY
        self._turns: list[float] = [0.0]
        there = self._there_first
        for _ in range(SPANS):
            mean_ms = episode_s * 1000 * (1.0 if there else (1 - BUSY) / BUSY)
            self._turns.append(self._turns[-1] + chance.expovariate(1 / mean_ms))
            there = not there

    def is_there(self, at_ms: float) -> bool:
        """Tell whether the owner works at the device."""
        return self._there_first != (bisect_right(self._turns, at_ms) % 2 == 0)

    def lasts_ms(self, work_ms: float, at_ms: float) -> int:
        """Return how long work lasts that begins at a moment."""
        now_ms, left_ms = at_ms, work_ms
        for turn_ms in self._turns[bisect_right(self._turns, at_ms) :]:
            rate = 1 / self.slower if self.is_there(now_ms) else 1.0
            if (turn_ms - now_ms) * rate >= left_ms:
                break
            left_ms -= (turn_ms - now_ms) * rate
            now_ms = turn_ms
        rate = 1 / self.slower if self.is_there(now_ms) else 1.0
        return max(1, int(now_ms + left_ms / rate - at_ms))


class OwnedFleet(Fleet):
    """A fleet whose owners come and go, and what placement uses of it."""

    def __init__(self, here: World, seed: int, owners: list[Owner], way: str) -> None:
        super().__init__(here, seed, paces=True)
        self._owners = owners
        self._way = way
        self._begin_ms = self.now_ms
        self._there = [False] * DEVICES
        self._moved()

    def _lasts_ms(self, work_ms: int, device: int) -> int:
        return self._owners[device].lasts_ms(work_ms, self.now_ms - self._begin_ms)

    def _moved(self) -> None:
        at_ms = self.now_ms - self._begin_ms - (LATE_MS if self._way == TOLD else 0)
        for number, owner in enumerate(self._owners):
            there = at_ms >= 0 and owner.is_there(at_ms)
            if there == self._there[number]:
                continue
            self._there[number] = there
            if self._way == IN_USE:
                self._say(f"d-n{number}", there=there)
            elif self._way != AS_IT_IS:
                times = TOLD_SLOWER if self._way == TOLD else owner.slower
                self._shift(f"d-n{number}", times if there else 1 / times)

    def _say(self, name: str, *, there: bool) -> None:
        shard = self._driver.shard
        device = shard.fleet.devices[name]
        facts = {DeviceFact.OWNER_PRESENT.value: "true" if there else "false"}
        load(shard, FLEET, 0, {f"device/{name}": replace(device, condition=facts)})

    def _shift(self, device: str, times: float) -> None:
        """Let all paces of a device be those for another load."""
        shard = self._driver.shard
        by = log_of(int(times * 1024)) - log_of(1024)
        found = {}
        for key, row in shard.fleet.paces.items():
            if row.device == device and row.count:
                squares = row.squares + 2 * by * row.logs + row.count * by * by
                found[f"pace/{key}"] = replace(row, logs=row.logs + by * row.count, squares=squares)
        load(shard, FLEET, 0, dict(found))


def measure(kind: str, slower: float, episode_s: int, seed: int) -> dict[str, int]:
    """Return the time of the measured plans by what placement uses."""
    found = {}
    for way in WAYS:
        owners = [Owner(f"owner {seed} {device}", episode_s, slower) for device in range(DEVICES)]
        fleet = OwnedFleet(world(kind, seed), seed, owners, way)
        spans = [fleet.run(graph(1_000 * (number + 1) + seed, 0.0)) for number in range(LEARNED + MEASURED)]
        found[way] = sum(spans[LEARNED:])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    together: dict[str, list[float]] = {way: [] for way in WAYS[1:]}
    print("| devices | work beside an owner | owner stays | in use | told | known |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for kind in KINDS:
        for slower in SLOWER:
            for episode_s in EPISODES_S:
                found = [measure(kind, slower, episode_s, seed) for seed in range(options.seeds)]
                plain = sum(one[AS_IT_IS] for one in found)
                for way, parts in together.items():
                    parts.append(sum(one[way] for one in found) / plain)
                cells = " | ".join(f"{parts[-1]:.2f}" for parts in together.values())
                print(f"| {kind} | {slower:g} times | {episode_s} s | {cells} |", flush=True)
    means = {way: round(sum(parts) / len(parts), 3) for way, parts in together.items()}
    print(json.dumps({"seeds": options.seeds, "mean": means}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
