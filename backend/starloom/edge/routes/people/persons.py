"""Routes of people: who may use this hub, with which role. Programs and assistants with tokens are in the list, too.

Translates and passes on: the core decides whether a role may change.
"""

from __future__ import annotations

from fastapi import APIRouter, Request

from starloom.core.state import inputs
from starloom.edge.access.callers import BEARER, SESSION
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import NewRole
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.people import RoleRow
from starloom_protocol.api.service import Items
from starloom_protocol.records.entities import Principal
from starloom_protocol.vocabulary import Code


class Persons:
    """Routes over principals."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/people", self.people, methods=["GET"])
        router.add_api_route(V1 + "/people/{name}", self.give_role, methods=["PATCH"])

    async def people(self) -> JsonReply[Items[RoleRow]]:
        """List people, programs and assistants by name, with their roles and what they hold now."""
        known = sorted(self._hub.access.principals.values(), key=lambda one: (one.name, one.id))
        return json_reply({"items": [self._shape(one) for one in known], "next": None})

    async def give_role(self, request: Request, name: str, body: NewRole) -> JsonReply[RoleRow]:
        """Give somebody another role; tokens and sessions with more rights end at once."""
        access = self._hub.access
        known = access.named(name)
        if known is None:
            raise Problem(Code.NOT_FOUND, f"nobody is called {name[:64]}", hint="See `starloom person ls`.")
        caller = caller_of(request)
        given = inputs.RoleGiven(by=caller.by, id=new_id(), principal=known.id, role=body.role, scope=caller.role)
        accepted(await self._hub.inbox.ask(given))
        return json_reply(self._shape(access.principals[known.id]))

    def _shape(self, principal: Principal) -> RoleRow:
        access = self._hub.access
        had = [token for token in access.tokens.values() if token.principal == principal.id]
        held = [token for token in had if access.is_valid(token.id)]
        narrow = all(token.scopes for token in held)
        used = max((access.last_used_ms.get(token.id, 0) for token in had), default=0)
        revoked = 0 if held else max((token.revoked_ms for token in had), default=0)
        return {
            "id": principal.id,
            "kind": principal.kind,
            "last_used_at": entity_json.iso(used),
            "name": principal.name,
            "revoked_at": entity_json.iso(revoked),
            "role": principal.role,
            "scopes": sorted({scope for token in held for scope in token.scopes}) if narrow else [],
            "sessions": sum(token.kind == SESSION for token in held),
            "tokens": sum(token.kind == BEARER for token in held),
        }
