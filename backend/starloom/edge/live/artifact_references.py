"""The entities that still name artifacts, from committed state: the fleet, access, and every kept constellation.

A constellation is kept while it is not final, while the engine holds it, and `keep_s` after its end. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from starloom.store.blobs.collection import StreamArtifacts
from starloom.store.port import ReadPort
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES

_PAGE = 200
_FINAL = frozenset(str(state) for state in FINAL_CONSTELLATION_STATES)


class _Attempt(msgspec.Struct):
    """The fields of an attempt by which its artifacts are kept."""

    artifact: str | None = None
    end: str | None = None
    leased_ms: int = 0


_attempt = msgspec.json.Decoder(_Attempt)


class Retained:
    """`store.blobs.collection.Named` from the store. `held` returns the constellations that the engine holds."""

    def __init__(
        self, reads: ReadPort, held: Callable[[], Collection[str]], now_ms: Callable[[], int], keep_s: float
    ) -> None:
        self._reads = reads
        self._held = held
        self._now_ms = now_ms
        self._keep_ms = round(keep_s * 1000)

    async def streams(self) -> set[str]:
        return {ACCESS, FLEET} | await self._listed(self._now_ms() - self._keep_ms)

    async def running(self) -> set[str]:
        return await self._listed(None)

    async def _listed(self, ended_after_ms: int | None) -> set[str]:
        found = set(self._held())
        before: tuple[int, str] | None = None
        while True:
            rows = await self._reads.constellations(state=None, text=None, device=None, before=before, limit=_PAGE)
            for row in rows:
                ended = row.state in _FINAL
                if not ended or (ended_after_ms is not None and row.ended_ms > ended_after_ms):
                    found.add(row.id)
            if len(rows) < _PAGE:
                return found
            before = (rows[-1].created_ms, rows[-1].id)

    async def read(self, stream: str) -> StreamArtifacts:
        known = await self._reads.entities(stream)
        if known is None:
            return StreamArtifacts()
        entities = known[1]
        attempts = [_attempt.decode(raw) for key, raw in entities.items() if key.startswith("attempt/")]
        since = [attempt.leased_ms / 1000 for attempt in attempts if attempt.end is None]
        values = [attempt.artifact for attempt in attempts if attempt.artifact is not None]
        return StreamArtifacts(entities=entities.values(), values=values, running_since_s=min(since, default=None))
