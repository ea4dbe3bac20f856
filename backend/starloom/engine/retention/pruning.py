"""The retention of the durable history: the owner prunes old constellations, in small transactions, while it runs.

`core.clock.retention` decides and the store removes. Reads and transactions are bounded. The history of a constellation
ends between two batches, so that none is loaded back while it is being removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from starloom.core.clock.retention import HistoryLimits, away_since, leaving, needed
from starloom.core.state.model import Shard
from starloom.engine.ports import Clock
from starloom.store.port import Damaged, EndedConstellation, PruningPort, Refused, Unavailable

LOOKED_AT_ONCE = 64
PAUSE_MS = 100
"""The pause between two transactions, so that commits do not wait."""

log = logging.getLogger("starloom.engine")


class KeptFiles(Protocol):
    """The question that is put to the artifact store."""

    async def with_files(self, constellations: Sequence[str]) -> set[str]:
        """Return those of the constellations that name artifacts which still exist."""
        ...


class Retention:
    """Prunes all that may go; `constellations` and `commits` count what was removed.

    `turn` is the loop's lock, under which none is loaded back; `on_the_way` returns the constellations that are leaving
    Redis; `kept_files` says which have files to fetch; `pruned` gets the ids of those whose history has ended.
    """

    def __init__(
        self,
        store: PruningPort,
        clock: Clock,
        limits: HistoryLimits,
        turn: asyncio.Lock,
        shard: Callable[[], Shard],
        on_the_way: Callable[[], Collection[str]],
        kept_files: KeptFiles | None = None,
        pruned: Callable[[list[str]], None] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._kept_files = kept_files
        self._turn = turn
        self._shard = shard
        self._on_the_way = on_the_way
        self._pruned = pruned
        self.commits = 0
        self.constellations = 0

    async def run(self, every_ms: int) -> None:
        """Prune every `every_ms`; a failure is tried again the next time."""
        while True:
            await self._clock.wait(every_ms)
            try:
                await self.prune()
            except (Damaged, Refused, Unavailable) as error:
                log.warning("event=prune_failed reason=%s", error)

    async def prune(self) -> None:
        """Remove everything from the history that may go now.

        Raises:
            Refused, Unavailable, Damaged: as `PruningPort.prune`; earlier transactions stay.
        """
        await self._sweep("history_keep")
        after, size_bytes = (0, ""), await self._size_bytes()
        while not self._limits.unbounded:
            now_ms = self._clock.now_ms()
            items = await self._store.ended(after, LOOKED_AT_ONCE)
            old = [item for item in items if item.ended_ms <= self._limits.newest_ms(now_ms)]
            if not old:
                return
            after = old[-1].ended_ms, old[-1].id
            size_bytes -= await self._prune_page(old, now_ms, size_bytes)
            if len(old) < LOOKED_AT_ONCE:
                return
            await self._clock.wait(PAUSE_MS)

    async def _size_bytes(self) -> int:
        """Return the size that the rule of size bounds: nothing goes for a part that stays whatever goes."""
        most = self._limits.bytes_most
        if most is None:
            return 0
        size_bytes = (await self._store.history_size()).bytes
        return size_bytes - await self._store.lasting_bytes() if size_bytes > most else size_bytes

    async def _prune_page(self, items: Sequence[EndedConstellation], now_ms: int, size_bytes: int) -> int:
        """End the history of those of a page that may go, by the rule that chose each, then remove their commits.

        Return by how much less the size is: what a commit has beside a constellation belongs to what stays from then.
        """
        young = [item.id for item in items if item.ended_ms > now_ms - self._limits.files_ms]
        with_files = await self._kept_files.with_files(young) if young and self._kept_files is not None else set()
        async with self._turn:
            shard = self._shard()
            marked = leaving(
                items,
                self._limits,
                away=away_since(shard),
                held=needed(shard).union(self._on_the_way()),
                now_ms=now_ms,
                with_files=with_files,
                size_bytes=size_bytes,
            )
            whys: dict[str, list[EndedConstellation]] = {}
            for item, why in marked:
                whys.setdefault(why, []).append(item)
            for why, some in whys.items():
                await self._in_one_transaction(some, why)
        for why in whys:
            await self._sweep(why)
        return sum(item.bytes for item, _ in marked)

    async def _sweep(self, why: str) -> None:
        """Remove the commits of constellations whose history has ended, piece by piece."""
        while await self._in_one_transaction([], why):
            await self._clock.wait(PAUSE_MS)

    async def _in_one_transaction(self, items: Sequence[EndedConstellation], why: str) -> bool:
        """End the history of these and remove a bounded number of commits; tell whether more are left to remove."""
        removed = await self._store.prune(items, self._clock.now_ms(), why)
        if removed.constellations or removed.commits:
            self.commits += removed.commits
            self.constellations += len(removed.constellations)
            log.info(
                "event=pruned why=%s constellations=%d commits=%d bytes=%d",
                why,
                len(removed.constellations),
                removed.commits,
                removed.bytes,
            )
        if removed.constellations and self._pruned is not None:
            self._pruned(removed.constellations)
        return removed.more
