"""The sweep of open jobs without a worker, which wakes a worker again; decides from state and keeps nothing."""

from __future__ import annotations

from collections.abc import Callable

from starloom.core.plan.goals.conversation import UNCLAIMABLE
from starloom.core.plan.review import LOOKING
from starloom.core.state.model import Shard
from starloom.engine.ports import Clock, JobSender
from starloom_protocol.records.entities import Job

JOB_SWEEP_MS = 5_000


def unworked(shard: Shard, now_ms: int) -> list[tuple[str, Job]]:
    """Return (constellation, job) of each job that is open, not new, and without a valid claim."""
    return [
        (name, job)
        for name in shard.live
        for job in shard.constellations[name].jobs.values()
        if job.state not in (LOOKING, *UNCLAIMABLE)
        and job.expires_ms <= now_ms
        and job.opened_ms + JOB_SWEEP_MS <= now_ms
    ]


async def sweep_jobs(clock: Clock, shard: Callable[[], Shard], sender: JobSender) -> None:
    """Wake a worker again for every job without one, since a message may be lost; run until cancelled."""
    while True:
        await clock.wait(JOB_SWEEP_MS)
        for name, job in unworked(shard(), clock.now_ms()):
            sender.wake(job.kind, name, job.id)
