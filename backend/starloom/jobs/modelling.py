"""The owner's model as a job uses it: connected by current settings, paid for and recorded in the log.

Holds no key. The settings are read for each job, so that a changed key file takes effect at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from starloom.core.rights.budgets import DAY_MS
from starloom.core.state.inputs import ModelUsed
from starloom.jobs.artifacts import HubArtifacts
from starloom.jobs.claiming import WorkerJob
from starloom.planner.model.answers import Stage
from starloom.planner.model.endpoints.endpoint import (
    Endpoint,
    ModelRole,
    endpoints_from,
    readers_from,
    sharing_from,
    tiers_from,
)
from starloom.planner.model.endpoints.page_settings import in_force
from starloom.planner.model.endpoints.spending import Budget, Spent, budget_from
from starloom.planner.model.port import Hear, Model, ModelAway, ModelFault, Reply, Streaming, Turn
from starloom.planner.model.transport.connecting import connect
from starloom.planner.model.transport.recorded import prompt_text, reply_text
from starloom_protocol.records.entities import Head, Job, Question, decode_entity
from starloom_protocol.records.models import ModelCall, ModelDay
from starloom_protocol.vocabulary import Sharing

_log = logging.getLogger(__name__)
_ASKED = "planner"


@dataclass(frozen=True)
class Owned:
    """The owner's model for a role with its name and its budget; `sharing` says which part of a result it may be shown.

    `fallback` is the model, with its name, that is asked where this one cannot be reached.
    """

    model: Model
    name: str
    budget: Budget
    sharing: Sharing = Sharing.CARDS
    fallback: tuple[Model, str] | None = None


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
        artifacts: HubArtifacts | None = None,
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._connect = connect
        self.now_s = now_s
        self.artifacts = artifacts or HubArtifacts(None)

    def now_ms(self) -> int:
        return int(self.now_s() * 1000)

    def owned(self, role: ModelRole = ModelRole.PLANNER) -> Owned | None:
        """Return the model of a role, or None if none is set; imports its libraries, so call it in a thread.

        Raises:
            ModelFault: its settings are wrong.
        """
        told = in_force(self._environment, self._folder)
        endpoints = endpoints_from(told, role)
        if not endpoints:
            return None
        first = endpoints[0]
        _log.info("the %s %s at %s is asked", role, first.model, first.host)
        others = [(self._connect(endpoint), endpoint.model) for endpoint in endpoints[1:]]
        return Owned(
            self._connect(first),
            first.model,
            budget_from(told),
            sharing_from(told, *readers_from(told, role)),
            others[0] if others else None,
        )

    def tiers(self) -> tuple[ModelRole, ...]:
        """Return the roles that make the turns of goals, the smallest first; none if no model can be asked."""
        try:
            return tiers_from(in_force(self._environment, self._folder))
        except ModelFault:
            return ()

    def takes_s(self, role: ModelRole, tries: int) -> float:
        """Return how long so many calls of a role may take by the limits of its endpoints, 0 if none can be asked.

        A fallback is asked for the call that its endpoint did not answer, and for the rest.
        """
        try:
            endpoints = endpoints_from(in_force(self._environment, self._folder), role)
        except ModelFault:
            return 0.0
        if not endpoints:
            return 0.0
        return endpoints[0].limits.call_s * tries + sum(endpoint.limits.call_s for endpoint in endpoints[1:])

    def for_job(self, owned: Owned, job: WorkerJob, *, hear: Hear | None = None, tier: str = "") -> Model:
        """Return the model for one claimed job: each call is paid for in the log, and its texts are kept.

        `hear` gets the pieces of its replies, where its endpoint streams them. `tier` is noted with each call.
        """
        for model in (owned.model, *(owned.fallback or ())[:1]):
            if hear is not None and isinstance(model, Streaming):
                model.listen(hear)
        return _RecordedModel(owned, Purse(job, owned.budget, self.now_s), self.artifacts, self.now_s, tier)


class _RecordedModel:
    """A model whose calls are refused without a budget, counted, and recorded with both texts.

    Once its endpoint was away, its fallback answers the rest of the job.
    """

    def __init__(
        self, owned: Owned, purse: Purse, artifacts: HubArtifacts, now_s: Callable[[], float], tier: str
    ) -> None:
        self._asked = (owned.model, owned.name)
        self._fallback = owned.fallback
        self._purse = purse
        self._artifacts = artifacts
        self._now_s = now_s
        self._tier = tier

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        """Return the model's reply to the last turn.

        Raises:
            ModelFault: a budget is used up, or no reply came in time, size and form.
            NotOurs: the claim was lost.
            Unavailable: the engine does not answer.
        """
        try:
            return await self._ask(instructions, turns, stage)
        except ModelAway as error:
            if self._fallback is None:
                raise
            self._asked, self._fallback = self._fallback, None
            _log.warning("%s; %s is asked instead", error.fault.reason, self._asked[1])
            return await self._ask(instructions, turns, stage)

    async def _ask(self, instructions: str, turns: Sequence[Turn], stage: Stage) -> Reply:
        model, name = self._asked
        number = await self._purse.before_call()
        asked_ms = round(self._now_s() * 1000)
        call = ModelCall(
            asked_ms=asked_ms,
            job="",
            model=name,
            prompt=await self._artifacts.keep(prompt_text(instructions, turns, stage)),
            stage=str(stage),
            tier=self._tier,
        )
        try:
            reply = await model.ask(instructions, turns, stage)
        except ModelFault as error:
            took_ms = round(self._now_s() * 1000) - asked_ms
            await self._purse.after_call(replace(call, fault=error.fault.reason, took_ms=took_ms), number)
            raise
        told = replace(
            call,
            cached_tokens=reply.cached_tokens,
            input_tokens=reply.input_tokens,
            micros=reply.micros,
            output_tokens=reply.output_tokens,
            reply=await self._artifacts.keep(reply_text(reply)),
            took_ms=round(self._now_s() * 1000) - asked_ms,
        )
        await self._purse.after_call(told, number)
        return reply


class Purse:
    """Pays for the calls of one job: refuses a call that no budget covers, and reports its cost to the engine."""

    def __init__(self, job: WorkerJob, budget: Budget, now_s: Callable[[], float]) -> None:
        self._job = job
        self._budget = budget
        self._now_s = now_s

    async def before_call(self) -> int:
        """Count a call that is about to be made, and return its number within the job.

        Raises:
            ModelFault: a budget is used up.
            NotOurs: the claim was lost.
            Unavailable: the engine does not answer.
        """
        entities = await self._job.entities()
        today = spent_on(await self._job.fleet(), int(self._now_s() * 1000) // DAY_MS)
        self._budget.need(today, spent_in(entities), allowed_in(entities))
        return await self._report(calls=1)

    async def after_call(self, call: ModelCall, number: int) -> None:
        """Count the tokens and the money of the call of this number that was made, and keep its record.

        Raises:
            NotOurs: the claim was lost.
            Unavailable: the engine does not answer.
        """
        tokens = call.input_tokens + call.output_tokens
        await self._report(call=call, micros=call.micros, number=number, tokens=tokens)

    async def _report(self, **used: Any) -> int:
        answer = await self._job.post(ModelUsed(**used, **self._job.signed))
        if answer.faults:
            raise self._job.lost(answer.faults[0].reason)
        return int((answer.value or {}).get("call", 0))


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
