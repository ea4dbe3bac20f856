"""The review job: sends ended tasks and the current plan to the owner's model, and proposes its edit or its look.

A look ends the claim: when the devices have answered, the engine opens the same job again for any worker. Every failure
ends in "no change", so that no task is held back for a model that does not help.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from starloom.core.state.inputs import LooksProposed, ReviewProposed
from starloom.jobs.claiming import JobReads, NotOurs, ask
from starloom.jobs.kinds.planning import fleet_of, looks_of
from starloom.jobs.modelling import ModelJobs
from starloom.jobs.sketching import OpenSketches, sketched
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.conversations.looking import narrower, rounds_in
from starloom.planner.model.conversations.reviewed_plan import ReviewedPlan
from starloom.planner.model.conversations.reviewing import REPAIRS, Review, ReviewTalk
from starloom.planner.model.endpoints.endpoint import ModelRole
from starloom.planner.model.port import Hear, ModelFault
from starloom.store.port import InboxPort
from starloom_protocol.records.edits import Supersede
from starloom_protocol.records.entities import GroupRecord, Head, Job, decode_entity
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import FINAL_GROUP_STATES, Sharing

_log = logging.getLogger(__name__)
LOOK_AGAIN_S: Final = 0.2
LOOKS_MOST: Final = 100
"""20 s in all: below the hold of a review, which is 30 s with the answer of its model in it."""


class ReviewJobs:
    """Carries out review jobs claimed under `worker`."""

    def __init__(self, worker: str, models: ModelJobs, sketches: OpenSketches | None = None) -> None:
        self._worker = worker
        self._models = models
        self._sketches = sketches

    def takes_s(self) -> float:
        """Return how long a review may take: the limits of its endpoints for the first answer and each repair."""
        return self._models.takes_s(ModelRole.REVIEWER, tries=1 + REPAIRS)

    async def carry_out(self, reads: JobReads, inbox: InboxPort, constellation: str, job: str) -> None:
        """Carry out a claimed review and propose its edit, mended if the engine refuses it; it is drawn meanwhile."""
        async with sketched(
            self._sketches,
            constellation=constellation,
            job=job,
            worker=self._worker,
            now_ms=lambda: int(self._models.now_s() * 1000),
        ) as hear:
            await self._reviewed(reads, inbox, constellation, job, hear)

    async def _reviewed(self, reads: JobReads, inbox: InboxPort, constellation: str, job: str, hear: Hear) -> None:
        found = await reads.entities(constellation)
        if found is None:
            raise NotOurs(f"{constellation} does not exist")
        fleet = await reads.entities(FLEET)
        view = fleet_of(fleet[1] if fleet else {})
        now_ms = int(self._models.now_s() * 1000)
        seen = await asyncio.to_thread(seen_by, found[1], job, view, now_ms=now_ms)
        talk: ReviewTalk | None = None
        try:
            owned = await asyncio.to_thread(self._models.owned, ModelRole.REVIEWER)
            if owned is None:
                review = Review(reason="no model is set")
            else:
                seen = replace(seen, sharing=narrower(owned.sharing, seen.head.sharing))
                talk = ReviewTalk(
                    self._models.for_job(
                        owned, reads, inbox, constellation=constellation, job=job, worker=self._worker, hear=hear
                    ),
                    seen,
                    view,
                    rounds_in(found[1], view, seen.sharing, now_ms, job),
                )
                review = await talk.answer()
        except ModelFault as error:
            review = Review(reason=error.fault.reason)
        while True:
            await self._until_ended(reads, constellation, replaced_by(review))
            answer = await ask(inbox, self._proposal(constellation, job, seen.head.version, review))
            if not answer.faults or not (review.operations or review.look) or talk is None:
                return
            review = await talk.mend(answer.faults)

    async def _until_ended(self, reads: JobReads, constellation: str, names: frozenset[str]) -> None:
        """Wait until no group among these has items that still run: before that nothing can take its place.

        A review begins with the first item that fails. It stays open meanwhile, and closes by its own time.
        """
        for _ in range(LOOKS_MOST if names else 0):
            found = await reads.entities(constellation)
            if found is None or not any(_runs_on(found[1], name) for name in names):
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    def _proposal(self, constellation: str, job: str, version: int, review: Review) -> ReviewProposed | LooksProposed:
        if review.look is not None:
            return looks_of(review.look, worker=self._worker, constellation=constellation, job=job)
        return ReviewProposed(
            ask=review.ask,
            base_version=version,
            by=f"worker:{self._worker}",
            constellation=constellation,
            give_up=review.give_up,
            id=uuid.uuid4().hex,
            job=job,
            operations=list(review.operations),
            reason=review.reason,
            scope="worker",
            wish=review.wish,
            worker=self._worker,
        )


def replaced_by(review: Review) -> frozenset[str]:
    """Return the tasks and groups whose place others take in an edit."""
    named = (operation.task for operation in review.operations if isinstance(operation, Supersede) and operation.by)
    return frozenset(named)


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
