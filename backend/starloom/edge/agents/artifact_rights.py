"""The rights of devices to artifacts: a device may fetch those that its attempts name, and those it has sent whole.

Kept in memory and bounded. After a start of the hub the attempts of a resume plan are looked up in the log when their
device first asks for bytes. Decides nothing about tasks and moves no bytes.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, Protocol

from starloom.core.answer.why import shard_of
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.findings import sources_of
from starloom.store.port import StreamState
from starloom_protocol.wire.frames import Dispatch, LeaseRef

NAMED_MOST: Final = 50_000
"""Artifacts that are remembered for one device; those named longest ago are forgotten first."""

LISTS_MOST: Final = 1_000
LIST_BYTES_MOST: Final = 64 * 1024 * 1024
"""A value that is too long for a frame is an artifact, and may name others; a longer one is not looked into."""

HASH_CHARS: Final = 64
"""A shorter text names no artifact."""
_HASH: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Stored(Protocol):
    """The part of the artifact store that is read here."""

    def size(self, sha256: str) -> int | None: ...

    def open(self, sha256: str) -> BinaryIO: ...


class Entities(Protocol):
    """The part of the log that is read here."""

    async def entities(self, stream: str) -> StreamState | None: ...


class _DeviceArtifacts:
    """The rights of one device.

    `named` are the artifacts that it may fetch, `lists` those of them that may name others and were not searched yet,
    `unread` attempts that are to be looked up. `looking` is held by the one request that looks them up.
    """

    def __init__(self) -> None:
        self.named: OrderedDict[str, None] = OrderedDict()
        self.lists: OrderedDict[str, None] = OrderedDict()
        self.unread: list[LeaseRef] = []
        self.looking = asyncio.Lock()

    def add(self, hashes: Iterable[str]) -> None:
        for sha256 in hashes:
            self.named[sha256] = None
            self.named.move_to_end(sha256)
        while len(self.named) > NAMED_MOST:
            self.named.popitem(last=False)

    def add_list(self, sha256: str) -> None:
        self.add((sha256,))
        self.lists[sha256] = None
        while len(self.lists) > LISTS_MOST:
            self.lists.popitem(last=False)


class ArtifactRights:
    """Rights of all devices, by device."""

    def __init__(self) -> None:
        self._by_device: dict[str, _DeviceArtifacts] = {}

    def _of(self, device: str) -> _DeviceArtifacts:
        return self._by_device.setdefault(device, _DeviceArtifacts())

    def dispatched(self, device: str, frame: Dispatch) -> None:
        """Note what a dispatch names, in its arguments and its inputs."""
        artifacts = self._of(device)
        artifacts.add(_HASH.findall(frame.args))
        for item in frame.inputs:
            for part in item.parts:
                if part.artifact is not None:
                    artifacts.add_list(part.artifact)
                elif part.value is not None and len(part.value) >= HASH_CHARS:
                    artifacts.add(_HASH.findall(part.value))

    def resumed(self, device: str, attempts: Iterable[LeaseRef]) -> None:
        """Note attempts that a device goes on with; what they name is looked up when it asks for it."""
        self._of(device).unread = list(attempts)

    def put(self, device: str, sha256: str) -> None:
        """Note that a device has sent all bytes of an artifact."""
        self._of(device).add((sha256,))

    async def may_fetch(self, device: str, sha256: str, log: Entities, store: Stored) -> bool:
        """Whether an attempt of the device names the artifact, or the device has sent all of its bytes.

        Raises:
            Unavailable: the log does not answer.
        """
        artifacts = self._of(device)
        if sha256 in artifacts.named:
            return True
        async with artifacts.looking:
            while artifacts.unread:
                at = artifacts.unread[-1]
                state = await log.entities(at.constellation)
                if state is not None:
                    names, lists = await asyncio.to_thread(_look_up, at, state.entities)
                    artifacts.add(names)
                    for name in lists:
                        artifacts.add_list(name)
                if artifacts.unread and artifacts.unread[-1] is at:
                    artifacts.unread.pop()
            while sha256 not in artifacts.named and artifacts.lists:
                name = next(reversed(artifacts.lists))
                artifacts.add(await asyncio.to_thread(_named_in, store, name))
                artifacts.lists.pop(name, None)
        return sha256 in artifacts.named


def _look_up(at: LeaseRef, entities: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Return the artifacts that the arguments and inputs of an attempt name, and those that may name others."""
    constellation = shard_of({}, at.constellation, entities).constellations[at.constellation]
    spec = constellation.specs.get(at.task)
    if spec is None:
        return [], []
    texts, lists = [spec.args], []
    if spec.key is not None and spec.family is not None:
        item = constellation.items.get(f"{spec.family}/{spec.key}")
        texts.append(item.value if item else "")
    for source in (
        name for item_input in sources_of(constellation, spec) for name in _tasks_of(constellation, item_input)
    ):
        record = constellation.tasks[source]
        attempt = constellation.attempts.get(f"{source}/{record.attempt}")
        texts.append(record.marked or "")
        if attempt is not None:
            texts += [attempt.value or "", *attempt.facts.values()]
            if attempt.artifact is not None:
                lists.append(attempt.artifact)
    return [name for text in texts for name in _HASH.findall(text)], lists


def _tasks_of(constellation: Constellation, source: str) -> Iterator[str]:
    if source in constellation.groups:
        yield from constellation.leaves(source)
    elif source in constellation.tasks:
        yield source


def _named_in(store: Stored, sha256: str) -> list[str]:
    size = store.size(sha256)
    if size is None or size > LIST_BYTES_MOST:
        return []
    with store.open(sha256) as file:
        return _HASH.findall(file.read().decode("utf-8", "replace"))
