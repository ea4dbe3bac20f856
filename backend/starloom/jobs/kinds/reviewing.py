"""The review job: sends ended tasks and the current plan to the owner's model, and proposes its edit or its look.

A look ends the claim: when the devices have answered, the engine opens the same job again for any worker. Every failure
ends in "no change", so that no task is held back for a model that does not help.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from starloom.core.state.inputs import LooksProposed, ReviewProposed
from starloom.jobs.claiming import NotOurs, WorkerJob
from starloom.jobs.kinds.planning import fleet_of, looks_of
from starloom.jobs.modelling import ModelJobs
from starloom.jobs.sketching import OpenSketches, sketched
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.conversations.looking import narrower, rounds_in
from starloom.planner.model.conversations.reviewed_plan import ReviewedPlan
from starloom.planner.model.conversations.reviewing import REPAIRS, Review, ReviewTalk
from starloom.planner.model.endpoints.endpoint import ModelRole
from starloom.planner.model.port import Hear, ModelFault
from starloom_protocol.records.edits import Supersede
from starloom_protocol.records.entities import GroupRecord, Head, Job, decode_entity
from starloom_protocol.vocabulary import FINAL_GROUP_STATES, Sharing

LOOK_AGAIN_S: Final = 0.2
LOOKS_MOST: Final = 100
"""20 s in all: below the hold of a review, which is 30 s with the answer of its model in it."""


class ReviewJobs:
    """Carries out claimed review jobs."""

    def __init__(self, models: ModelJobs, sketches: OpenSketches | None = None) -> None:
        self._models = models
        self._sketches = sketches

    def takes_s(self) -> float:
        """Return how long a review may take: the limits of its endpoints for the first answer and each repair."""
        return self._models.takes_s(ModelRole.REVIEWER, tries=1 + REPAIRS)

    async def carry_out(self, job: WorkerJob) -> None:
        """Carry out a claimed review and propose its edit, mended if the engine refuses it; it is drawn meanwhile."""
        async with sketched(self._sketches, job, self._models.now_ms) as hear:
            await self._review(job, hear)

    def broken(self, job: WorkerJob, reason: str) -> ReviewProposed:
        """Return the outcome of a review that an unexpected error ended: no change."""
        return ReviewProposed(reason=reason, **job.signed)

    async def _review(self, job: WorkerJob, hear: Hear) -> None:
        entities = await job.entities()
        view, now_ms = fleet_of(await job.fleet()), self._models.now_ms()
        plan = await asyncio.to_thread(seen_by, entities, job.job, view, now_ms=now_ms)
        talk: ReviewTalk | None = None
        try:
            owned = await asyncio.to_thread(self._models.owned, ModelRole.REVIEWER)
            if owned is None:
                review = Review(reason="no model is set")
            else:
                plan = replace(plan, sharing=narrower(owned.sharing, plan.head.sharing))
                rounds = rounds_in(entities, view, plan.sharing, now_ms, job.job)
                talk = ReviewTalk(self._models.for_job(owned, job, hear=hear), plan, view, rounds)
                review = await talk.answer()
        except ModelFault as error:
            review = Review(reason=error.fault.reason)
        while True:
            await _until_ended(job, replaced_by(review))
            answer = await job.post(_proposal(job, plan.head.version, review))
            if not answer.faults or not (review.operations or review.look) or talk is None:
                return
            review = await talk.mend(answer.faults)


async def _until_ended(job: WorkerJob, names: frozenset[str]) -> None:
    """Wait until no group among these has items that still run: before that nothing can take its place.

    A review begins with the first item that fails. It stays open meanwhile, and closes by its own time.
    """
    for _ in range(LOOKS_MOST if names else 0):
        entities = await job.entities()
        if not any(_runs_on(entities, name) for name in names):
            return
        await asyncio.sleep(LOOK_AGAIN_S)


def _proposal(job: WorkerJob, version: int, review: Review) -> ReviewProposed | LooksProposed:
    if review.look is not None:
        return looks_of(review.look, job)
    return ReviewProposed(
        ask=review.ask,
        base_version=version,
        give_up=review.give_up,
        operations=list(review.operations),
        reason=review.reason,
        wish=review.wish,
        **job.signed,
    )


def replaced_by(review: Review) -> frozenset[str]:
    """Return the tasks and groups whose place others take in an edit."""
    replaced = (operation.task for operation in review.operations if isinstance(operation, Supersede) and operation.by)
    return frozenset(replaced)


def _runs_on(entities: Mapping[str, bytes], name: str) -> bool:
    """Return whether this is a group that has not ended."""
    raw = entities.get(f"group/{name}")
    record = decode_entity(f"group/{name}", raw) if raw is not None else None
    return isinstance(record, GroupRecord) and record.state not in FINAL_GROUP_STATES


def seen_by(
    entities: Mapping[str, bytes], job: str, fleet: FleetSnapshot, *, now_ms: int, sharing: Sharing = Sharing.NAMES
) -> ReviewedPlan:
    """Return a committed constellation as the reviewer of a job sees it; without `sharing` it sees no values.

    Raises:
        NotOurs: there is no such review.
    """
    records: dict[str, Any] = {key: decode_entity(key, raw) for key, raw in entities.items()}
    head, review = records.get("head"), records.get(f"job/{job}")
    if not isinstance(head, Head) or not isinstance(review, Job):
        raise NotOurs(f"there is no review {job}")
    names = {device.id: device.name for device in fleet.devices}
    return ReviewedPlan.of(records, review, head, names, now_ms=now_ms, sharing=sharing)
