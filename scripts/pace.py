"""How much of the expected speed this machine gives right now; `verify.py` asks it before it chooses how much to run.

Standard library only. It measures and decides nothing: a machine may be slow because it is old, because others use it,
or because its host lets it run for a part of the time only, and all of that is seen by counting against the clock.
"""

from __future__ import annotations

import os
import subprocess
import sys

EXPECTED_PER_S = 14_000_000.0
"""Additions of a plain loop a second and processor, by CPython 3.11 where a whole run takes 25 minutes."""

FOR_S = 3.0
"""Long enough for a host that stops its guests for some hundred milliseconds at a time."""

_COUNT = """
import sys, time
until, done = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < until:
    total = 0
    for number in range(50_000):
        total += number
    done += 50_000
print(done)
"""


def pace(for_s: float = FOR_S) -> float:
    """Return the part of the expected speed that every processor gives while all of them are busy; 1.0 is as expected.

    Takes `for_s` and ends what it starts.
    """
    argv = [sys.executable, "-c", _COUNT, str(for_s)]
    every = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(os.cpu_count() or 1)]
    counted = [int(process.communicate()[0]) for process in every]
    return sum(counted) / len(counted) / for_s / EXPECTED_PER_S
