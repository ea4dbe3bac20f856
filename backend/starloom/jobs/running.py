"""Runs one claimed job of the log to its end on connections of its own. Knows no planner and no Celery.

The message that woke the worker is only a hint, so a job of another worker, or one that cannot be reached, is skipped.
An error that no kind of job expects is the outcome of its job: another try would most often end with it again, and ask
the model once more.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from starloom.core.state.inputs import AnyInput
from starloom.jobs.claiming import CLAIM_TTL_S, Claim, NotOurs, WorkerJob
from starloom.store.port import Unavailable

_log = logging.getLogger(__name__)


class JobKind(Protocol):
    """A kind of job: the work, and its outcome where the work ended with an unexpected error."""

    async def carry_out(self, job: WorkerJob) -> None:
        """Read committed state and post the outcome of a job."""
        ...

    def broken(self, job: WorkerJob, reason: str) -> AnyInput:
        """Return the outcome of a job that an unexpected error ended."""
        ...


@dataclass(frozen=True)
class ClaimedJobs:
    """The store where a worker claims jobs, and the worker's name. Times are seconds."""

    redis_url: str
    database_url: str
    worker: str
    claim_ttl_s: float = CLAIM_TTL_S
    _messages: dict[tuple[str, str], bool] = field(default_factory=dict, init=False)
    """The jobs that a thread of this worker has, and whether there is a message for each that it has not seen."""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(
        self,
        constellation: str,
        job: str,
        kind: JobKind,
        takes_s: Callable[[], float] = lambda: 0.0,
        tiers: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Claim the job and carry it out; an unfinished job is left to the sweeper or to its own deadline.

        `takes_s` tells how long the job may wait for its model, `tiers` which tiers a goal has, by the settings at the
        time of the claim.

        A job that another thread of this worker has is left to that thread, which looks at it once more at its end: a
        second claim would be taken for a renewal, and the model asked twice.
        """
        key = constellation, job
        with self._lock:
            is_ours = key not in self._messages
            self._messages[key] = True
        while is_ours and self._is_due(key):
            try:
                self._claimed(constellation, job, kind, takes_s(), tiers())
            except BaseException:
                with self._lock:
                    del self._messages[key]
                raise

    def _is_due(self, key: tuple[str, str]) -> bool:
        """Take the message about a job; without one the job is let go."""
        with self._lock:
            if self._messages[key]:
                self._messages[key] = False
                return True
            del self._messages[key]
            return False

    def _claimed(self, constellation: str, job: str, kind: JobKind, takes_s: float, tiers: Sequence[str]) -> None:
        try:
            asyncio.run(self._run(constellation, job, kind, takes_s, tiers))
        except NotOurs as error:
            _log.info("%s", error)
        except Unavailable as error:
            _log.warning("job %s of %s is left to the next worker: %s", job, constellation, error)

    async def _run(self, constellation: str, job: str, kind: JobKind, takes_s: float, tiers: Sequence[str]) -> None:
        # The durable history is a third of what a worker loads, and one without a model has no job.
        from starloom.store.opening import open_store

        store = await open_store(self.redis_url, self.database_url, owner=False)
        try:
            ours = WorkerJob(store, store.inbox, constellation, job, self.worker)
            claim = Claim(ours, takes_s=takes_s, tiers=tiers, ttl_s=self.claim_ttl_s)
            await claim.take()
            await claim.while_renewing(lambda: carried_out(kind, claim.claimed()))
        finally:
            await store.close()


async def carried_out(kind: JobKind, job: WorkerJob) -> None:
    """Carry out a claimed job, and post an unexpected error as its outcome.

    Raises:
        NotOurs: the claim was lost.
        Unavailable: the engine or the store does not answer.
    """
    try:
        await kind.carry_out(job)
    except (NotOurs, Unavailable):
        raise
    except Exception as error:
        _log.exception("job %s of %s broke", job.job, job.constellation)
        reason = f"the worker met an error that it did not expect ({type(error).__name__}); its log has it"
        answer = await job.post(kind.broken(job, reason))
        if answer.faults:
            _log.error("the end of job %s was refused: %s", job.job, answer.faults[0].reason)
