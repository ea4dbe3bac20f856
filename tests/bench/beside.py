"""The hub's CPU a task beside that of another checkout, in turn: `python -m tests.bench.beside FOLDER [--graph w2]`.

Both trees need their `.venv`. Each runs its own hub, agents and client by its own `tests.bench`, so a tree is measured
as it was; the runs take turns, so that the other work of the machine falls on both alike. Ends with one line of JSON.
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
GRAPHS = {"w1": fan(1_000), "w2": chain(200)}
AGENTS, SLOTS = 4, 8


async def _serve(graph: str) -> None:
    """Run the graph each time a line comes in, and print the microseconds of the hub's CPU for each task."""
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        async with Stack(Path(folder) / "s", AGENTS, SLOTS) as stack:
            client = stack.client()
            await client.open()
            try:
                for name in ("w2", "w1", graph):
                    await run(stack, client, GRAPHS[name])
                print("ready", flush=True)
                while await asyncio.to_thread(sys.stdin.readline):
                    print((await run(stack, client, GRAPHS[graph])).hub_us, flush=True)
            finally:
                await client.close()


def _start(tree: Path, graph: str) -> subprocess.Popen[str]:
    argv = [str(tree / ".venv/bin/python"), "-W", "ignore", str(HERE), "--serve", "--graph", graph]
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
    trees = [options.folder.resolve(), HERE.parents[2]]
    other, own = (sorted(kept) for kept in measure(trees, options.graph, options.runs))
    quarter = max(1, options.runs // 4)
    figures = {
        "other_us": round(statistics.median(other), 1),
        "own_us": round(statistics.median(own), 1),
        "median_ratio": round(statistics.median(own) / statistics.median(other), 3),
        "best_quarter_ratio": round(statistics.mean(own[:quarter]) / statistics.mean(other[:quarter]), 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
