"""Celery at the work of W5: `python -m tests.bench.celery_peer FOLDER` starts a prefork worker on an own Redis.

Reads jobs (`{"tool", "calls", "folder"}` as JSON lines) from stdin and writes one line of seconds for each, from the
first `delay` until the last result is here. A process of its own, so that nothing of it runs while something else is
measured.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from celery import Celery

from starloom.jobs.broker import broker_url_of
from starloom.store.redis.embedded import EmbeddedRedis
from tests.bench import machine
from tests.bench.hub_client import BenchFailed
from tests.bench.peer import RUN_S, START_S, Peer
from tests.bench.tool_work import work

WORKERS: Final = 8


def peer(folder: Path) -> Peer:
    """Return a Redis and a worker to be entered."""
    return Peer("Celery", "tests.bench.celery_peer", str(folder))


def application(redis_url: str) -> Celery:
    """Return the application of worker and client alike: JSON, results in the same Redis."""
    url = broker_url_of(redis_url)
    app = Celery("w5", broker=url, backend=url)
    app.conf.update(
        accept_content=["json"],
        result_serializer="json",
        task_serializer="json",
        worker_prefetch_multiplier=4,
        worker_hijack_root_logger=False,
    )
    app.task(name="w5.work")(work)
    return app


def _worker(redis_url: str) -> None:
    application(redis_url).worker_main(
        ["worker", f"--concurrency={WORKERS}", "--pool=prefork", "--loglevel=error", "--without-gossip",
         "--without-mingle", "--without-heartbeat"]
    )  # fmt: skip


async def _main(folder: Path) -> None:
    redis = EmbeddedRedis(folder)
    await redis.start()
    worker = machine.start("celery", ["-m", "tests.bench.celery_peer", "--worker", redis.url], folder / "celery.log")
    try:
        _serve(application(redis.url), worker)
    finally:
        machine.stop([worker])
        await redis.stop()


def _serve(app: Celery, worker: machine.Program) -> None:
    task: Any = app.tasks["w5.work"]
    deadline = time.monotonic() + START_S
    while not app.control.ping(timeout=1.0):
        if not worker.alive() or time.monotonic() > deadline:
            raise BenchFailed(f"the worker of Celery does not answer:\n{worker.tail()}")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        began = time.perf_counter()
        found = [task.delay(job["tool"], job["folder"]) for _ in range(job["calls"])]
        lengths = [result.get(timeout=RUN_S) for result in found]
        took = time.perf_counter() - began
        if not all(lengths):
            raise BenchFailed(f"Celery gave {lengths}: {worker.tail()}")
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["--worker"]:
            _worker(sys.argv[2])
        else:
            asyncio.run(_main(Path(sys.argv[1])))
    except subprocess.SubprocessError as failed:
        sys.exit(str(failed))
