"""The planning job: turns a request and the present fleet into a lowered plan, or into a fault that says why not.

Uses the same pure matching as the preview, so both agree. Reads committed state; posts inputs; writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from msgspec import structs

from starloom.core.state.inputs import LookCall, LooksProposed, PlanProposed
from starloom.jobs.claiming import NotOurs, WorkerJob
from starloom.jobs.kinds.answering import EndedPlan, result_seen
from starloom.jobs.modelling import ModelJobs, questions_in
from starloom.jobs.sketching import OpenSketches, sketched
from starloom.planner.context.assembly import date_words
from starloom.planner.context.earlier import earlier_requests
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.conversations.answering import Ground, Words
from starloom.planner.model.conversations.looking import narrower, rounds_in
from starloom.planner.model.conversations.planning import Conversation, Withdrawn
from starloom.planner.model.port import Hear, ModelFault
from starloom.planner.model.reading import Asked, Looked
from starloom.planner.recipes.catalogue import Catalogue, load_catalogue, plan_recipe, runs_in, versions_in, with_saved
from starloom.planner.requests.fitting import Candidate
from starloom.planner.requests.matching import Match, match_all, offered
from starloom.planner.requests.refusals import refused
from starloom_protocol.plan import Recipe
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Device, Fault, Head, Offer, decode_entity
from starloom_protocol.stream.authors import who
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import CODES, Code, Sharing

_log = logging.getLogger(__name__)

_FOR_A_MODEL = (Code.REQUEST_AMBIGUOUS, Code.RECIPE_ON_TRIAL, Code.REQUEST_NOT_UNDERSTOOD)
Planned = LoweredPlan | Looked | Words | Asked | Withdrawn | Fault


@dataclass(frozen=True)
class _Outcome:
    """The outcome of planning, with the conversation if a model planned, and the refusal that holds without a model."""

    planned: Planned
    talk: Conversation | None = None
    refusal: Fault | None = None


def fleet_of(entities: Mapping[str, bytes]) -> FleetSnapshot:
    """Return the planner's view of the stream `fleet`."""
    devices: dict[str, Device] = {}
    offers: dict[str, Offer] = {}
    for key, raw in entities.items():
        kind, _, identity = key.partition("/")
        if kind not in ("device", "offer"):
            continue
        record = decode_entity(key, raw)
        if isinstance(record, Device):
            devices[identity] = record
        elif isinstance(record, Offer):
            offers[identity] = record
    return FleetSnapshot.of(devices, offers)


def looks_of(round_of_looks: Looked, job: WorkerJob) -> LooksProposed:
    """Return the proposal of a round of looks by a worker's job."""
    calls = [LookCall(args=canonical(call.args), device=call.device, tool=call.tool) for call in round_of_looks.calls]
    return LooksProposed(
        calls=calls, reads=round_of_looks.reads, shown=list(round_of_looks.shown), why=round_of_looks.why, **job.signed
    )


def plan_of(head: Head, fleet: FleetSnapshot, catalogue: Catalogue) -> Planned:
    """Return the plan of a request, or a fault. A near match never becomes a plan."""
    params = parse(head.params)
    name = head.recipe
    if name is None:
        # A hash is that of a preview, which has told of a trial; the core runs no plan with another one.
        shown_to = head.author if head.plan_hash is not None else ""
        matches = match_all(head.request, catalogue, fleet, params=params, shown_to=shown_to)
        if matches.outcome is not Match.EXACT:
            return refused(matches, fleet)
        name, params = matches.candidates[0].recipe, dict(matches.candidates[0].params)
    recipe = catalogue.get(name)
    if recipe is None:
        return _fault(Code.UNKNOWN_RECIPE, f"there is no recipe {name}", "recipe")
    check = plan_recipe(recipe, params, fleet)
    return check.plan if check.plan is not None else _together(check.faults)


def _fault(code: Code, reason: str, place: str) -> Fault:
    return Fault(code=code, hint=CODES[code].hint, place=place, reason=reason)


def _together(faults: list[Fault]) -> Fault:
    """Merge faults into one: a constellation keeps a single fault, and no reason may be left out."""
    if len(faults) == 1:
        return faults[0]
    reasons = "; ".join(f"{fault.place}: {fault.reason}" if fault.place else fault.reason for fault in faults)
    return Fault(code=faults[0].code, hint=faults[0].hint, place=faults[0].place, reason=reasons)


@dataclass(frozen=True)
class _Request:
    """A request that no recipe matches exactly, with the records of its constellation, the fleet and the recipes."""

    head: Head
    entities: Mapping[str, bytes]
    fleet: FleetSnapshot
    catalogue: Catalogue

    def near_recipes(self) -> list[tuple[Recipe, Candidate]]:
        """Return the recipes that nearly match the request, as an offer to a model."""
        matches = match_all(self.head.request, self.catalogue, self.fleet, params=parse(self.head.params))
        return offered(matches, self.catalogue)


