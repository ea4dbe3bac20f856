"""Earlier requests: what a person asked in words before, as a context tells it, for the job and the preview alike.

Owns the choice of them: the newest first, each once, and never those of another person.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from starloom_protocol.records.entities import Head, decode_entity

EARLIER_MOST: Final = 5
_LOOKED_AT: Final = 20


class ListedRequest(Protocol):
    """A row of the list of constellations."""

    @property
    def id(self) -> str: ...

    @property
    def request(self) -> str: ...


class EarlierReads(Protocol):
    """The committed state that earlier requests are read from; a part of the `ReadPort` of the store."""

    async def headlines(self, streams: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
        """Return the head and the answer of constellations by name, without those that are unknown."""
        ...

    async def constellations(
        self,
        *,
        states: Sequence[str],
        text: str | None,
        device: str | None,
        before: tuple[int, str] | None,
        limit: int,
    ) -> Sequence[ListedRequest]:
        """Return constellations, newest first."""
        ...


async def earlier_requests(reads: EarlierReads, author: str, words: str, before: tuple[int, str]) -> list[str]:
    """Return what a person asked in words before a moment and an id, without these words themselves."""
    rows = await reads.constellations(states=(), text=None, device=None, before=before, limit=_LOOKED_AT)
    others = [row for row in rows if row.request.strip() and row.request != words]
    headlines = await reads.headlines([row.id for row in others])
    requests: dict[str, None] = {}
    for row in others:
        line = headlines.get(row.id)
        other = decode_entity("head", line[0]) if line is not None else None
        if isinstance(other, Head) and other.author == author:
            requests[row.request] = None
        if len(requests) == EARLIER_MOST:
            break
    return list(requests)
