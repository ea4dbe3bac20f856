"""Routes that read constellations: the list, a snapshot at any version, the answer, versions and their differences."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request

from starloom.core.people.recipes.proposals import TRY_LABEL, is_request_of
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.live.plan_versions import difference, state_of_version
from starloom.edge.live.views import Headline
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, cursor_of, cursor_text, json_reply
from starloom.store.port import StreamRow, StreamState
from starloom_protocol.api.constellations import Comparison, ConstellationRow, Result, Snapshot, VersionRow
from starloom_protocol.api.service import Items
from starloom_protocol.stream.authors import name_of
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.vocabulary import Code, ConstellationState

PAGE_EVENTS = 5_000
EVENTS_MAX = 2_000_000
"""The log is held in memory to be folded; a plan of 5,000 tasks has some ten thousand events."""
THREAD_ABOVE_ENTITIES = 500
LOOKED_MOST = 500
"""Constellations that one request for a list looks at: a list of a few among many thousands holds up nobody else."""
LOOKED_AT_ONCE = 100
_C = V1 + "/constellations"


def no_version(constellation: str, version: int) -> Problem:
    """Return the refusal of a version that a constellation does not have."""
    hint = f"`starloom show {constellation}` says which is the newest."
    return Problem(Code.NOT_FOUND, f"{constellation} has no version {version}", hint=hint)


class Constellations:
    """Routes that only read."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_C, self.page, methods=["GET"])
        router.add_api_route(_C + "/{constellation}", self.snapshot, methods=["GET"])
        router.add_api_route(_C + "/{constellation}/result", self.result, methods=["GET"])
        router.add_api_route(_C + "/{constellation}/versions", self.versions, methods=["GET"])
        router.add_api_route(_C + "/{constellation}/diff", self.diff, methods=["GET"])

    async def page(
        self,
        request: Request,
        state: Annotated[list[ConstellationState] | None, Query(max_length=len(ConstellationState))] = None,
        q: Annotated[str | None, Query(max_length=200)] = None,
        device: Annotated[str | None, Query(max_length=128)] = None,
        of: Annotated[str | None, Query(max_length=128)] = None,
        cursor: Annotated[str | None, Query(max_length=200)] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 50,
        tries: bool = False,
        by_caller: bool = False,
    ) -> JsonReply[Items[ConstellationRow]]:
        """List constellations, newest first; with `of` those that a person or a program of this name asked for.

        With `by_caller` those that the caller asked for: none of a schedule, and none that only tries, tests or tells.

        A `state` may be given several times, for those in any of these. Those that only tried a row (label `try`) come
        with `tries` alone. One request looks at so many and no more: where most are left out, a page may have fewer
        than `limit`, or none, and a `next`.
        """
        hub = self._hub
        record = hub.fleet.device(device) if device else None
        after_row = cursor_of(cursor, str)
        items: list[ConstellationRow] = []
        size = limit if of is None and not by_caller else max(limit, LOOKED_AT_ONCE)
        looked_at = 0
        while True:
            rows = await hub.reads.constellations(
                states=state or (),
                text=q or None,
                device=record.id if record else device,
                before=after_row,
                limit=size + 1,
            )
            headlines = await hub.headlines.of_all([row.id for row in rows[: min(size, LOOKED_MOST - looked_at)]])
            for at, row in enumerate(rows[:size]):
                headline = headlines.get(row.id)
                row_json = self._row(row, headline)
                after_row = (row.created_ms, row.id)
                looked_at += 1
                is_wanted = of is None or name_of(row_json["author"]).casefold() == of.casefold()
                if by_caller:
                    is_wanted &= headline is not None and is_request_of(headline.head, caller_of(request).by)
                if is_wanted and (tries or TRY_LABEL not in row_json["labels"]):
                    items.append(row_json)
                if len(items) == limit or looked_at == LOOKED_MOST:
                    more = at + 1 < len(rows)
                    return json_reply({"items": items, "next": cursor_text(row.created_ms, row.id) if more else None})
            if len(rows) <= size:
                return json_reply({"items": items, "next": None})

    def _row(self, row: StreamRow, headline: Headline | None) -> ConstellationRow:
        running = self._hub.at_work.of(row.id)
        if headline is not None:
            return entity_json.row(*headline, running)
        return {
            "id": row.id,
            "name": row.name,
            "request": row.request,
            "recipe": None,
            "schedule": None,
            "state": ConstellationState(row.state),
            "undone_from": None,
            "version": row.version,
            "attention": [],
            "labels": {},
            "author": "",
            "created_at": entity_json.iso(row.created_ms),
            "ended_at": entity_json.iso(row.ended_ms),
            "sentence": "",
            "alarm": False,
            "waited_ms": 0,
            "running": running,
        }

    async def snapshot(
        self, constellation: str, version: Annotated[int | None, Query(ge=0, le=1_000_000)] = None
    ) -> JsonReply[Snapshot]:
        """Show a constellation as it is, or as it was at the end of a version."""
        seq, entities = await self.entities(constellation, version)
        devices = dict(self._hub.fleet.devices)

        def make() -> JsonReply[Snapshot]:
            return json_reply(entity_json.snapshot(entity_json.Constellation(constellation, seq, entities), devices))

        return await asyncio.to_thread(make) if len(entities) > THREAD_ABOVE_ENTITIES else make()

    async def entities(self, constellation: str, version: int | None = None) -> StreamState:
        """Return (seq, entities) now or at the end of a version.

        Raises:
            Problem: if there is no such constellation or version.
        """
        state = None if constellation in (ACCESS, FLEET) else await self._hub.reads.entities(constellation)
        if state is None or "head" not in state.entities:
            raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}")
        if version is None:
            return state
        at = await asyncio.to_thread(state_of_version, await self.log(constellation), version)
        if at is None:
            raise no_version(constellation, version)
        return at

    async def log(self, constellation: str) -> list[bytes]:
        """Return every event of a constellation."""
        events: list[bytes] = []
        while len(events) < EVENTS_MAX:
            page = await self._hub.reads.events(constellation, len(events), PAGE_EVENTS)
            events += page
            if len(page) < PAGE_EVENTS:
                break
        return events

    async def result(self, constellation: str) -> JsonReply[Result]:
        """Give the answer alone."""
        headline = None if constellation in (ACCESS, FLEET) else await self._hub.headlines.of(constellation)
        if headline is None:
            raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}")
        head, answer = headline
        shape = entity_json.answer_shape(answer, self._hub.fleet.devices)
        return json_reply({"id": head.id, "constellation_state": head.state, "fault": head.fault, **shape})

    async def versions(self, constellation: str) -> JsonReply[Items[VersionRow]]:
        """List the versions of the plan: author, trigger, reason, what changed."""
        seq, entities = await self.entities(constellation)
        record = entity_json.Constellation(
            constellation, seq, {key: raw for key, raw in entities.items() if key.startswith("version/")}
        )
        versions = sorted(record.table("version").values(), key=lambda version: version.number)
        return json_reply({"items": [entity_json.version_shape(version) for version in versions], "next": None})

    async def diff(
        self,
        constellation: str,
        first: Annotated[int, Query(alias="from", ge=0, le=1_000_000)],
        second: Annotated[int, Query(alias="to", ge=0, le=1_000_000)],
    ) -> JsonReply[Comparison]:
        """Compare the plans of two versions."""
        await self.entities(constellation)
        events = await self.log(constellation)

        def make() -> Comparison:
            plans = []
            for version in (first, second):
                state = state_of_version(events, version)
                if state is None:
                    raise no_version(constellation, version)
                plans.append(state.entities)
            later = entity_json.Constellation(
                constellation, 0, {key: raw for key, raw in plans[1].items() if key.startswith("version/")}
            )
            between = [
                entity_json.version_shape(version)
                for version in sorted(later.table("version").values(), key=lambda version: version.number)
                if min(first, second) < version.number <= max(first, second)
            ]
            return {"from": first, "to": second, "versions": between, **difference(plans[0], plans[1])}

        return json_reply(await asyncio.to_thread(make))
