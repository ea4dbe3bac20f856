"""Submission of requests: a new constellation by words, plan or recipe, and the preview of its plan.

Checks everything that can be checked on arrival, all faults at once; large documents in a thread. A near match of
words never starts anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request

from starloom.core.clock.cron import in_words
from starloom.core.people.approvals.need import other_plan
from starloom.core.people.recipes.proposals import is_request_of
from starloom.core.rights.authorship import faults_of
from starloom.core.rights.call_effects import TRASH
from starloom.core.state import inputs
from starloom.edge.access.callers import Caller
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import Asked, Create, Preview
from starloom.edge.routes.requests.model import model_fault, model_is_set, shared_by_hub
from starloom.edge.web.admission import caller_of
from starloom.edge.web.computing import LARGE_BYTES, LARGE_TASKS
from starloom.edge.web.problems import Problem, accepted, problem_of_faults
from starloom.edge.web.replies import JsonReply, asked_once, json_reply
from starloom.planner.equivalents import Equivalents, check_with_equivalents
from starloom.planner.model.endpoints.spending import MICROS
from starloom.planner.model.port import ModelFault
from starloom.planner.requests.matching import Match, Matched
from starloom.planner.requests.pointers import NEWEST
from starloom.planner.requests.rhythm import Rhythm
from starloom.planner.trash_lists import with_lists
from starloom.process.settings import Settings
from starloom_protocol.api.previews import Created, PlaceRow, RequestPreview, RhythmRow, Understood
from starloom_protocol.plan import DocumentRefused, PlanCheck, Signature, check_plan, read_document
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Budget, Fault
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    CODES,
    FINAL_CONSTELLATION_STATES,
    Code,
    ConstellationState,
    Repeatability,
    Sharing,
)

WAIT_MAX_S = 300.0
"""A script waits for its answer within one call; longer work is followed by its events."""
NO_REVIEWER = "No model is set, so nothing is reviewed when these have ended:"
NO_WORKER = "No model is set, so nobody pursues these goals, and they fail:"
NEWEST_LOOKED_AT = 100
"""A person whose newest request is older than so many of others finds it in the list."""
TITLE_MOST = 60
NAMED_MOST = 8
"""The goals that a warning names."""
NO_JUDGE = "no model is set, so nobody can answer the question to a judge"
NO_GOAL = "no model is set, and a goal is pursued by one"
WITHOUT_GOAL = (
    "Set a model in Settings > Model (docs/models.md). Without one: write the steps as tasks with tools "
    "(`starloom tools ls`), take a recipe (`starloom recipes`), or have your own assistant plan it (`starloom brief`)."
)
SET_ONE = "Set a model in Settings > Model (docs/models.md), or leave `judge` out."
WaitS = Annotated[float, Query(ge=0, le=WAIT_MAX_S)]


class Submit:
    """`POST /constellations` and its preview."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/constellations", self.create, methods=["POST"], status_code=202)
        router.add_api_route(V1 + "/constellations/preview", self.preview, methods=["POST"])

    async def create(self, request: Request, body: Create, wait_s: WaitS = 0) -> JsonReply[Created]:
        """Accept a new constellation durably; with `wait_s`, wait so long for its answer."""
        hub = self._hub
        caller = caller_of(request)
        if wait_s:
            hub.fanout.require_room(caller.token)
        key = await asked_once(request)
        # A repeat is not judged again: the device may have left, or a recipe may have changed, since it was accepted.
        constellation = hub.access.made_before(caller.token, key)
        if constellation is None:
            size = len(await request.body())
            constellation = await self.take(request, body, caller, size=size, labels=body.labels, idempotency=key)
        if wait_s:
            await self._wait(request, constellation, wait_s)
        headline = await hub.headlines.of(constellation)
        if headline is None:
            return json_reply({"id": constellation, "state": ConstellationState.PLANNING, "version": 0}, 202)
        head, answer = headline
        shape: Created = {"id": constellation, "state": head.state, "version": head.version}
        if wait_s and head.state in FINAL_CONSTELLATION_STATES:
            shape["answer"] = entity_json.answer_shape(answer, hub.fleet.devices)
            return json_reply(shape, 200)
        if wait_s:
            shape |= {"attention": list(head.attention), "running": hub.at_work.of(constellation)}
        return json_reply(shape, 202, {"Location": f"{V1}/constellations/{constellation}"})

    def _confined(self, caller: Caller, body: Asked) -> Asked:
        """Return the run of a recipe that is asked for, by a caller that may start only a few of them.

        Words become the recipe that they mean now: what they mean when they are planned may be another one.

        Raises:
            Problem: it is another recipe, a plan, or words that mean neither.
        """
        _require_one_of(body)
        if body.request is not None:
            understood = self._hub.planner.understand(body.request, body.params, caller.by, shown=True)
            if understood.outcome is Match.EXACT:
                first = understood.candidates[0]
                body = body.model_copy(update={"params": dict(first.params), "recipe": first.recipe, "request": None})
        if body.recipe not in caller.recipes:
            names = ", ".join(sorted(caller.recipes))
            only, it = ("these recipes", "one of them") if len(caller.recipes) > 1 else ("this recipe", "it")
            reason = f"{caller.way_in} may start only {only}: {names}"
            raise Problem(Code.FORBIDDEN, reason, hint=f"Ask for {it} by its name or its sentence.")
        return body

    async def take(
        self,
        request: Request,
        body: Asked,
        caller: Caller,
        *,
        size: int,
        labels: dict[str, str],
        idempotency: tuple[str, str] | None,
    ) -> str:
        """Check a request of a caller, accept it durably, and return its constellation.

        Raises:
            Problem: with every fault.
        """
        body = self._confined(caller, body) if caller.recipes else body
        plan = await self._check(request, body, size)
        identity = "c-" + new_id()
        wishes = body if isinstance(body, Create) else Create(**body.model_dump())
        if wishes.able or wishes.plan_hash is not None:
            complete = plan or self._plan_now(body, caller)
            if wishes.plan_hash is not None:
                _require_approved(complete, wishes.plan_hash)
            if wishes.able and complete is not None:
                await self._refuse_unable(request, complete, size)
        micros = _micros_of(wishes.budget)
        received = inputs.RequestReceived(
            approves=caller.approves,
            budget=Budget(attempts=wishes.attempts or 0, micros=micros) if wishes.attempts or micros else None,
            caller=caller.token,
            constellation=identity,
            controls=caller.controls,
            deadline_s=wishes.deadline_s,
            hold=wishes.hold,
            idempotency=idempotency,
            labels=labels,
            name=wishes.name,
            params=_canonical(body.params),
            plan=plan,
            plan_hash=wishes.plan_hash,
            priority=wishes.priority,
            recipe=body.recipe,
            request=body.request or "",
            sharing=wishes.sharing,
            **caller.signed(),
        )
        value = accepted(await self._hub.inbox.ask(received))
        return str(value["id"]) if isinstance(value, dict) and "id" in value else identity

    async def _wait(self, request: Request, constellation: str, wait_s: float) -> None:
        fanout, token = self._hub.fanout, caller_of(request).token
        # Others of the token may have begun to wait meanwhile; the request is accepted, so it is answered at once.
        with suppress(Problem, TimeoutError), fanout.watch(constellation, token, request.receive) as changed:
            async with asyncio.timeout(wait_s):
                while not fanout.ending and not changed.left:
                    changed.clear()
                    headline = await self._hub.headlines.of(constellation)
                    if headline is not None and headline.head.state in FINAL_CONSTELLATION_STATES:
                        return
                    await changed.wait()

    async def preview(self, request: Request, body: Preview) -> JsonReply[RequestPreview]:
        """Show the plan that would run, at once: devices with reasons, effects, missing grants, `plan_hash`."""
        hub = self._hub
        size = len(await request.body())
        if body.request is not None:
            _require_one_of(body)
            matched = hub.planner.understand(body.request, body.params, caller_of(request).by, shown=True)
            if matched.outcome is not Match.EXACT:
                understood = self._understood(matched)
                if any(place["path"] == NEWEST.path for place in understood.get("places", ())):
                    understood["places"] = await self._with_newest(understood["places"], caller_of(request))
                return json_reply({"understood": understood, "plan_hash": None, "tasks": []})
            plan = self._require_model(self._meant(matched))
        else:
            checked = await self._check(request, body, size)
            if checked is not None:
                self._refuse_unsubmitted(caller_of(request), checked)
            plan = checked or _plan_of(hub.planner.plan_recipe(body.recipe or "", body.params))
        # An estimate plays the plan, which takes some 50 ms.
        large = size > LARGE_BYTES or len(plan.specs) > LARGE_TASKS or bool(hub.fleet.paces)
        caller = caller_of(request)
        # Where a caller may start a few recipes only, the words are the name of one.
        words = body.request is not None and not caller.recipes
        micros = _micros_of(body.budget)
        planner = hub.planner.still()
        preview = await hub.computing.run(
            request,
            large,
            lambda: planner.preview(plan, words=words, by=caller.by, approves=caller.approves, micros=micros),
        )
        answer = cast("RequestPreview", {**preview})
        may_not = self._kept_back(caller, body)
        if may_not:
            answer["may_not"] = may_not
        if warned := [*filter(None, [may_not]), *self._warned(plan)]:
            answer["warnings"] = [*preview.get("warnings", ()), *warned]
        if body.request is not None:
            answer["understood"] = self._understood(matched)
        return json_reply(answer)

    def _refuse_unsubmitted(self, caller: Caller, plan: LoweredPlan) -> None:
        """Refuse a plan that this caller may not submit, or that asks somebody who cannot answer.

        Raises:
            Problem: with every fault.
        """
        people = self._hub.access.principals
        faults = faults_of(caller.by, plan, people, approves=caller.approves, controls=caller.controls)
        if faults:
            raise problem_of_faults(faults)

    def _kept_back(self, caller: Caller, body: Preview) -> str:
        """Return why this caller may not start what it previews, where it may start only a few recipes; else empty."""
        if not caller.recipes:
            return ""
        try:
            self._confined(caller, body)
        except Problem as problem:
            return f"It cannot be started so: {problem.reason}. {problem.hint}"
        return ""

    def _warned(self, plan: LoweredPlan) -> list[str]:
        """Return what of a plan no model will do, and why."""
        settings = self._hub.settings
        goals = [spec.id for spec in plan.specs if spec.goal is not None]
        if not model_is_set(settings):
            warnings = [f"{NO_REVIEWER} {', '.join(plan.policy.review_at)}."] if plan.policy.review_at else []
            return [*warnings, f"{NO_WORKER} {', '.join(goals[:NAMED_MOST])}."] if goals else warnings
        fault = model_fault(settings)
        asks_model = goals or plan.policy.review_at or plan.policy.judge is not None
        if fault is None or not (asks_model or any(spec.judge is not None for spec in plan.specs)):
            return []
        return [f"This plan asks a model, and {fault.reason}. {fault.hint}"]

    def _understood(self, matched: Matched) -> Understood:
        """Return the match of the words; without an exact match also the sentence to show and the planner."""
        row: Understood = {
            "outcome": matched.outcome,
            "candidates": [candidate.plain() for candidate in matched.candidates],
        }
        if matched.rhythm is not None:
            row["rhythm"] = _rhythm(matched.rhythm)
        if matched.outcome is not Match.EXACT:
            planner = self._hub.planner
            fault, lacking = planner.refused(matched), model_fault(self._hub.settings)
            row |= {
                "said": fault.reason,
                "title": CODES[fault.code].title,
                "hint": fault.hint,
                "examples": list(planner.examples(matched)),
                "by_model": model_is_set(self._hub.settings) and lacking is None and not matched.about_starloom,
            }
            if matched.gap:
                row["gap"] = matched.gap
            if matched.places:
                row["places"] = [{"title": place.title, "path": place.path} for place in matched.places]
            if row["by_model"] and (most := _most_shared(self._hub.settings)) is not None:
                row["share"] = most
            if lacking is not None and not matched.about_starloom:
                row["model_fault"] = {"reason": lacking.reason, "hint": lacking.hint}
                row["said"] = f"{fault.reason}. A model is set, and {lacking.reason}. {lacking.hint}"
        return row

    async def _with_newest(self, places: list[PlaceRow], caller: Caller) -> list[PlaceRow]:
        """Return places with the newest request of a caller in its place, without it where none is among the newest."""
        rows = await self._hub.reads.constellations(
            states=(), text=None, device=None, before=None, limit=NEWEST_LOOKED_AT
        )
        headlines = await self._hub.headlines.of_all([row.id for row in rows])
        newest: list[PlaceRow] = []
        for row in rows:
            headline = headlines.get(row.id)
            head = headline[0] if headline is not None else None
            if head is not None and is_request_of(head, caller.by):
                words = head.request or head.name or row.id
                shown = words if len(words) <= TITLE_MOST else f"{words[:TITLE_MOST]}..."
                newest = [{"title": f"{NEWEST.title}: {shown}", "path": f"/constellations/{row.id}"}]
                break
        return [*newest, *(place for place in places if place["path"] != NEWEST.path)]

    async def lowered(self, request: Request, body: Asked, size: int) -> LoweredPlan:
        """Return the plan that a request would run now: words, plan or recipe.

        Raises:
            Problem: with every fault; words that fit no recipe exactly are one.
        """
        plan = await self._check(request, body, size)
        if plan is not None:
            return plan
        planner = self._hub.planner
        if body.recipe is not None:
            return _plan_of(planner.plan_recipe(body.recipe, body.params))
        understood = planner.understand(body.request or "", body.params, caller_of(request).by)
        if understood.outcome is not Match.EXACT:
            raise self._refusal(understood)
        return self._meant(understood)

    def _meant(self, understood: Matched) -> LoweredPlan:
        """Return the plan that words mean exactly.

        Raises:
            Problem: with every fault.
        """
        first = understood.candidates[0]
        return _plan_of(self._hub.planner.plan_recipe(first.recipe, first.params))

    async def _check(self, request: Request, body: Asked, size: int) -> LoweredPlan | None:
        """Return the lowered plan of a document; None for words and recipes, which a job plans after this check.

        Raises:
            Problem: with every fault.
        """
        _require_one_of(body)
        hub = self._hub
        if body.plan is not None:
            document = body.plan
            devices, tools, signatures = hub.fleet.names(), hub.fleet.known_tools(), hub.fleet.signatures()
            declared = hub.fleet.equivalents()
            lowered = await hub.computing.run(
                request,
                size > LARGE_BYTES,
                lambda: _lowered(document, body.params, devices, tools, signatures, declared),
            )
            return self._require_model(lowered)
        if body.recipe is not None:
            self._require_model(_plan_of(hub.planner.plan_recipe(body.recipe, body.params)))
            return None
        is_previewed = isinstance(body, Create) and body.plan_hash is not None
        understood = hub.planner.understand(body.request or "", body.params, caller_of(request).by, shown=is_previewed)
        if understood.outcome is Match.EXACT:
            if not body.params.keys() <= understood.candidates[0].params.keys():
                self._meant(understood)
            return None
        if understood.about_starloom:
            raise self._refusal(understood)  # no model can answer it either
        if (lacking := model_fault(hub.settings)) is not None:
            raise self._refusal(understood, lacking)
        if model_is_set(hub.settings):
            return None
        raise self._refusal(understood)

    def _plan_now(self, body: Asked, caller: Caller) -> LoweredPlan | None:
        """Return the plan that a job would make of a recipe or of words now; None where it says why it cannot.

        Words that a model plans have no plan yet.

        Raises:
            Problem: with every fault of a recipe.
        """
        planner = self._hub.planner
        if body.recipe is not None:
            return _plan_of(planner.plan_recipe(body.recipe, body.params))
        understood = planner.understand(body.request or "", body.params, caller.by, shown=True)
        if understood.outcome is not Match.EXACT:
            return None
        first = understood.candidates[0]
        return planner.plan_recipe(first.recipe, first.params).plan

    async def _refuse_unable(self, request: Request, plan: LoweredPlan, size: int) -> None:
        """Refuse a plan with tasks that no device of now can ever begin.

        Raises:
            Problem: with each of these tasks and its way out.
        """
        large = size > LARGE_BYTES or len(plan.specs) > LARGE_TASKS
        frozen = self._hub.planner.still()
        faults = await self._hub.computing.run(request, large, lambda: frozen.unable(plan))
        if faults:
            raise problem_of_faults(faults)

    def _require_model(self, plan: LoweredPlan) -> LoweredPlan:
        """Return a plan whose judges can be asked and whose goals can be pursued.

        Raises:
            Problem: no model is set, with each place that has a judge or a goal.
        """
        places = [(f"tasks.{spec.id}.judge", NO_JUDGE, SET_ONE) for spec in plan.specs if spec.judge is not None]
        places += [("judge", NO_JUDGE, SET_ONE)] if plan.policy.judge is not None else []
        goals = (spec.id for spec in plan.specs if spec.goal is not None and not spec.optional)
        places += [(f"tasks.{name}.goal", NO_GOAL, WITHOUT_GOAL) for name in goals]
        if places and not model_is_set(self._hub.settings):
            raise problem_of_faults(
                [Fault(code=Code.MODEL_NOT_SET, hint=hint, place=place, reason=why) for place, why, hint in places]
            )
        return plan

    def _refusal(self, understood: Matched, lacking: Fault | None = None) -> Problem:
        """Return the refusal of words; `lacking` is why the model that is set cannot plan them."""
        fault = self._hub.planner.refused(understood)
        more: dict[str, Any] = {"candidates": [candidate.plain() for candidate in understood.candidates]}
        if understood.rhythm is not None:
            more["rhythm"] = _rhythm(understood.rhythm)
        if understood.places:
            more["places"] = [{"title": place.title, "path": place.path} for place in understood.places]
        if lacking is not None:
            reason = f"no recipe fits these words exactly, and {lacking.reason}"
            return Problem(lacking.code, reason, hint=lacking.hint, more=more)
        return Problem(fault.code, fault.reason, more=more)