class PlanJobs:
    """Carries out claimed planning jobs; any number at once."""

    def __init__(
        self,
        catalogue: Catalogue | None = None,
        *,
        models: ModelJobs | None = None,
        sketches: OpenSketches | None = None,
    ) -> None:
        self._models = models or ModelJobs({})
        self._sketches = sketches
        self._own_catalogue = catalogue

    @cached_property
    def _catalogue(self) -> Catalogue:
        # Read for the first plan: it is an eighth of a worker's start, and the hub has read it already.
        return self._own_catalogue or load_catalogue()

    async def carry_out(self, job: WorkerJob) -> None:
        """Plan a claimed job and propose the outcome; the refusal of a plan by the engine becomes its fault."""
        entities, fleet = await job.entities(), await job.fleet()
        head = decode_entity("head", entities["head"]) if "head" in entities else None
        if not isinstance(head, Head):
            raise NotOurs(f"{job.constellation} does not exist")
        catalogue = with_saved(self._catalogue, versions_in(fleet), runs_in(fleet))
        view = replace(fleet_of(fleet), asked_by=who(head.author))
        planned = await asyncio.to_thread(self._decide, head, view, catalogue)
        if not (isinstance(planned, Fault) and planned.code in _FOR_A_MODEL):
            await self._propose(job, _Outcome(planned))
            return
        request = _Request(head, entities, view, catalogue)
        async with sketched(self._sketches, job, self._models.now_ms) as hear:
            outcome = await self._by_model(job, request, hear)
            await self._propose(job, replace(outcome, refusal=planned) if outcome else _Outcome(planned))

    def broken(self, job: WorkerJob, reason: str) -> PlanProposed:
        """Return the outcome of a job that an unexpected error ended."""
        return PlanProposed(fault=_fault(Code.INTERNAL, reason, "request"), **job.signed)

    async def _propose(self, job: WorkerJob, outcome: _Outcome) -> None:
        """Propose the outcome; the faults that the engine finds are mended by the model, if one planned."""
        while True:
            answer = await job.post(_proposal(job, outcome))
            if not answer.faults or not isinstance(outcome.planned, LoweredPlan | Looked | Words):
                return
            if outcome.talk is not None:
                outcome = replace(outcome, planned=await outcome.talk.mend(answer.faults))
            else:
                outcome = _Outcome(_together(answer.faults))
            if isinstance(outcome.planned, Fault):
                _log.warning("the plan for %s was refused: %s", job.constellation, outcome.planned.reason)

    async def _by_model(self, job: WorkerJob, request: _Request, hear: Hear) -> _Outcome | None:
        """Ask the owner's model for a plan where no recipe matches exactly; None if no model is set."""
        try:
            owned = await asyncio.to_thread(self._models.owned)
        except ModelFault as error:
            return _Outcome(error.fault)
        if owned is None:
            return None
        head, entities = request.head, request.entities
        sharing = narrower(owned.sharing, head.sharing)
        talk = Conversation(
            self._models.for_job(owned, job, hear=hear),
            head.request,
            parse(head.params),
            request.fleet,
            near=await asyncio.to_thread(request.near_recipes),
            asked=questions_in(entities),
            recipes=request.catalogue.all(),
            before=await earlier_requests(job.reads, head.author, head.request, (head.created_ms, head.id)),
            today=date_words(datetime.fromtimestamp(self._models.now_s()).astimezone()),
            rounds=rounds_in(entities, request.fleet, sharing, self._models.now_ms()),
            sharing=sharing,
            ground=await self._ground(job, request, sharing),
        )
        return _Outcome(await talk.plan(), talk)

    async def _ground(self, job: WorkerJob, request: _Request, sharing: Sharing) -> Ground | None:
        """Return the results of the looks, on which an answer without a plan may rest; None if there are none."""
        if sharing is Sharing.NAMES or not any(key.startswith("task/") for key in request.entities):
            return None
        plan = EndedPlan(request.entities, await job.fleet())
        look_tasks = [task for task in plan.tasks() if plan.specs[task].look]
        results = [await result_seen(self._models, plan, task, sharing) for task in look_tasks]
        return Ground(request.head.request, "", {result.card.task: result for result in results})

    def _decide(self, head: Head, fleet: FleetSnapshot, catalogue: Catalogue) -> Planned:
        try:
            return plan_of(head, fleet, catalogue)
        except Exception:
            _log.exception("planning %s failed", head.id)
            reason = "the planner met an error that it did not expect; the worker's log has it"
            return _fault(Code.INTERNAL, reason, "request")


def _proposal(job: WorkerJob, outcome: _Outcome) -> PlanProposed | LooksProposed:
    planned = outcome.planned
    if isinstance(planned, Looked):
        return looks_of(planned, job)
    words = planned if isinstance(planned, Words) else Words()
    return PlanProposed(
        by_model=outcome.talk is not None,
        cites=list(words.cites),
        fault=_fault_of(outcome),
        plan=planned if isinstance(planned, LoweredPlan) else None,
        choices=list(planned.choices) if isinstance(planned, Asked) else [],
        question=planned.text if isinstance(planned, Asked) else "",
        struck=list(words.struck),
        usual=planned.usual if isinstance(planned, Asked) else "",
        withdrawn=isinstance(planned, Withdrawn),
        words=words.words,
        **job.signed,
    )


def _fault_of(outcome: _Outcome) -> Fault | None:
    """Return the fault of an outcome; where a model gave no plan, the offer without one stands behind its reason."""
    planned = outcome.planned
    if isinstance(planned, Withdrawn):
        return planned.fault
    if not isinstance(planned, Fault) or outcome.refusal is None:
        return planned if isinstance(planned, Fault) else None
    offer = f"Without the model these words start nothing: {outcome.refusal.reason}"
    return structs.replace(planned, reason=f"{planned.reason.removesuffix('.')}. {offer}")
