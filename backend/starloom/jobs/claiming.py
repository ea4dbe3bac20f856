"""Carries out one claimed job: claim in the log, work while renewing, propose. Knows no Celery and no planner.

The claim of a dead worker runs out, and another worker claims the job again. The engine alone decides whether a claim
or a proposal counts. A worker reads nothing that is older than its claim.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec

from starloom.core.state.inputs import AnyInput, JobClaimed
from starloom.process.ending import end_tasks
from starloom.store.port import InboxPort, JobReads, StreamState, Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.stream.authors import WORKER
from starloom_protocol.stream.feed import FLEET

CLAIM_TTL_S = 15.0
ANSWER_S = 10.0
BEHIND_TRIES: Final = 50
BEHIND_WAIT_S: Final = 0.2
"""Together less than a claim holds: a job whose records stay behind is left to the next worker."""

T = TypeVar("T")


class Answered(msgspec.Struct):
    """The engine's reply to a posted input."""

    faults: list[Fault] = []
    value: Any = None


class NotOurs(Exception):
    """The job is done or gone, or another worker has it; nothing is left to do."""


class ClaimedReads:
    """`JobReads` that show nothing of the claimed constellation from before event `seq`, which is the claim.

    A Redis that was restarted without its last commits shows older records until the hub has rebuilt it.
    """

    def __init__(self, reads: JobReads, constellation: str, seq: int) -> None:
        self._reads = reads
        self._constellation = constellation
        self._seq = seq
        self.headlines = reads.headlines
        self.constellations = reads.constellations

    async def entities(self, stream: str) -> StreamState | None:
        """Return a stream's entities; wait for a store that is behind the claim.

        Raises:
            Unavailable: the store stays behind.
        """
        for _ in range(BEHIND_TRIES):
            records = await self._reads.entities(stream)
            if stream != self._constellation or records is None or records.seq >= self._seq:
                return records
            await asyncio.sleep(BEHIND_WAIT_S)
        raise Unavailable(f"the records of {stream} stay behind event {self._seq}, by which the job was claimed")


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """A job of the log in the hands of a worker: the state that it reads, and the inbox that takes its outcome."""

    reads: JobReads
    inbox: InboxPort
    constellation: str
    job: str
    worker: str

    @property
    def signed(self) -> dict[str, Any]:
        """The fields by which an input names the job and its worker."""
        return {
            "by": f"{WORKER}{self.worker}",
            "constellation": self.constellation,
            "id": uuid.uuid4().hex,
            "job": self.job,
            "scope": "worker",
            "worker": self.worker,
        }

    def lost(self, reason: str) -> NotOurs:
        return NotOurs(f"job {self.job} of {self.constellation}: {reason}")

    async def entities(self) -> dict[str, bytes]:
        """Return the committed records of the job's constellation.

        Raises:
            NotOurs: it does not exist.
        """
        records = await self.reads.entities(self.constellation)
        if records is None:
            raise NotOurs(f"{self.constellation} does not exist")
        return records.entities

    async def fleet(self) -> dict[str, bytes]:
        """Return the committed records of the fleet."""
        records = await self.reads.entities(FLEET)
        return records.entities if records is not None else {}

    async def post(self, item: AnyInput) -> Answered:
        """Post an input and return its answer.

        Raises:
            Unavailable: no answer came.
        """
        return await ask(self.inbox, item)


class Claim:
    """One worker's claim of one job. Times are seconds; `takes_s` is how long its model may take for all its calls.

    `tiers` are those of a goal by the settings of the worker.
    """

    def __init__(
        self, job: WorkerJob, *, takes_s: float = 0.0, tiers: Sequence[str] = (), ttl_s: float = CLAIM_TTL_S
    ) -> None:
        self._job = job
        self._takes_s = takes_s
        self._tiers = list(tiers)
        self._ttl_s = ttl_s
        self._seq = 0

    def claimed(self) -> WorkerJob:
        """Return the job with reads that show nothing from before this claim."""
        return replace(self._job, reads=ClaimedReads(self._job.reads, self._job.constellation, self._seq))

    async def take(self, *, renews: bool = False) -> None:
        """Claim the job; or renew the claim, which never takes a job that went on without this worker.

        Raises:
            NotOurs: the engine refuses.
            Unavailable: the engine does not answer.
        """
        claimed = JobClaimed(
            renews=renews,
            takes_ms=round(self._takes_s * 1000),
            tiers=self._tiers,
            ttl_ms=round(self._ttl_s * 1000),
            **self._job.signed,
        )
        answer = await self._job.post(claimed)
        if answer.faults or not answer.value or not answer.value.get("claimed"):
            reason = answer.faults[0].reason if answer.faults else "no model is to be asked for it now"
            raise self._job.lost(reason)
        if not renews:
            self._seq = int(answer.value.get("seq", 0))

    async def while_renewing(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work and renew the claim every third of its duration; the work is cancelled when the claim is lost.

        Raises:
            NotOurs: the claim was lost.
        """
        working = asyncio.ensure_future(work())
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await end_tasks([working])
                renewing.result()
            return working.result()
        finally:
            await end_tasks([working, renewing])

    async def _renew(self) -> None:
        """Renew until the claim is lost, then raise; never return. An unavailable engine is asked again later."""
        while True:
            await asyncio.sleep(self._ttl_s / 3)
            with contextlib.suppress(Unavailable):
                await self.take(renews=True)


async def ask(inbox: InboxPort, item: AnyInput) -> Answered:
    """Post an input and return its answer.

    Raises:
        Unavailable: no answer came.
    """
    raw = await inbox.post(msgspec.json.encode(item), answer_within_s=ANSWER_S)
    if raw is None:
        raise Unavailable("the inbox gave no answer")
    return msgspec.json.decode(raw, type=Answered)
