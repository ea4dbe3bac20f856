"""Runs one claimed job of the log to its end on connections of its own. Knows no planner and no Celery.

The message that woke the worker is only a hint, so a job of another worker, or one that cannot be reached, is skipped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starloom.jobs.claiming import CLAIM_TTL_S, Claim, NotOurs
from starloom.store.opening import open_store
from starloom.store.port import InboxPort, ReadPort, Unavailable

_log = logging.getLogger(__name__)

CarryOut = Callable[[ReadPort, InboxPort, str, str], Awaitable[None]]
"""Reads committed state and posts the outcome of a job; its strings are the constellation and the job."""


@dataclass(frozen=True)
class ClaimedJobs:
    """The store where a worker claims jobs, and the worker's name. Times are seconds."""

    redis_url: str
    database_url: str
    worker: str
    claim_ttl_s: float = CLAIM_TTL_S
    _under_way: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def run(self, constellation: str, job: str, carry_out: CarryOut) -> None:
        """Claim the job and carry it out; an unfinished job is left to the sweeper or to its own deadline.

        A job that waited long has two messages. To the engine the second claim of one worker is a renewal, so this
        worker itself sees to it that only one of its threads has the job.
        """
        with self._lock:
            if (constellation, job) in self._under_way:
                _log.info("job %s of %s is under way here", job, constellation)
                return
            self._under_way.add((constellation, job))
        try:
            asyncio.run(self._run(constellation, job, carry_out))
        except NotOurs as error:
            _log.info("%s", error)
        except Unavailable as error:
            _log.warning("job %s of %s is left to the next worker: %s", job, constellation, error)
        finally:
            with self._lock:
                self._under_way.discard((constellation, job))

    async def _run(self, constellation: str, job: str, carry_out: CarryOut) -> None:
        store = await open_store(self.redis_url, self.database_url, owner=False)
        try:
            claim = Claim(store.inbox, worker=self.worker, constellation=constellation, job=job, ttl_s=self.claim_ttl_s)
            await claim.take()
            await claim.while_renewing(lambda: carry_out(store, store.inbox, constellation, job))
        finally:
            await store.close()
