"""The figures of W5: seconds for as many calls of each tool, by the side that made them. Pure."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

SIDES = ("Starloom", "Dask", "Celery")


@dataclass(slots=True)
class RealTools:
    """What was measured: `seconds[side][tool]` of each round, for `calls` calls."""

    calls: int = 0
    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, side: str, tool: str, seconds: float) -> None:
        self.seconds.setdefault(side, {}).setdefault(tool, []).append(seconds)

    def ms(self, side: str, tool: str) -> float:
        """Return milliseconds of wall clock a call: the median of the better half of the rounds."""
        ordered = sorted(self.seconds[side][tool])
        return statistics.median(ordered[: (len(ordered) + 1) // 2]) / self.calls * 1000

    def all_ms(self, side: str) -> float:
        """Return the mean over the tools."""
        return statistics.mean(self.ms(side, tool) for tool in self.seconds[side])

    def figures(self) -> dict[str, float]:
        """Return the keys of the line of JSON; ratios say how many times as fast as the other side it is."""
        own = self.all_ms("Starloom")
        return {
            "w5_ms_per_call": max(self.ms("Starloom", tool) for tool in self.seconds["Starloom"]),
            "w5_vs_dask": self.all_ms("Dask") / own,
            "w5_vs_celery": self.all_ms("Celery") / own,
        }

    def table(self) -> str:
        """Return the figures of all sides in Markdown."""
        rows = [["tool", *(f"{side} ms a call" for side in SIDES)], ["---", *["---:"] * len(SIDES)]]
        rows += [[f"`{tool}`", *(f"{self.ms(side, tool):.2f}" for side in SIDES)] for tool in self.seconds["Starloom"]]
        return "".join("| " + " | ".join(row) + " |\n" for row in rows)
