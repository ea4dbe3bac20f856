"""From runs to figures: medians, ratios, and what must and should be reached. Pure.

The machine is shared, and what others do only ever makes a run worse; so each figure, of every side alike, is the
median of the better half of its runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.bench.echo import EchoFigures
from tests.bench.real_figures import RealTools
from tests.bench.workloads import Run


@dataclass(slots=True)
class Measured:
    """Everything that one call of the bench measured."""

    echo: list[EchoFigures] = field(default_factory=list)
    runs: dict[str, list[Run]] = field(default_factory=dict)
    repeated: dict[str, int] = field(default_factory=dict)
    dask: dict[str, list[float]] = field(default_factory=dict)
    agent_rss_bytes: list[int] = field(default_factory=list)
    hub_rss_bytes: int = 0
    kib_per_idle_agent: float = 0.0
    real: RealTools = field(default_factory=RealTools)


@dataclass(frozen=True, slots=True)
class Goal:
    """`least`: the figure must be at least so much; else at most."""

    key: str
    text: str
    must: float
    aim: float
    least: bool

    def verdict(self, value: float) -> str:
        def reached(bound: float) -> bool:
            return value >= bound if self.least else value <= bound

        return "aim" if reached(self.aim) else "must" if reached(self.must) else "MISSED"

    def sentence(self, value: float) -> str:
        """Return the verdict in words."""
        bound = "at least" if self.least else "at most"
        found = {
            "aim": f"reaches the aim of {bound} {self.aim:g}",
            "must": f"holds the must of {bound} {self.must:g} and misses the aim of {self.aim:g}",
            "MISSED": f"MISSES the must of {bound} {self.must:g}",
        }
        return f"{self.text}: {value:g} {found[self.verdict(value)]} (`{self.key}`)."


GOALS = (
    Goal("w1_vs_dask", "W1, times Dask", 4, 8, True),
    Goal("w1_vs_echo", "W1 tasks/s over echo messages/s", 0.08, 0.25, True),
    Goal("cpu_per_task_vs_echo", "hub CPU a task over echo CPU a message (the worse of W1, W3)", 8, 3, False),
    Goal("w2_hop_vs_echo_rtt", "W2 hop p50 over echo round trip, the kernel places its ends", 10, 6, False),
    Goal("w2_hop_vs_echo_rtt_two_cpus", "W2 hop p50 over echo round trip, its ends on a CPU each", 10, 6, False),
    Goal("w2_hop_vs_echo_rtt_one_cpu", "W2 hop p50 over echo round trip, both ends on one CPU", 10, 6, False),
    Goal("cpu_10k_vs_1k", "hub CPU a task at 10,000 over 1,000 (W3)", 1.2, 1.2, False),
    Goal("w5_ms_per_call", "W5 ms a call, the slowest of its three tools", 10, 5, False),
    Goal("w4_vs_w3", "W4 tasks/s over W3", 0.9, 0.9, True),
)


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def best_half(values: Iterable[float], *, high: bool = False) -> float:
    """Return the median of the better half of some values: the lower ones, or with `high` the higher ones."""
    ordered = sorted(values, reverse=high)
    return median(ordered[: (len(ordered) + 1) // 2])


def of_runs(runs: list[Run], pick: Callable[[Run], float], *, high: bool = False) -> float:
    return best_half((pick(run) for run in runs), high=high)


def figures(measured: Measured) -> dict[str, float]:
    """Return the figures by the keys of the line of JSON."""
    runs = measured.runs
    echo_s = best_half((echo.messages_s for echo in measured.echo), high=True)
    echo_us = best_half(echo.cpu_us for echo in measured.echo)
    rtt_us = best_half(echo.rtt_p50_us for echo in measured.echo)
    two_cpus_us = best_half(echo.rtt_two_cpus_p50_us for echo in measured.echo)
    one_cpu_us = best_half(echo.rtt_one_cpu_p50_us for echo in measured.echo)
    agent_us = best_half(echo.rtt_agent_p50_us for echo in measured.echo)
    paced_us = best_half(echo.rtt_paced_p50_us for echo in measured.echo)
    w1 = of_runs(runs["W1"], lambda run: run.tasks_s, high=True)
    w3 = of_runs(runs["W3"], lambda run: run.tasks_s, high=True)
    hop_ms = of_runs(runs["W2"], lambda run: run.hop_p50_ms)
    cpu_w1, cpu_w3 = (of_runs(runs[name], lambda run: run.hub_us) for name in ("W1", "W3"))
    found = {
        "w1_tasks_s": w1,
        "w1_vs_dask": w1 / best_half(measured.dask["W1"], high=True),
        "w1_vs_echo": w1 / echo_s,
        "cpu_per_task_vs_echo": max(cpu_w1, cpu_w3) / echo_us,
        "w2_hop_p50_ms": hop_ms,
        "w2_hop_vs_echo_rtt": hop_ms * 1000 / rtt_us,
        "w2_hop_vs_echo_rtt_two_cpus": hop_ms * 1000 / two_cpus_us,
        "w2_hop_vs_echo_rtt_one_cpu": hop_ms * 1000 / one_cpu_us,
        "w2_hop_vs_echo_rtt_agent": hop_ms * 1000 / agent_us,
        "w2_hop_vs_echo_rtt_paced": hop_ms * 1000 / paced_us,
        "cpu_10k_vs_1k": of_runs(runs["W3 10k"], lambda run: run.hub_us) / cpu_w3,
        "w4_vs_w3": of_runs(runs["W4"], lambda run: run.tasks_s, high=True) / w3,
        "kib_per_idle_agent": measured.kib_per_idle_agent,
        "agent_rss_mb": median(measured.agent_rss_bytes) / 2**20,
        **measured.real.figures(),
    }
    return {key: float(f"{value:.3g}") for key, value in found.items()}
