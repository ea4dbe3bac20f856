"""The sets of tools that the devices of a fleet offer, each tool held once. Decides nothing.

An offer with all built-in tools takes half a megabyte as records, and the devices of a fleet offer much the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from starloom_protocol.records.entities import Offer, ToolOffer

_encode_tool = msgspec.json.Encoder(order="deterministic").encode
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
        same = self._sets.get(digests)
        if same is not None:
            return replace(offer, tools=same.tools)
        tools = [
            self._tools[digest][0] if digest in self._tools else tool
            for digest, tool in zip(digests, offer.tools, strict=True)
        ]
        return replace(offer, tools=tools)

    def take(self, device: str, tools: list[ToolOffer]) -> Mapping[str, ToolOffer]:
        """Note that a device offers these tools, and none of those that it offered before; return them by name."""
        offered = self._by_id.get(id(tools))
        if offered is None:
            digests = _digests(tools)
            offered = self._sets.get(digests) or self._add(digests, tools)
        before = self._by_device.get(device)
        if before is not offered:
            offered.devices[device] = None
            self._by_device[device] = offered
            if before is not None:
                self._leave(before, device)
        return offered.by_name

    def leave(self, device: str) -> None:
        """Note that a device offers nothing any more."""
        offered = self._by_device.pop(device, None)
        if offered is not None:
            self._leave(offered, device)

    def _leave(self, tool_set: _ToolSet, device: str) -> None:
        """Take a device from a set; a set that no device offers is dropped."""
        del tool_set.devices[device]
        if tool_set.devices:
            return
        del self._sets[tool_set.digests], self._by_id[id(tool_set.tools)]
        for digest in tool_set.digests:
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
        return (device for one in self._sets.values() if tool in one.by_name for device in one.devices)

    def different(self) -> Iterator[Mapping[str, ToolOffer]]:
        """Yield each different set once, by name of tool."""
        return (one.by_name for one in self._sets.values())

    def _add(self, digests: Digests, tools: list[ToolOffer]) -> _ToolSet:
        shared = []
        for digest, tool in zip(digests, tools, strict=True):
            held, same, sets = self._tools.get(digest, (tool, digest, 0))
            self._tools[digest] = (held, same, sets + 1)
            shared.append(same)
        # A list that is held here stays alive, so its identity is a valid key.
        added = self._sets[tuple(shared)] = self._by_id[id(tools)] = _ToolSet(tuple(shared), tools)
        return added


def _digests(tools: list[ToolOffer]) -> Digests:
    return tuple(hashlib.blake2b(_encode_tool(tool), digest_size=16).digest() for tool in tools)
