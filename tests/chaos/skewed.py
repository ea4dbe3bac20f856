"""Two hubs and their agents whose machines tell a wrong date, which a test sets while they run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from starloom.lab.clock_skew import set_clock
from tests.chaos.pair import Pair
from tests.installation import Installation

DAY_S = 24 * 3600.0


class Skewed(Installation):
    """Hubs and agents started here read their date from a file, once it is set: `hubs`, or the name of the agent."""

    def set_date(self, name: str, by_s: float) -> None:
        """Set the clock of a machine so far ahead of the true date (or behind), at once."""
        set_clock(self.home / "clocks" / name, by_s)

    def spawn(self, argv: Sequence[str], log: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        place, _, name = log.partition("-")
        clock = self.home / "clocks" / ("hubs" if place == "hub" else name)
        if clock.is_file():
            program, module, *rest = argv
            if module != "-m":
                raise ValueError(f"only a module can be fooled, not {' '.join(argv)}")
            argv = [program, module, "starloom.lab.clock_skew", str(clock), *rest]
        return super().spawn(argv, log, more)


class SkewedPair(Skewed, Pair):
    """Every process but the worker and Redis has a date of ours."""

    def __init__(self, home: Path, dates: Mapping[str, float]) -> None:
        super().__init__(home)
        for name, by_s in dates.items():
            self.set_date(name, by_s)
