"""Dask on the same graphs: `distributed` with 8 worker processes of one thread, from submit until the client has it.

`python -m tests.bench.dask_peer` reads jobs as JSON lines from stdin and writes one line of seconds for each: a
process of its own, so that nothing of Dask runs while something else is measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any

from tests.bench import machine
from tests.bench.graphs import Graph
from tests.bench.hub_client import BenchFailed

WORKERS = 8
START_S = 60.0
RUN_S = 400.0


def echo(*_parents: object) -> int:
    """Do as much as `lab.echo`."""
    return 1


def _work() -> None:
    from dask import config
    from distributed import Client, LocalCluster

    config.set({"distributed.worker.profile.enabled": False})
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        client.wait_for_workers(WORKERS)
        print(json.dumps("ready"), flush=True)
        for number, line in enumerate(sys.stdin):
            parents = json.loads(line)
            names = [f"r{number}-{task}" for task in range(len(parents))]
            graph: dict[str, Any] = {
                names[task]: (echo, *(names[parent] for parent in above)) for task, above in enumerate(parents)
            }
            needed = {parent for above in parents for parent in above}
            leaves = [names[task] for task in range(len(parents)) if task not in needed]
            began = time.perf_counter()
            found = client.get(graph, leaves)
            took = time.perf_counter() - began
            if list(found) != [1] * len(leaves):
                raise BenchFailed(f"Dask gave {found!r}")
            print(json.dumps(took), flush=True)


class DaskPeer:
    """A running Dask cluster, as an async context."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> DaskPeer:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.bench.dask_peer",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=machine.ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            start_new_session=True,
        )
        try:
            await self._line(START_S)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(15):
                await process.wait()
        except TimeoutError:
            for child in machine.children_named(process.pid, ""):
                os.kill(child, 9)
            process.kill()
            await process.wait()

    async def seconds(self, graph: Graph) -> float:
        """Run a graph and return the seconds from submit to result."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(graph.parents).encode() + b"\n")
        return float(await self._line(RUN_S))

    async def _line(self, within_s: float) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise BenchFailed(f"Dask did not answer within {within_s:g} s") from error
        if not line:
            raise BenchFailed("Dask's process ended")
        return json.loads(line)


if __name__ == "__main__":
    try:
        _work()
    except subprocess.SubprocessError as failed:
        sys.exit(str(failed))
