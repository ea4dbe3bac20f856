"""How much of the tests a machine runs, and how long it waits in them: decided by its pace and the time it has.

A machine of the expected speed runs all and waits as written. What decides is measured here once, before the tests; it
runs nothing itself. Standard library only.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass

from pace import pace
from steps import say

SLOW_BELOW = 0.6
"""The part of the expected speed under which a machine is slow: a whole run of 25 minutes would then take over 40 at
the least, and leases of some seconds run out because a machine is busy, not for a fault."""

SLOWER_LEAST, SLOWER_MOST = 5, 15
"""How much longer a slow machine waits: it stands still for longer than its pace tells, and nobody waits for ever."""

SHORT_S = 840.0
"""Seconds that everything but the long tests takes at the expected speed, in two lanes."""

FIXED_S = 70.0
"""Seconds of them that are not shared out: types, formats, the bundles of the page."""

LATE = 0.6
"""The part of the time left that a run is given: the pace of a shared host halves while it goes on."""

SHARE_LEAST = 0.1


@dataclass(frozen=True)
class Amount:
    """`slower` multiplies every wait; `short` leaves the long tests out; `share` of the files of tests are run.

    Which files those are is drawn by `seed`, so that a run can be repeated.
    """

    slower: int = 1
    short: bool = False
    share: float = 1.0
    seed: int = 0

    @property
    def slow(self) -> bool:
        return self.slower > 1


def amount(until_s: float | None, now_s: float | None = None) -> Amount:
    """Measure the machine and return what it runs; says what follows from it.

    `until_s` is when the run must have ended, in seconds since the epoch; without it nothing is shared out. `LONG` says
    whether the long tests run: 1 always, 0 never, else on a machine that is not slow. `TESTS_SEED` repeats a draw.
    """
    found = pace()
    slow = found < SLOW_BELOW
    short = {"0": True, "1": False}.get(os.environ.get("LONG", ""), slow)
    slower = min(max(round(1 / max(found, 0.001)), SLOWER_LEAST), SLOWER_MOST) if slow else 1
    share = 1.0
    if slow and short and until_s is not None:
        left_s = (until_s - (time.time() if now_s is None else now_s)) * found * LATE
        share = min(max((left_s - FIXED_S) / (SHORT_S - FIXED_S), SHARE_LEAST), 1.0)
    seed = int(os.environ.get("TESTS_SEED") or random.SystemRandom().randrange(10**6))
    if slow:
        say(f"This machine gives {found:.2f} of the expected speed: tests wait {slower} times as long.")
    if short:
        say("Long tests are left out (LONG=1 runs them, too).")
    if share < 1:
        say(f"Of each layer {share:.0%} are run, or the time is over before the end; TESTS_SEED={seed} draws the same.")
    return Amount(slower, short, share, seed)
