"""Sets of tools that many devices offer alike: each is held once, however many devices offer it.

An offer of a device with all built-in tools takes half a megabyte as records, and a fleet of the same machines has one
such set. Pure; must not decide who may use a tool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from starloom_protocol.entities import Offer, ToolOffer

_encode = msgspec.json.Encoder(order="deterministic").encode


class _ToolSet:
    """One set: as a list, by name, and how many devices offer it."""

    __slots__ = ("by_name", "devices", "digest", "tools")

    def __init__(self, digest: bytes, tools: list[ToolOffer]) -> None:
        self.digest = digest
        self.tools = tools
        self.by_name: Mapping[str, ToolOffer] = {tool.name: tool for tool in tools}
        self.devices = 0


class ToolSets:
    """The different sets of a fleet, in the order in which each was first offered."""

    def __init__(self) -> None:
        self._by_digest: dict[bytes, _ToolSet] = {}
        self._by_id: dict[int, _ToolSet] = {}

    def __len__(self) -> int:
        return len(self._by_digest)

    def share(self, offer: Offer) -> Offer:
        """Return the offer with the list of tools that another device holds already, if one does."""
        known = self._find(offer.tools)
        return offer if known is None or known.tools is offer.tools else replace(offer, tools=known.tools)

    def take(self, tools: list[ToolOffer]) -> Mapping[str, ToolOffer]:
        """Count one more device that offers these; return them by name."""
        found = self._find(tools)
        if found is None:
            found = _ToolSet(_digest(tools), tools)
            self._by_digest[found.digest] = self._by_id[id(tools)] = found
        found.devices += 1
        return found.by_name

    def leave(self, tools: list[ToolOffer]) -> None:
        """Count one device less; a set that no device offers is forgotten."""
        found = self._find(tools)
        if found is None:
            return
        found.devices -= 1
        if not found.devices:
            del self._by_digest[found.digest], self._by_id[id(found.tools)]

    def clear(self) -> None:
        self._by_digest.clear()
        self._by_id.clear()

    def different(self) -> Iterator[Mapping[str, ToolOffer]]:
        """Yield each set once, by name of tool."""
        return (found.by_name for found in self._by_digest.values())

    def _find(self, tools: list[ToolOffer]) -> _ToolSet | None:
        # A list that is held here stays alive, so its identity names it.
        return self._by_id.get(id(tools)) or self._by_digest.get(_digest(tools))


def _digest(tools: list[ToolOffer]) -> bytes:
    return hashlib.blake2b(_encode(tools), digest_size=16).digest()
