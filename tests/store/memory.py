"""The in-memory twin of the real store: the same ports and semantics, with failures on demand.

`MemoryRedis` and `MemoryHistory` outlive a hub; a `MemoryStore` is one hub's access to them. Tests and the simulator
pass both to the next store. Never reads a clock.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Final

import msgspec

from starloom.store.chain import ChainedCommit, Pruning
from starloom.store.port import (
    ActivityFilter,
    ActivityPage,
    Commit,
    Damaged,
    EndedConstellation,
    Followed,
    HistorySize,
    Loaded,
    Ownership,
    PrunedPiece,
    Refused,
    StreamRow,
    StreamState,
    Tombstone,
    Unavailable,
)
from starloom.store.redis.inbox import INBOX_MOST
from starloom.store.sql.audit import fits
from starloom.store.sql.history import PastCommit, Superseded, past_of
from starloom.store.sql.projector import Projector, Sleep
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event, fold
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES
from tests.store.memory_servers import (
    CommitFailure,
    Gone,
    MemoryHistory,
    MemoryRedis,
    Posted,
    Rebuilt,
    Settled,
    whole_of,
)

__all__ = ["CommitFailure", "MemoryHistory", "MemoryInbox", "MemoryLog", "MemoryRedis", "MemoryStore"]


class MemoryInbox:
    """`InboxPort` in memory; unsettled inputs are given again to the next `take`."""

    def __init__(self, redis: MemoryRedis, *, most: int = INBOX_MOST) -> None:
        self._redis = redis
        self._most = most

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes | None:
        redis = self._redis
        redis.reach()
        if len(redis.inbox) >= self._most:
            raise Unavailable(f"the inbox of the hub is full ({self._most} inputs); nothing was accepted, try again")
        redis.posted += 1
        number = redis.posted
        redis.put(Posted(number, raw, answer_within_s is not None))
        future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        if answer_within_s is not None:
            redis.answers[number] = future
        redis.arrived.set()
        if answer_within_s is None:
            return None
        try:
            answer = await asyncio.wait_for(future, answer_within_s)
        except TimeoutError as error:
            raise Unavailable(
                f"no hub answered within {answer_within_s:g} s; the input stays in the inbox and may still be taken"
            ) from error
        finally:
            redis.answers.pop(number, None)
        if answer is None:
            raise Unavailable("Redis in memory was replaced while an answer was waited for")
        return answer

    async def take(self) -> AsyncIterator[tuple[str, bytes]]:
        given = 0
        while True:
            waiting = [number for number in self._redis.inbox if number > given]
            for number in waiting:
                given = number
                found = self._redis.inbox.get(number)
                if found is not None:
                    yield str(number), found[0]
            if not waiting:
                self._redis.arrived.clear()
                await self._redis.arrived.wait()

    async def settle(self, delivery: str, answer: bytes) -> None:
        self._redis.reach()
        self._redis.put(Settled(int(delivery)))
        future = self._redis.answers.get(int(delivery))
        if future is not None and not future.done():
            future.set_result(answer)


class MemoryLog:
    """`LogPort` in memory. No lease runs out by time: a test or a simulator empties `redis.owner`."""

    def __init__(self, redis: MemoryRedis, history: MemoryHistory, sleep: Sleep) -> None:
        self._redis = redis
        self._history = history
        self._sleep = sleep

    async def end(self) -> tuple[int, int]:
        self._redis.reach()
        return self._redis.pos, self._redis.incarnation

    async def read_on(self, after: int, wait_ms: int) -> list[Followed]:
        self._redis.reach()
        if self._redis.pos <= after:
            await self._sleep(wait_ms / 1000)
            self._redis.reach()
        return [_followed(commit) for commit in self._redis.log if commit.pos > after][:200]

    async def commit_at(self, pos: int) -> Followed | None:
        self._redis.reach()
        found = next((_followed(commit) for commit in self._redis.log if commit.pos == pos), None)
        if found is None and pos > 0:
            # The log is cut below the watermark, so only the history can tell that there is no such commit.
            self._history.reach()
            found = next((_followed(commit) for commit in self._history.commits if commit.pos == pos), None)
        return found

    async def holder(self) -> str | None:
        self._redis.reach()
        return self._redis.owner.partition("@")[0] if self._redis.owner else None


def _pos_of(commit: Commit) -> int:
    return commit.pos


def _followed(commit: Commit | PastCommit) -> Followed:
    return Followed(events=list(commit.events), incarnation=commit.incarnation, pos=commit.pos)


class MemoryCiphertexts:
    """`CiphertextPort` over the history in memory."""

    def __init__(self, history: MemoryHistory) -> None:
        self._history = history

    async def put(self, identity: str, sealed: bytes, at_ms: int) -> None:
        self._history.reach()
        self._history.sealed[identity] = (sealed, at_ms)

    async def get(self, identity: str) -> bytes | None:
        self._history.reach()
        found = self._history.sealed.get(identity)
        return found[0] if found else None

    async def remove(self, identity: str) -> None:
        self._history.reach()
        self._history.sealed.pop(identity, None)

    async def sweep(self, named: Collection[str], before_ms: int) -> int:
        self._history.reach()
        old = [key for key, (_, at_ms) in self._history.sealed.items() if at_ms < before_ms and key not in named]
        for key in old:
            del self._history.sealed[key]
        return len(old)


class MemoryStore:
    """`CommitPort` and `ReadPort` over the two; `inbox` is the `InboxPort`, `ciphertexts` the `CiphertextPort`."""

    def __init__(
        self,
        redis: MemoryRedis | None = None,
        history: MemoryHistory | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.redis: Final = redis or MemoryRedis()
        self.history: Final = history or MemoryHistory()
        self.inbox: Final = MemoryInbox(self.redis)
        self.ciphertexts: Final = MemoryCiphertexts(self.history)
        self.log: Final = MemoryLog(self.redis, self.history, sleep)
        self._ownership: Ownership | None = None
        self._doubt: Commit | None = None
        self._tried_term = 0
        self._projector = Projector(self._project, sleep=sleep)

    async def take(
        self, owner: str, at_ms: int, keep: Collection[str] = (), *, over: int | None = None, polite: bool = False
    ) -> Ownership:
        if self._ownership is not None:
            if self._projector.runs:
                await self._projector.drained()
            await self._projector.stop()
            self._ownership = None
        redis, history = self.redis, self.history
        redis.reach()
        history.reach()
        self._may_take(owner, over, polite=polite)
        redis.hold(term=max(redis.term, history.meta.term) + 1, owner=f"{owner}@{at_ms}", link=self)
        if redis.lost_takings > 0:
            redis.lost_takings -= 1
            raise Unavailable("the reply of Redis in memory was lost")
        self._tried_term = redis.term
        meta = history.meta = msgspec.structs.replace(history.meta, term=redis.term)
        replaced = False
        if meta.run_id != redis.run_id or redis.pos < meta.watermark:
            replaced = meta.run_id != ""
            history.meta = msgspec.structs.replace(meta, incarnation=meta.incarnation + 1, run_id=redis.run_id)
        rest = [past_of(commit) for commit in redis.log if commit.pos > meta.watermark]
        if redis.pos > meta.watermark and (not rest or rest[0].pos != meta.watermark + 1):
            raise Damaged(f"the history ends at commit {meta.watermark}, the log in Redis does not go on from there")
        if rest:
            history.write(rest, redis.term)
        if redis.pos < meta.watermark:
            brought = [history.whole(stream) for stream in history.live(keep)]
            redis.put(Rebuilt([whole_of(commit) for commit in history.commits], brought))
        for stream in keep:
            if stream not in redis.heads and stream in history.streams:
                redis.put(history.whole(stream))
        for stream in [stream for stream in redis.heads if stream in history.gone]:
            # Redis has lost the retirement of the stream, which came before its pruning.
            redis.put(Gone(stream))
        redis.hold(incarnation=history.meta.incarnation)
        self._ownership = Ownership(
            heads=dict(redis.heads),
            incarnation=redis.incarnation,
            replaced=replaced,
            run_id=redis.run_id,
            term=redis.term,
            watermark=history.meta.watermark,
        )
        self._doubt = None
        self._projector.start(history.meta.watermark)
        return self._ownership

    def _may_take(self, owner: str, over: int | None, *, polite: bool) -> None:
        redis, meta = self.redis, self.history.meta
        if over is not None:
            # A term that this store took, whose reply was lost, does not belong to another store.
            if meta.term > max(over, self._tried_term):
                raise Refused("held", found_pos=meta.watermark, found_term=meta.term)
            held = redis.term > over and redis.link is not self
        else:
            held = polite and redis.owner.partition("@")[0] not in ("", owner)
        if held:
            raise Refused("held", found_pos=redis.pos, found_term=redis.term)

    async def owns(self, term: int) -> bool:
        self.redis.reach()
        return 0 < term == self.redis.term

    async def leave(self, *, release: bool) -> None:
        own, self._ownership = self._ownership, None
        await self._projector.stop()
        self._doubt = None
        if own is not None and release:
            self.redis.reach()
            if self.redis.term == own.term:
                self.redis.hold(owner="@released")

    async def renew(self, owner: str, term: int, at_ms: int) -> bool:
        self.redis.reach()
        if not 0 < term == self.redis.term:
            return False
        self.redis.hold(owner=f"{owner}@{at_ms}")
        return True

    async def load(self) -> Loaded:
        self.redis.reach()
        redis = self.redis
        return Loaded(
            at_ms=redis.log[-1].at_ms if redis.log else 0,
            entities={stream: dict(redis.entities.get(stream, {})) for stream in redis.heads},
            heads=dict(redis.heads),
            outbox=[(c.pos, raw) for c in redis.log if c.pos > redis.sent_pos for raw in c.outbox],
            pos=redis.pos,
            sent_pos=redis.sent_pos,
        )

    async def commit(self, commit: Commit) -> None:
        await asyncio.sleep(0)
        own, redis = self._ownership, self.redis
        if own is None:
            raise Refused("not_taken", found_pos=0, found_term=0)
        await self.position()
        if redis.run_id != own.run_id:
            raise Refused("replaced", found_pos=redis.pos, found_term=redis.term)
        failure = redis.failures.popleft() if redis.failures else None
        if failure is CommitFailure.REQUEST_LOST:
            self._doubt = commit
            raise Unavailable("the commit did not reach Redis in memory")
        lost = Unavailable("the reply of Redis in memory was lost") if failure is CommitFailure.REPLY_LOST else None
        try:
            self._apply(commit, commit.term, commit.incarnation)
        except Refused:
            # A refusal is a reply, too.
            if lost is None:
                raise
        self._doubt = commit
        if lost is not None:
            raise lost
        await self._replied()
        self._doubt = None
        self._projector.add(past_of(commit))

    async def _replied(self) -> None:
        """Mark the arrival of a commit's reply; an override that delays or loses it leaves the commit in doubt."""

    async def retire(self, streams: Sequence[tuple[str, int]]) -> None:
        await asyncio.sleep(0)
        self._owned()
        for stream, seq in streams:
            if self.redis.heads.get(stream) == seq:
                self.redis.put(Gone(stream))

    async def recall(self, streams: Sequence[str]) -> dict[str, StreamState]:
        await asyncio.sleep(0)
        self.history.reach()
        found: dict[str, StreamState] = {}
        for stream in streams:
            if stream in self.history.streams:
                self._owned()
                whole = self.history.whole(stream)
                self.redis.put(whole)
                found[stream] = StreamState(whole.seq, dict(whole.entities))
        return found

    def _owned(self) -> None:
        """Refuse an owner that has lost the shard to another, or whose Redis was replaced."""
        own, redis = self._ownership, self.redis
        if own is None:
            raise Refused("not_taken", found_pos=0, found_term=0)
        redis.reach()
        for why, mine, found in (
            ("replaced", own.run_id, redis.run_id),
            ("term", own.term, redis.term),
            ("incarnation", own.incarnation, redis.incarnation),
        ):
            if mine != found:
                raise Refused(why, found_pos=redis.pos, found_term=redis.term)
        if redis.link is not self:
            raise Refused("link", found_pos=redis.pos, found_term=redis.term)

    async def position(self) -> tuple[int, int, str]:
        self.redis.reach()
        commit, self._doubt = self._doubt, None
        if commit is not None and self.redis.pos >= commit.pos:
            self._projector.add(past_of(commit))
        return self.redis.pos, self.redis.term, self.redis.run_id

    async def watermark(self, after: int) -> int:
        return await self._projector.passed(after)

    @property
    def damage(self) -> str:
        return ""

    def lag_ms(self, now_ms: int) -> int:
        return self._projector.lag_ms(now_ms)

    async def close(self) -> None:
        await self._projector.stop()

    async def entities(self, stream: str) -> StreamState | None:
        self.redis.reach()
        seq = self.redis.heads.get(stream)
        if seq is not None:
            return StreamState(seq, dict(self.redis.entities.get(stream, {})))
        self.history.reach()
        events = self.history.streams.get(stream)
        return StreamState(len(events), await self.entities_at(stream, len(events))) if events else None

    async def live_entities(self, streams: Sequence[str]) -> dict[str, StreamState]:
        self.redis.reach()
        heads, entities = self.redis.heads, self.redis.entities
        return {name: StreamState(heads[name], dict(entities.get(name, {}))) for name in streams if name in heads}

    async def live_records(self, stream: str, names: Sequence[str]) -> dict[str, bytes]:
        self.redis.reach()
        found = self.redis.entities.get(stream, {}) if stream in self.redis.heads else {}
        return {name: found[name] for name in names if name in found}

    async def headlines(self, streams: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
        self.redis.reach()
        found = {}
        for stream in streams:
            live = self.redis.entities.get(stream, {}) if stream in self.redis.heads else {}
            if "head" not in live:
                self.history.reach()
                live = (await self.entities(stream) or (0, live))[1]
            if "head" in live:
                found[stream] = live["head"], live.get("answer")
        return found

    async def entities_at(self, stream: str, seq: int) -> dict[str, bytes]:
        events = await self.events(stream, 0, seq) if seq > 0 else []
        if len(events) < seq:
            raise ValueError(f"stream {stream} ends at {len(events)}; there is no state at {seq}")
        return fold({}, (decode_event(raw) for raw in events))

    async def events(self, stream: str, after: int, limit: int) -> list[bytes]:
        self.redis.reach()
        self.history.reach()
        found = self.history.streams.get(stream, [])[after : after + limit]
        last = after + len(found)
        for commit in self.redis.log[bisect_right(self.redis.log, self.history.meta.watermark, key=_pos_of) :]:
            for raw in commit.events:
                event = decode_event(raw)
                if event.stream == stream and event.seq == last + 1 and len(found) < limit:
                    found.append(raw)
                    last += 1
        return found

    async def constellations(
        self,
        *,
        states: Sequence[str],
        text: str | None,
        device: str | None,
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[StreamRow]:
        self.history.reach()
        wanted = (text or "").lower()
        fitting = [
            row
            for row in self.history.rows.values()
            if (not states or row.state in states)
            and (not wanted or wanted in row.name.lower() or wanted in row.request.lower() or text == row.id)
            and (device is None or row.id in self.history.devices.get(device, ()))
            and (before is None or (row.created_ms, row.id) < before)
        ]
        return sorted(fitting, key=lambda row: (row.created_ms, row.id), reverse=True)[:limit]

    async def device_work(self, devices: Sequence[str], since_ms: int) -> dict[str, dict[str, int]]:
        self.history.reach()
        found: dict[str, dict[str, int]] = {}
        for device in devices:
            rows = [self.history.rows[name] for name in self.history.devices.get(device, ())]
            states = Counter(row.state for row in rows if row.created_ms >= since_ms)
            if states:
                found[device] = dict(states)
        return found

    async def failed_work(self, devices: Sequence[str], since_ms: int) -> dict[str, list[str]]:
        self.history.reach()
        rows = [row for row in self.history.rows.values() if row.state == "failed" and row.created_ms >= since_ms]
        had = {
            row.id: sorted(one for one in devices if row.id in self.history.devices.get(one, ()))
            for row in sorted(rows, key=lambda row: (-row.created_ms, row.id))
        }
        return {name: found for name, found in had.items() if found}

    async def commits_after(self, after: int, limit: int) -> list[ChainedCommit]:
        self.history.reach()
        return self.history.commits_after(after, limit)

    async def prunings(self, after: int, limit: int) -> list[Pruning]:
        self.history.reach()
        return self.history.prunings[after : after + limit]

    async def tombstone(self, constellation: str) -> Tombstone | None:
        self.history.reach()
        no = self.history.gone.get(constellation)
        if no is None:
            return None
        made = self.history.prunings[no - 1]
        return Tombstone(at_ms=made.at_ms, why=made.why)

    async def pruned_since(self, after: int, limit: int) -> tuple[int, list[str]]:
        self.history.reach()
        return len(self.history.prunings), [name for name, no in self.history.gone.items() if no > after][:limit]

    async def history_size(self) -> HistorySize:
        self.history.reach()
        made = self.history.prunings
        return HistorySize(
            bytes=sum(len(raw) for commit in self.history.commits for raw in (*commit.events, *commit.inputs)),
            constellations=len(self.history.rows),
            oldest_ms=min((row.created_ms for row in self.history.rows.values()), default=0),
            pruned=len(self.history.gone),
            pruned_ms=made[-1].at_ms if made else 0,
        )

    async def lasting_bytes(self) -> int:
        self.history.reach()
        streams = {commit.pos: {decode_event(raw).stream for raw in commit.events} for commit in self.history.commits}
        lasting = [commit for commit in self.history.commits if streams[commit.pos] <= {ACCESS, FLEET}]
        return sum(len(raw) for commit in lasting for raw in (*commit.events, *commit.inputs))

    async def ended(self, after: tuple[int, str], limit: int) -> list[EndedConstellation]:
        self.history.reach()
        rows = [
            row
            for row in self.history.rows.values()
            if row.ended_ms > 0 and row.state in FINAL_CONSTELLATION_STATES and (row.ended_ms, row.id) > after
        ]
        return [
            EndedConstellation(
                bytes=sum(map(len, self.history.streams[row.id])),
                devices=sorted(name for name, ids in self.history.devices.items() if row.id in ids),
                ended_ms=row.ended_ms,
                id=row.id,
            )
            for row in sorted(rows, key=lambda row: (row.ended_ms, row.id))[:limit]
        ]

    async def prune(self, leaving: Sequence[EndedConstellation], at_ms: int, why: str) -> PrunedPiece:
        await asyncio.sleep(0)
        own = self._ownership
        if own is None:
            raise Refused("not_taken", found_pos=0, found_term=0)
        try:
            return self.history.prune(leaving, at_ms, why, own.term)
        except Superseded as error:
            meta = self.history.meta
            raise Refused("term", found_pos=meta.watermark, found_term=meta.term) from error

    async def position_of(self, stream: str, seq: int) -> int | None:
        self.history.reach()
        found = None
        for commit in self.history.commits if stream not in self.history.gone else ():
            for raw in commit.events:
                event = decode_event(raw)
                if event.stream == stream and (seq in (0, event.seq)):
                    found = commit.pos
        return found

    async def durable_pos(self) -> int:
        self.history.reach()
        return self.history.meta.watermark

    async def owned_since(self, pos: int) -> int:
        self.history.reach()
        term = self.history.commits[self.history.place(pos)].term
        return next(commit.pos for commit in self.history.commits if commit.term == term)

    async def live_before(self, pos: int) -> dict[str, int]:
        at_ms = self.history.commits[self.history.place(pos)].at_ms
        ended = [row.id for row in self.history.rows.values() if 0 < row.ended_ms < at_ms]
        names = [name for name in self.history.streams if name not in ended]
        return {name: seq for name in names if (seq := await self.last_before(name, pos))}

    async def last_before(self, stream: str, pos: int) -> int:
        self.history.reach()
        before = (raw for commit in self.history.commits[: self.history.place(pos)] for raw in commit.events)
        return sum(1 for raw in before if decode_event(raw).stream == stream)

    async def activity(self, wanted: ActivityFilter, before: tuple[int, int] | None, limit: int) -> ActivityPage:
        self.history.reach()
        rows = [
            (commit.pos, place, raw)
            for commit in reversed(self.history.commits)
            for place, raw in reversed(list(enumerate(commit.events)))
            if before is None or (commit.pos, place) < before
        ]
        found = [row for row in rows if fits(decode_event(row[2]), row[2], wanted)]
        return ActivityPage(events=found[:limit], next=found[limit - 1][:2] if len(found) >= limit else None)

    def _apply(self, commit: Commit, term: int, incarnation: int) -> None:
        redis = self.redis
        why = ""
        if redis.term != term:
            why = "term"
        elif redis.incarnation != incarnation:
            why = "incarnation"
        elif redis.link is not self:
            why = "link"
        elif redis.pos + 1 != commit.pos:
            why = "pos"
        if why:
            raise Refused(why, found_pos=redis.pos, found_term=redis.term)
        redis.put(commit)

    async def _project(self, batch: Sequence[PastCommit]) -> None:
        own, meta = self._ownership, self.history.meta
        if own is None:
            raise Superseded("the shard is not taken")
        if meta.term == own.term and batch[0].pos <= meta.watermark <= batch[-1].pos:
            # An earlier try was applied although its reply was lost; `RedisStore` recognises this too.
            self.history.reach()
            batch = [commit for commit in batch if commit.pos > meta.watermark]
        if batch:
            self.history.write(batch, own.term)
