"""Routes of people: who may use this hub, with which role. Programs and assistants with tokens are in the list, too.

Translates and passes on: the core decides whether a role may change.
"""

from __future__ import annotations

from fastapi import APIRouter, Request

from starloom.core.state import inputs
from starloom.edge.access.callers import BEARER, SESSION
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
        principals = sorted(self._hub.access.principals.values(), key=lambda principal: (principal.name, principal.id))
        return json_reply({"items": [self._shape(principal) for principal in principals], "next": None})

    async def give_role(self, request: Request, name: str, body: NewRole) -> JsonReply[RoleRow]:
        """Give somebody another role; tokens and sessions with more rights end at once."""
        access = self._hub.access
        principal = access.named(name)
        if principal is None:
            raise Problem(Code.NOT_FOUND, f"nobody is called {name[:64]}", hint="See `starloom person ls`.")
        caller = caller_of(request)
        item = inputs.RoleGiven(principal=principal.id, role=body.role, **caller.signed())
        accepted(await self._hub.inbox.ask(item))
        return json_reply(self._shape(access.principals[principal.id]))

    def _shape(self, principal: Principal) -> RoleRow:
        access = self._hub.access
        tokens = [token for token in access.tokens.values() if token.principal == principal.id]
        valid = [token for token in tokens if access.is_valid(token.id)]
        narrow = all(token.scopes for token in valid)
        used_ms = max((access.last_used_ms.get(token.id, 0) for token in tokens), default=0)
        revoked = 0 if valid else max((token.revoked_ms for token in tokens), default=0)
        return {
            "id": principal.id,
            "kind": principal.kind,
            "last_used_at": entity_json.iso(used_ms),
            "name": principal.name,
            "revoked_at": entity_json.iso(revoked),
            "role": principal.role,
            "scopes": sorted({scope for token in valid for scope in token.scopes}) if narrow else [],
            "sessions": sum(token.kind == SESSION for token in valid),
            "tokens": sum(token.kind == BEARER for token in valid),
        }
