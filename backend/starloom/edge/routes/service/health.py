"""Routes about the hub itself: health, readiness, disk, metrics and the OpenAPI document. They change nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.responses import PlainTextResponse, Response

from starloom.edge.access.guard import V1
from starloom.edge.agents.aip import AipEndpoint
from starloom.edge.hub import Hub
from starloom.edge.live.views import FleetView
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.process.settings import VERSION
from starloom_protocol.api.service import Health, HubDisk, Readiness
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Code

Gauge = Callable[[], float]


class Service:
    """Routes about the hub itself. `gauges` are further figures by name, for `/metrics`; `data` is its data folder."""

    def __init__(
        self, hub: Hub, app: FastAPI, aip: AipEndpoint, gauges: dict[str, Gauge] | None = None, data: Path | None = None
    ) -> None:
        self._hub = hub
        self._app = app
        self._aip = aip
        self._gauges = gauges or {}
        self._data = data

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/healthz", self.healthz, methods=["GET"])
        router.add_api_route("/readyz", self.readyz, methods=["GET"])
        router.add_api_route(V1 + "/disk", self.disk, methods=["GET"])
        router.add_api_route("/metrics", self.metrics, methods=["GET"], response_class=PlainTextResponse)
        router.add_api_route(V1 + "/openapi.json", self.openapi, methods=["GET"], include_in_schema=False)

    async def healthz(self) -> JsonReply[Health]:
        """Show that the process answers, and whether this hub owns the shard or stands by."""
        ownership = self._hub.ownership
        return json_reply({"status": "ok", "role": "owner" if ownership is None or ownership.owns else "standby"})

    async def readyz(self) -> JsonReply[Readiness]:
        """Show whether the hub is ready for work, and if not, the part that it waits for."""
        waiting = self._hub.ready()
        if waiting:
            return json_reply({"status": "not ready", "waits_for": waiting}, 503, {"Retry-After": "1"})
        return json_reply({"status": "ready"})

    async def disk(self) -> JsonReply[HubDisk]:
        """Show how much of the disk under the hub's data folder is free; it is looked at when it is asked."""
        if self._data is None:
            raise Problem(Code.NOT_FOUND, "this hub has no data folder of its own")
        folder = str(self._data)
        try:
            # A network file system may let this wait.
            usage = await asyncio.to_thread(shutil.disk_usage, self._data)
        except OSError as error:
            fault = error.strerror or str(error)
            return json_reply({"folder": folder, "free_bytes": None, "whole_bytes": None, "fault": fault})
        return json_reply({"folder": folder, "free_bytes": usage.free, "whole_bytes": usage.total, "fault": ""})

    async def metrics(self) -> Response:
        """Give figures in the Prometheus text format."""
        hub = self._hub
        lines: list[str] = []
        _family(lines, "starloom_devices", "gauge", "Devices by link.", _by_link(hub.fleet))
        _family(lines, "starloom_links", "gauge", "Open agent connections.", [("", len(hub.links))])
        _family(lines, "starloom_viewers", "gauge", "Open live sockets.", [("", hub.fanout.viewer_count)])
        _family(lines, "starloom_questions_open", "gauge", "Open questions to people.", [("", len(hub.questions.open))])
        _family(lines, "starloom_events_total", "counter", "Events published.", [("", hub.fanout.published)])
        _family(lines, "starloom_log_position", "gauge", "Last commit published.", [("", hub.fanout.pos)])
        _family(lines, "starloom_log_chunks_lost_total", "counter", "Log chunks not written.", [("", hub.logs.lost)])
        ended = [(f'{{state="{state}"}}', hub.headlines.ended[state]) for state in sorted(FINAL_CONSTELLATION_STATES)]
        _family(lines, "starloom_constellations_ended_total", "counter", "Constellations ended, by state.", ended)
        _family(lines, "starloom_info", "gauge", "The version of the hub.", [(f'{{version="{VERSION}"}}', 1)])
        if (free := await asyncio.to_thread(self._free_bytes)) is not None:
            _family(lines, "starloom_disk_free_bytes", "gauge", "Free under the data folder.", [("", free)])
        faults = [(f'{{code="{code}"}}', count) for code, count in sorted(self._aip.faults.items())]
        _family(lines, "starloom_channel_faults_total", "counter", "Refused or broken agent connections.", faults)
        for name, gauge in self._gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            _family(lines, f"starloom_{name}", kind, name.replace("_", " ").capitalize() + ".", [("", gauge())])
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    def _free_bytes(self) -> int | None:
        """Return what is free of the disk under the data folder; None where nobody can say."""
        try:
            return None if self._data is None else shutil.disk_usage(self._data).free
        except OSError:
            return None

    async def openapi(self) -> Response:
        """Give the OpenAPI 3.1 document of this API."""
        return json_reply(self._app.openapi())


def _by_link(fleet: FleetView) -> list[tuple[str, float]]:
    return [(f'{{link="{link}"}}', count) for link, count in fleet.by_link().items()]


def _family(lines: list[str], name: str, kind: str, text: str, samples: list[tuple[str, Any]]) -> None:
    lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{labels} {value}" for labels, value in samples]
