"""The store on a real Redis: the engine's commit path, the projector behind it, and the shared reads.

Owns the one commit connection (one script in flight) and raises `Refused` only if a commit was not applied and never
will be. After any doubt about the connection a new one is opened under a new link token, so that nothing sent on the
old one can still be applied.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from starloom.store.faults import full, redis_is_full
from starloom.store.port import (
    Commit,
    EndedConstellation,
    KeyedHistory,
    Loaded,
    Ownership,
    PrunedPiece,
    Refused,
    StreamState,
    Unavailable,
)
from starloom.store.redis import keys, scripts
from starloom.store.redis.following import RedisLog
from starloom.store.redis.inbox import RedisInbox
from starloom.store.redis.link import Link, ReplyError, open_link, reaching
from starloom.store.redis.reads import PAGE_COMMITS, Reads, fold_stream, run_script
from starloom.store.redis.sketches import RedisSketches
from starloom.store.redis.takeover import how_of, take_over
from starloom.store.sql import history, pruning
from starloom.store.sql.ciphertexts import SqlCiphertexts
from starloom.store.sql.database import Database
from starloom.store.sql.history import PastCommit, Superseded, past_of
from starloom.store.sql.projector import Projector, Sleep

TRIM_MARGIN: Final = 256
TRIM_EVERY: Final = 64
ROWS_INLINE_MOST: Final = 500
LOAD_PIPELINE: Final = 64
RETIRE_AT_ONCE: Final = 100
READ_CONNECTIONS: Final = 16
INBOX_CONNECTIONS: Final = 256
OWNER_TTL_MS: Final = 5_000


class RedisStore(Reads):
    """`CommitPort` and `ReadPort`; `inbox` is the `InboxPort`, `ciphertexts` the `CiphertextPort`.

    One per process; `close` ends its tasks.
    """

    def __init__(
        self,
        url: str,
        database: Database,
        *,
        connect_within_s: float = 5.0,
        reply_within_s: float = 10.0,
        owner_ttl_ms: int = OWNER_TTL_MS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        # Pools that wait for a free connection: with redis-py's plain one a burst of readers would fail.
        self._client = Redis.from_pool(
            BlockingConnectionPool.from_url(
                url,
                max_connections=READ_CONNECTIONS,
                timeout=reply_within_s,
                socket_timeout=reply_within_s,
                socket_connect_timeout=connect_within_s,
                retry=Retry(NoBackoff(), 1),
            )
        )
        self._blocking = Redis.from_pool(
            BlockingConnectionPool.from_url(
                url,
                max_connections=INBOX_CONNECTIONS,
                timeout=reply_within_s,
                socket_timeout=None,
                socket_connect_timeout=connect_within_s,
                retry=Retry(NoBackoff(), 0),
            )
        )
        super().__init__(self._client, url, database)
        self.inbox = RedisInbox(self._blocking, url)
        self.ciphertexts = SqlCiphertexts(database)
        self.log = RedisLog(self._blocking, url, database)
        self.sketches = RedisSketches(self._blocking, url)
        self._url = url
        self._database = database
        self._connect_within_s = connect_within_s
        self._reply_within_s = reply_within_s
        self._owner_ttl_ms = owner_ttl_ms
        self._link: Link | None = None
        self._mark = secrets.token_hex(8)  # the start of this store's link tokens, to recognise its own tries
        self._token = ""
        self._tried_term = 0  # taken by this store, perhaps without a reply
        self._ownership: Ownership | None = None
        self._sent_pos = 0
        self._doubt: Commit | None = None  # sent, but whether it was applied is not known
        self._projector = Projector(self._project, sleep=sleep)
        self._opening = asyncio.Lock()

    async def take(
        self, owner: str, at_ms: int, keep: Collection[str] = (), *, over: int | None = None, polite: bool = False
    ) -> Ownership:
        async with self._opening:
            if self._ownership is not None:
                # An owner that takes its shard again may have commits that only its projector holds.
                if self._projector.runs:
                    await self._projector.drained()
                await self._projector.stop()
                self._ownership = None
            self._drop_link()
            link = self._link = await self._open_link()
            self._token = self._new_token()
            try:
                ownership, self._sent_pos = await take_over(
                    link,
                    self._database,
                    owner=f"{owner}@{at_ms}",
                    owner_ttl_ms=self._owner_ttl_ms,
                    mark=self._mark,
                    token=self._token,
                    write=self._write,
                    keep=keep,
                    how=how_of(owner, over, polite, self._tried_term),
                    began=self._began,
                )
            except ReplyError as error:
                self._drop_link()
                raise Unavailable(f"Redis at {self._place} cannot be taken: {error}") from error
            except BaseException:
                self._drop_link()
                raise
            self._ownership, self._doubt = ownership, None
            self._projector.start(ownership.watermark)
            return ownership

    async def renew(self, owner: str, term: int, at_ms: int) -> bool:
        async with reaching(self._place, "the lease of the shard"):
            renewed = await run_script(
                self._client, scripts.RENEW, [keys.TERM, keys.OWNER], [term, f"{owner}@{at_ms}", self._owner_ttl_ms]
            )
        return bool(renewed == 1)

    async def owns(self, term: int) -> bool:
        async with reaching(self._place, "the term of the shard"):
            current = await self._client.get(keys.TERM)
        return bool(current is not None and int(current) == term)

    async def leave(self, *, release: bool) -> None:
        async with self._opening:
            ownership, self._ownership = self._ownership, None
            await self._projector.stop()
            self._doubt = None
            self._drop_link()
        if ownership is not None and release:
            async with reaching(self._place, "the shard back"):
                await run_script(self._client, scripts.RELEASE, [keys.TERM, keys.OWNER], [ownership.term])

    async def load(self) -> Loaded:
        async with reaching(self._place, "what is live"):
            async with self._client.pipeline(transaction=True) as pipe:
                pipe.hgetall(keys.HEADS)
                pipe.mget(keys.POS, keys.SENT_POS)
                heads_raw, (pos, sent_pos) = await pipe.execute()
            heads = {stream.decode(): int(seq) for stream, seq in heads_raw.items()}
            entities: dict[str, dict[str, bytes]] = {}
            streams = list(heads)
            for at in range(0, len(streams), LOAD_PIPELINE):
                some = streams[at : at + LOAD_PIPELINE]
                async with self._client.pipeline(transaction=False) as pipe:
                    for stream in some:
                        pipe.hgetall(keys.entities(stream))
                    records = await pipe.execute()
                for stream, pairs in zip(some, records, strict=True):
                    entities[stream] = {key.decode(): raw for key, raw in pairs.items()}
            # The log keeps its last entry even when it is trimmed or rebuilt.
            last = [scripts.decode_entry(raw) for _, raw in await self._log(int(pos or 1) - 1)]
        return Loaded(
            at_ms=last[-1].at_ms if last else 0,
            entities=entities,
            heads=heads,
            outbox=await self._outbox(int(sent_pos or 0)),
            pos=int(pos or 0),
            sent_pos=int(sent_pos or 0),
        )

    async def commit(self, commit: Commit) -> None:
        self._owned()
        if self._doubt is not None:
            await self.position()
        await self._apply(commit, commit.term, commit.incarnation)

    async def position(self) -> tuple[int, int, str]:
        link = await self._live_link()
        try:
            pos, term = await link.call("MGET", keys.POS, keys.TERM)
        except ReplyError as error:
            raise Unavailable(f"Redis at {self._place} does not tell its position: {error}") from error
        self._settle_doubt(int(pos or 0))
        return int(pos or 0), int(term or 0), link.run_id

    async def retire(self, streams: Sequence[tuple[str, int]]) -> None:
        ownership, link = await self._owned_link()
        for at in range(0, len(streams) or 1, RETIRE_AT_ONCE):
            names, args = scripts.retire_call(self._as_owner(ownership), streams[at : at + RETIRE_AT_ONCE])
            scripts.read_commit_reply(await self._run(link, scripts.RETIRE, names, args))

    async def recall(self, streams: Sequence[str]) -> dict[str, StreamState]:
        recalled: dict[str, StreamState] = {}
        for stream, last in (await self._database.read(history.read_last_seqs, streams)).items():
            entities = await fold_stream(self._database, stream, last)
            ownership, link = await self._owned_link()
            names, args = scripts.recall_call(self._as_owner(ownership), stream, last, entities)
            scripts.read_commit_reply(await self._run(link, scripts.RECALL, names, args))
            recalled[stream] = StreamState(last, entities)
        return recalled

    async def prune(self, leaving: Sequence[EndedConstellation], at_ms: int, why: str) -> PrunedPiece:
        term = self._owned().term
        try:
            return await self._database.write(pruning.prune, term, leaving, at_ms, why)
        except Superseded as error:
            meta = await self._database.read(history.read_meta)
            raise Refused("term", found_pos=meta.watermark, found_term=meta.term) from error

    async def watermark(self, after: int) -> int:
        return await self._projector.passed(after)

    @property
    def damage(self) -> str:
        return self._database.damage

    def lag_ms(self, now_ms: int) -> int:
        return self._projector.lag_ms(now_ms)

    async def keyed(self) -> KeyedHistory:
        """Return what the history says of the keys of its hubs."""
        return await self._database.read(history.read_keyed)

    async def note_hub_key(self, key: str) -> None:
        await self._database.write(history.note_hub_key, key)

    async def close(self) -> None:
        """End the projector and close every connection. The next owner projects commits that SQL lacks."""
        await self._projector.stop()
        self._drop_link()
        await self._client.aclose()
        await self._blocking.aclose()
        await self._database.close()

    async def _apply(self, commit: Commit, term: int, incarnation: int) -> None:
        _, link = await self._owned_link()
        below = 0
        if commit.pos % TRIM_EVERY == 0:
            below = max(0, min(self._projector.watermark, self._sent_pos) - TRIM_MARGIN)
        names, args = scripts.commit_call(
            commit, term=term, incarnation=incarnation, link=self._token, trim_below=below
        )
        self._doubt = commit
        reply = await self._run(link, scripts.COMMIT, names, args)
        self._doubt = None
        scripts.read_commit_reply(reply)
        self._applied(commit)

    def _owned(self) -> Ownership:
        if self._ownership is None:
            raise Refused("not_taken", found_pos=0, found_term=0)
        return self._ownership

    async def _owned_link(self) -> tuple[Ownership, Link]:
        """Return the ownership with a connection to the Redis to which it belongs."""
        ownership = self._owned()
        link = await self._live_link()
        if link.run_id != ownership.run_id:
            pos, found_term, _ = await self.position()
            raise Refused("replaced", found_pos=pos, found_term=found_term)
        return ownership, link

    def _as_owner(self, ownership: Ownership) -> scripts.Owned:
        return scripts.Owned(ownership.term, ownership.incarnation, self._token)

    def _settle_doubt(self, pos: int) -> None:
        """Decide a commit whose reply never came: a later link has read `pos`, so it can no longer be applied."""
        commit, self._doubt = self._doubt, None
        if commit is not None and pos >= commit.pos:
            self._applied(commit)

    def _applied(self, commit: Commit) -> None:
        self._sent_pos = commit.sent_pos
        self._projector.add(past_of(commit), waited_for=commit.waited_for)

    async def _run(self, link: Link, script: scripts.Script, names: list[str], args: list[Any]) -> Any:
        try:
            return await link.run(script, names, args)
        except ReplyError as error:
            if redis_is_full(error):
                raise full(await _folder_of_log(link), f"Redis at {self._place}") from error
            raise Unavailable(f"Redis at {self._place} refused a script: {error}") from error

    async def _outbox(self, sent_pos: int) -> list[tuple[int, bytes]]:
        outbox: list[tuple[int, bytes]] = []
        at = sent_pos
        while True:
            entries = await self._log(at)
            for entry_id, raw in entries:
                at = keys.log_pos(entry_id)
                outbox.extend((at, effect) for effect in scripts.decode_entry(raw).outbox)
            if len(entries) < PAGE_COMMITS:
                return outbox

    async def _live_link(self) -> Link:
        """Return the open commit connection, or a new one that voids everything sent on the old one."""
        link = self._link
        if link is not None and link.is_open:
            return link
        async with self._opening:
            if self._link is not None and self._link.is_open:
                return self._link
            link = await self._open_link()
            if self._ownership is not None:
                token = self._new_token()
                try:
                    await self._run(link, scripts.OPEN, [keys.TERM, keys.LINK, keys.POS], [self._ownership.term, token])
                except BaseException:
                    link.close()
                    raise
                self._token = token
            self._link = link
            return link

    async def _open_link(self) -> Link:
        link = await open_link(self._url, connect_within_s=self._connect_within_s, reply_within_s=self._reply_within_s)
        try:
            for script in scripts.ENGINE_SCRIPTS:
                await link.call("SCRIPT", "LOAD", script.source)
        except ReplyError as error:
            link.close()
            raise Unavailable(f"Redis at {self._place} does not take scripts: {error}") from error
        return link

    def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close("closed by its owner")

    def _new_token(self) -> str:
        return f"{self._mark}:{secrets.token_hex(8)}"

    def _began(self, term: int) -> None:
        self._tried_term = term

    async def _project(self, batch: Sequence[PastCommit]) -> None:
        ownership = self._ownership
        if ownership is None:
            raise Superseded("the shard is not taken")
        await self._write(batch, ownership.term)

    async def _write(self, batch: Sequence[PastCommit], term: int) -> None:
        """Write a batch; one that was written although its reply was lost is recognised by the watermark.

        Raises:
            Superseded: the history belongs to another owner.
            Unavailable: the history does not answer.
        """
        if sum(len(commit.events) for commit in batch) > ROWS_INLINE_MOST:
            rows = await asyncio.to_thread(history.rows_of, batch)
        else:
            rows = history.rows_of(batch)
        try:
            await self._database.write(history.write_commits, rows, term)
        except Superseded:
            meta = await self._database.read(history.read_meta)
            if meta.term != term or not rows.first <= meta.watermark <= rows.last:
                raise
            missing = [commit for commit in batch if commit.pos > meta.watermark]
            if missing:
                await self._database.write(history.write_commits, history.rows_of(missing), term)


async def _folder_of_log(link: Link) -> Path | None:
    """Return the folder of Redis's append-only file, if Redis is on this machine and reports it."""
    try:
        reply = await link.call("CONFIG", "GET", "dir")
    except (ReplyError, Unavailable):
        return None
    folder = Path(os.fsdecode(reply[1])) if isinstance(reply, list) and len(reply) > 1 else None
    return folder if folder is not None and folder.is_dir() else None
