"""Routes of *Allow phones*: the state of the local network's listener, its opening and closing, and the certificate."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.listeners.local_network import WARNING, LanState
from starloom.edge.live import entity_json
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.service import LanRow
from starloom_protocol.vocabulary import Code


class LanRoutes:
    """Everything under `/lan`, and what a phone may install."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/lan", self.show, methods=["GET"])
        router.add_api_route(V1 + "/lan/open", self.open, methods=["POST"])
        router.add_api_route(V1 + "/lan/close", self.close, methods=["POST"])
        router.add_api_route("/agent/authority.crt", self.authority, methods=["GET"], include_in_schema=False)

    async def show(self) -> JsonReply[LanRow]:
        """Show whether the local network's listener is open, at which address, with which key."""
        return json_reply(shape(self._hub.lan.state))

    async def open(self, request: Request) -> JsonReply[LanRow]:
        """Open it now and at every start; devices still need a code and an approval."""
        del request
        return json_reply(shape(await self._hub.lan.open()))

    async def close(self, request: Request) -> JsonReply[LanRow]:
        """Close it and cut its connections. Refused to a page that came through it."""
        here = self._hub.lan.state.url
        if here and f"https://{request.headers.get('host', '')}" == here:
            raise Problem(
                Code.CONFLICT,
                f"{caller_of(request).name} uses the hub through this very listener",
                hint="Close it on the hub's own computer.",
            )
        return json_reply(shape(await self._hub.lan.close()))

    async def authority(self) -> Response:
        """Serve the authority's certificate: installed on a phone, its browser no longer warns."""
        path = self._hub.lan.authority_file
        if path is None:
            raise Problem(Code.NOT_FOUND, "this hub has no authority of its own", hint="Allow phones in Fleet first.")
        return FileResponse(path, media_type="application/x-x509-ca-cert", filename="starloom-authority.crt")


def shape(state: LanState) -> LanRow:
    """Return the state as the API gives it."""
    leaf = state.leaf
    return {
        "open": leaf is not None,
        "url": state.url,
        "pin": leaf.pin if leaf else "",
        "words": leaf.words if leaf else "",
        "warning": WARNING if leaf else "",
        "certificate_expires_at": entity_json.iso(leaf.expires_ms) if leaf else None,
        "fault": state.fault,
    }
