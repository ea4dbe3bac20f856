"""Routes of Settings > Model: the models by role, the usage, the exact text that would leave, and a test call.

Shows no key. Settings made here are kept beside the hub's data and apply from the next use; the hub's own settings take
precedence, and are only shown.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from fastapi import APIRouter, Request

from starloom.core.rights.budgets import DAY_MS
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import SetModel, SetRole, TriedModel
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.planner.context.assembly import date_words
from starloom.planner.model.conversations.looking import looking_part
from starloom.planner.model.endpoints.endpoint import (
    RECORDED_SCHEME,
    Endpoint,
    ModelRole,
    endpoint_from,
    endpoints_from,
    others_from,
    readers_from,
    sharing_from,
)
from starloom.planner.model.endpoints.page_settings import FILE as KEPT_FILE
from starloom.planner.model.endpoints.page_settings import (
    PageModelSettings,
    PageRoleSettings,
    forget,
    forget_role,
    given_roles,
    in_force,
    keep,
    kept_in,
    tried,
    tried_role,
    unchanged,
    variables,
)
from starloom.planner.model.endpoints.spending import MICROS, budget_from
from starloom.planner.model.port import ModelFault, Reply, Turn, reply_of
from starloom.planner.model.prompt import PromptPart
from starloom.planner.model.reading import short
from starloom.planner.model.transport.connecting import check_libraries, connect, missing_libraries
from starloom.process.settings import Settings
from starloom_protocol.api.models import ModelReply, ModelState, PromptRow, RoleSetting
from starloom_protocol.records.entities import Fault, decode_entity
from starloom_protocol.records.models import ModelBudget, ModelDay
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code, Sharing

EXAMPLE_WORDS = "Which of my machines has the least free disk?"
_CHANGE_THERE = "Change it there, or take it out there to set it here."
_Read = tuple[PageModelSettings | None, Endpoint | None, ModelBudget, dict[ModelRole, Endpoint], Sharing]
"""The kept settings of the page; the planner's endpoint; the budget; the endpoints of other roles; their sharing."""
_TEST = Turn("starloom", 'This is a test. Answer {"kind": "cannot", "text": "ready"} and nothing else.')


def _page_settings(body: SetModel) -> PageModelSettings:
    return PageModelSettings(
        url=body.url.strip(),
        model=body.model.strip(),
        wire=body.wire,
        dollars_per_day=body.dollars_per_day,
        share=body.share,
        tokens_per_day=body.tokens_per_day,
    )


def _role_wanted(body: SetRole | TriedModel) -> PageRoleSettings:
    return PageRoleSettings(url=body.url.strip(), model=body.model.strip(), wire=body.wire)


def _role_shown(role: ModelRole, item: PageRoleSettings) -> RoleSetting:
    return {
        "key": bool(item.key_file),
        "model": item.model,
        "role": str(role),
        "url": item.url,
        "wire": item.wire,
    }


def _prompt_row(part: PromptPart) -> PromptRow:
    return {"title": part.title, "text": part.text}


def _model_now(settings: Settings) -> _Read:
    """Return what is set now.

    Raises:
        ModelFault: it is set wrongly.
    """
    with unchanged(settings.model_folder):
        page_settings = None if settings.llm_url is not None else kept_in(settings.model_folder)
        values = in_force(settings.llm_variables, settings.model_folder)
        endpoint, others = endpoint_from(values), others_from(values)
    fallback = [others[ModelRole.FALLBACK]] if ModelRole.FALLBACK in others else []
    share = sharing_from(values, endpoint, *fallback) if endpoint is not None else Sharing.CARDS
    return page_settings, endpoint, budget_from(values), others, share


def model_is_set(settings: Settings) -> bool:
    """Whether an endpoint for planning is set, in the hub's settings or on the page."""
    return settings.llm_url is not None or (settings.model_folder / KEPT_FILE).exists()


