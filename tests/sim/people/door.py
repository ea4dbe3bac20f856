"""The way of one person's requests into a hub: a token, the guard table's row of the route, and the fields of the edge.

A request that the door refuses never reaches the hub. What was accepted is kept for the oracle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from starloom.core.state import inputs as i
from starloom.edge.access.callers import AccessView, Caller
from starloom.edge.access.guard import ROUTES, V1
from starloom.edge.routes.people.secrets import NewValue, Secrets
from starloom.edge.web.problems import Problem
from starloom.engine.loop import Engine
from starloom.engine.ports import Overloaded, Reply
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code
from tests.sim.people.site import Heard, Peopled, caller_of

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


@dataclass
class Knock:
    """A request of somebody with a token, as it stands before the door of a hub; `caller` is whom that let in."""

    item: Any
    text: str
    caller: Caller | None = None

    def admitted(self, view: AccessView | None) -> Any:
        """Return the input that the edge makes of it, or None if the door stays shut."""
        self.caller = _let_in(view, self.text, _DOORS[type(self.item)])
        if self.caller is None:
            return None
        caller = self.caller
        of_edge = {"approves": caller.approves, "controls": caller.controls, "caller": caller.token}
        given = {name: value for name, value in of_edge.items() if name in self.item.__struct_fields__}
        return replace(self.item, by=caller.by, scope=caller.role, **given)

    @property
    def refusal(self) -> Reply:
        return Reply(faults=[Fault(code=Code.FORBIDDEN, reason="the door is shut", hint="")])


def _let_in(view: AccessView | None, text: str, door: tuple[str, str]) -> Caller | None:
    caller = caller_of(view, text)
    return caller if caller is not None and ROUTES[door].refusal(caller) is None else None


class Door:
    """A site as one person with one token sees it: `ask` is the only way in."""

    def __init__(self, site: Peopled, text: str) -> None:
        self.site = site
        self.text = text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.site, name)

    async def ask(self, item: Any) -> Any:
        """Ask as the edge does; the answer of the door has the code `forbidden`."""
        knock, loop = Knock(item, self.text), asyncio.get_running_loop()
        sent_s = loop.time()
        reply = await self.site.knock(knock)
        if reply is None or knock.caller is None:
            self.site.heeded.refused += reply is not None
        elif not reply.faults:
            self.site.heeded.heard.append(Heard(item, knock.caller, sent_s, loop.time(), reply.value))
        return reply

    async def set_secret(self, name: str, body: NewValue) -> str:
        """Set a secret by the route of the edge; return what it said."""
        return await self._route(i.SecretSet, lambda routes, request: routes.put(request, name, body))

    async def remove_secret(self, name: str) -> str:
        return await self._route(i.SecretRemoved, lambda routes, request: routes.remove(request, name))

    async def _route(self, kind: type, call: Any) -> str:
        loop = asyncio.get_running_loop()
        sent_s = loop.time()

        async def run(view: AccessView, engine: Engine, ask: Callable[[Any], Awaitable[Any]]) -> str:
            caller = _let_in(view, self.text, _DOORS[kind])
            if caller is None:
                self.site.heeded.refused += 1
                return "the door is shut"

            async def ask_or_go(item: Any) -> Any:
                reply = await ask(item)
                if reply is None:
                    raise Gone
                if not reply.faults:
                    self.site.heeded.heard.append(Heard(item, caller, sent_s, loop.time(), reply.value))
                return reply

            hub: Any = SimpleNamespace(
                access=view,
                fleet=engine.shard.fleet,
                inbox=SimpleNamespace(ask=ask_or_go),
                now_ms=self.site.clock.now_ms,
                vault=self.site.vault,
            )
            request = SimpleNamespace(state=SimpleNamespace(caller=caller))
            try:
                await call(Secrets(hub, _Once()), request)  # type: ignore[arg-type]
            except (Gone, Overloaded, Problem, Unavailable) as error:
                return f"{type(error).__name__} {error}"
            return ""

        return await self.site.route(run)


class _Once:
    """`Repeats` of a hub of which nobody asks the same again."""

    async def once(self, _request: Any, make: Any) -> Any:
        return await make()
