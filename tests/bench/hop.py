"""`python -m tests.bench.hop`: the round trip of the echo by its yardsticks, and the hop of W2, in turn.

`--one-cpu` keeps everything on one CPU, so that no message wakes another. Ends with one line of JSON; nothing is
asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from starloom.host.ports import free_port
from tests.bench import echo
from tests.bench.figures import median
from tests.bench.graphs import chain
from tests.bench.hub_client import BenchFailed
from tests.bench.stack import Stack
from tests.bench.workloads import run

AGENTS, SLOTS, TASKS = 8, 16, 200
ROUNDS_MOST, RUNS_MOST = 20, 20


async def _measure(rounds: int, runs: int, folder: Path) -> dict[str, float]:
    ratios, two_cpus, hops, rtt, apart, one_cpu = [], [], [], [], [], []
    async with Stack(folder / "stack", AGENTS, SLOTS) as stack:
        client = stack.client()
        await client.open()
        try:
            await run(stack, client, chain(TASKS))
            for _ in range(rounds):
                found = await echo.measure(free_port(), folder)
                hop = median([(await run(stack, client, chain(TASKS))).hop_p50_ms for _ in range(runs)])
                print(
                    f"echo {found.rtt_p50_us:.0f} us, on a CPU each {found.rtt_two_cpus_p50_us:.0f}, on one CPU "
                    f"{found.rtt_one_cpu_p50_us:.0f}, with the agent's line {found.rtt_agent_p50_us:.0f}, after a "
                    f"millisecond {found.rtt_paced_p50_us:.0f}; hop {hop:.2f} ms",
                    file=sys.stderr,
                    flush=True,
                )
                hops.append(hop)
                rtt.append(found.rtt_p50_us)
                apart.append(found.rtt_two_cpus_p50_us)
                one_cpu.append(found.rtt_one_cpu_p50_us)
                ratios.append(hop * 1e3 / found.rtt_p50_us)
                two_cpus.append(hop * 1e3 / found.rtt_two_cpus_p50_us)
        finally:
            await client.close()
    return {
        "hop_p50_ms": round(median(hops), 3),
        "rtt_us": round(median(rtt), 1),
        "rtt_two_cpus_us": round(median(apart), 1),
        "rtt_one_cpu_us": round(median(one_cpu), 1),
        "hop_vs_rtt": round(median(ratios), 2),
        "hop_vs_rtt_two_cpus": round(median(two_cpus), 2),
        "hop_vs_rtt_best": round(min(ratios), 2),
        "hop_vs_rtt_worst": round(max(ratios), 2),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hop", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, ROUNDS_MOST + 1), metavar="ROUNDS")
    parser.add_argument("--runs", type=int, default=4, choices=range(1, RUNS_MOST + 1), metavar="RUNS")
    parser.add_argument("--one-cpu", action="store_true", help="keep all processes on one CPU")
    options = parser.parse_args()
    if options.one_cpu:
        if not hasattr(os, "sched_setaffinity"):
            parser.error("--one-cpu: this system keeps no process on a CPU")
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    with tempfile.TemporaryDirectory(prefix="sl-hop-") as folder:
        try:
            print(json.dumps(asyncio.run(_measure(options.rounds, options.runs, Path(folder)))))
        except BenchFailed as failed:
            print(f"the bench failed: {failed}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