def _most_shared(settings: Settings) -> Sharing | None:
    """Return what the hub lets its model be shown, or None if the settings of a model are wrong."""
    try:
        return shared_by_hub(settings)[1]
    except ModelFault:
        return None


def _rhythm(rhythm: Rhythm) -> RhythmRow:
    days = rhythm.except_days
    words = f"{in_words(rhythm.cron)}, except {days}" if days else in_words(rhythm.cron)
    return {"cron": rhythm.cron, "except_days": days, "in_words": words, "request": rhythm.rest}


def _micros_of(dollars: float | None) -> int:
    """Return a budget of money in millionths of a dollar; 0 where none is given."""
    return max(1, round(dollars * MICROS)) if dollars is not None else 0


def _require_one_of(body: Asked) -> None:
    sources = [name for name in ("request", "plan", "recipe") if getattr(body, name) is not None]
    if len(sources) != 1:
        words = " and ".join(sources) or "none of them"
        raise Problem(
            Code.BAD_REQUEST,
            f"give exactly one of request, plan and recipe; {words} came",
            hint="Words go into request, a document into plan, a recipe's name into recipe.",
        )
    if body.request is not None and not body.request.strip():
        raise Problem(Code.BAD_REQUEST, "the request has no words")


def _require_approved(plan: LoweredPlan | None, plan_hash: str) -> None:
    """Refuse a request whose plan of now is not the one that was approved by its hash.

    Raises:
        Problem: it is another plan, or there is none yet that a preview could have shown.
    """
    if plan is None:
        reason = "these words come to no plan now, so none was approved by this hash"
        raise Problem(Code.PLAN_HASH_MISMATCH, reason)
    if (fault := other_plan(plan, plan_hash)) is not None:
        raise problem_of_faults([fault])


