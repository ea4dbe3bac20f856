"""The owner's model as a job uses it: connected by current settings, paid for in the log. Holds no key and no state.

The settings are read for each job, so that a changed key file takes effect at once.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from starloom.core.rights.budgets import DAY_MS
from starloom.core.state.inputs import ModelUsed
from starloom.jobs.claiming import NotOurs, ask
from starloom.planner.model.connecting import connect
from starloom.planner.model.endpoint import Endpoint, endpoint_from
from starloom.planner.model.kept import in_force
from starloom.planner.model.port import Model, Reply
from starloom.planner.model.sharing import sharing_from
from starloom.planner.model.spending import Budget, Spent, budget_from
from starloom.store.port import InboxPort, ReadPort
from starloom_protocol.entities import Head, Job, Question, decode_entity
from starloom_protocol.feed import FLEET
from starloom_protocol.model_records import ModelDay
from starloom_protocol.vocabulary import Sharing

_log = logging.getLogger(__name__)
_ASKED = "planner"


@dataclass(frozen=True)
class Owned:
    """The owner's model with its budget, and the part of results that it is shown."""

    model: Model
    budget: Budget
    sharing: Sharing = Sharing.CARDS


class ModelJobs:
    """A worker's access to the model; `connect` opens the wire, tests replace it.

    `folder` holds the model set on the page, which is used where the variables name none.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path | None = None,
        connect: Callable[[Endpoint], Model] = connect,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._connect = connect
        self.now_s = now_s

    def owned(self) -> Owned | None:
        """Return the model, or None if none is set; imports its libraries, so call it in a thread.

        Raises:
            ModelFault: its settings are wrong.
        """
        told = in_force(self._environment, self._folder)
        endpoint = endpoint_from(told)
        if endpoint is None:
            return None
        _log.info("the model %s at %s is asked", endpoint.model, endpoint.host)
        return Owned(self._connect(endpoint), budget_from(told), sharing_from(told))


class Purse:
    """Pays for the calls of one job: refuses a call that no budget covers, and reports its cost to the engine."""

    def __init__(
        self,
        reads: ReadPort,
        inbox: InboxPort,
        budget: Budget,
        *,
        constellation: str,
        job: str,
        now_s: Callable[[], float],
        worker: str,
    ) -> None:
        self._reads = reads
        self._inbox = inbox
        self._budget = budget
        self._constellation = constellation
        self._job = job
        self._now_s = now_s
        self._worker = worker

    async def pay(self, reply: Reply | None) -> None:
        """Check and count a call before it (None); count its tokens and money after it.

        Raises:
            ModelFault: a budget is used up.
            NotOurs: the claim was lost.
            Unavailable: the engine does not answer.
        """
        if reply is None:
            here = await self._reads.entities(self._constellation)
            fleet = await self._reads.entities(FLEET)
            today = spent_on(fleet[1] if fleet else {}, int(self._now_s() * 1000) // DAY_MS)
            entities = here[1] if here else {}
            self._budget.need(today, spent_in(entities), allowed_in(entities))
        used = ModelUsed(
            by=f"worker:{self._worker}",
            calls=1 if reply is None else 0,
            constellation=self._constellation,
            id=uuid.uuid4().hex,
            job=self._job,
            micros=0 if reply is None else reply.micros,
            scope="worker",
            tokens=0 if reply is None else reply.input_tokens + reply.output_tokens,
            worker=self._worker,
        )
        answer = await ask(self._inbox, used)
        if answer.faults:
            raise NotOurs(f"job {self._job} of {self._constellation}: {answer.faults[0].reason}")


def allowed_in(entities: Mapping[str, bytes]) -> int | None:
    """Return the budget of a constellation in millionths of a dollar, None if it has none."""
    head = decode_entity("head", entities["head"]) if "head" in entities else None
    budget = head.budget if isinstance(head, Head) else None
    return budget.micros * budget.times or None if budget is not None else None


def spent_in(entities: Mapping[str, bytes]) -> Spent:
    """Return what all jobs of a constellation have spent."""
    total = Spent()
    for key, raw in entities.items():
        job = decode_entity(key, raw) if key.startswith("job/") else None
        if isinstance(job, Job):
            total += Spent(job.calls, job.tokens, job.micros)
    return total


def spent_on(fleet: Mapping[str, bytes], day: int) -> Spent:
    """Return what was spent on a day, counted in UTC days since 1970."""
    raw = fleet.get(f"model_day/{day}")
    found = decode_entity(f"model_day/{day}", raw) if raw is not None else None
    return Spent(found.calls, found.tokens, found.micros) if isinstance(found, ModelDay) else Spent()


def questions_in(entities: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Return the planner's earlier questions with their answers, in order."""
    found = [decode_entity(key, raw) for key, raw in entities.items() if key.startswith("question/")]
    asked = [item for item in found if isinstance(item, Question) and item.kind == _ASKED and item.answer]
    return [(item.text, item.answer or "") for item in sorted(asked, key=lambda item: item.opened_ms)]
