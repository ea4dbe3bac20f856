"""Routes of proposals: plans of the caller that ended clean, shown as the recipes that they would become.

Each caller sees and dismisses its own alone; keeping one is saving a recipe with it. Runs nothing.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from starloom.core.people.recipes.proposals import LEFT, OPEN
from starloom.core.state import inputs
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import accepted
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.recipes import LeftRow, ProposalList
from starloom_protocol.stream.authors import who

_P = V1 + "/recipe-proposals"


class Proposals:
    """Routes of proposals."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_P, self.proposals, methods=["GET"])
        router.add_api_route(_P + "/{proposal}", self.dismiss, methods=["DELETE"], status_code=204)

    async def proposals(self, request: Request) -> JsonReply[ProposalList]:
        """List the caller's own proposals, the newest first; one whose plan cannot be made again is left out."""
        owner = who(caller_of(request).by)
        marks = [one for one in self._hub.access.proposals.values() if one.owner == owner]
        marks.sort(key=lambda one: (-one.at_ms, one.id))
        own = [one for one in marks if one.state == OPEN]
        left: list[LeftRow] = [
            {"constellation": one.constellation, "request": one.request, "because": one.because}
            for one in marks
            if one.state == LEFT
        ]
        planner = self._hub.planner
        # Each one is lowered and matched, which takes some milliseconds.
        rows = await self._hub.computing.run(
            request, bool(own), lambda: [row for one in own if (row := planner.proposal(one)) is not None]
        )
        return json_reply({"items": rows, "next": None, "left_out": left})

    async def dismiss(self, request: Request, proposal: str) -> Response:
        """Dismiss a proposal for good: the same shape is not proposed to the caller again."""
        caller = caller_of(request)
        asked = inputs.RecipeProposalDismissed(by=caller.by, id=new_id(), proposal=proposal, scope=caller.role)
        accepted(await self._hub.inbox.ask(asked))
        return Response(status_code=204)
