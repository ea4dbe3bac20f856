"""`GET .../report`: what the time of a run was spent on. Reads the log in pages; `core/answer` makes the figures.

The fold of the runs that were asked for last is kept, so that a page that looks at a run again reads what is new alone.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Annotated, Final

from fastapi import APIRouter, Query

from starloom.core.answer.report import report
from starloom.core.answer.spans import Fold
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.records.run_report import RunReport
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event
from starloom_protocol.vocabulary import Code

PAGE_EVENTS: Final = 2_000
EVENTS_MAX: Final = 2_000_000
KEPT_MOST: Final = 4
"""A fold is kept so that a page that asks again reads only new events; few people look at reports at once."""


class ReportRoute:
    """Reports on committed state; asks nobody."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._kept: OrderedDict[str, Fold] = OrderedDict()
        self._reading = asyncio.Lock()

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/constellations/{constellation}/report", self.report, methods=["GET"])

    async def report(self, constellation: str, spans: Annotated[bool, Query()] = False) -> JsonReply[RunReport]:
        """Report on a run, or on as much of it as there is; with `spans` also the phases of every task."""
        # One at a time: a fold takes its events in order, and a large log is enough work for one thread.
        async with self._reading:
            fold = await self._folded(constellation)
            names = {device.id: device.name for device in self._hub.fleet.devices.values()}
            made = await asyncio.to_thread(_report, fold, self._hub.now_ms(), names, spans)
        return json_reply(made)

    async def _folded(self, constellation: str) -> Fold:
        fold = self._kept.pop(constellation, None) or Fold()
        # One that was pruned meanwhile is gone from here, too.
        if constellation in (ACCESS, FLEET) or await self._hub.headlines.of(constellation) is None:
            raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}")
        while fold.record.seq < EVENTS_MAX:
            page = await self._hub.reads.events(constellation, fold.record.seq, PAGE_EVENTS)
            await asyncio.to_thread(_add, fold, page)
            if len(page) < PAGE_EVENTS:
                break
        self._kept[constellation] = fold
        while len(self._kept) > KEPT_MOST:
            self._kept.popitem(last=False)
        return fold


def _add(fold: Fold, page: list[bytes]) -> None:
    for raw in page:
        fold.add(decode_event(raw))


def _report(fold: Fold, now_ms: int, names: dict[str, str], spans: bool) -> RunReport:
    created_at = entity_json.iso(fold.record.head.created_ms) or ""
    return report(fold.record, now_ms, created_at=created_at, names=names, spans=spans)
