"""The hub's CPU a task beside that of another checkout, in turn: `python -m tests.bench.beside FOLDER [--graph w2]`.

The other tree needs its `.venv`. Each runs its own hub, agents and client by its own `tests.bench`, so a tree is
measured as it was; the runs take turns, so that the other work of the machine falls on both alike. Ends with one line
of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.graphs import chain, fan
from tests.bench.stack import Stack
from tests.bench.workloads import run

HERE = Path(__file__).resolve()
OWN = HERE.parents[2]
GRAPHS = {"w1": fan(1_000), "w2": chain(200), "small": fan(4)}
WARM_UPS = 3
AGENTS, SLOTS = 4, 8


async def _serve(graph: str) -> None:
    """Run the graph each time a line comes in, and print the microseconds of the hub's CPU for each task."""
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        async with Stack(Path(folder) / "s", AGENTS, SLOTS) as stack:
            client = stack.client()
            await client.open()
            try:
                for _ in range(WARM_UPS):
                    await run(stack, client, GRAPHS[graph])
                print("ready", flush=True)
                while await asyncio.to_thread(sys.stdin.readline):
                    print((await run(stack, client, GRAPHS[graph])).hub_us, flush=True)
            finally:
                await client.close()


def python_of(tree: Path) -> Path:
    """Return the interpreter of a checkout: for this one the one that runs."""
    return Path(sys.executable) if tree == OWN else tree / ".venv/bin/python"


def _start(tree: Path, graph: str) -> subprocess.Popen[str]:
    argv = [str(python_of(tree)), "-W", "ignore", str(HERE), "--serve", "--graph", graph]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    process = subprocess.Popen(
        argv, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", f"the bench of {tree} did not start"
    return process


def measure(trees: list[Path], graph: str, runs: int) -> list[list[float]]:
    """Return the microseconds of each run by tree; every second turn goes the other way round."""
    found: list[list[float]] = [[] for _ in trees]
    started: list[subprocess.Popen[str]] = []
    try:
        started.extend(_start(tree, graph) for tree in trees)
        for number in range(runs):
            turn = list(zip(started, found, strict=True))
            for process, kept in turn if number % 2 else reversed(turn):
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("\n")
                process.stdin.flush()
                kept.append(float(process.stdout.readline()))
    finally:
        for process in started:
            process.communicate()
    return found


def figures(other: list[float], own: list[float]) -> dict[str, float]:
    """Return the medians of both trees and their ratio, and that of the means of the best quarters."""
    quarter = max(1, len(own) // 4)
    best_other, best_own = (statistics.mean(sorted(kept)[:quarter]) for kept in (other, own))
    return {
        "other_us": round(statistics.median(other), 1),
        "own_us": round(statistics.median(own), 1),
        "median_ratio": round(statistics.median(own) / statistics.median(other), 3),
        "best_quarter_ratio": round(best_own / best_other, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="the other checkout")
    parser.add_argument("--graph", choices=sorted(GRAPHS), default="w1")
    parser.add_argument("--runs", type=int, default=20, help="of each tree (default 20)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options.graph))
        return
    if options.folder is None:
        parser.error("name the folder of the other checkout")
    tree = options.folder.resolve()
    if not python_of(tree).exists():
        parser.error(f"{tree} has no .venv; make it there: python3 scripts/environment.py --dev")
    print(json.dumps(figures(*measure([tree, OWN], options.graph, options.runs))))


if __name__ == "__main__":
    main()
