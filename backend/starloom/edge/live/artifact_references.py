"""The entities that still name artifacts, from committed state: the fleet, access, and every kept constellation.

A constellation is kept while it is not final, while the engine holds it, and `keep_s` after its end. The texts of its
calls of a model go earlier, as its logs do. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

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


class _Head(msgspec.Struct):
    """The field of a head by which the texts of a model are kept."""

    state: str = ""


class _Call(msgspec.Struct):
    """The fields of a call of a model by which its texts are kept."""

    asked_ms: int = 0
    took_ms: int = 0


_attempt = msgspec.json.Decoder(_Attempt)
_head = msgspec.json.Decoder(_Head)
_call = msgspec.json.Decoder(_Call)


class Retained:
    """`store.blobs.collection.Named` from the store. `held` returns the constellations that the engine holds.

    `texts_s` is how long the texts of a model stay after the last call of a finished constellation.
    """

    def __init__(
        self,
        reads: ReadPort,
        held: Callable[[], Collection[str]],
        now_ms: Callable[[], int],
        keep_s: float,
        texts_s: float,
    ) -> None:
        self._reads = reads
        self._held = held
        self._now_ms = now_ms
        self._keep_ms = round(keep_s * 1000)
        self._texts_ms = round(texts_s * 1000)

    async def streams(self) -> set[str]:
        return {ACCESS, FLEET} | await self._listed(self._now_ms() - self._keep_ms)

    async def running(self) -> set[str]:
        return await self._listed(None)

    async def _listed(self, ended_after_ms: int | None) -> set[str]:
        names = set(self._held())
        cursor: tuple[int, str] | None = None
        while True:
            rows = await self._reads.constellations(states=(), text=None, device=None, before=cursor, limit=_PAGE)
            for row in rows:
                is_ended = row.state in _FINAL
                if not is_ended or (ended_after_ms is not None and row.ended_ms > ended_after_ms):
                    names.add(row.id)
            if len(rows) < _PAGE:
                return names
            cursor = (rows[-1].created_ms, rows[-1].id)

    async def read(self, stream: str) -> StreamArtifacts:
        state = await self._reads.entities(stream)
        if state is None:
            return StreamArtifacts()
        entities = state.entities
        attempts = [_attempt.decode(raw) for key, raw in entities.items() if key.startswith("attempt/")]
        since = [attempt.leased_ms / 1000 for attempt in attempts if attempt.end is None]
        values = [attempt.artifact for attempt in attempts if attempt.artifact is not None]
        quiet = self._are_quiet(entities)
        encoded = [raw for key, raw in entities.items() if not (quiet and key.startswith("call/"))]
        return StreamArtifacts(entities=encoded, values=values, running_since_s=min(since, default=None))

    def _are_quiet(self, entities: Mapping[str, bytes]) -> bool:
        """Whether a constellation is over and its last call of a model was so long ago that the texts may go."""
        if _head.decode(entities.get("head", b"{}")).state not in _FINAL:
            return False
        calls = [_call.decode(raw) for key, raw in entities.items() if key.startswith("call/")]
        last_ms = max((call.asked_ms + call.took_ms for call in calls), default=0)
        return last_ms < self._now_ms() - self._texts_ms
