"""One connection to Redis without layers: the commit path of the engine.

Owns the socket, the RESP parser (hiredis) and the order of replies. Any failure, time-out or cancelled call closes the
connection, because replies could no longer be matched to calls; `open_link` makes another.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, cast

import hiredis
from redis.asyncio.connection import parse_url
from redis.exceptions import RedisError

from starloom.store.faults import full, redis_is_full
from starloom.store.port import Unavailable
from starloom.store.redis.scripts import Arg, Script

REDIS_LOOK_S: Final = 5.0
"""How long a command waits for a Redis that it looks at."""


class ReplyError(Exception):
    """Redis answered with an error; the command had no effect."""


class Link(asyncio.Protocol):
    """A connection whose calls are answered in order; several may be in flight."""

    def __init__(self, *, reply_within_s: float) -> None:
        self.run_id = ""
        self._reader = hiredis.Reader()
        self._reply_within_s = reply_within_s
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._watch: asyncio.TimerHandle | None = None
        self._lost_because: str | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        waiting = self._waiting
        while True:
            try:
                reply = self._reader.gets()
            except hiredis.ProtocolError as error:
                self.close(f"Redis sent what is not RESP: {error}")
                return
            if reply is False:
                return
            if not waiting:
                self.close("Redis sent a reply that nobody asked for")
                return
            future, _ = waiting.popleft()
            if not future.done():
                future.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self.close(f"the connection to Redis was lost ({exc or 'closed by Redis'})")

    @property
    def is_open(self) -> bool:
        return self._lost_because is None and self._transport is not None

    def close(self, why: str = "closed") -> None:
        """Close the connection; every call in flight fails with `Unavailable`. Idempotent."""
        if self._lost_because is None:
            self._lost_because = why
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_exception(Unavailable(self._lost_because))

    async def call(self, *args: Arg) -> Any:
        """Send one command and return its reply.

        Raises:
            ReplyError: Redis refused the command.
            Unavailable: there was no reply; whether the command was carried out is unknown.
        """
        if self._transport is None:
            raise Unavailable(self._lost_because or "not connected")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append((future, self._loop.time()))
        packed = hiredis.pack_command(args)  # type: ignore[arg-type]  # the stub means a tuple of any length
        self._transport.write(packed)
        if self._watch is None:
            self._look()
        try:
            reply = await future
        except asyncio.CancelledError:
            self.close("a call was cancelled before its reply came")
            raise
        if isinstance(reply, hiredis.ReplyError):
            raise ReplyError(str(reply))
        return reply

    def _look(self) -> None:
        """Close the connection if the oldest call has waited too long; check again when the next oldest would have.

        One timer watches all calls: a timer for each would cost as much as sending the call.
        """
        self._watch = None
        if not self._waiting:
            return
        due_s = self._waiting[0][1] + self._reply_within_s
        if self._loop.time() >= due_s:
            self.close(f"Redis did not answer within {self._reply_within_s:g} s")
        else:
            self._watch = self._loop.call_at(due_s, self._look)

    async def run(self, script: Script, names: Sequence[str], args: Sequence[Arg]) -> Any:
        """Run a script by its hash, or by its source if Redis has forgotten it.

        Raises:
            ReplyError, Unavailable: as `call` does.
        """
        try:
            return await self.call("EVALSHA", script.sha, len(names), *names, *args)
        except ReplyError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
        return await self.call("EVAL", script.source, len(names), *names, *args)


async def open_link(url: str, *, connect_within_s: float, reply_within_s: float) -> Link:
    """Connect, sign in, choose the database and learn the server's run id.

    Raises:
        Unavailable: Redis does not answer or refuses the sign-in.
    """
    options = parse_url(url)
    loop = asyncio.get_running_loop()

    def make() -> Link:
        return Link(reply_within_s=reply_within_s)

    link: Link | None = None
    try:
        async with asyncio.timeout(connect_within_s):
            if "path" in options:
                _, link = await loop.create_unix_connection(make, options["path"])
            else:
                tls = ssl.create_default_context() if url.startswith("rediss:") else None
                _, link = await loop.create_connection(
                    make, options.get("host", "localhost"), options.get("port", 6379), ssl=tls
                )
            if options.get("password"):
                name = (options["username"],) if options.get("username") else ()
                await link.call("AUTH", *name, options["password"])
            if options.get("db"):
                await link.call("SELECT", options["db"])
            link.run_id = _run_id(await link.call("INFO", "server"))
    except (OSError, TimeoutError, ReplyError, Unavailable) as error:
        if link is not None:
            link.close()
        detail = str(error) or f"no answer within {connect_within_s:g} s"
        raise Unavailable(f"Redis at {place_of(url)} cannot be used: {detail}") from error
    except BaseException:
        if link is not None:
            link.close()
        raise
    return link


async def look_at(url: str, within_s: float) -> list[str]:
    """Return the settings of a Redis by which a hub could lose what it has there, each with the way out.

    Raises:
        Unavailable: it does not answer, or refuses the sign-in.
    """
    link = await open_link(url, connect_within_s=within_s, reply_within_s=within_s)
    try:
        reports = await link.call("INFO", "memory") + await link.call("INFO", "persistence")
    except ReplyError as error:
        raise Unavailable(f"Redis at {place_of(url)} cannot be looked at: {error}") from error
    finally:
        link.close()
    info = {line.partition(":")[0]: line.partition(":")[2] for line in reports.decode(errors="replace").splitlines()}
    faults = []
    policy = info.get("maxmemory_policy", "noeviction")
    if info.get("maxmemory", "0") != "0" and policy != "noeviction":
        faults.append(f"it throws keys away when its memory is full ({policy}): set maxmemory-policy noeviction")
    if info.get("aof_enabled") == "0":
        faults.append("it keeps no append-only file, so a restart of it loses its last moments: set appendonly yes")
    return faults


def _run_id(info: bytes) -> str:
    for line in info.splitlines():
        if line.startswith(b"run_id:"):
            return line[7:].decode()
    raise Unavailable("Redis does not tell its run id (INFO server); a replaced Redis could not be noticed")


def place_of(url: str) -> str:
    """Return the place of a URL, without user and password."""
    with contextlib.suppress(ValueError):
        options = parse_url(url)
        if "path" in options:
            return str(options["path"])
        return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    return "an address that cannot be read"


@contextlib.asynccontextmanager
async def reaching(place: str, what: str) -> AsyncIterator[None]:
    """Turn a failure of Redis into `Unavailable` with the place and the operation."""
    try:
        yield
    except (RedisError, OSError, TimeoutError) as error:
        if redis_is_full(error):
            raise full(None, f"Redis at {place}") from error
        raise Unavailable(f"Redis at {place} did not give {what}: {error or type(error).__name__}") from error


def stream_entries(reply: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Return the entries in the reply to a read of one stream; none if it timed out."""
    if not reply:
        return []
    streams = reply.values() if isinstance(reply, dict) else [entries for _, entries in reply]
    entries = list(next(iter(streams)))
    # RESP3 wraps the entries of a stream once more.
    return list(entries[0]) if entries and isinstance(entries[0], list) else entries
