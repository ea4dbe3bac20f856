"""The client of the measurement: submits a plan over REST and follows it on the live socket until it sees the end.

Reads as little of each message as it must, because it shares the machine with what it measures. One constellation at
a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect

from tests.bench.requests import Requests

API = "/api/v1"
WITHIN_S = 120.0
_FINAL = ("succeeded", "partial", "failed", "cancelled")
_encode = msgspec.json.Encoder().encode


class BenchFailed(Exception):
    """What was measured did not do what it should; a figure would be worth nothing."""


class Conflict(BenchFailed):
    """The hub answered 409: what was asked is not possible in the present state."""


class _Head(msgspec.Struct, frozen=True):
    state: str
    version: int = 0


class _Puts(msgspec.Struct, frozen=True):
    head: _Head | None = None


class _Event(msgspec.Struct, frozen=True):
    kind: str
    seq: int
    stream: str
    about: str = ""
    puts: _Puts = _Puts()


class _Frame(msgspec.Struct, frozen=True):
    t: str
    events: list[_Event] = []
    entities: _Puts = _Puts()
    reason: str = ""


_frame = msgspec.json.Decoder(_Frame)


@dataclass(slots=True)
class Seen:
    """What the client saw of one constellation. Times are on the client's monotonic clock, in seconds."""

    began: float
    accepted: float
    ended: float = 0.0
    state: str = ""
    version: int = 1
    done: int = 0
    resyncs: int = 0
    done_at: list[float] = field(default_factory=list)

    @property
    def wall_s(self) -> float:
        return self.ended - self.began


Completed = Callable[[str, Seen], Coroutine[Any, Any, None] | None]
"""Told of each task that succeeded, at once; what it returns is done beside the following and waited for."""


class HubClient:
    """One signed-in client with one live socket."""

    def __init__(self, url: str, token: str) -> None:
        self._http = Requests(url, token)
        self._url = url
        self._live: ClientConnection | None = None

    async def open(self) -> None:
        """Open the live socket."""
        ticket = (await self.post("/live/tickets", {}))["ticket"]
        live = await connect(
            self._url.replace("http", "ws", 1) + API + "/live", compression=None, max_size=None, proxy=None
        )
        await live.send(_encode({"t": "ticket", "ticket": ticket}).decode())
        frame = _frame.decode(await live.recv(decode=False))
        if frame.t != "ready":
            raise BenchFailed(f"the live socket said {frame.t}: {frame.reason}")
        self._live = live

    async def close(self) -> None:
        if self._live is not None:
            await self._live.close()
        await self._http.close()

    async def post(self, path: str, body: Any) -> Any:
        """POST and return the answer.

        Raises:
            Conflict: 409, with the hub's words.
            BenchFailed: any other status that is an error, with the hub's words.
        """
        async with asyncio.timeout(WITHIN_S):
            answer = await self._http.send("POST", API + path, _encode(body))
        if answer.status >= 400:
            failed = Conflict if answer.status == 409 else BenchFailed
            raise failed(f"{path}: {answer.status} {answer.text[:600]}")
        return msgspec.json.decode(answer.content)

    async def get_text(self, path: str) -> str:
        async with asyncio.timeout(WITHIN_S):
            return (await self._http.send("GET", path)).text

    async def run(self, plan: dict[str, Any], completed: Completed | None = None) -> Seen:
        """Submit a plan and follow it to its end; see `Completed`.

        Raises:
            BenchFailed: it did not succeed, or not in time.
        """
        began = time.perf_counter()
        made = await self.post("/constellations", {"plan": plan})
        seen = Seen(began=began, accepted=time.perf_counter())
        try:
            async with asyncio.timeout(WITHIN_S):
                await self._follow(str(made["id"]), seen, completed)
        except TimeoutError as error:
            raise BenchFailed(f"{plan['name']}: {seen.done} tasks done, no end within {WITHIN_S:g} s") from error
        if seen.state != "succeeded":
            raise BenchFailed(f"{plan['name']} ended {seen.state} with {seen.done} tasks done")
        return seen

    async def _follow(self, constellation: str, seen: Seen, completed: Completed | None) -> None:
        live = self._live
        if live is None:
            raise BenchFailed("the live socket is not open")
        edits: set[asyncio.Task[None]] = set()
        await self._subscribe(constellation, 0)
        while not seen.state:
            frame = _frame.decode(await live.recv(decode=False))
            now = time.perf_counter()
            if frame.t == "snapshot":
                self._head(frame.entities.head, seen, now)
            elif frame.t == "resync":
                seen.resyncs += 1
                await self._subscribe(constellation, -1)
            elif frame.t == "refuse":
                raise BenchFailed(f"the live socket was refused: {frame.reason}")
            for event in frame.events:
                if event.stream != constellation:
                    continue
                if event.kind == "task_succeeded":
                    seen.done += 1
                    seen.done_at.append(now)
                    beside = completed(constellation, seen) if completed is not None else None
                    if beside is not None:
                        edits.add(asyncio.create_task(beside))
                self._head(event.puts.head, seen, now)
        if edits:
            await asyncio.gather(*edits)
        await live.send(_encode({"t": "unsubscribe", "stream": constellation}).decode())

    async def _subscribe(self, constellation: str, after_seq: int) -> None:
        assert self._live is not None
        await self._live.send(_encode({"t": "subscribe", "stream": constellation, "after_seq": after_seq}).decode())

    @staticmethod
    def _head(head: _Head | None, seen: Seen, now: float) -> None:
        if head is None:
            return
        seen.version = max(seen.version, head.version)
        if head.state in _FINAL and not seen.state:
            seen.state, seen.ended = head.state, now
