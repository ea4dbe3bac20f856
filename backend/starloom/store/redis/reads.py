"""Reads of the shard for any process: live streams from Redis, the rest from the history, without gap or duplicate.

Owns no state and writes nothing; the hub's edge, Celery workers and other hubs each have one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from starloom.store.chain import ChainedCommit, Pruning, decode_numbered
from starloom.store.faults import UNREADABLE, corrupt
from starloom.store.port import (
    ActivityFilter,
    ActivityPage,
    Corrupt,
    Damaged,
    EndedConstellation,
    HistorySize,
    StreamRow,
    StreamState,
    Tombstone,
    Unavailable,
)
from starloom.store.redis import keys
from starloom.store.redis.link import place_of, reaching
from starloom.store.redis.scripts import Arg, Script, decode_entry
from starloom.store.sql import audit, history, pruning
from starloom.store.sql.database import Database
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.text.wording import quoted

PAGE_EVENTS: Final = 5_000
PAGE_COMMITS: Final = 200
STREAMS_AT_ONCE: Final = 64
TRIES: Final = 5


class _Puts(msgspec.Struct):
    puts: dict[str, msgspec.Raw]


_puts = msgspec.json.Decoder(_Puts)
_NULL = msgspec.Raw(b"null")  # msgspec does not decode `Raw | None`


class Reads:
    """`ReadPort` over Redis and the history."""

    def __init__(self, redis: Redis, url: str, database: Database) -> None:
        self._redis = redis
        self._place = place_of(url)
        self._database = database

    async def entities(self, stream: str) -> StreamState | None:
        async with reaching(self._place, f"the entities of {stream}"), self._redis.pipeline(transaction=True) as pipe:
            pipe.hget(keys.HEADS, stream)
            pipe.hgetall(keys.entities(stream))
            seq, records = await pipe.execute()
        if seq is not None:
            return StreamState(int(seq), {key.decode(): raw for key, raw in records.items()})
        # Not live: the stream was retired, or does not exist.
        last = await self._database.read(history.read_last_seq, stream)
        if last == 0:
            return None
        records = await self.entities_at(stream, last)
        try:
            await asyncio.to_thread(_check_records, records)
        except UNREADABLE as error:
            raise self._corrupt(stream, error) from error
        return StreamState(last, records)

    def _corrupt(self, stream: str, error: Exception) -> Corrupt:
        fault = corrupt(self._database.place, f"a record of {stream} cannot be read ({error})")
        self._database.damage = self._database.damage or str(fault)
        return fault

    async def live_entities(self, streams: Sequence[str]) -> dict[str, StreamState]:
        live: dict[str, StreamState] = {}
        for at in range(0, len(streams), STREAMS_AT_ONCE):
            some = streams[at : at + STREAMS_AT_ONCE]
            async with reaching(self._place, "what is live"), self._redis.pipeline(transaction=True) as pipe:
                pipe.hmget(keys.HEADS, some)
                for stream in some:
                    pipe.hgetall(keys.entities(stream))
                seqs, *records = await pipe.execute()
            for stream, seq, raw in zip(some, seqs, records, strict=True):
                if seq is not None:
                    live[stream] = StreamState(int(seq), {key.decode(): value for key, value in raw.items()})
        return live

    async def live_records(self, stream: str, names: Sequence[str]) -> dict[str, bytes]:
        async with reaching(self._place, f"records of {stream}"), self._redis.pipeline(transaction=True) as pipe:
            pipe.hget(keys.HEADS, stream)
            pipe.hmget(keys.entities(stream), list(names))
            live, records = await pipe.execute()
        if live is None:
            return {}
        return {name: raw for name, raw in zip(names, records, strict=True) if raw is not None}

    async def headlines(self, streams: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
        if not streams:
            return {}
        async with reaching(self._place, "the headlines"), self._redis.pipeline(transaction=True) as pipe:
            pipe.hmget(keys.HEADS, streams)
            for stream in streams:
                pipe.hmget(keys.entities(stream), ["head", "answer"])
            live, *entities = await pipe.execute()
        headlines = {
            stream: (head, answer)
            for stream, seq, (head, answer) in zip(streams, live, entities, strict=True)
            if seq is not None and head is not None
        }
        if others := [stream for stream in streams if stream not in headlines]:
            headlines |= await self._database.read(history.read_headlines, others)
        for stream in others:
            # Its row is older than the column of heads.
            if (
                stream not in headlines
                and (state := await self.entities(stream)) is not None
                and "head" in state.entities
            ):
                headlines[stream] = state.entities["head"], state.entities.get("answer")
        return headlines

    async def entities_at(self, stream: str, seq: int) -> dict[str, bytes]:
        state: dict[str, bytes] = {}
        after = 0
        while after < seq:
            page = await self.events(stream, after, min(PAGE_EVENTS, seq - after))
            if not page:
                raise ValueError(f"stream {stream} ends at {after}; there is no state at {seq}")
            try:
                await asyncio.to_thread(_fold, state, page)
            except UNREADABLE as error:
                raise self._corrupt(stream, error) from error
            after += len(page)
        return state

    async def events(self, stream: str, after: int, limit: int) -> list[bytes]:
        for _ in range(TRIES):
            events = await self._events(stream, after, limit)
            if events is not None:
                return events
        raise Unavailable(
            f"the events of {stream} after {after} moved from Redis to the history faster than they could be read; "
            "try again"
        )

    async def constellations(
        self,
        *,
        states: Sequence[str],
        text: str | None,
        device: str | None,
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[StreamRow]:
        return await self._database.read(history.list_constellations, states, text, device, before, limit)

    async def device_work(self, devices: Sequence[str], since_ms: int) -> dict[str, dict[str, int]]:
        return await self._database.read(history.count_device_work, devices, since_ms)

    async def failed_work(self, devices: Sequence[str], since_ms: int) -> dict[str, list[str]]:
        return await self._database.read(history.list_failed_work, devices, since_ms)

    async def commits_after(self, after: int, limit: int) -> list[ChainedCommit]:
        return await self._database.read(audit.read_whole_commits, after, limit)

    async def prunings(self, after: int, limit: int) -> list[Pruning]:
        return await self._database.read(pruning.read_prunings, after, limit)

    async def tombstone(self, constellation: str) -> Tombstone | None:
        return await self._database.read(pruning.read_tombstone, constellation)

    async def pruned_since(self, after: int, limit: int) -> tuple[int, list[str]]:
        return await self._database.read(pruning.read_pruned_since, after, limit)

    async def history_size(self) -> HistorySize:
        return await self._database.read(pruning.read_history_size)

    async def lasting_bytes(self) -> int:
        return await self._database.read(pruning.read_lasting_bytes)

    async def ended(self, after: tuple[int, str], limit: int) -> list[EndedConstellation]:
        return await self._database.read(pruning.read_ended, after, limit)

    async def durable_pos(self) -> int:
        return (await self._database.read(history.read_meta)).watermark

    async def position_of(self, stream: str, seq: int) -> int | None:
        return await self._database.read(audit.read_position, stream, seq)

    async def owned_since(self, pos: int) -> int:
        return await self._database.read(audit.read_owned_since, pos)

    async def live_before(self, pos: int) -> dict[str, int]:
        return await self._database.read(audit.read_live_before, pos)

    async def last_before(self, stream: str, pos: int) -> int:
        return await self._database.read(audit.read_last_before, stream, pos)

    async def activity(self, wanted: ActivityFilter, before: tuple[int, int] | None, limit: int) -> ActivityPage:
        return await self._database.read(audit.read_activity, wanted, before, limit)

    async def _events(self, stream: str, after: int, limit: int) -> list[bytes] | None:
        """Return events, or None if the log was trimmed between the two reads."""
        watermark, durable = await self._database.read(history.read_events, stream, after, limit)
        bodies = [body for _, body in durable]
        last = durable[-1][0] if durable else after
        if len(bodies) >= limit:
            return bodies
        pos = watermark
        while True:
            entries = await self._log(pos)
            for entry_id, raw in entries:
                entry_pos = keys.log_pos(entry_id)
                if entry_pos != pos + 1:
                    return None
                pos = entry_pos
                for body in decode_entry(raw).events:
                    event = decode_numbered(body)
                    if event.stream != stream or event.seq <= last:
                        continue
                    if event.seq != last + 1:
                        return None
                    bodies.append(body)
                    last = event.seq
                    if len(bodies) >= limit:
                        return bodies
            if len(entries) < PAGE_COMMITS:
                return bodies

    async def _log(self, after: int) -> list[tuple[bytes, bytes]]:
        async with reaching(self._place, "the log"):
            entries = cast(
                "list[tuple[bytes, dict[bytes, bytes]]]",
                await self._redis.xrange(keys.LOG, min=keys.log_id(after + 1), count=PAGE_COMMITS),
            )
        return [(entry_id, fields[b"c"]) for entry_id, fields in entries]


async def run_script(redis: Redis, script: Script, names: Sequence[str], args: Sequence[Arg]) -> Any:
    """Run a script by its hash, or by its source if Redis has forgotten it."""
    try:
        return await redis.evalsha(script.sha, len(names), *names, *args)
    except NoScriptError:
        return await redis.eval(script.source, len(names), *names, *args)


def _fold(state: dict[str, bytes], events: list[bytes]) -> None:
    for raw in events:
        for key, record in _puts.decode(raw).puts.items():
            if record == _NULL:
                state.pop(key, None)
            else:
                state[key] = bytes(record)


def _check_records(state: dict[str, bytes]) -> None:
    """Raise one of `UNREADABLE` for a record whose bytes have changed on disk: SQLite has no checksums."""
    for key, raw in state.items():
        try:
            decode_entity(key, raw)
        except KeyError as error:
            raise msgspec.DecodeError(f"no record has the key {quoted(key)}") from error


def fold_events(events: list[bytes]) -> dict[str, bytes]:
    """Fold all events of a stream into its entities; may take long, run it in a thread."""
    state: dict[str, bytes] = {}
    _fold(state, events)
    return state


async def fold_stream(database: Database, stream: str, last: int) -> dict[str, bytes]:
    """Return the entities of a stream at its event `last`, from the history alone.

    Raises:
        Damaged: an event is missing.
        Corrupt: an event cannot be read.
    """
    bodies: list[bytes] = []
    while len(bodies) < last:
        _, page = await database.read(history.read_events, stream, len(bodies), min(PAGE_EVENTS, last - len(bodies)))
        if not page or page[0][0] != len(bodies) + 1 or page[-1][0] != len(bodies) + len(page):
            raise Damaged(f"the history lacks an event of {stream} after {len(bodies)}; restore it from a backup")
        bodies.extend(body for _, body in page)
    try:
        return await asyncio.to_thread(fold_events, bodies)
    except UNREADABLE as error:
        raise corrupt(database.place, f"a record of {stream} cannot be read ({error})") from error