def _plan_of(planned: PlanCheck, document: Any = None) -> LoweredPlan:
    """Return the plan of a check; a fault names its task by the id in the document.

    Raises:
        Problem: with every fault.
    """
    if planned.plan is None:
        raise problem_of_faults(planned.faults, tasks=_ids_of(document))
    return planned.plan


def _lowered(
    document: dict[str, Any] | str,
    params: dict[str, Any],
    devices: Collection[str],
    tools: Mapping[str, Repeatability] | None,
    signatures: Mapping[str, Signature],
    declared: Equivalents,
) -> LoweredPlan:
    try:
        parsed = read_document(document) if isinstance(document, str) else document
    except DocumentRefused as refused:
        raise problem_of_faults([refused.fault]) from refused

    def check(candidate: Any) -> PlanCheck:
        return check_plan(
            candidate, params=params or None, known_devices=devices, known_tools=tools, known_signatures=signatures
        )

    checked = check_with_equivalents(parsed, declared, check) if declared else check(parsed)
    plan = _plan_of(checked, parsed)
    return with_lists(plan) if TRASH in [spec.tool for spec in plan.specs] else plan


def _ids_of(document: Any) -> list[str]:
    """Return the ids of a document's tasks in their order, empty where one has none."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    ids = (task.get("id") if isinstance(task, dict) else None for task in (tasks if isinstance(tasks, list) else []))
    return [name if isinstance(name, str) and len(name) <= 64 and name.isprintable() else "" for name in ids]


def _canonical(params: dict[str, Any]) -> str:
    try:
        return canonical(params)
    except ValueError as error:
        raise Problem(Code.BAD_REQUEST, f"params: {error}") from error
