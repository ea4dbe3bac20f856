"""The memory twin beside a real Redis and SQLite: random calls of every port, compared call by call.

`python -m tests.store.twins --seed N --sequences M --calls K`; what differs is made small and printed. After each call
both must have given the same answer or the same refusal, and hold the same state.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from starloom.store.port import ActivityFilter, Commit, Damaged, Ownership, Refused, Unavailable
from starloom.store.redis import keys
from starloom.store.redis.store import RedisStore
from starloom_protocol.vocabulary import ConstellationState
from tests.store.harness import MemoryWorld, RedisWorld, Store
from tests.store.memory import CommitFailure
from tests.store.sample import attempt, commit, head, task
from tests.store.twin_calls import Call, draw_calls
from tests.waiting import PATIENCE_S

HUBS = ("a", "b", "reader")
TRIES_MOST = 500
"""Sequences played to make a difference small: one of 40 calls needs about 100."""


class Side:
    """One of the two worlds, with two hubs and a reader."""

    def __init__(self, world: MemoryWorld | RedisWorld) -> None:
        self.world = world
        self.stores: list[Store] = []
        self.own: list[Ownership | None] = [None, None]
        self.seqs: dict[str, int] = {}
        self.pos = 0
        self.sent_pos = 0
        self.made: list[Commit] = []
        self.marks: list[int] = []
        self._runs: list[str] = []
        self._asking: dict[str, asyncio.Task[bytes | None]] = {}
        self._posted = 0
        self._history_is_down = False

    async def begin(self) -> None:
        for _ in HUBS:
            self.stores.append(await self.world.store())

    async def end(self) -> None:
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        for store in self.stores:
            await store.close()

    async def do(self, call: Call) -> Any:
        """Carry a call out and return its answer, or how it was refused."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return self._plain(await getattr(self, f"_{call.kind}")(call, self.stores[call.at], **call.more))
        except Refused as refused:
            return ["refused", refused.why, refused.found_pos, refused.found_term]
        except (Unavailable, Damaged, ValueError) as error:
            return ["failed", type(error).__name__]
        finally:
            self.world.forget_failures()

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Ownership):
            value = msgspec.structs.replace(value, run_id=self._run(value.run_id))
        return value

    def _run(self, run_id: str) -> str:
        if run_id not in self._runs:
            self._runs.append(run_id)
        return f"run {self._runs.index(run_id)}"

    async def settled(self) -> None:
        """Wait until what can be durable is."""
        for store in self.stores[:2]:
            while not self._history_is_down and store._projector.runs and store._projector._queue:
                with contextlib.suppress(Unavailable):
                    await store._projector.drained()

    async def state(self, *, whole: bool) -> dict[str, Any]:
        """Return what is stored, as anyone may read it; the history only if it is to be `whole` or Redis lost some."""
        reader = self.stores[2]
        pos, term, run = await self._patient(reader.position)
        loaded = await self._patient(reader.load)
        state: dict[str, Any] = {
            "position": (pos, term, self._run(run)),
            "loaded": loaded,
            "end": await self._patient(reader.log.end),
            "holder": await self._patient(reader.log.holder),
            "inbox": await self._inbox_size(),
        }
        if not self._history_is_down and (whole or pos < self.pos):
            rows = await reader.constellations(states=(), text=None, device=None, before=None, limit=99)
            state |= {"kept": await reader.commits_after(0, 1_000), "rows": rows}
            events = [msgspec.json.decode(raw) for one in state["kept"] for raw in one.events]
            self.seqs = {event["stream"]: event["seq"] for event in events}
        self.pos, self.sent_pos, self.seqs = pos, loaded.sent_pos, self.seqs | loaded.heads
        return state

    async def _patient(self, ask: Any) -> Any:
        """Ask again where a connection to a Redis that was replaced is found broken first."""
        for _ in range(5):
            with contextlib.suppress(Unavailable):
                return await ask()
        return await ask()

    async def _inbox_size(self) -> int:
        if isinstance(self.world, MemoryWorld):
            return len(self.world.redis.inbox)
        return int(await self.world.direct("XLEN", keys.INBOX))

    def _owned(self, at: int) -> Ownership:
        return self.own[at] or Ownership(incarnation=1, replaced=False, run_id="", term=1, watermark=0)

    async def _take(self, call: Call, store: Store, *, polite: bool, keep: list[str]) -> Ownership:
        own = self.own[call.at] = await store.take(HUBS[call.at], 1, keep, polite=polite)
        return own

    async def _take_again(self, call: Call, store: Store, *, over: int, keep: list[str]) -> Ownership:
        own = await store.take(HUBS[call.at], 2, keep, over=self._owned(call.at).term + over)
        self.own[call.at] = own
        return own

    async def _lost_taking(self, call: Call, store: Store) -> None:
        self.world.lose_next_taking()
        await store.take(HUBS[call.at], 3)

    async def _renew(self, call: Call, store: Store, *, term: int) -> bool:
        return await store.renew(HUBS[call.at], self._owned(call.at).term + term, 4)

    async def _owns(self, call: Call, store: Store, *, term: int) -> bool:
        return await store.owns(self._owned(call.at).term + term)

    async def _leave(self, call: Call, store: Store, *, release: bool) -> None:
        self.own[call.at] = None
        await store.leave(release=release)

    async def _position(self, call: Call, store: Store) -> Any:
        pos, term, run = await store.position()
        return pos, term, self._run(run)

    def _made(self, at: int, parts: Any, outbox: list[str], sent: int, term: int, incarnation: int, pos: int) -> Commit:
        own = self._owned(at)
        built = []
        for stream, puts in parts:
            seq = self.seqs.get(stream, 0) + 1
            # A constellation begins with its head.
            first = {"head": "active"} if seq == 1 and stream != "fleet" else {}
            built.append((stream, seq, {key: _bytes(stream, key, word) for key, word in (first | dict(puts)).items()}))
        made = commit(
            own,
            self.pos + 1 + pos,
            built,
            at_ms=100 + self.pos * 10,
            incarnation=own.incarnation + incarnation,
            outbox=[word.encode() for word in outbox],
            sent_pos=max(self.sent_pos, self.pos - sent),  # what was handed over is not taken back
            term=own.term + term,
        )
        return msgspec.structs.replace(made, inputs=[b"input %d" % made.pos], waited_for=bool(outbox))

    async def _commit(
        self,
        call: Call,
        store: Store,
        *,
        parts: Any,
        outbox: list[str],
        sent: int,
        term: int = 0,
        incarnation: int = 0,
        pos: int = 0,
    ) -> None:
        made = self._made(call.at, parts, outbox, sent, term, incarnation, pos)
        await store.commit(made)
        self.made.append(made)

    async def _commit_wrong(self, call: Call, store: Store, **more: Any) -> None:
        await self._commit(call, store, **more)

    async def _commit_lost(self, call: Call, store: Store, *, lost: str, **more: Any) -> None:
        self.world.fail_next_commit(CommitFailure(lost))
        await self._commit(call, store, **more)

    async def _repeat(self, call: Call, store: Store) -> None:
        """The last commit again, as after a lost reply."""
        if self.made:
            await store.commit(self.made[-1])

    async def _retire(self, call: Call, store: Store, *, streams: list[tuple[str, int]]) -> None:
        await store.retire([(name, self.seqs.get(name, 0) + by) for name, by in streams])

    async def _recall(self, call: Call, store: Store, *, streams: list[str]) -> Any:
        return await store.recall(streams)

    async def _watermark(self, call: Call, store: Store, *, after: int) -> Any:
        own = store._ownership
        if own is None or self._history_is_down or store._projector.watermark <= self.pos - after:
            return None  # nothing would ever come
        return await store.watermark(self.pos - after)

    async def _post(self, call: Call, store: Store, *, raw: str, answered: bool) -> None:
        self._posted += 1
        named = f"{raw}, the {self._posted}th"
        if not answered:
            await store.inbox.post(named.encode(), answer_within_s=None)
            return
        before = await self._inbox_size()
        asking = self._asking[named] = asyncio.create_task(self._ask(store, named))
        for _ in range(1_000):
            if asking.done() or await self._inbox_size() > before:
                break
            await asyncio.sleep(0)

    async def _ask(self, store: Store, raw: str) -> bytes | None:
        with contextlib.suppress(Unavailable):
            return await store.inbox.post(raw.encode(), answer_within_s=60)
        return None

    async def _settle(self, call: Call, store: Store, *, count: int, settled: list[bool]) -> Any:
        """Take as many as there are, at most so many; settle some; return what was taken and what askers were told."""
        count = min(count, await self._inbox_size())
        taken: list[str] = []
        told: list[bytes | None] = []
        if count:
            async for delivery, raw in store.inbox.take():
                named = raw.decode()
                if settled[len(taken)]:
                    await store.inbox.settle(delivery, b"answer to " + raw)
                    if named in self._asking:
                        told.append(await self._asking.pop(named))
                taken.append(named)
                if len(taken) == count:
                    break
        return taken, told

    async def _cipher(self, call: Call, store: Store, *, what: str, key: str, ms: int) -> Any:
        found = store.ciphertexts
        match what:
            case "put":
                if await found.get(key) is None:
                    await found.put(key, f"sealed {ms}".encode(), ms)
            case "remove":
                await found.remove(key)
            case "sweep":
                return await found.sweep([key], ms)
        return [await found.get(f"k{number}") for number in range(4)]

    async def _events(self, call: Call, store: Store, *, stream: str, after: int, limit: int) -> Any:
        return await store.events(stream, after, limit)

    async def _entities(self, call: Call, store: Store, *, stream: str, after: int, limit: int) -> Any:
        return await store.entities(stream), await store.headlines([stream])

    async def _entities_at(self, call: Call, store: Store, *, stream: str, after: int, limit: int) -> Any:
        return await store.entities_at(stream, after)

    async def _list(self, call: Call, store: Store, **wanted: Any) -> Any:
        return await store.constellations(**wanted)

    async def _record(self, call: Call, store: Store, *, stream: str, seq: int, pos: int) -> Any:
        kept = await store.commits_after(pos - 1, 3)
        found: list[Any] = [kept, await store.position_of(stream, seq), await store.last_before(stream, pos)]
        if kept:
            found += [await store.owned_since(pos), await store.live_before(pos)]
        return found

    async def _activity(self, call: Call, store: Store, *, wanted: Any, before: Any, limit: int) -> Any:
        return await store.activity(ActivityFilter(**wanted), before, limit)

    async def _follow(self, call: Call, store: Store, *, after: int, pos: int) -> Any:
        log = store.log
        return await log.read_on(max(0, self.pos + after), 1), await log.commit_at(pos), await log.holder()

    async def _silence(self, call: Call, store: Store) -> None:
        """The owner's lease runs out."""
        if isinstance(self.world, MemoryWorld):
            self.world.redis.hold(owner="")
        else:
            await self.world.direct("DEL", keys.OWNER)

    async def mark(self) -> None:
        self.marks.append(await self.world.mark())

    async def _redis_restart(self, call: Call, store: Store) -> None:
        await self.world.restart_redis()
        await self._broken()

    async def _redis_cut(self, call: Call, store: Store, *, marks: int) -> None:
        at = self.marks[max(0, len(self.marks) - 1 - marks)]
        self.marks = [mark for mark in self.marks if mark <= at]
        await self.world.restart_redis(at)
        await self._broken()

    async def _redis_wipe(self, call: Call, store: Store) -> None:
        await self.world.wipe_redis()
        self.marks.clear()
        await self.mark()
        await self._broken()

    async def _broken(self) -> None:
        """Let every connection notice, so that both worlds refuse for the same reason."""
        for store in self.stores:
            if isinstance(store, RedisStore):
                store._drop_link()
            await self._patient(lambda store=store: store.owns(0))
            await self._patient(store.log.end)

    async def _history_down(self, call: Call, store: Store) -> None:
        self._history_is_down = not self._history_is_down
        self.world.history_down(self._history_is_down)


