"""A request as a text for somebody's own assistant, and the plan that comes back from it.

Starts nothing: a plan without faults comes back with its preview, and a caller submits it like any other.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import StringConstraints

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.routes.bodies import WORDS_MAX, Asked, Body
from starloom.edge.routes.requests.submission import Submit
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, problem_of_faults
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.planner.context.assembly import date_words
from starloom.planner.context.brief import PASTED_CHARS_MAX, Pasted, find_plan, reply_to
from starloom_protocol.api.previews import BriefText, PastedPlan


class AnswerOf(Body):
    """The whole text of the assistant; prose and fences around the plan are ignored."""

    answer: Annotated[str, StringConstraints(min_length=1, max_length=PASTED_CHARS_MAX)]


class BriefRoutes:
    """`/brief`: out by GET, back by POST."""

    def __init__(self, hub: Hub, submit: Submit) -> None:
        self._hub = hub
        self._submit = submit

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/brief", self.brief, methods=["GET"])
        router.add_api_route(V1 + "/brief", self.answered, methods=["POST"])

    async def brief(self, request: Annotated[str, Query(max_length=WORDS_MAX)] = "") -> JsonReply[BriefText]:
        """Give a text that lets any assistant write a plan for a request: language, devices, tools, examples."""
        today = date_words(datetime.fromtimestamp(self._hub.now_ms() / 1000).astimezone())
        made = await asyncio.to_thread(self._hub.planner.still().brief, request, today)
        return json_reply({"text": made.text, "bytes": len(made.text.encode()), "left_out": list(made.left_out)})

    async def answered(self, request: Request, body: AnswerOf) -> JsonReply[PastedPlan]:
        """Find the plan in an assistant's answer: its text and preview, or faults with `reply` to paste back."""
        pasted = await self._hub.computing.run(request, True, lambda: find_plan(body.answer))
        if pasted.fault is not None:
            raise _with_reply(problem_of_faults([pasted.fault]), pasted)
        try:
            plan = await self._submit.lowered(request, Asked(plan=pasted.text), len(pasted.text))
        except Problem as problem:
            raise _with_reply(problem, pasted) from problem
        caller, planner = caller_of(request), self._hub.planner.still()
        preview = await self._hub.computing.run(
            request,
            True,
            lambda: planner.preview(plan, words=False, by=caller.by, approves=caller.approves),
        )
        return json_reply({**preview, "plan": pasted.text})


def _with_reply(problem: Problem, pasted: Pasted) -> Problem:
    """Return the problem with the text that the assistant should see."""
    problem.more["reply"] = reply_to(problem.errors, cut=pasted.cut)
    return problem
