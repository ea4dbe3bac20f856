"""The expected time of a plan on the fleet of now and on a changed one. Starts nothing and changes no device."""

from __future__ import annotations

from fastapi import APIRouter, Request

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import Asked, AskedWhatIf
from starloom.edge.routes.requests.submission import Submit
from starloom.edge.routes.work.run_forecasts import change_words, device_ids
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.planner.forecast.plans import Change
from starloom_protocol.api.previews import WhatIf
from starloom_protocol.vocabulary import Code


class WhatIfRoute:
    """`POST /what-if`."""

    def __init__(self, hub: Hub, submit: Submit) -> None:
        self._hub = hub
        self._submit = submit

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/what-if", self.what_if, methods=["POST"])

    async def what_if(self, request: Request, body: AskedWhatIf) -> JsonReply[WhatIf]:
        """Say how long a plan should take now, and how long without some devices or with copies of some."""
        if not body.without and not body.with_copy_of:
            raise Problem(
                Code.BAD_REQUEST,
                "the change is empty",
                hint="Name a device in without or in with_copy_of.",
            )
        without = device_ids(self._hub, body.without, "without")
        copies = device_ids(self._hub, body.with_copy_of, "with_copy_of")
        source = Asked(request=body.request, plan=body.plan, recipe=body.recipe, params=body.params)
        plan = await self._submit.lowered(request, source, len(await request.body()))
        words = change_words(body.without, body.with_copy_of)
        within_ms = body.within_s * 1000 if body.within_s is not None else None
        planner = self._hub.planner.still()
        forecast = await self._hub.computing.run(
            request,
            True,
            lambda: planner.what_if(plan, Change(without, copies), words=words, within_ms=within_ms),
        )
        return json_reply(forecast)
