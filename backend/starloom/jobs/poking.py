"""The worker's side of a beat: asks the engine to look at its clocks. Decides nothing and fires nothing."""

from __future__ import annotations

import asyncio
import logging
import uuid

from celery import Celery

from starloom.core.inputs import SchedulesPoked
from starloom.jobs.claiming import ask
from starloom.store.opening import open_store
from starloom.store.port import InboxPort, Unavailable

POKE_TASK = "starloom.poke-schedules"
_log = logging.getLogger(__name__)


async def poke(inbox: InboxPort, worker: str) -> int:
    """Ask the engine to look at its clocks; return how many schedules were due.

    Raises:
        Unavailable: no answer came; the next beat asks again.
    """
    answer = await ask(inbox, SchedulesPoked(by=f"worker:{worker}", id=uuid.uuid4().hex, scope="worker"))
    return int(answer.value["due"]) if isinstance(answer.value, dict) else 0


class PokeJobs:
    """What a worker does for a beat, on a connection of its own."""

    def __init__(self, redis_url: str, database_url: str, worker: str) -> None:
        self._redis_url = redis_url
        self._database_url = database_url
        self._worker = worker

    def run(self) -> None:
        """Poke once; a hub that is away will look at its clocks by itself when it starts."""
        try:
            asyncio.run(self._run())
        except Unavailable as error:
            _log.warning("event=poke_unavailable reason=%s", error)

    async def _run(self) -> None:
        store = await open_store(self._redis_url, self._database_url, owner=False)
        try:
            await poke(store.inbox, self._worker)
        finally:
            await store.close()


def add_poke(app: Celery, jobs: PokeJobs) -> None:
    """Register the worker's side of a beat."""

    def run() -> None:
        jobs.run()

    app.task(run, name=POKE_TASK)
