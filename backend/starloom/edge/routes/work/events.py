"""The log of a constellation over HTTP: long poll, the same as a server-sent stream, and the output of attempts."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live.fanout import WatchedStream
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.history import EventPage, Output, OutputLine
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Code

WAIT_MAX_S = 60.0
"""Clients and proxies give up after about a minute; an empty answer before that tells them to ask again."""
LIMIT_MAX = 5_000
"""A page of events is built in memory; so many are a few megabytes."""
KEEPALIVE_S = 15.0
"""Below the 30 to 60 s of silence after which proxies end a connection."""
SSE_PAGE = 500
NAMED_MOST = 8
"""A refusal is one line."""
LOG_READ_MAX = 1024 * 1024
"""One answer with output is held in memory; a reader goes on at its offset."""
_C = V1 + "/constellations/{constellation}"

After = Annotated[int, Query(ge=0, le=2**53)]
WaitS = Annotated[float, Query(ge=0, le=WAIT_MAX_S)]
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX)]
Offset = Annotated[int | None, Query(ge=0, le=2**53)]
Tail = Annotated[int, Query(ge=1, le=LOG_READ_MAX)]


class EventRoutes:
    """Events and logs of one constellation."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_C + "/events", self.events, methods=["GET"])
        router.add_api_route(_C + "/tasks/{task}/attempts/{attempt}/log", self.log, methods=["GET"])

    async def _require(self, constellation: str) -> None:
        if constellation in (ACCESS, FLEET) or await self._hub.headlines.of(constellation) is None:
            raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}")

    async def events(
        self,
        request: Request,
        constellation: str,
        after: After = 0,
        wait_s: WaitS = 0,
        limit: Limit = 500,
        until: Literal["final"] | None = None,
    ) -> JsonReply[EventPage] | WatchedStream:
        """Return events with a higher number than `after`; wait for one, or stream them (`text/event-stream`).

        A stream stays open until the client closes it, or with `until=final` until the constellation ends.
        """
        await self._require(constellation)
        token = caller_of(request).token
        if "text/event-stream" in request.headers.get("accept", ""):
            last = request.headers.get("last-event-id", "")
            start = int(last) if last.isdecimal() and len(last) < 16 else after
            events = partial(self._stream, constellation, start, ends=until == "final")
            return WatchedStream(self._hub.fanout, constellation, token, events)
        page = await self._wait(request, constellation, after, limit, wait_s)
        last_seq = decode_event(page[-1]).seq if page else after
        body = b'{"items":[' + b",".join(page) + b'],"next":' + str(last_seq).encode() + b"}"
        return JsonReply(body)

    async def _wait(self, request: Request, constellation: str, after: int, limit: int, wait_s: float) -> list[bytes]:
        reads = self._hub.reads
        page = await reads.events(constellation, after, limit)
        if page or not wait_s:
            return page
        fanout = self._hub.fanout
        with fanout.watch(constellation, caller_of(request).token, request.receive) as changed:
            try:
                async with asyncio.timeout(wait_s):
                    while not (page := await reads.events(constellation, after, limit)):
                        if fanout.ending or changed.left:
                            break
                        await changed.wait()
                        changed.clear()
            except TimeoutError:
                return []
        return page

    async def _stream(
        self, constellation: str, after: int, changed: asyncio.Event, *, ends: bool
    ) -> AsyncIterator[bytes]:
        hub = self._hub
        yield b"retry: 2000\n\n"
        while not hub.fanout.ending:
            changed.clear()
            for raw in await hub.reads.events(constellation, after, SSE_PAGE):
                event = decode_event(raw)
                after = event.seq
                yield f"id: {event.seq}\nevent: {event.kind}\ndata: ".encode() + raw + b"\n\n"
                changed.set()
            if changed.is_set():
                continue
            if ends and await self._is_final(constellation):
                return
            try:
                async with asyncio.timeout(KEEPALIVE_S):
                    await changed.wait()
            except TimeoutError:
                yield b": still here\n\n"

    async def _is_final(self, constellation: str) -> bool:
        headline = await self._hub.headlines.of(constellation)
        return headline is not None and headline.head.state in FINAL_CONSTELLATION_STATES

    async def _has_attempt(self, constellation: str, task: str, attempt: int) -> None:
        """Refuse an attempt that is not there; it reads every entity, so it is asked for an empty log alone."""
        state = await self._hub.reads.entities(constellation)
        entities = state.entities if state else {}
        if f"attempt/{task}/{attempt}" in entities:
            return
        if f"task/{task}" not in entities:
            tasks = [key.removeprefix("task/") for key in entities if key.startswith("task/")]
            near = difflib.get_close_matches(task, tasks, n=NAMED_MOST) or sorted(tasks)
            raise Problem(
                Code.UNKNOWN_TASK,
                f"there is no task {task[:80]}; there is {few(near, NAMED_MOST)}",
                status=404,
            )
        numbers = sorted(int(key.rpartition("/")[2]) for key in entities if key.startswith(f"attempt/{task}/"))
        alternative = (
            f"there is {few([str(number) for number in numbers], NAMED_MOST)}" if numbers else "it has not begun"
        )
        raise Problem(
            Code.NOT_FOUND,
            f"{task} has no attempt {attempt}; {alternative}",
            hint=f"See {V1}/constellations/{constellation} for its attempts.",
        )

    async def log(
        self,
        constellation: str,
        task: str,
        attempt: int,
        offset: Offset = None,
        tail: Tail = 64 * 1024,
        q: Annotated[str | None, Query(max_length=200)] = None,
    ) -> JsonReply[Output]:
        """Return output of an attempt: its last `tail` bytes, from `offset` on, or the lines that contain `q`."""
        await self._require(constellation)
        hub = self._hub
        await hub.logs.flush()
        if q:
            lines = await asyncio.to_thread(hub.attempt_logs.search, constellation, task, attempt, q)
            if not lines:
                await self._has_attempt(constellation, task, attempt)
            rows: list[OutputLine] = [{"offset": line.offset, "text": line.text} for line in lines]
            return json_reply({"lines": rows, "text": "\n".join(line.text for line in lines)})
        part = await asyncio.to_thread(hub.attempt_logs.read, constellation, task, attempt, offset, tail)
        if not part.end:
            await self._has_attempt(constellation, task, attempt)
        return json_reply(
            {"text": part.text, "offset": part.offset, "next": part.next, "end": part.end, "lost": part.lost}
        )
