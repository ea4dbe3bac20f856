"""Garbage collection: finds and deletes the artifacts that nothing names any longer, and old logs of attempts.

The names come from `Named`; any 64 hexadecimal digits there count, so a hash in a plan's arguments or inside a value
keeps its file. When in doubt the file stays. Why no named artifact can be deleted:
docs/decisions/history-and-secrets.md.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from starloom.store.blobs.artifacts import BlobRefused, FileBlobs
from starloom.store.blobs.logs import AttemptLogs

EVERY_MOST_S: Final = 6 * 3600.0
PAGE_BYTES: Final = 1024 * 1024
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_log = logging.getLogger("starloom.store.blobs")


@dataclass(frozen=True, slots=True)
class ArtifactRetention:
    """The limits: unnamed artifacts stay for `unnamed_s`; the others bound the logs of finished constellations."""

    unnamed_s: float
    logs_s: float
    logs_bytes: int


class Named(Protocol):
    """The committed streams, live or retained, whose artifacts must stay."""

    async def streams(self) -> set[str]:
        """Return every stream whose files stay."""
        ...

    async def running(self) -> set[str]:
        """Return the constellations that are not final."""
        ...

    async def read(self, stream: str) -> StreamArtifacts:
        """Return the state of a stream; an empty one if there is no such stream."""
        ...


@dataclass(frozen=True, slots=True)
class StreamArtifacts:
    """The encoded entities of a stream, the artifacts that hold values of its tasks, and the start of its oldest open
    attempt in seconds since the epoch.
    """

    entities: Iterable[bytes] = ()
    values: Iterable[str] = ()
    running_since_s: float | None = None


class Collector:
    """The collector of one hub."""

    def __init__(self, blobs: FileBlobs, logs: AttemptLogs, named: Named, keeping: ArtifactRetention) -> None:
        self._blobs = blobs
        self._logs = logs
        self._named = named
        self._keeping = keeping

    @property
    def every_s(self) -> float:
        """The pause between two collections."""
        return min(EVERY_MOST_S, self._keeping.unnamed_s / 4)

    async def collect(self, now_s: float) -> int:
        """Delete all that is collectable at this moment (seconds since the epoch); return the bytes of artifacts freed.

        Raises:
            Exception: any error of reading `Named`; no artifact was deleted then.
        """
        before_s = now_s - self._keeping.unnamed_s
        candidates = await asyncio.to_thread(self._blobs.older_than, before_s)
        freed = 0
        if candidates:
            candidates, before_s = await self._collectable(candidates, before_s)
            for sha256 in sorted(candidates):
                freed += await asyncio.to_thread(self._blobs.collect, sha256, before_s)
        running = await self._named.running()
        expired = await asyncio.to_thread(
            self._logs.expire, now_s - self._keeping.logs_s, self._keeping.logs_bytes, running
        )
        if freed or expired:
            _log.info("event=collected artifact_bytes=%d logs_of=%d", freed, expired)
        return freed

    async def with_files(self, constellations: Iterable[str]) -> set[str]:
        """Return those of the constellations that name artifacts which still exist.

        Raises:
            Exception: any error of reading `Named`.
        """
        existing: set[str] = set()
        for constellation in constellations:
            artifacts = await self._named.read(constellation)
            if await asyncio.to_thread(
                lambda read: any(self._blobs.size(name) for name in self._names(read)), artifacts
            ):
                existing.add(constellation)
        return existing

    async def _collectable(self, candidates: set[str], before_s: float) -> tuple[set[str], float]:
        """Return the candidates that no stream names, and the moment before which they must have been used last.

        A running attempt names its files only in its result, so files that came since it began stay. Reading takes a
        while, so streams are listed until a list has no new one.
        """
        read: set[str] = set()
        while new := await self._named.streams() - read:
            for stream in sorted(new):
                artifacts = await self._named.read(stream)
                candidates = candidates - await asyncio.to_thread(self._names, artifacts)
                if artifacts.running_since_s is not None:
                    before_s = min(before_s, artifacts.running_since_s)
            read |= new
        return candidates, before_s

    def _names(self, artifacts: StreamArtifacts) -> set[str]:
        names = {match.decode() for raw in artifacts.entities for match in _HASH.findall(raw)}
        for sha256 in artifacts.values:
            try:
                with self._blobs.open(sha256) as file:
                    names |= _names_in(file)
            except BlobRefused:
                continue  # its bytes are gone or never arrived
        return names


def _names_in(file: BinaryIO) -> set[str]:
    """Return the hashes in a file of any size, including one that crosses two pages."""
    names: set[str] = set()
    tail = b""
    while piece := file.read(PAGE_BYTES):
        names.update(match.decode() for match in _HASH.findall(tail + piece))
        tail = (tail + piece)[-65:]
    return names
