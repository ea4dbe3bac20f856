"""The assembly of the edge: one FastAPI application whose every route is guarded, and the two sockets beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from starloom.core.state import inputs
from starloom.edge.access.credentials import new_id
from starloom.edge.access.guard import V1
from starloom.edge.access.rate_limits import Denials, Denied
from starloom.edge.access.refusals import DeviceRefusal
from starloom.edge.agents.aip import AipEndpoint, AipParts, AipTimings
from starloom.edge.agents.handshake import Handshake
from starloom.edge.agents.offer_bounds import ChangeRates
from starloom.edge.agents.progress_lines import ProgressLines
from starloom.edge.hub import Hub
from starloom.edge.live.endpoint import LiveEndpoint, LiveParts
from starloom.edge.live.fanout import Changes
from starloom.edge.live.pruned import PrunedAnswers
from starloom.edge.peers.relay import Relay
from starloom.edge.routes.fleet.agent_wheels import Wheels
from starloom.edge.routes.fleet.browser_agent import Tab
from starloom.edge.routes.fleet.device_requests import Signed
from starloom.edge.routes.fleet.devices import FleetRoutes
from starloom.edge.routes.fleet.joining import Joining
from starloom.edge.routes.fleet.owner_questions import OwnerAsks
from starloom.edge.routes.fleet.vitals import VitalRoutes
from starloom.edge.routes.people import sessions
from starloom.edge.routes.people.activity import Activity
from starloom.edge.routes.people.approvals import Approvals
from starloom.edge.routes.people.persons import Persons
from starloom.edge.routes.people.secrets import Secrets
from starloom.edge.routes.people.sessions import Sessions
from starloom.edge.routes.requests.a2a import A2aRoutes
from starloom.edge.routes.requests.brief import BriefRoutes
from starloom.edge.routes.requests.model import ModelRoutes
from starloom.edge.routes.requests.prompt_preview import PromptPreview
from starloom.edge.routes.requests.recipes import Proposals, Recipes
from starloom.edge.routes.requests.schedules import Schedules
from starloom.edge.routes.requests.submission import Submit
from starloom.edge.routes.requests.what_if import WhatIfRoute
from starloom.edge.routes.service.health import Gauge, Service
from starloom.edge.routes.service.lab import LabRoutes
from starloom.edge.routes.service.local_network import LanRoutes
from starloom.edge.routes.service.page import Page
from starloom.edge.routes.work.artifacts import Artifacts
from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.routes.work.controls import Controls
from starloom.edge.routes.work.events import EventRoutes
from starloom.edge.routes.work.forks import Forks
from starloom.edge.routes.work.report import ReportRoute
from starloom.edge.routes.work.run_forecasts import RunForecasts
from starloom.edge.routes.work.transcript import TranscriptRoute
from starloom.edge.routes.work.why import WhyRoute
from starloom.edge.web import problems
from starloom.edge.web.admission import Admission, guarded_route
from starloom.edge.web.own_command import TypedHere
from starloom.edge.web.replies import Application, Repeats
from starloom.edge.web.shield import CutShort, Shield
from starloom_protocol.vocabulary import Topic


@dataclass(frozen=True, slots=True)
class Files:
    """The files that the edge serves from disk; None for a missing one."""

    join_script: Path | None
    page: Path | None
    wheels: Path
    wheel_sources: tuple[Path, ...] = ()
    tab: Path | None = None
    requirements: Path | None = None
    data: Path | None = None
    """The hub's data folder, whose disk is looked at; nothing in it is served."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The application, the socket endpoint that must drain before the process ends, and the relay to other hubs."""

    app: FastAPI
    aip: AipEndpoint
    relay: Relay | None = None


AIP = "/aip/v1"


class _Devices:
    """Passes the socket of a device to its endpoint around the routing, whose layers would stay for its whole lifetime.

    They would cost several kilobytes for each of thousands of devices, and a call for each message.
    """

    def __init__(self, app: ASGIApp, aip: AipEndpoint) -> None:
        self._app = app
        self._aip = aip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and scope["path"] == AIP:
            await self._aip(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _RelayLayer:
    """The relay as a layer. It is made before Starlette makes the layers, because it must be cut later."""

    def __init__(self, app: ASGIApp, relay: Relay) -> None:
        relay.app = app
        self._relay = relay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._relay(scope, receive, send)


def build(
    hub: Hub, files: Files, lifespan: Lifespan[FastAPI] | None = None, gauges: Mapping[str, Gauge] | None = None
) -> Edge:
    """Return the application over finished objects."""
    app = _application(lifespan)
    here = TypedHere(hub.program_here)
    app.router.route_class = _guarded(hub, here)
    aip, live = _sockets(hub)
    app.router.routes.append(WebSocketRoute(AIP, aip))
    app.router.routes.append(WebSocketRoute(V1 + "/live", live))
    for part in _routes(hub, files, here, Service(hub, app, aip, dict(gauges or {}), files.data)):
        part.add_to(app.router)
    problems.install(app)
    hub.access.on_revoked.append(hub.fanout.close_token)
    changes = Changes(hub.fanout, hub.refusals)
    hub.vitals.heard.append(lambda: changes.say(Topic.VITALS))
    if hub.lab is not None:
        hub.lab.heard.append(lambda: changes.say(Topic.SCENARIOS))
    return Edge(app, aip, _wrapped(app, aip, hub))


def _application(lifespan: Lifespan[FastAPI] | None) -> Application:
    return Application(
        title="Starloom",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        # Nothing here uses it, and it is checked again for every request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        responses={
            "4XX": {
                "description": "Refused, with code, reason, hint and errors[]",
                "content": {problems.MEDIA: {}},
            }
        },
    )


