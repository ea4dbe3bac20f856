"""A link swapper beside every file tool, each in the process that a device gives it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from starloom_protocol.vocabulary import Outcome
from tests.device_agents.played_call import Loop
from tests.device_agents.wire.test_artifacts import Store
from tests.guard.confined import as_a_device, storing
from tests.guard.drivers.tally import AttackTally, Stopwatch
from tests.guard.links import Place, Swapper, attacks, furnish

AT_ONCE = 3
"""Calls of one tool beside one swapper before the next place is made."""


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    tally, chance = AttackTally(), random.Random(seed)
    loop = Loop(warm=True)
    try:
        _drive(home, loop, clock, tally, chance)
    finally:
        loop.close()
    return tally


def _drive(home: Path, loop: Loop, clock: Stopwatch, tally: AttackTally, chance: random.Random) -> None:
    number = 0
    while not clock.over() or not tally.attacks:
        root = home / f"place{number}"
        root.mkdir()
        place = Place(root)
        furnish(place, git=False)
        ways = attacks(place)
        name = sorted(ways)[number % len(ways)]
        if name.startswith("git-"):
            shutil.rmtree(root)
            root.mkdir()
            place = Place(root)
            furnish(place, git=True)
            ways = attacks(place)
        with storing(place) as (store, connection):
            _race(loop, place, store, connection, *ways[name], tally, chance)
        shutil.rmtree(root)
        number += 1


def _race(
    loop: Loop,
    place: Place,
    store: Store,
    connection: Path,
    tool: str,
    args: dict[str, Any],
    tally: AttackTally,
    chance: random.Random,
) -> None:
    for kept in place.device.store.folder.iterdir():
        store.whole[kept.name] = kept.read_bytes()
    before = place.seen_outside()
    with Swapper(place):
        ends = [as_a_device(loop, place, connection, tool, args) for _ in range(chance.randint(1, AT_ONCE))]
    tally.attacks += len(ends)
    for end in ends:
        if end.outcome is not Outcome.OK:
            tally.refuse(tool, str(end.code))
            if not end.detail:
                tally.unlogged.append(f"{tool} ended {end.outcome} and says no reason")
    if place.seen_outside() != before:
        tally.effects.append(f"{tool} {args} changed what lies outside")
    leaked = place.leaked(*[(end.value, end.detail, end.tail) for end in ends], *store.whole.values())
    tally.effects += [f"{tool} {args}: {where} has what lies outside" for where in leaked]
