"""`GET .../report`: what the time of a run was spent on; `GET /recipes/{name}/runs`: the last runs of a recipe.

Reads the log in pages; `core/answer` makes the figures. The fold of the runs that were asked for last is kept, so that
a page that looks at a run again reads what is new alone. The lines of ended runs are kept, too.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Query

from starloom.core.answer.report import report
from starloom.core.answer.spans import Fold
from starloom.core.answer.trends import sentence, trend_run
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.web.problems import Problem, problem_of_recipe
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.records.entities import Head
from starloom_protocol.records.run_report import RecipeTrend, RunReport, TrendRun
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Code

PAGE_EVENTS: Final = 2_000
EVENTS_MAX: Final = 2_000_000
KEPT_MOST: Final = 4
"""A fold is kept so that a page that asks again reads only new events; few people look at reports at once."""

TREND_RUNS_MOST: Final = 20
"""Each is a log to read the first time; a person does not compare more."""
LOOKED_AT_MOST: Final = 500
"""Constellations whose recipe or schedule is looked at, the newest first."""
LINES_MOST: Final = 2_000
_LIST_PAGE: Final = 100


class ReportRoute:
    """Reports on committed state; asks nobody."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._folds: OrderedDict[str, Fold] = OrderedDict()
        self._lines: OrderedDict[str, TrendRun] = OrderedDict()
        self._reading = asyncio.Lock()

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/constellations/{constellation}/report", self.report, methods=["GET"])
        router.add_api_route(V1 + "/recipes/{name}/runs", self.runs, methods=["GET"])

    async def report(self, constellation: str, spans: Annotated[bool, Query()] = False) -> JsonReply[RunReport]:
        """Report on a run, or on as much of it as there is; with `spans` also the phases of every task."""
        # One at a time: a fold takes its events in order, and a large log is enough work for one thread.
        async with self._reading:
            fold = await self._folded(constellation)
            names = {device.id: device.name for device in self._hub.fleet.devices.values()}
            report = await asyncio.to_thread(_report, fold, self._hub.now_ms(), names, spans)
        return json_reply(report)

    async def runs(
        self, name: str, limit: Annotated[int, Query(ge=1, le=TREND_RUNS_MOST)] = TREND_RUNS_MOST
    ) -> JsonReply[RecipeTrend]:
        """Return the last ended runs of a recipe beside each other, and what has changed over them."""
        saved = any(key.rpartition("/")[0] == name for key in self._hub.fleet.recipes)
        if not saved and self._hub.planner.recipe(name) is None:
            raise problem_of_recipe(name, [item["name"] for item in self._hub.planner.recipes()])
        lines, more = await self.last(lambda head: head.recipe == name, limit)
        return json_reply(RecipeTrend(more=more, recipe=name, runs=lines, sentence=sentence(lines)))

    async def last(self, is_run: Callable[[Head], bool], limit: int) -> tuple[list[TrendRun], bool]:
        """Return the lines of the newest ended constellations that are such runs, and whether there may be more."""
        heads, more = await self._ended_runs(is_run, limit)
        return [line for run in heads if (line := await self._line(run)) is not None], more

    async def _ended_runs(self, is_run: Callable[[Head], bool], limit: int) -> tuple[list[Head], bool]:
        """Return the newest ended constellations that are such runs, and whether there may be more."""
        heads: list[Head] = []
        cursor: tuple[int, str] | None = None
        for _ in range(LOOKED_AT_MOST // _LIST_PAGE):
            rows = await self._hub.reads.constellations(
                states=(), text=None, device=None, before=cursor, limit=_LIST_PAGE
            )
            headlines = await self._hub.headlines.of_all([row.id for row in rows])
            for row in rows:
                headline = headlines.get(row.id)
                head = headline.head if headline is not None else None
                if head is None or not is_run(head) or head.state not in FINAL_CONSTELLATION_STATES:
                    continue
                if len(heads) == limit:
                    return heads, True
                heads.append(head)
            if len(rows) < _LIST_PAGE:
                return heads, False
            cursor = (rows[-1].created_ms, rows[-1].id)
        return heads, True

    async def _line(self, head: Head) -> TrendRun | None:
        """Return the line of an ended run, None if it was pruned meanwhile."""
        key = f"{head.id} {head.ended_ms}"  # a retry or an undo opens an ended run again
        if key in self._lines:
            return self._lines[key]
        async with self._reading:
            if key not in self._lines:  # else another request has read it while this one waited
                try:
                    fold = await self._folded(head.id)
                except Problem as problem:
                    if problem.code is not Code.NOT_FOUND:
                        raise
                    return None
                self._lines[key] = trend_run(await asyncio.to_thread(_report, fold, self._hub.now_ms(), {}, False))
                while len(self._lines) > LINES_MOST:
                    self._lines.popitem(last=False)
            return self._lines[key]

    async def _folded(self, constellation: str) -> Fold:
        fold = self._folds.pop(constellation, None) or Fold()
        # One that was pruned meanwhile is gone from here, too.
        if constellation in (ACCESS, FLEET) or await self._hub.headlines.of(constellation) is None:
            raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}")
        while fold.log.seq < EVENTS_MAX:
            page = await self._hub.reads.events(constellation, fold.log.seq, PAGE_EVENTS)
            await asyncio.to_thread(_add, fold, page)
            if len(page) < PAGE_EVENTS:
                break
        self._folds[constellation] = fold
        while len(self._folds) > KEPT_MOST:
            self._folds.popitem(last=False)
        return fold


def _add(fold: Fold, page: list[bytes]) -> None:
    for raw in page:
        fold.add(decode_event(raw))


def _report(fold: Fold, now_ms: int, names: dict[str, str], spans: bool) -> RunReport:
    created_at = entity_json.iso(fold.log.head.created_ms) or ""
    return report(fold.log, now_ms, created_at=created_at, names=names, spans=spans)