def _bytes(stream: str, key: str, word: str) -> bytes | None:
    if key == "head":
        state = ConstellationState(word)
        ended = 0 if word in ("active", "paused") else 150
        return head(stream, created_ms=int(stream[1]), name=f"Name of 100% {stream}", state=state, ended_ms=ended)
    if not word:
        return None
    if key.startswith("attempt/"):
        return attempt(word)
    return b'{"items":[]}' if key == "answer" else task(word)


class Twins:
    """A real server for many sequences, each with a database of its own."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._real = RedisWorld(home)
        self._template = home / "template.db"
        self._number = 0

    async def __aenter__(self) -> Twins:
        self._real.database_url = f"sqlite:///{self._template}"
        await self._real.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self._real.close()

    async def differ(self, calls: Sequence[Call]) -> str | None:
        """Carry calls out in both worlds; return the first difference, or None."""
        self._number += 1
        path = self._home / f"history-{self._number}.db"
        shutil.copyfile(self._template, path)
        self._real.database_url = f"sqlite:///{path}"
        self._real.database_is_down = False
        await self._real.direct("FLUSHALL")
        sides = Side(MemoryWorld()), Side(self._real)
        try:
            for side in sides:
                await side.begin()
                await side.mark()
            return await self._compare(sides, calls)
        finally:
            for side in sides:
                await side.end()
            path.unlink()

    async def _compare(self, sides: tuple[Side, Side], calls: Sequence[Call]) -> str | None:
        for number, call in enumerate(calls):
            answers = [await side.do(call) for side in sides]
            place = f"call {number}, {call}"
            if answers[0] != answers[1]:
                return f"{place}: in memory {_words(answers[0])}, of Redis {_words(answers[1])}"
            for side in sides:
                await side.settled()
            whole = number % 8 == 7 or number == len(calls) - 1
            states = [await side.state(whole=whole) for side in sides]
            for name, found in states[0].items():
                if found != states[1][name]:
                    return f"{place}: {name} in memory {_words(found)}, of Redis {_words(states[1][name])}"
            for side in sides:
                await side.mark()
        return None


def _words(value: Any) -> str:
    return repr(value)[:900]


async def compare(seed: int, sequences: int, calls: int, tries_most: int = TRIES_MOST) -> tuple[int, list[str]]:
    """Return how many sequences were compared, and what differs, made small; ends with the first."""
    with tempfile.TemporaryDirectory(prefix="sl-twins-") as home:
        async with Twins(Path(home)) as twins:
            for number in range(sequences):
                drawn = draw_calls(seed + number, calls)
                words = await twins.differ(drawn)
                if words is not None:
                    return number + 1, await _small(twins, drawn, words, seed + number, tries_most)
    return sequences, []


async def _small(twins: Twins, drawn: list[Call], words: str, seed: int, tries_most: int) -> list[str]:
    tries = 0
    best, last = list(drawn), words
    chunk = len(best) // 2
    while chunk and tries < tries_most:
        at = 0
        while at < len(best) and tries < tries_most:
            tries += 1
            tried = best[:at] + best[at + chunk :]
            found = await twins.differ(tried)
            if found is not None:
                best, last = tried, found
            else:
                at += chunk
        chunk //= 2
    return [f"seed {seed}: {last}", *(f"  {number}: {call}" for number, call in enumerate(best))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--no-shrink", action="store_true", help="print what differs as it is")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    begun = time.monotonic()
    tries_most = 0 if options.no_shrink else TRIES_MOST
    done, different = asyncio.run(compare(options.seed, options.sequences, options.calls, tries_most))
    for line in different:
        print(f"  {line}")
    spent_s = round(time.monotonic() - begun, 1)
    print(json.dumps({"sequences": done, "calls": done * options.calls, "different": bool(different), "s": spent_s}))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
