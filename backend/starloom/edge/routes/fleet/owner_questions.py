"""Routes of the questions that devices ask their owners before a call, and of a person's answers.

Translates and passes on: the core and the device's own policy decide whether an answer counts.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from msgspec.structs import replace

from starloom.core.fleet.owner_questions import HUB
from starloom.core.state import inputs
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import Judged
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.process.program import on_device
from starloom_protocol.api.fleet import AskRow
from starloom_protocol.api.service import Items
from starloom_protocol.records.approvals import DeviceAsks, PendingAsk
from starloom_protocol.vocabulary import Code


class OwnerAsks:
    """Routes for the questions of devices."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/asks", self.list, methods=["GET"])
        router.add_api_route(V1 + "/asks/{ask}/approve", self.approve, methods=["POST"])
        router.add_api_route(V1 + "/asks/{ask}/deny", self.deny, methods=["POST"])

    async def list(self, state: Literal["open", "answered"] = "open") -> JsonReply[Items[AskRow]]:
        """List the open questions of devices to their owners, the oldest first; or those lately answered here.

        `answers` of a row says where an answer counts: `here` on the device only, or `hub`.
        """
        if state == "answered":
            answered = sorted(self._hub.fleet.answered_asks.items(), key=lambda item: (-item[1].answered_ms, item[0]))
            rows = [await self._shape(DeviceAsks(answers=HUB, device=of), ask) for (of, _), ask in answered]
            return json_reply({"items": rows, "next": None})
        items = []
        for asks in self._hub.fleet.asks.values():
            items += [(ask.asked_ms, ask.id, await self._shape(asks, ask)) for ask in asks.open]
        return json_reply({"items": [item[2] for item in sorted(items, key=lambda item: item[:2])], "next": None})

    async def approve(self, request: Request, ask: str, body: Judged | None = None) -> JsonReply[AskRow]:
        """Answer yes to one call, this once, if the device takes answers from here."""
        return await self._answer(request, ask, body, allow=True)

    async def deny(self, request: Request, ask: str, body: Judged | None = None) -> JsonReply[AskRow]:
        """Answer no; the reason goes to the device and from there to the author of the request."""
        return await self._answer(request, ask, body, allow=False)

    async def _answer(self, request: Request, name: str, body: Judged | None, *, allow: bool) -> JsonReply[AskRow]:
        caller = caller_of(request)
        asks, ask = self._find(name)
        judged = body or Judged()
        answered = inputs.OwnerAskAnswered(
            action=judged.action or ask.action,
            allow=allow,
            ask=ask.id,
            device=asks.device,
            reason=judged.reason,
            **caller.signed(),
        )
        accepted(await self._hub.inbox.ask(answered))
        # The device may have taken it by now and no longer asks it.
        answered_ask = replace(ask, answer="allow" if allow else "deny", answered_by=caller.by, reason=judged.reason)
        return json_reply(await self._shape(asks, answered_ask))

    def _find(self, name: str) -> tuple[DeviceAsks, PendingAsk]:
        """Return the question called `DEVICE:ID`, or by an id that only one device uses."""
        device, separator, identity = name.partition(":")
        matches = [
            (asks, ask)
            for asks in self._hub.fleet.asks.values()
            for ask in asks.open
            if (asks.device, ask.id) == (device, identity) or (not separator and ask.id == name)
        ]
        if len(matches) > 1:
            names = ", ".join(f"{asks.device}:{ask.id}" for asks, ask in matches)
            raise Problem(Code.CONFLICT, f"several questions are called {name[:64]}: {names}")
        if not matches:
            reason = f"no device asks what is called {name[:128]}; it may be answered already"
            raise Problem(Code.NOT_FOUND, reason, hint="See `starloom approvals`.")
        return matches[0]

    async def _shape(self, asks: DeviceAsks, ask: PendingAsk) -> AskRow:
        device, offer = self._hub.fleet.devices.get(asks.device), self._hub.fleet.offers.get(asks.device)
        headline = await self._hub.headlines.of(ask.constellation) if ask.constellation else None
        return {
            "id": f"{asks.device}:{ask.id}",
            "action": ask.action,
            "answer": ask.answer or None,
            "answered_at": entity_json.iso(ask.answered_ms),
            "answered_by": ask.answered_by or None,
            "answers": asks.answers,
            "args": ask.args,
            "asked_at": entity_json.iso(ask.asked_ms),
            "constellation": ask.constellation,
            "constellation_name": headline.head.name if headline else "",
            "device": {"id": asks.device, "name": device.name if device else asks.device},
            "expires_at": entity_json.iso(ask.expires_ms),
            "reason": ask.reason,
            "line": on_device(f"starloom-agent approve {ask.id}", offer.facts if offer else {}),
            "task": ask.task,
            "tool": ask.tool,
        }
