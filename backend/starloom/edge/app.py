"""Puts the edge together: one FastAPI application whose every route is guarded, and the two sockets beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from starlette.routing import WebSocketRoute
from starlette.types import Lifespan

from starloom.access.guard import V1
from starloom.edge import problems, sessions
from starloom.edge.admission import Admission, guarded_route
from starloom.edge.aip import AipEndpoint, AipParts, AipTimings
from starloom.edge.approvals import Approvals
from starloom.edge.artifacts import Artifacts
from starloom.edge.brief import BriefRoutes
from starloom.edge.constellations import Constellations
from starloom.edge.controls import Controls
from starloom.edge.events import EventRoutes
from starloom.edge.fleet import FleetRoutes
from starloom.edge.handshake import Handshake
from starloom.edge.hub import Hub
from starloom.edge.joining import Joining
from starloom.edge.lan_routes import LanRoutes
from starloom.edge.live import LiveEndpoint, LiveParts
from starloom.edge.model import ModelRoutes
from starloom.edge.page import Page
from starloom.edge.recipes import Recipes
from starloom.edge.replies import Repeats
from starloom.edge.schedules import Schedules
from starloom.edge.service import Gauge, Service
from starloom.edge.sessions import Sessions
from starloom.edge.shield import Shield
from starloom.edge.submit import Submit
from starloom.edge.tab import Tab
from starloom.edge.wheels import Wheels
from starloom.edge.why import WhyRoute


@dataclass(frozen=True, slots=True)
class Files:
    """What the edge serves from disk; None where it is not there."""

    join_script: Path | None
    page: Path | None
    wheels: Path
    wheel_sources: tuple[Path, ...] = ()
    tab: Path | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """The application, and the socket endpoint that must drain before the process ends."""

    app: FastAPI
    aip: AipEndpoint


def build(
    hub: Hub, files: Files, lifespan: Lifespan[FastAPI] | None = None, gauges: Mapping[str, Gauge] | None = None
) -> Edge:
    """Return the application over finished objects."""
    app = FastAPI(
        title="Starloom",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        responses={
            "4XX": {"description": "Refused, with code, reason, hint and errors[]", "content": {problems.MEDIA: {}}}
        },
    )
    admission = Admission(
        hub.access,
        hub.limits,
        hub.links.device_of,
        lambda scheme: sessions.cookie_name(hub.settings.port, scheme),
    )
    router = app.router
    router.route_class = guarded_route(admission)
    settings = hub.settings
    aip = AipEndpoint(
        AipParts(
            fanout=hub.fanout,
            handshake=Handshake(hub.key, hub.fleet.devices, hub.fleet.enrollments),
            inbox=hub.inbox,
            limits=hub.limits,
            links=hub.links,
            logs=hub.logs,
            now_ms=hub.now_ms,
            received=hub.received,
            refusals=hub.refusals,
            timings=AipTimings(
                alive_interval_s=settings.scaled_alive_interval_s,
                handshake_s=settings.handshake_s,
                lease_grace_s=settings.scaled_lease_grace_s,
                lease_ttl_s=settings.scaled_lease_ttl_s,
            ),
        )
    )
    live = LiveEndpoint(
        LiveParts(access=hub.access, fanout=hub.fanout, now_ms=hub.now_ms, reads=hub.reads, tickets=hub.tickets)
    )
    router.routes.append(WebSocketRoute("/aip/v1", aip))
    router.routes.append(WebSocketRoute(V1 + "/live", live))
    repeats = Repeats(hub.monotonic_s)
    wheels = Wheels(files.wheels, files.wheel_sources)
    constellations, submit = Constellations(hub), Submit(hub)
    for part in (
        Service(hub, app, aip, dict(gauges or {})),
        Sessions(hub, repeats),
        submit,
        constellations,
        BriefRoutes(hub, submit),
        Recipes(hub, repeats),
        Schedules(hub, repeats, submit, constellations),
        WhyRoute(hub, constellations),
        EventRoutes(hub),
        Controls(hub, repeats),
        Approvals(hub),
        FleetRoutes(hub, repeats, wheels),
        Joining(hub, wheels, files.join_script),
        LanRoutes(hub),
        ModelRoutes(hub),
        Artifacts(hub),
        Tab(files.tab),
        Page(files.page),
    ):
        part.add_to(router)
    problems.install(app)
    hub.access.on_revoked.append(hub.fanout.close_token)
    app.add_middleware(Shield, reach=hub.reach)
    return Edge(app, aip)
