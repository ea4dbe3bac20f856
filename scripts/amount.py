"""How much of the tests a machine runs, and how long it waits in them: decided by its pace and the time it has.

A machine of the expected speed runs all and waits as written. It runs nothing itself. Standard library only.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pace import pace
from steps import say

SLOW_BELOW = 0.6
"""The part of the expected speed under which a machine is slow: a whole run of 25 minutes would then take over 40 at
the least, and leases of some seconds run out because a machine is busy, not for a fault."""

SLOWER_LEAST, SLOWER_MOST = 5, 15
"""How much longer a slow machine waits: it stands still for longer than its pace tells, and nobody waits for ever."""

TAKES_S = {
    "types": 80.0,
    "page check": 30.0,
    "page test": 145.0,
    "tab check": 34.0,
    "tab test": 28.0,
    "arch": 116.0,
    "guard": 174.0,
    "sim": 80.0,
    "chaos": 103.0,
    "e2e": 49.0,
    "tests": 380.0,
    "processes": 390.0,
}
"""Seconds of each layer without its long tests at the expected speed, another one running beside it. The others take
none to speak of."""

UNDIVIDED = {"types", "page check", "tab check"}
LANES = 2
LATE = 0.4
"""The part of the time left that is given away: within one layer the pace of a shared host falls to less than half."""

SHARE_LEAST = 0.05
FIRST_S = 300.0
"""For how long a layer must have run to tell as much of the pace as what was measured before all of them."""


@dataclass(frozen=True)
class Amount:
    """`slower` multiplies every wait; `short` leaves the long tests out; with `until_s` a share of the others runs.

    `until_s` is when the run must have ended, in seconds since the epoch. `seed` draws what is in a share, so that a
    run can be repeated; `found` is the pace.
    """

    slower: int = 1
    short: bool = False
    until_s: float | None = None
    seed: int = 0
    found: float = 1.0

    @property
    def slow(self) -> bool:
        return self.slower > 1


def amount(until_s: float | None) -> Amount:
    """Measure the machine and return what it runs; says how long tests wait on a slow one.

    `LONG` says whether the long tests run: 1 always, 0 never, else on a machine that is not slow. `TESTS_SEED` repeats
    a draw. Only a slow machine that leaves the long ones out has an end to keep by shares.
    """
    found = pace()
    slow = found < SLOW_BELOW
    short = {"0": True, "1": False}.get(os.environ.get("LONG", ""), slow)
    slower = min(max(round(1 / max(found, 0.001)), SLOWER_LEAST), SLOWER_MOST) if slow else 1
    seed = int(os.environ.get("TESTS_SEED") or random.SystemRandom().randrange(10**6))
    if slow:
        say(f"This machine gives {found:.2f} of the expected speed: tests wait {slower} times as long.")
    return Amount(slower, short, until_s if slow and short else None, seed, found)


class Shares:
    """What share of each layer fits into the time that is left, reckoned anew as each begins.

    The pace is that of the layers that have ended, the last the most, and at first the one that was measured.
    """

    def __init__(self, runs: Amount, layers: Iterable[str], now_s: Callable[[], float] = time.time) -> None:
        self._until_s = runs.until_s
        self._now_s = now_s
        self._left = {name: TAKES_S[name] for name in layers if name in TAKES_S}
        self._done_s, self._spent_s = runs.found * FIRST_S, FIRST_S
        self._running: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def begin(self, name: str) -> float:
        """Return the share of a layer that begins now; 1 is all of it."""
        with self._lock:
            if self._until_s is None or name not in self._left:
                return 1.0
            now_s = self._now_s()
            # Two lanes share what is left; one layer runs in one of them.
            fits_s = (self._until_s - now_s) * LATE * self._done_s / self._spent_s
            share = min(LANES * fits_s / sum(self._left.values()), fits_s / self._left[name], 1.0)
            share = 1.0 if name in UNDIVIDED else max(share, SHARE_LEAST)
            self._running[name] = (now_s, share)
            return share

    def end(self, name: str) -> None:
        """Learn from a layer that has ended; one that never began is forgotten."""
        with self._lock:
            takes_s = self._left.pop(name, None)
            if takes_s is None or name not in self._running:
                return
            began_s, share = self._running.pop(name)
            self._done_s = self._done_s / 2 + takes_s * share
            self._spent_s = self._spent_s / 2 + self._now_s() - began_s
