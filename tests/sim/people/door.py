"""The way of one person's requests into a hub: a token, the guard table's row of the route, and the fields of the edge.

A request that the door refuses never reaches the hub. What was accepted is kept for the oracle.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from starloom.core.state import inputs as i
from starloom.edge.access.callers import Caller
from starloom.edge.access.guard import ROUTES, V1
from starloom.edge.routes.people.secrets import NewValue, Secrets
from starloom.edge.web.problems import Problem
from starloom.engine.ports import Overloaded, Reply
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code
from tests.sim.people.site import Heard, PeopleSite

_C = V1 + "/constellations"
_DOORS: dict[type, tuple[str, str]] = {
    i.RequestReceived: ("POST", _C),
    i.EditProposed: ("POST", _C + "/{constellation}/edits"),
    i.ControlRequested: ("POST", _C + "/{constellation}/resume"),
    i.ForkRequested: ("POST", _C + "/{constellation}/fork"),
    i.UndoRequested: ("POST", _C + "/{constellation}/undo"),
    i.DraftOpened: ("PUT", _C + "/{constellation}/draft"),
    i.DraftClosed: ("DELETE", _C + "/{constellation}/draft"),
    i.QuestionAnswered: ("POST", V1 + "/approvals/{approval}/answer"),
    i.StandingRevoked: ("DELETE", V1 + "/standing-approvals/{standing}"),
    i.ScheduleSaved: ("POST", V1 + "/schedules"),
    i.ScheduleControlled: ("POST", V1 + "/schedules/{schedule}/{action}"),
    i.RecipeSaved: ("POST", V1 + "/recipes"),
    i.RecipeRemoved: ("DELETE", V1 + "/recipes/{name}"),
    i.SecretSet: ("PUT", V1 + "/secrets/{name}"),
    i.SecretRemoved: ("DELETE", V1 + "/secrets/{name}"),
    i.RoleGiven: ("PATCH", V1 + "/people/{name}"),
    i.TokenAdded: ("POST", V1 + "/tokens"),
    i.SignInOpened: ("POST", V1 + "/sign-in-links"),
    i.TokenRevoked: ("DELETE", V1 + "/tokens/{token}"),
    i.StopAllRequested: ("POST", V1 + "/stop-all"),
    i.EnrollmentOpened: ("POST", V1 + "/enrollments"),
    i.EnrollmentDecided: ("POST", V1 + "/enrollments/{enrollment}/approve"),
    i.OwnerAskAnswered: ("POST", V1 + "/asks/{ask}/approve"),
    i.DeviceControlled: ("POST", V1 + "/devices/{device}/{action}"),
}


class Gone(Exception):
    """The hub that was asked is gone, and with it whatever it was doing for the asker."""


class Door:
    """A site as one person with one token sees it: `ask` is the only way in."""

    def __init__(self, site: PeopleSite, text: str) -> None:
        self.site = site
        self.text = text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.site, name)

    def caller(self, door: tuple[str, str]) -> Caller | None:
        """Return the caller, if the hub lets it in by this door."""
        caller = self.site.caller(self.text)
        return caller if caller is not None and ROUTES[door].refusal(caller) is None else None

    async def ask(self, item: Any) -> Any:
        """Ask as the edge does; the answer of the door has the code `forbidden`."""
        caller = self.caller(_DOORS[type(item)])
        if caller is None:
            self.site.heeded.refused += 1
            return Reply(faults=[Fault(code=Code.FORBIDDEN, reason="the door is shut", hint="")])
        of_edge = {"approves": caller.approves, "controls": caller.controls, "caller": caller.token}
        given = {name: value for name, value in of_edge.items() if name in item.__struct_fields__}
        return await self._ask(replace(item, by=caller.by, scope=caller.role, **given), caller)

    async def _ask(self, item: Any, caller: Caller) -> Any:
        loop = asyncio.get_running_loop()
        sent_s = loop.time()
        reply = await self.site.ask(item)
        if reply is not None and not reply.faults:
            self.site.heeded.heard.append(Heard(item, caller, sent_s, loop.time(), reply.value))
        return reply

    async def set_secret(self, name: str, body: NewValue) -> str:
        """Set a secret by the route of the edge; return what it said."""
        return await self._route(i.SecretSet, lambda routes, request: routes.put(request, name, body))

    async def remove_secret(self, name: str) -> str:
        return await self._route(i.SecretRemoved, lambda routes, request: routes.remove(request, name))

    async def _route(self, kind: type, call: Any) -> str:
        caller, engine = self.caller(_DOORS[kind]), self.site.engine
        if caller is None or engine is None:
            self.site.heeded.refused += 1
            return "the door is shut"
        inbox = SimpleNamespace(ask=lambda item: self._ask_or_go(item, caller))
        hub: Any = SimpleNamespace(
            access=self.site.view,
            fleet=engine.shard.fleet,
            inbox=inbox,
            now_ms=self.site.clock.now_ms,
            vault=self.site.vault,
        )
        request = SimpleNamespace(state=SimpleNamespace(caller=caller))
        try:
            await call(Secrets(hub, _Once()), request)  # type: ignore[arg-type]
        except (Gone, Overloaded, Problem, Unavailable) as error:
            return f"{type(error).__name__} {error}"
        return ""

    async def _ask_or_go(self, item: Any, caller: Caller) -> Any:
        reply = await self._ask(item, caller)
        if reply is None:
            raise Gone
        return reply


class _Once:
    """`Repeats` of a hub of which nobody asks the same again."""

    async def once(self, _request: Any, make: Any) -> Any:
        return await make()
