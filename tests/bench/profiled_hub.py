"""The hub as the bench needs it beside the real one: with a profiler, and with an open door for many idle agents.

SIGUSR1 starts the profiler anew, SIGUSR2 ends it and writes the file named by the variable. Never used for a figure of
time: those come from `python -m starloom.app`.
"""

from __future__ import annotations

import cProfile
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from starloom.app import main
from starloom.edge.access import rate_limits

OUT = "BENCH_PROFILE"
JOINS = 10_000


def run(out: Path) -> int:
    """Run the hub; the profile of its loop's thread goes to `out`, in processor time: a clock counts waits, too."""
    rate_limits.DOORS["join"] = rate_limits.Rate(JOINS, 0.001)
    profile = cProfile.Profile(time.thread_time)

    def begin(_number: int, _frame: FrameType | None) -> None:
        profile.clear()
        profile.enable()

    def end(_number: int, _frame: FrameType | None) -> None:
        profile.disable()
        part = out.with_suffix(".part")
        profile.dump_stats(part)
        part.replace(out)

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, end)
    return main()


if __name__ == "__main__":
    sys.exit(run(Path(os.environ[OUT])))