def model_fault(settings: Settings) -> Fault | None:
    """Return why the model that is set could not be asked from here: its libraries; None where none is set."""
    recorded = (settings.llm_url or "").startswith(RECORDED_SCHEME)
    return missing_libraries() if model_is_set(settings) and not recorded else None


def shared_by_hub(settings: Settings) -> tuple[tuple[Endpoint, ...], Sharing]:
    """Return the endpoints that plan, the fallback last, and what they may be shown; none if no model is set.

    Raises:
        ModelFault: one of them is set wrongly.
    """
    values = in_force(settings.llm_variables, settings.model_folder)
    endpoints = endpoints_from(values, ModelRole.PLANNER)
    return endpoints, sharing_from(values, *readers_from(values, ModelRole.PLANNER)) if endpoints else Sharing.NAMES


class ModelRoutes:
    """`GET`, `PUT` and `DELETE /model`, `PUT` and `DELETE /model/roles/{role}`, `POST /model/test`."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/model", self.show, methods=["GET"])
        router.add_api_route(V1 + "/model", self.put, methods=["PUT"])
        router.add_api_route(V1 + "/model", self.delete, methods=["DELETE"])
        router.add_api_route(V1 + "/model/roles/{role}", self.put_role, methods=["PUT"])
        router.add_api_route(V1 + "/model/roles/{role}", self.delete_role, methods=["DELETE"])
        router.add_api_route(V1 + "/model/test", self.test, methods=["POST"])

    async def show(self, _request: Request) -> JsonReply[ModelState]:
        """Show the model that is set, its budget of today, and each part of a planning prompt as it is sent."""
        hub = self._hub
        is_given = hub.settings.llm_url is not None
        date = date_words(datetime.fromtimestamp(hub.now_ms() / 1000).astimezone())
        parts = await asyncio.to_thread(hub.planner.prompt, EXAMPLE_WORDS, date)
        fleet = await hub.reads.entities(FLEET)
        key = f"model_day/{hub.now_ms() // DAY_MS}"
        raw = fleet.entities.get(key) if fleet else None
        today = decode_entity(key, raw) if raw is not None else None
        spent = today if isinstance(today, ModelDay) else ModelDay(day=0)
        shape: ModelState = {
            "parts": [_prompt_row(part) for part in parts],
            "set": False,
            "given": is_given,
            "spent_today": {"calls": spent.calls, "dollars": spent.micros / MICROS, "tokens": spent.tokens},
        }
        try:
            page_settings, endpoint, budget, others, share = await asyncio.to_thread(_model_now, hub.settings)
        except ModelFault as error:
            return json_reply({**shape, "fault": {"reason": error.fault.reason, "hint": error.fault.hint}})
        if endpoint is None:
            return json_reply(shape)
        shape["parts"].append(_prompt_row(looking_part(share, rounds=0)))
        if (lacking := model_fault(hub.settings)) is not None:
            shape["fault"] = {"reason": lacking.reason, "hint": lacking.hint}
        dollars = None if budget.micros_per_day is None else budget.micros_per_day / MICROS
        return json_reply(
            {
                **shape,
                "given_roles": [str(role) for role in given_roles(hub.settings.llm_variables)],
                "roles": [_role_shown(role, setting) for role, setting in page_settings.roles.items()]
                if page_settings is not None
                else [],
                "budget": {"dollars_per_day": dollars, "tokens_per_day": budget.tokens_per_day},
                "host": endpoint.host,
                "key": bool(endpoint.key),
                "model": endpoint.model,
                "others": [
                    {"host": endpoint_of_role.host, "model": endpoint_of_role.model, "role": str(role)}
                    for role, endpoint_of_role in others.items()
                ],
                "set": True,
                "share": share,
                "url": page_settings.url if page_settings is not None else None,
                "wire": endpoint.wire,
            }
        )

    async def put(self, _request: Request, body: SetModel) -> JsonReply[ModelState]:
        """Set the model of this hub: it counts at the next use, without a restart. The key is never shown again."""
        self._mine()
        await asyncio.to_thread(self._keep, body)
        return await self.show(_request)

    async def delete(self, _request: Request) -> JsonReply[ModelState]:
        """Forget the model that was set here, and its key."""
        self._mine()
        await asyncio.to_thread(forget, self._hub.settings.model_folder)
        return await self.show(_request)

    async def put_role(self, _request: Request, role: ModelRole, body: SetRole) -> JsonReply[ModelState]:
        """Set the model of another role than the planner; its key is never shown again."""
        self._mine(role)
        await asyncio.to_thread(self._keep_role, role, body)
        return await self.show(_request)

    async def delete_role(self, _request: Request, role: ModelRole) -> JsonReply[ModelState]:
        """Forget the model that a role was given here, and its key."""
        self._mine(role)
        await asyncio.to_thread(forget_role, self._hub.settings.model_folder, role)
        return await self.show(_request)

    def _mine(self, role: ModelRole | None = None) -> None:
        if self._hub.settings.llm_url is not None:
            reason = "the model is set by the hub's own settings (STARLOOM_LLM_URL, a flag or starloom.toml)"
            raise Problem(Code.CONFLICT, reason, hint=_CHANGE_THERE)
        if role is ModelRole.PLANNER:
            raise Problem(Code.BAD_REQUEST, "the planner's model is set by PUT /model")
        if role in given_roles(self._hub.settings.llm_variables):
            reason = f"the model of the {role} is set by the hub's own settings (STARLOOM_LLM_{role.upper()}_*)"
            raise Problem(Code.CONFLICT, reason, hint=_CHANGE_THERE)

    def _keep(self, body: SetModel) -> None:
        folder = self._hub.settings.model_folder
        try:
            with tried(folder, _page_settings(body), body.key) as candidate:
                values = variables(candidate, folder)
                endpoint = endpoint_from(values)
                budget_from(values)
                if endpoint is not None:
                    check_libraries(endpoint)
                keep(folder, candidate)
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason, hint=error.fault.hint) from error

    def _keep_role(self, role: ModelRole, body: SetRole) -> None:
        folder = self._hub.settings.model_folder
        try:
            with tried_role(folder, role, _role_wanted(body), body.key) as candidate:
                endpoint = endpoint_from(variables(candidate, folder), role)
                if endpoint is not None:
                    check_libraries(endpoint)
                keep(folder, candidate)
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason, hint=error.fault.hint) from error

    def _endpoint(self, body: TriedModel | None) -> Endpoint | None:
        settings = self._hub.settings
        try:
            if body is None:
                return endpoint_from(in_force(settings.llm_variables, settings.model_folder))
            folder = settings.model_folder
            if body.role:
                role = ModelRole(body.role)
                with tried_role(folder, role, _role_wanted(body), body.key) as candidate:
                    return endpoint_from(variables(candidate, folder), role)
            with tried(folder, _page_settings(body), body.key) as candidate:
                return endpoint_from(variables(candidate, folder))
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason) from error

    async def test(self, _request: Request, body: TriedModel | None = None) -> JsonReply[ModelReply]:
        """Call the model once with a sentence that says nothing about the fleet; with a body, before it is set."""
        trial = body if body is not None and (body.url or body.role) else None
        if trial is not None:
            self._mine(ModelRole(trial.role) if trial.role else None)
        endpoint = await asyncio.to_thread(self._endpoint, trial)
        if endpoint is None:
            raise Problem(Code.MODEL_NOT_SET, "no model is set")
        began_s = time.monotonic()
        try:
            reply = await self._ask(endpoint)
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason, hint=error.fault.hint) from error
        return json_reply(
            {
                "reply": short(reply.text),
                "seconds": round(time.monotonic() - began_s, 1),
                "tokens": reply.input_tokens + reply.output_tokens,
            }
        )

    async def _ask(self, endpoint: Endpoint) -> Reply:
        # Loading the libraries takes seconds, which no other caller should wait for.
        model = await asyncio.to_thread(connect, endpoint)
        return await reply_of(model, "You answer with one JSON object and nothing else.", [_TEST])
