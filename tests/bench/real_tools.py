"""W5: calls of real tools on four devices, beside Dask and Celery at the same work in the same run.

`python -m tests.bench.real_tools` measures this alone, prints the table and ends with one line of JSON. A figure that
misses its goal is told, never asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.bench import celery_peer, dask_peer
from tests.bench.machine import Quiet
from tests.bench.real_figures import RealTools
from tests.bench.stack import Stack
from tests.bench.tool_work import ARGUMENTS, CALLS, DEVICES, SLOTS, furnish, plan

ROUNDS = 3
_WARM_CALLS = 64


async def measure(
    home: Path, measured: RealTools, *, rounds: int, calls: int, wait: Callable[[], Awaitable[None]]
) -> None:
    """Measure all three sides in turn, a round after the other; `wait` waits for a quiet moment.

    Raises:
        BenchFailed: a call failed.
    """
    folder = home / "looked-into"
    furnish(folder)
    measured.calls = calls
    for number in range(rounds):
        stack = Stack(home / f"stack-{number}", DEVICES, SLOTS, folders=(folder,))
        async with stack:
            client = stack.client()
            await client.open()
            try:
                for tool in ARGUMENTS:
                    await client.run(plan(tool, _WARM_CALLS))
                for tool in ARGUMENTS:
                    await wait()
                    measured.add("Starloom", tool, (await client.run(plan(tool, calls))).wall_s)
            finally:
                await client.close()
        for side, peer in (("Dask", dask_peer.peer()), ("Celery", celery_peer.peer(home / f"celery-{number}"))):
            async with peer:
                for tool in ARGUMENTS:
                    job = {"tool": tool, "calls": _WARM_CALLS, "folder": str(folder)}
                    await peer.seconds(job)
                    await wait()
                    measured.add(side, tool, await peer.seconds({**job, "calls": calls}))


async def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.real_tools", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--calls", type=int, default=CALLS, help="of each tool")
    parser.add_argument("--patience-s", type=float, default=30, help="how long to wait in all for a quiet machine")
    options = parser.parse_args()
    measured = RealTools()
    with tempfile.TemporaryDirectory(prefix="starloom-w5-") as home:
        quiet = Quiet(options.patience_s)
        await measure(Path(home), measured, rounds=options.rounds, calls=options.calls, wait=quiet.wait)
    print(measured.table())
    print(json.dumps({key: float(f"{value:.3g}") for key, value in measured.figures().items()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(_main()))
