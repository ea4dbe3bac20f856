"""Dask at the same work: `distributed` with 8 worker processes of one thread, from submit until the client has it.

`python -m tests.bench.dask_peer` reads jobs as JSON lines from stdin and writes one line of seconds for each: a
process of its own, so that nothing of Dask runs while something else is measured. A job is the list of parents of a
graph, or `{"tool", "calls", "folder"}` for calls of W5.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from tests.bench.hub_client import BenchFailed
from tests.bench.peer import Peer
from tests.bench.tool_work import work

WORKERS = 8


def peer() -> Peer:
    """Return a Dask cluster to be entered."""
    return Peer("Dask", "tests.bench.dask_peer")


def echo(*_parents: object) -> int:
    """Do as much as `lab.echo`."""
    return 1


def _of_graph(number: int, parents: Sequence[Sequence[int]]) -> tuple[dict[str, Any], list[str]]:
    """Return the tasks of a graph, and those that nobody waits for."""
    names = [f"r{number}-{task}" for task in range(len(parents))]
    graph = {names[task]: (echo, *(names[parent] for parent in above)) for task, above in enumerate(parents)}
    needed = {parent for above in parents for parent in above}
    return graph, [names[task] for task in range(len(parents)) if task not in needed]


def _of_calls(number: int, job: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    names = [f"c{number}-{call}" for call in range(job["calls"])]
    return dict.fromkeys(names, (work, job["tool"], job["folder"])), names


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
            job = json.loads(line)
            graph, leaves = _of_calls(number, job) if isinstance(job, dict) else _of_graph(number, job)
            began = time.perf_counter()
            found = client.get(graph, leaves)
            took = time.perf_counter() - began
            if len(found) != len(leaves) or not all(found):
                raise BenchFailed(f"Dask gave {found!r}")
            print(json.dumps(took), flush=True)


if __name__ == "__main__":
    try:
        _work()
    except subprocess.SubprocessError as failed:
        sys.exit(str(failed))