def _guarded(hub: Hub, here: TypedHere) -> type[APIRoute]:
    """Return the class of routes that admits first; each refusal is noted in the log."""
    admission = Admission(
        hub.access,
        hub.limits,
        hub.links.of_token,
        hub.fleet.belongs,
        lambda request: sessions.cookie_name(hub.settings.port, request),
        here,
    )
    denials = Denials(lambda denial: _note_denied(hub, denial), hub.monotonic_s)
    hub.refusals.heard.append(lambda refusal: denials.note(_denied_of(refusal)))
    return guarded_route(admission, denials.note, PrunedAnswers(hub.reads).explained)


class _Part(Protocol):
    """A resource of the API, which adds its routes."""

    def add_to(self, router: APIRouter) -> None: ...


def _routes(hub: Hub, files: Files, here: TypedHere, service: Service) -> tuple[_Part, ...]:
    """Return the parts in the order of matching: the most frequent first, the one that takes every path last."""
    repeats = Repeats(hub.monotonic_s)
    wheels = Wheels(files.wheels, files.wheel_sources)
    constellations, submit, reports = Constellations(hub), Submit(hub), ReportRoute(hub)
    return (
        service,
        submit,
        constellations,
        EventRoutes(hub),
        Controls(hub, repeats, constellations),
        FleetRoutes(hub, repeats, wheels),
        VitalRoutes(hub),
        Sessions(hub, repeats, here),
        Persons(hub),
        BriefRoutes(hub, submit),
        PromptPreview(hub),
        WhatIfRoute(hub, submit),
        A2aRoutes(hub, submit),
        Proposals(hub),
        Recipes(hub, repeats),
        Schedules(hub, repeats, submit, constellations, reports),
        Secrets(hub, repeats),
        WhyRoute(hub, constellations),
        TranscriptRoute(hub, constellations),
        reports,
        RunForecasts(hub, constellations),
        Activity(hub),
        Forks(hub, repeats, constellations),
        Approvals(hub),
        OwnerAsks(hub),
        Signed(hub, wheels, files.requirements),
        Joining(hub, wheels, files.join_script, files.requirements),
        LabRoutes(hub, repeats),
        LanRoutes(hub),
        ModelRoutes(hub),
        Artifacts(hub),
        Tab(files.tab, here),
        Page(files.page, here),
    )


def _sockets(hub: Hub) -> tuple[AipEndpoint, LiveEndpoint]:
    settings = hub.settings
    timings = AipTimings(
        alive_interval_s=settings.scaled_alive_interval_s,
        handshake_s=settings.handshake_s,
        lease_grace_s=settings.scaled_lease_grace_s,
        lease_ttl_s=settings.scaled_lease_ttl_s,
    )
    faults: dict[str, int] = {}
    changes = ChangeRates(hub.monotonic_s)
    hub.fleet.on_revoked.append(lambda device: changes.forget(device.id))
    aip = AipParts(
        changes=changes,
        faults=faults,
        fanout=hub.fanout,
        dispatched_secrets=hub.dispatched_secrets,
        handshake=Handshake(hub.key, hub.fleet.devices, hub.fleet.enrollments),
        inbox=hub.inbox,
        limits=hub.limits,
        links=hub.links,
        logs=hub.logs,
        monotonic_s=hub.monotonic_s,
        now_ms=hub.now_ms,
        progress=ProgressLines(hub.stop_rules, hub.monotonic_s, faults),
        received=hub.received,
        refusals=hub.refusals,
        timings=timings,
        vitals=hub.vitals,
    )
    live = LiveParts(
        access=hub.access,
        drawn=hub.drawn,
        fanout=hub.fanout,
        history=hub.history,
        now_ms=hub.now_ms,
        reads=hub.reads,
        tickets=hub.tickets,
    )
    return AipEndpoint(aip), LiveEndpoint(live)


def _wrapped(app: FastAPI, aip: AipEndpoint, hub: Hub) -> Relay | None:
    """Put the layers around the application, the innermost first; return the relay, which must be cut later."""
    app.add_middleware(_Devices, aip=aip)
    relay: Relay | None = None
    if hub.ownership is not None and hub.seals is not None:
        # Starlette makes layers late; this one must be known, so that it can be cut.
        relay = Relay(app.router, hub.ownership, hub.seals, hub.settings.port)
        app.add_middleware(_RelayLayer, relay=relay)
    app.add_middleware(CutShort, ending=lambda: hub.fanout.ending)
    app.add_middleware(Shield, reach=hub.reach, seals=hub.seals)
    return relay


def _denied_of(refusal: DeviceRefusal) -> Denied:
    by = f"device:{refusal.device}" if refusal.device else ""
    return Denied(refusal.door, refusal.address, refusal.code, refusal.reason, by)


def _note_denied(hub: Hub, denied: Denied) -> None:
    """Have a refusal written into the log."""
    hub.inbox.post(
        inputs.RefusalNoted(
            address=denied.address,
            by=denied.who or "edge",
            code=denied.code,
            door=denied.door,
            id=new_id(),
            reason=denied.reason,
            times=denied.times,
        )
    )
