"""The review job: sends ended tasks and the current plan to the owner's model, and proposes its edit to the engine.

Every failure ends in "no change", so that no task is held back for a model that does not help.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from typing import Any

from starloom.core.state.inputs import ReviewProposed
from starloom.jobs.claiming import NotOurs, ask
from starloom.jobs.modelling import ModelJobs, Purse
from starloom.jobs.planning import fleet_of
from starloom.planner.model.port import ModelFault
from starloom.planner.model.reviewing import Review, ReviewTalk, TaskSeen
from starloom.store.port import InboxPort, ReadPort
from starloom_protocol.entities import Attempt, Dependency, Head, Job, TaskRecord, TaskSpec, decode_entity
from starloom_protocol.feed import FLEET

_log = logging.getLogger(__name__)


class ReviewJobs:
    """Carries out review jobs claimed under `worker`."""

    def __init__(self, worker: str, models: ModelJobs) -> None:
        self._worker = worker
        self._models = models

    async def carry_out(self, reads: ReadPort, inbox: InboxPort, constellation: str, job: str) -> None:
        """Carry out a claimed review and propose its edit, mended if the engine refuses it."""
        found = await reads.entities(constellation)
        if found is None:
            raise NotOurs(f"{constellation} does not exist")
        fleet = await reads.entities(FLEET)
        seen = _Seen(found[1], job)
        talk: ReviewTalk | None = None
        try:
            owned = await asyncio.to_thread(self._models.owned)
            if owned is None:
                review = Review(reason="no model is set")
            else:
                purse = Purse(
                    reads,
                    inbox,
                    owned.budget,
                    constellation=constellation,
                    job=job,
                    now_s=self._models.now_s,
                    worker=self._worker,
                )
                view = fleet_of(fleet[1] if fleet else {})
                model = self._models.recorded(owned, purse)
                talk = ReviewTalk(model, seen.head.request, seen.tasks(), seen.ended, view)
                review = await talk.look()
        except ModelFault as error:
            review = Review(reason=error.fault.reason)
        while True:
            answer = await ask(inbox, self._proposal(constellation, job, seen.head.version, review))
            if not answer.faults or not review.operations or talk is None:
                return
            review = await talk.mend(answer.faults)

    def _proposal(self, constellation: str, job: str, version: int, review: Review) -> ReviewProposed:
        return ReviewProposed(
            ask=review.ask,
            base_version=version,
            by=f"worker:{self._worker}",
            constellation=constellation,
            id=uuid.uuid4().hex,
            job=job,
            operations=list(review.operations),
            reason=review.reason,
            scope="worker",
            wish=review.wish,
            worker=self._worker,
        )


class _Seen:
    """A committed constellation, split into the parts that a reviewer reads."""

    def __init__(self, entities: Mapping[str, bytes], job: str) -> None:
        records: dict[str, Any] = {key: decode_entity(key, raw) for key, raw in entities.items()}
        head, review = records.get("head"), records.get(f"job/{job}")
        if not isinstance(head, Head) or not isinstance(review, Job):
            raise NotOurs(f"there is no review {job}")
        self.head = head
        self.ended = {name.rpartition("/")[0] for name in review.tasks}
        self._records = records

    def tasks(self) -> list[TaskSeen]:
        after: dict[str, dict[str, None]] = {}
        for record in self._records.values():
            if isinstance(record, Dependency):
                after.setdefault(record.target, {})[record.source] = None
        return [
            self._task(key.partition("/")[2], record, tuple(after.get(key.partition("/")[2], ())))
            for key, record in self._records.items()
            if isinstance(record, TaskSpec)
        ]

    def _task(self, name: str, spec: TaskSpec, after: tuple[str, ...]) -> TaskSeen:
        record = self._records.get(f"task/{name}") or self._records.get(f"group/{name}")
        number = record.attempt if isinstance(record, TaskRecord) else 0
        attempt = self._records.get(f"attempt/{name}/{number}")
        return TaskSeen(
            id=name,
            tool=spec.tool or "a question to a person",
            state=str(record.state) if record is not None else "",
            code=str(record.code) if record is not None and record.code is not None else "",
            detail=attempt.detail if isinstance(attempt, Attempt) else "",
            after=after,
        )
