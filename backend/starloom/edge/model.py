"""Settings > Model: what is set, what it was used for, exactly what would leave this machine, and a test call.

Shows no key and no address beyond the host; sets nothing - where a model is belongs to the hub's settings.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from starloom.access.guard import V1
from starloom.core.spending import DAY_MS
from starloom.edge.hub import Hub
from starloom.edge.problems import Problem
from starloom.edge.replies import json_reply
from starloom.planner.fleet import FleetView
from starloom.planner.model.connecting import connect
from starloom.planner.model.endpoint import Endpoint, endpoint_from
from starloom.planner.model.port import ModelFault, Reply, Turn
from starloom.planner.model.prompt import planning_parts
from starloom.planner.model.reading import short
from starloom.planner.model.spending import MICROS, budget_from
from starloom_protocol.entities import decode_entity
from starloom_protocol.feed import FLEET
from starloom_protocol.model_records import ModelDay
from starloom_protocol.vocabulary import Code

EXAMPLE_WORDS = "Which of my machines has the least free disk?"
_TEST = Turn("starloom", 'This is a test. Answer {"kind": "cannot", "text": "ready"} and nothing else.')


class ModelRoutes:
    """`GET /model` and `POST /model/test`."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/model", self.show, methods=["GET"])
        router.add_api_route(V1 + "/model/test", self.test, methods=["POST"])

    async def show(self, _request: Request) -> Response:
        """Show the model that is set, its budget of today, and each part of a planning prompt as it is sent."""
        hub = self._hub
        variables = hub.settings.llm_variables
        fleet = FleetView.of(hub.fleet.devices, hub.fleet.offers)
        found = await hub.reads.entities(FLEET)
        key = f"model_day/{hub.now_ms() // DAY_MS}"
        raw = found[1].get(key) if found else None
        today = decode_entity(key, raw) if raw is not None else None
        spent = today if isinstance(today, ModelDay) else ModelDay(day=0)
        shape: dict[str, Any] = {
            "parts": [{"title": part.title, "text": part.text} for part in planning_parts(EXAMPLE_WORDS, {}, fleet)],
            "set": False,
            "spent_today": {"calls": spent.calls, "dollars": spent.micros / MICROS, "tokens": spent.tokens},
        }
        try:
            endpoint, budget = endpoint_from(variables), budget_from(variables)
        except ModelFault as error:
            return json_reply({**shape, "fault": {"reason": error.fault.reason, "hint": error.fault.hint}})
        if endpoint is None:
            return json_reply(shape)
        dollars = None if budget.micros_per_day is None else budget.micros_per_day / MICROS
        return json_reply(
            {
                **shape,
                "budget": {"dollars_per_day": dollars, "tokens_per_day": budget.tokens_per_day},
                "host": endpoint.host,
                "key": bool(endpoint.key),
                "model": endpoint.model,
                "set": True,
                "wire": endpoint.wire,
            }
        )

    async def test(self, _request: Request) -> Response:
        """Call the model once with a fixed sentence, which says nothing about the fleet."""
        try:
            endpoint = endpoint_from(self._hub.settings.llm_variables)
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason) from error
        if endpoint is None:
            raise Problem(Code.MODEL_NOT_SET, "no model is set")
        started = time.monotonic()
        try:
            reply = await self._ask(endpoint)
        except ModelFault as error:
            raise Problem(error.fault.code, error.fault.reason) from error
        return json_reply(
            {
                "reply": short(reply.text),
                "seconds": round(time.monotonic() - started, 1),
                "tokens": reply.input_tokens + reply.output_tokens,
            }
        )

    async def _ask(self, endpoint: Endpoint) -> Reply:
        # Loading the libraries takes seconds, which no other caller should wait for.
        model = await asyncio.to_thread(connect, endpoint)
        return await model.ask("You answer with one JSON object and nothing else.", [_TEST])
