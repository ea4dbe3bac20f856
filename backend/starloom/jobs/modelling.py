"""The owner's model as a job uses it: connected by current settings, paid for and recorded in the log.

Holds no key. The settings are read for each job, so that a changed key file takes effect at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.state.inputs import ModelUsed
from starloom.jobs.artifacts import HubArtifacts
from starloom.jobs.claiming import ANSWER_S, NotOurs, WorkerJob
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
from starloom.planner.model.endpoints.spending import budget_from
from starloom.planner.model.port import CallStopped, Hear, Model, ModelAway, ModelFault, Reply, Streaming, Turn
from starloom.planner.model.transport.connecting import connect, price_of, tokens_most
from starloom.planner.model.transport.recorded import prompt_text, reply_text
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Question, decode_entity
from starloom_protocol.records.models import ModelBudget, ModelCall
from starloom_protocol.vocabulary import Code, Sharing

_log = logging.getLogger(__name__)
_ASKED = "planner"
_STOPPED: Final = "stopped before its reply had come: its request was cancelled, or another worker has the job"
_WAIT_S: Final = 2.0
"""How long a call waits for the cost of others before it asks again; a call takes tens of seconds."""


@dataclass(frozen=True)
class Owned:
    """The owner's model for a role with its endpoint and its budget; `sharing` says which part of a result it may be
    shown.

    `fallback` is the model, with its endpoint, that is asked where this one cannot be reached.
    """

    model: Model
    endpoint: Endpoint
    budget: ModelBudget
    sharing: Sharing = Sharing.CARDS
    fallback: tuple[Model, Endpoint] | None = None


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
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._connect = connect
        self.now_s = now_s
        self.artifacts = artifacts or HubArtifacts(None)
        self._sleep = sleep

    def now_ms(self) -> int:
        return int(self.now_s() * 1000)

    def owned(self, role: ModelRole = ModelRole.PLANNER) -> Owned | None:
        """Return the model of a role, or None if none is set; imports its libraries, so call it in a thread.

        Raises:
            ModelFault: its settings are wrong.
        """
        values = in_force(self._environment, self._folder)
        endpoints = endpoints_from(values, role)
        if not endpoints:
            return None
        first = endpoints[0]
        _log.info("the %s %s at %s is asked", role, first.model, first.host)
        later = [(self._connect(endpoint), endpoint) for endpoint in endpoints[1:]]
        return Owned(
            self._connect(first),
            first,
            budget_from(values),
            sharing_from(values, *readers_from(values, role)),
            later[0] if later else None,
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
        return _RecordedModel(owned, Purse(job, owned.budget, self._sleep), self.artifacts, self.now_s, tier)


class _RecordedModel:
    """A model whose calls are refused without a budget, counted, and recorded with both texts.

    Once its endpoint was away, its fallback answers the rest of the job.
    """

    def __init__(
        self, owned: Owned, purse: Purse, artifacts: HubArtifacts, now_s: Callable[[], float], tier: str
    ) -> None:
        self._current = (owned.model, owned.endpoint)
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
            self._current, self._fallback = self._fallback, None
            _log.warning("%s; %s is asked instead", error.fault.reason, self._current[1].model)
            return await self._ask(instructions, turns, stage)

    async def _ask(self, instructions: str, turns: Sequence[Turn], stage: Stage) -> Reply:
        model, endpoint = self._current
        prompt = prompt_text(instructions, turns, stage)
        number = await self._purse.before_call(endpoint, *tokens_most(endpoint, prompt, stage))
        asked_ms = round(self._now_s() * 1000)
        call = ModelCall(
            asked_ms=asked_ms,
            job="",
            model=endpoint.model,
            prompt=await self._artifacts.keep(prompt),
            stage=str(stage),
            tier=self._tier,
        )
        try:
            reply = await model.ask(instructions, turns, stage)
        except ModelFault as error:
            await self._purse.after_call(self._unanswered(call, error, error.fault.reason), number)
            raise
        except CallStopped as error:
            # Whatever comes of the report: this worker has lost its claim, most often to a person who has cancelled.
            with contextlib.suppress(ModelFault, NotOurs, Unavailable):
                await self._purse.after_call(self._unanswered(call, error, _STOPPED), number)
            raise asyncio.CancelledError(*error.args) from error
        answered = replace(
            call,
            cached_tokens=reply.cached_tokens,
            input_tokens=reply.input_tokens,
            micros=reply.micros,
            output_tokens=reply.output_tokens,
            reply=await self._artifacts.keep(reply_text(reply)),
            took_ms=round(self._now_s() * 1000) - asked_ms,
        )
        await self._purse.after_call(answered, number)
        return reply

    def _unanswered(self, call: ModelCall, error: ModelFault | CallStopped, why: str) -> ModelCall:
        """Return the record of a call without a reply, with what it has cost until then."""
        return replace(
            call,
            fault=why,
            input_tokens=error.input_tokens,
            micros=error.micros,
            output_tokens=error.output_tokens,
            took_ms=round(self._now_s() * 1000) - call.asked_ms,
        )


class Purse:
    """Pays for the calls of one job: asks the engine before each whether a budget covers it, and reports its cost."""

    def __init__(self, job: WorkerJob, budget: ModelBudget, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._job = job
        self._budget = budget
        self._sleep = sleep

    async def before_call(self, endpoint: Endpoint, reads: int, writes: int) -> int:
        """Hold the most that a call may cost, and return its number within the job; wait where others hold the rest.

        `reads` and `writes` are the most tokens of its prompt and its reply.

        Raises:
            ModelFault: a budget is used up.
            NotOurs: the claim was lost.
            Unavailable: the engine does not answer.
        """
        most = {"micros_most": price_of(endpoint, reads, writes) or 0, "tokens_most": reads + writes}
        takes_ms = round((endpoint.limits.call_s + ANSWER_S) * 1000)
        while True:
            answer = await self._report(budget=self._budget, calls=1, takes_ms=takes_ms, **most)
            if "wait_ms" not in answer:
                return int(answer["call"])
            await self._sleep(min(_WAIT_S, answer["wait_ms"] / 1000))

    async def after_call(self, call: ModelCall, number: int) -> None:
        """Count the tokens and the money of the call of this number that was made, and keep its record.

        Raises:
            NotOurs: the claim was lost.
            Unavailable: the engine does not answer.
        """
        tokens = call.input_tokens + call.output_tokens
        await self._report(call=call, micros=call.micros, number=number, tokens=tokens)

    async def _report(self, **fields: Any) -> dict[str, Any]:
        answer = await self._job.post(ModelUsed(**fields, **self._job.signed))
        for fault in answer.faults:
            if fault.code is Code.MODEL_BUDGET:
                raise ModelFault(fault.code, fault.reason)
            raise self._job.lost(fault.reason)
        return answer.value or {"call": 0}


def questions_in(entities: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Return the planner's earlier questions with their answers, in order."""
    found = [decode_entity(key, raw) for key, raw in entities.items() if key.startswith("question/")]
    asked = [item for item in found if isinstance(item, Question) and item.kind == _ASKED and item.answer]
    return [(item.text, item.answer or "") for item in sorted(asked, key=lambda item: item.opened_ms)]
