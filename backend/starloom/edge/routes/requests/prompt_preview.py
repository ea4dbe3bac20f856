"""`POST /prompt-preview`: the exact text that the owner's model would be sent first for a request in words.

Sends nothing and starts nothing. The text is made by the planning job's own function, from the same state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from fastapi import APIRouter, Request

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import AskedPrompt
from starloom.edge.routes.requests.model import model_fault, shared_by_hub
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.planner.context.assembly import date_words, joined, size
from starloom.planner.context.earlier import earlier_requests
from starloom.planner.model.answers import Stage, answer_schema
from starloom.planner.model.conversations.looking import narrower
from starloom.planner.model.endpoints.endpoint import Endpoint
from starloom.planner.model.endpoints.spending import MICROS
from starloom.planner.model.port import ModelFault
from starloom.planner.model.prompt import PromptPart
from starloom.planner.model.transport.connecting import price_of
from starloom.planner.requests.matching import Match
from starloom_protocol.api.models import FirstPrompt
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Sharing

BYTES_A_TOKEN: Final = 3.6
"""The bytes of a token in such texts."""
ANSWER_TOKENS: Final = 1_000
"""The length of a plan in tokens, for its price."""


class PromptPreview:
    """The preview of a prompt."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/prompt-preview", self.preview, methods=["POST"])

    async def preview(self, request: Request, body: AskedPrompt) -> JsonReply[FirstPrompt]:
        """Show the exact text that the model would be sent first for these words, to whom, and about its price."""
        hub, by = self._hub, caller_of(request).by
        understood = hub.planner.understand(body.request, body.params, by, shown=True)
        if understood.outcome is Match.EXACT:
            reason = f"the recipe {understood.candidates[0].recipe} takes these words, so no model is asked for a plan"
            raise Problem(Code.CONFLICT, reason)
        try:
            endpoints, most = await asyncio.to_thread(shared_by_hub, hub.settings)
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason, hint=error.fault.hint) from error
        if not endpoints:
            raise Problem(Code.MODEL_NOT_SET, "no model is set")
        if (lacking := model_fault(hub.settings)) is not None:
            raise Problem(lacking.code, lacking.reason, hint=lacking.hint)
        now_ms = hub.now_ms()
        earlier = await earlier_requests(hub.reads, by, body.request, (now_ms + 1, ""))
        today = date_words(datetime.fromtimestamp(now_ms / 1000).astimezone())
        share = narrower(most, body.sharing)

        def make() -> FirstPrompt:
            parts = hub.planner.first_prompt(
                body.request, body.params, by=by, before=earlier, today=today, sharing=share
            )
            return _first_prompt(parts, endpoints, share, most)

        return json_reply(await asyncio.to_thread(make))


def _first_prompt(
    parts: Sequence[PromptPart], endpoints: Sequence[Endpoint], share: Sharing, most: Sharing
) -> FirstPrompt:
    first, *fallbacks = endpoints
    bytes_sent = size(parts[0].text) + size(joined(part.text for part in parts[1:]))
    tokens = round((bytes_sent + size(canonical(answer_schema(Stage.PLANNING)))) / BYTES_A_TOKEN)
    micros = price_of(first, tokens, ANSWER_TOKENS)
    shape: FirstPrompt = {
        "bytes": bytes_sent,
        "dollars": None if micros is None else micros / MICROS,
        "host": first.host,
        "hub_share": most,
        "local": first.local,
        "model": first.model,
        "parts": [{"title": part.title, "text": part.text} for part in parts],
        "share": share,
        "tokens": tokens,
    }
    if fallbacks:
        shape["fallback"] = {"host": fallbacks[0].host, "model": fallbacks[0].model}
    return shape
