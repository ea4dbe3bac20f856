"""Tool sets: each tool, and each set of tools, is held once however many devices offer it.

An offer with all built-in tools takes half a megabyte as records, and the devices of a fleet offer much the same. Pure;
must not decide who may use a tool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from starloom_protocol.records.entities import Offer, ToolOffer

_encode = msgspec.json.Encoder(order="deterministic").encode
Digests = tuple[bytes, ...]


class _ToolSet:
    """One set: as a list, by name, and the devices that offer it."""

    __slots__ = ("by_name", "devices", "digests", "tools")

    def __init__(self, digests: Digests, tools: list[ToolOffer]) -> None:
        self.digests = digests
        self.tools = tools
        self.by_name: Mapping[str, ToolOffer] = {tool.name: tool for tool in tools}
        self.devices: dict[str, None] = {}


class ToolSets:
    """The different sets of a fleet, in the order in which each was first offered."""

    def __init__(self) -> None:
        self._sets: dict[Digests, _ToolSet] = {}
        self._by_id: dict[int, _ToolSet] = {}
        self._tools: dict[bytes, tuple[ToolOffer, bytes, int]] = {}  # the tool, its digest, the number of its sets
        self._by_device: dict[str, _ToolSet] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def share(self, offer: Offer) -> Offer:
        """Return the offer with its tools replaced by equal ones that other devices hold already."""
        if id(offer.tools) in self._by_id:
            return offer
        digests = _digests(offer.tools)
        known = self._sets.get(digests)
        if known is not None:
            return replace(offer, tools=known.tools)
        tools = [
            self._tools[digest][0] if digest in self._tools else tool
            for digest, tool in zip(digests, offer.tools, strict=True)
        ]
        return replace(offer, tools=tools)

    def take(self, device: str, tools: list[ToolOffer]) -> Mapping[str, ToolOffer]:
        """Note that a device offers these tools, and none of those that it offered before; return them by name."""
        found = self._by_id.get(id(tools))
        if found is None:
            digests = _digests(tools)
            found = self._sets.get(digests) or self._add(digests, tools)
        before = self._by_device.get(device)
        if before is not found:
            found.devices[device] = None
            self._by_device[device] = found
            if before is not None:
                self._leave(before, device)
        return found.by_name

    def leave(self, device: str) -> None:
        """Note that a device offers nothing any more."""
        found = self._by_device.pop(device, None)
        if found is not None:
            self._leave(found, device)

    def _leave(self, found: _ToolSet, device: str) -> None:
        """Take a device from a set; a set that no device offers is dropped."""
        del found.devices[device]
        if found.devices:
            return
        del self._sets[found.digests], self._by_id[id(found.tools)]
        for digest in found.digests:
            tool, same, sets = self._tools.pop(digest)
            if sets > 1:
                self._tools[digest] = (tool, same, sets - 1)

    def clear(self) -> None:
        self._sets.clear()
        self._by_id.clear()
        self._tools.clear()
        self._by_device.clear()

    def offering(self, tool: str) -> Iterator[str]:
        """Yield the devices that offer a tool, in no order that means anything; no other device is looked at."""
        return (device for found in self._sets.values() if tool in found.by_name for device in found.devices)

    def different(self) -> Iterator[Mapping[str, ToolOffer]]:
        """Yield each different set once, by name of tool."""
        return (found.by_name for found in self._sets.values())

    def _add(self, digests: Digests, tools: list[ToolOffer]) -> _ToolSet:
        shared = []
        for digest, tool in zip(digests, tools, strict=True):
            held, same, sets = self._tools.get(digest, (tool, digest, 0))
            self._tools[digest] = (held, same, sets + 1)
            shared.append(same)
        # A list that is held here stays alive, so its identity is a valid key.
        found = self._sets[tuple(shared)] = self._by_id[id(tools)] = _ToolSet(tuple(shared), tools)
        return found


def _digests(tools: list[ToolOffer]) -> Digests:
    return tuple(hashlib.blake2b(_encode(tool), digest_size=16).digest() for tool in tools)
